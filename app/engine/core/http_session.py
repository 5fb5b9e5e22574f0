"""The HTTP client: every request uses the same proxies, certificates and limits (but for `loopback_http.py`).

Proxies come from `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` (lower case first), never for this machine.
`~/.netrc`, which aiohttp's own `trust_env` reads, is ignored: callers pass credentials themselves.
"""

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.offline import is_this_machine, require_here

if TYPE_CHECKING:
    from ssl import SSLContext

    from aiohttp import ClientHandlerType, ClientRequest, ClientResponse, ClientSession
    from aiohttp.abc import AbstractResolver

CONNECT_PATIENCE = 20.0
"""Seconds until there is a connection: the name found, a proxy's yes and TLS included."""

CERTIFICATE_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
"""Each names a file or folder that takes the place of the system's certificates; the first one set counts."""

PORTS = {"http": 80, "https": 443}
REDIRECTS = (301, 302, 303, 307, 308)


async def open_http(
    address: str,
    headers: Mapping[str, str] | None = None,
    environ: Mapping[str, str] = os.environ,
    socket: Path | None = None,
    *,
    resolver: "AbstractResolver | None" = None,
    unpack: bool = True,
) -> "ClientSession":
    """A session for one server, to be closed by the caller; `headers` go with each request.

    A request to another server is refused (InvalidURL), and so is a redirect (ClientResponseError with its status):
    what `headers` hold is for this server, and no proxy of TLS sees it. Cookies are not kept. Answers may take as long
    as they take: the caller bounds them. With a `socket` the server is behind it,
    wherever `address` leads. A `resolver` says which addresses its name has, unless a proxy is asked. Without `unpack`
    bodies stay compressed. SettingsError in plain words if the address, a proxy or a file of certificates cannot be
    used.
    """
    parts = _split(address)
    if socket is None:
        require_here(address)
    proxy = find_proxy(address, environ) if socket is None else ""
    secure = parts.scheme == "https" or proxy.startswith("https:")
    certificates = await asyncio.to_thread(load_certificates, environ) if secure else None

    from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector, UnixConnector  # deferred: heavy

    return ClientSession(
        connector=TCPConnector(
            ssl=certificates or True, limit=0, resolver=None if proxy else resolver, use_dns_cache=resolver is None
        )
        if socket is None
        else UnixConnector(str(socket), limit=0),
        proxy=proxy or None,
        cookie_jar=DummyCookieJar(),
        auto_decompress=unpack,
        timeout=ClientTimeout(total=None, connect=CONNECT_PATIENCE, sock_connect=CONNECT_PATIENCE),
        middlewares=(_Fence(parts, headers or {}),),
    )


class _Fence:
    """Keeps requests at the server that the session is for, and gives them its headers.

    Headers of a session of aiohttp's would go to a proxy as well, `Authorization` among them.
    """

    def __init__(self, parts: SplitResult, headers: Mapping[str, str]) -> None:
        self._origin = (parts.scheme, parts.hostname, parts.port or PORTS[parts.scheme])
        self._headers = headers

    async def __call__(self, request: "ClientRequest", ask: "ClientHandlerType") -> "ClientResponse":
        from aiohttp import ClientResponseError, InvalidURL  # deferred: heavy

        url = request.url
        if (url.scheme, (url.raw_host or "").lower(), url.port) != self._origin:
            raise InvalidURL(url, "another server than the one the session is for")
        for name, value in self._headers.items():
            request.headers.setdefault(name, value)
        answer = await ask(request)
        if answer.status in REDIRECTS:
            answer.close()
            message = "sends us to another page"
            raise ClientResponseError(
                answer.request_info, (), status=answer.status, message=message, headers=answer.headers
            )
        return answer


def find_proxy(address: str, environ: Mapping[str, str]) -> str:
    """The address of the proxy for this one, "" for none; SettingsError if it is one that we cannot use."""
    parts = _split(address)
    host = parts.hostname or ""
    if is_this_machine(host) or _is_excepted(host, parts.port or PORTS[parts.scheme], environ):
        return ""
    for name in (f"{parts.scheme}_proxy", "all_proxy"):
        # A web server that runs us as CGI would set HTTP_PROXY from what a visitor sends.
        upper = "" if name == "http_proxy" and "REQUEST_METHOD" in environ else environ.get(name.upper(), "")
        if given := environ.get(name, upper).strip():
            return _usable_proxy(given, name.upper())
    return ""


