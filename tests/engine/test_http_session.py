"""HTTP of ours: through the person's proxy, with the person's certificates, and never further than the one server."""

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from oi_tui.app.engine.core.errors import KernelError, SettingsError
from oi_tui.app.engine.core.http_session import find_proxy, load_certificates, open_http, tell_failure
from oi_tui.app.engine.kernels.remote.server import JupyterServer
from support.relay_proxy import relay_proxy

TOKEN = {"Authorization": "token sesame-and-more"}
PROXY = "http://proxy.test:3128"


class Site:
    """A web server: what it was sent, and on which port."""

    def __init__(self) -> None:
        self.port = 0
        self.seen: list[web.BaseRequest] = []

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        self.seen.append(request)
        match request.path:
            case "/away":
                raise web.HTTPFound("http://127.0.0.1:1/elsewhere")
            case "/cookie":
                response = web.Response(text="a cookie")
                response.set_cookie("session", "1")
                return response
            case "/api/kernelspecs":
                return web.json_response({"kernelspecs": {"python3": {"spec": {"language": "python"}}}})
            case "/socket":
                socket = web.WebSocketResponse()
                await socket.prepare(request)
                await socket.send_str("hello")
                await socket.close()
                return socket
        return web.Response(text="here")


@asynccontextmanager
async def site(context: ssl.SSLContext | None = None) -> AsyncIterator[Site]:
    served = Site()
    runner = web.ServerRunner(web.Server(served.answer), shutdown_timeout=1)
    await runner.setup()
    listening = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await listening.start()
    served.port = runner.addresses[0][1]
    try:
        yield served
    finally:
        await runner.cleanup()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the certificate of hub.test, which nobody but itself vouches for, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("NOT TESTED: TLS through a proxy, because this machine has no `openssl` to make a certificate with")
    folder = tmp_path_factory.mktemp("authority")
    subprocess.run(
        (
            *(
                "openssl",
                "req",
                "-x509",
                "-nodes",
                "-days",
                "2",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:P-256",
            ),
            *("-subj", "/CN=hub.test", "-addext", "subjectAltName=DNS:hub.test"),
            *("-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")),
        ),
        check=True,
        capture_output=True,
        timeout=60,
    )
    return folder


def secured(authority: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority / "cert.pem", authority / "key.pem")
    return context


@pytest.mark.parametrize(
    ("address", "environ", "proxy"),
    [
        ("http://hub.test/x", {"http_proxy": PROXY}, PROXY),
        ("http://hub.test/x", {"HTTP_PROXY": PROXY}, PROXY),
        ("http://hub.test/x", {"HTTP_PROXY": PROXY, "REQUEST_METHOD": "GET"}, ""),  # a visitor's header, in CGI
        ("http://hub.test/x", {"HTTPS_PROXY": PROXY}, ""),
        ("https://hub.test/x", {"HTTPS_PROXY": PROXY, "HTTP_PROXY": "http://other.test"}, PROXY),
        ("https://hub.test/x", {"https_proxy": "", "HTTPS_PROXY": PROXY}, ""),
        ("https://hub.test/x", {"ALL_PROXY": "proxy.test:3128"}, PROXY),
        ("https://hub.test/x", {"HTTPS_PROXY": PROXY, "NO_PROXY": "*"}, ""),
        ("https://hub.test/x", {"HTTPS_PROXY": PROXY, "NO_PROXY": "example.org, hub.test"}, ""),
        ("https://me.hub.test/x", {"HTTPS_PROXY": PROXY, "NO_PROXY": ".hub.test"}, ""),
        ("https://me.hub.test/x", {"HTTPS_PROXY": PROXY, "NO_PROXY": "*.hub.test"}, ""),
        ("https://myhub.test/x", {"HTTPS_PROXY": PROXY, "NO_PROXY": "hub.test"}, PROXY),
        ("https://hub.test:8443/x", {"HTTPS_PROXY": PROXY, "NO_PROXY": "hub.test:8443"}, ""),
        ("https://hub.test/x", {"HTTPS_PROXY": PROXY, "NO_PROXY": "hub.test:8443"}, PROXY),
        ("https://10.1.2.3/x", {"HTTPS_PROXY": PROXY, "NO_PROXY": "10.0.0.0/8"}, ""),
        ("https://11.1.2.3/x", {"HTTPS_PROXY": PROXY, "no_proxy": "10.0.0.0/8"}, PROXY),
        ("https://[fd00::7]/x", {"HTTPS_PROXY": PROXY, "NO_PROXY": "[fd00::]/8,fd00::7"}, ""),
        ("https://[fd00::7]:81/x", {"HTTPS_PROXY": PROXY, "NO_PROXY": "[fd00::7]:81"}, ""),
        ("http://127.0.0.1:8888/", {"HTTP_PROXY": PROXY, "ALL_PROXY": PROXY}, ""),
        ("http://127.8.0.1:8888/", {"HTTP_PROXY": PROXY}, ""),
        ("http://localhost:8888/", {"HTTP_PROXY": PROXY}, ""),
        ("http://[::1]:8888/", {"HTTP_PROXY": PROXY}, ""),
        ("http://[::ffff:127.0.0.1]:8888/", {"HTTP_PROXY": PROXY}, ""),
        ("http://localhost.hub.test/", {"HTTP_PROXY": PROXY}, PROXY),
    ],
)
def test_a_proxy_is_found_as_curl_finds_it_and_never_for_this_machine(
    address: str, environ: dict[str, str], proxy: str
) -> None:
    assert find_proxy(address, environ) == proxy