def _usable_proxy(given: str, variable: str) -> str:
    proxy = given if "://" in given else f"http://{given}"
    with suppress(ValueError):
        parts = urlsplit(proxy)
        if parts.scheme in PORTS and parts.hostname and (parts.port is None or parts.port > 0):
            return proxy
        if parts.scheme.startswith("socks"):
            raise SettingsError(
                f"{variable} names a SOCKS proxy, which is not supported.",
                hint="Name an HTTP proxy, or except the server in NO_PROXY.",
            )
    raise SettingsError(f"{variable} names no proxy: it should be http://HOST:PORT.")


def _is_excepted(host: str, port: int, environ: Mapping[str, str]) -> bool:
    """Whether `NO_PROXY` names it: a host with all below it, an address, a network (10.0.0.0/8); a port may follow."""
    excepted = environ.get("no_proxy", environ.get("NO_PROXY", ""))
    return any(_names(entry.strip().lower(), host, port) for entry in excepted.replace(" ", ",").split(",") if entry)


def _names(entry: str, host: str, port: int) -> bool:
    if entry == "*":
        return True
    with suppress(ValueError):
        address = ip_address(host)
        with suppress(ValueError):
            return address in ip_network(entry.strip("[]"), strict=False)
    name, colon, number = entry.rpartition(":")
    if colon and number.isascii() and number.isdecimal():
        if int(number) != port:
            return False
        entry = name
    entry = entry.strip("[]").removeprefix("*").strip(".")
    return bool(entry) and (host.rstrip(".") == entry or host.rstrip(".").endswith(f".{entry}"))


def load_certificates(environ: Mapping[str, str]) -> "SSLContext":
    """Whom to trust, from files: some 10 ms, off the loop. SettingsError if a file that was named cannot be used."""
    import ssl  # deferred: heavy

    for variable in CERTIFICATE_VARIABLES:
        if given := environ.get(variable, ""):
            try:
                if Path(given).is_dir():
                    return ssl.create_default_context(capath=given)
                return ssl.create_default_context(cafile=given)
            except (OSError, ValueError) as error:  # an SSLError is an OSError
                why = error.strerror if isinstance(error, FileNotFoundError) else "there are no certificates in it"
                raise SettingsError(f"{variable} names {given}, which cannot be used: {why}.") from error
    if folder := environ.get("SSL_CERT_DIR", ""):
        return ssl.create_default_context(capath=folder)
    known = ssl.get_default_verify_paths()
    if known.cafile or (known.capath and any(os.scandir(known.capath))):
        return ssl.create_default_context()
    import certifi  # deferred: only for a system without certificates

    return ssl.create_default_context(cafile=certifi.where())


def _split(address: str) -> SplitResult:
    try:
        parts = urlsplit(address)
        if parts.scheme in PORTS and parts.hostname and (parts.port is None or parts.port > 0):
            return parts
    except ValueError:
        pass
    raise SettingsError("That is no address of a server.", hint="Say https://HOST/.")


def tell_failure(error: BaseException) -> str:
    """Why there was no answer, as the end of a sentence; a proxy's address, which may hold a password, is left out."""
    if isinstance(error, ConnectionRefusedError):
        return "nothing listens there (connection refused)"
    from aiohttp import (  # deferred: heavy
        ClientConnectorCertificateError,
        ClientConnectorDNSError,
        ClientConnectorError,
        ClientConnectorSSLError,
        ClientHttpProxyError,
        ClientProxyConnectionError,
        ServerDisconnectedError,
    )

    match error:
        case ClientHttpProxyError(status=407):
            return "the proxy wants a name and a password (http://NAME:PASSWORD@HOST:PORT)"
        case ClientHttpProxyError(status=status):
            return f"the proxy refused ({status})"
        case ClientProxyConnectionError():
            return "the proxy cannot be reached"
        case ClientConnectorDNSError():
            return f"the name {error.host} is not known"
        case ClientConnectorCertificateError():
            return f"its certificate is not trusted ({error.certificate_error})"
        case ClientConnectorSSLError() if "WRONG_VERSION" in str(error) or "RECORD_LAYER" in str(error):
            return "it does not speak https there: try http://"
        case ClientConnectorError(os_error=ConnectionRefusedError()):
            return "nothing listens there (connection refused)"
        case ClientConnectorError(os_error=OSError(strerror=str(why))) if "Connect call failed" not in why:
            return why
        case ClientConnectorError(os_error=OSError(errno=int(number))) if number > 0:
            return os.strerror(number)
        case ServerDisconnectedError():
            return "it ended the connection without an answer"
        case TimeoutError():
            return "it did not answer in time"
    return str(error) or type(error).__name__