@pytest.mark.parametrize(
    "proxy", ["socks5://proxy.test:1080", "http://", "http://proxy.test:99999", "ftp://proxy.test"]
)
def test_a_proxy_that_cannot_be_used_is_an_error_that_does_not_show_it(proxy: str) -> None:
    with pytest.raises(SettingsError, match="HTTPS_PROXY") as caught:
        find_proxy("https://hub.test/", {"HTTPS_PROXY": proxy.replace("//", "//ada:geheim@", 1)})
    assert "geheim" not in str(caught.value)


async def test_a_request_goes_through_the_proxy_with_the_proxys_password() -> None:
    async with site() as hub, relay_proxy(hub.port, password="geheim") as proxy:
        environ = {"HTTP_PROXY": proxy.url.replace("//", "//ada:geheim@")}
        async with await open_http("http://hub.test/", TOKEN, environ) as http, http.get("http://hub.test/a") as answer:
            assert await answer.text() == "here"
        assert proxy.heads[0].startswith("GET http://hub.test/a ")
        assert hub.seen[0].headers["Authorization"] == TOKEN["Authorization"]


async def test_what_opens_the_server_is_not_told_to_a_proxy_of_tls(authority: Path) -> None:
    async with site(secured(authority)) as hub, relay_proxy(hub.port) as proxy:
        environ = {"https_proxy": proxy.url, "SSL_CERT_FILE": str(authority / "cert.pem")}
        async with await open_http("https://hub.test", TOKEN, environ) as http:
            async with http.get("https://hub.test/a") as answer:
                assert await answer.text() == "here"
            async with http.ws_connect("https://hub.test/socket") as socket:
                assert await socket.receive_str() == "hello"
        assert proxy.heads[0].startswith("CONNECT hub.test:443 ")
        assert "sesame" not in "".join(proxy.heads)
        assert {seen.headers["Authorization"] for seen in hub.seen} == {TOKEN["Authorization"]}


@pytest.mark.parametrize("password", ["", "falsch"])
async def test_a_proxy_that_refuses_is_told_in_plain_words_without_its_password(password: str, authority: Path) -> None:
    async with site(secured(authority)) as hub, relay_proxy(hub.port, password="geheim") as proxy:
        environ = {"HTTPS_PROXY": proxy.url.replace("//", f"//ada:{password}@")}
        async with await open_http("https://hub.test", TOKEN, environ) as http:
            with pytest.raises(aiohttp.ClientHttpProxyError) as caught:
                await http.get("https://hub.test/a")
    assert "wants a name and a password" in tell_failure(caught.value)
    assert not hub.seen


async def test_a_proxy_that_is_not_there_is_told_so() -> None:
    async with await open_http("http://hub.test", None, {"HTTP_PROXY": "http://ada:geheim@127.0.0.1:1"}) as http:
        with pytest.raises(aiohttp.ClientProxyConnectionError) as caught:
            await http.get("http://hub.test/a")
    assert tell_failure(caught.value) == "the proxy cannot be reached"


async def test_a_jupyter_server_is_asked_through_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    async with site() as hub, relay_proxy(hub.port) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.delenv("http_proxy", raising=False)
        async with JupyterServer("http://hub.test/", "sesame") as server:
            assert await server.kernelspecs() == {"python3": "python"}
        assert proxy.heads
        monkeypatch.setenv("HTTP_PROXY", "socks5://127.0.0.1:1")
        with pytest.raises(KernelError, match="SOCKS"):
            await JupyterServer("http://hub.test/").__aenter__()


async def test_netrc_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine hub.test login ada password geheim\nmachine 127.0.0.1 login ada password geheim\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    async with site() as hub, relay_proxy(hub.port) as proxy:
        async with await open_http("http://hub.test", None, {"HTTP_PROXY": proxy.url}) as http:
            await (await http.get("http://hub.test/a")).read()
        assert "Authorization" not in hub.seen[0].headers
        assert "authorization" not in proxy.heads[0].lower()


async def test_redirects_other_servers_and_cookies_are_refused() -> None:
    async with AsyncExitStack() as stack:
        hub = await stack.enter_async_context(site())
        other = await stack.enter_async_context(site())
        address = f"http://127.0.0.1:{hub.port}"
        http = await stack.enter_async_context(await open_http(address, TOKEN, {}))
        with pytest.raises(aiohttp.ClientResponseError) as refused:
            await http.get(f"{address}/away")
        assert refused.value.status == 302
        with pytest.raises(aiohttp.ClientResponseError):
            await http.ws_connect(f"{address}/away")
        with pytest.raises(aiohttp.InvalidURL):
            await http.get(f"http://127.0.0.1:{other.port}/a")
        assert not other.seen
        for _ in range(2):
            await (await http.get(f"{address}/cookie")).read()
        assert "Cookie" not in hub.seen[-1].headers


async def test_a_certificate_that_nobody_vouches_for_is_refused(authority: Path) -> None:
    async with site(secured(authority)) as hub, relay_proxy(hub.port) as proxy:
        async with await open_http("https://hub.test", TOKEN, {"HTTPS_PROXY": proxy.url}) as http:
            with pytest.raises(aiohttp.ClientConnectorCertificateError):
                await http.get("https://hub.test/a")
        assert not hub.seen


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"])
def test_certificates_of_a_company_come_from_the_usual_variables(variable: str, authority: Path) -> None:
    context = load_certificates({variable: str(authority / "cert.pem")})
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.cert_store_stats()["x509"] == 1


@pytest.mark.parametrize("text", [None, "", "no certificate"])
async def test_a_file_of_certificates_that_cannot_be_used_is_an_error_that_names_it(
    text: str | None, tmp_path: Path
) -> None:
    file = tmp_path / "ca.pem"
    if text is not None:
        file.write_text(text)
    with pytest.raises(SettingsError, match="SSL_CERT_FILE") as caught:
        await open_http("https://hub.test", None, {"SSL_CERT_FILE": str(file)})
    assert str(file) in str(caught.value)


async def test_connecting_takes_a_bounded_time() -> None:
    held = []

    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        held.append(writer)
        await reader.read()

    server = await asyncio.start_server(hold, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        async with await open_http("https://hub.test", None, {"HTTPS_PROXY": f"http://127.0.0.1:{port}"}) as http:
            assert http.timeout.connect is not None
            brief = aiohttp.ClientTimeout(total=None, connect=0.2)
            with pytest.raises(TimeoutError):  # the proxy takes the call and never says anything
                async with asyncio.timeout(20):
                    await http.get("https://hub.test/a", timeout=brief)
        for writer in held:
            writer.close()
