"""Logins at servers behind an address: OAuth 2.1 by the SDK (PKCE, a client registered by itself, tokens that are
renewed), with the browser's answer taken on a port of this machine. Tokens are kept as all credentials are.
"""

import asyncio
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from oi_tui.app.engine.core.errors import OiTuiError, SettingsError
from oi_tui.app.engine.core.offline import is_this_machine
from oi_tui.app.engine.files.credentials import CredentialStore

PATIENCE = 300.0
"""Seconds that a person has to log in."""

DONE = "Logged in. You can close this page and go back to the terminal."

_LONGEST = 8_000
"""Bytes of the browser's request."""

ShowAddress = Callable[[str], None]
"""Shows the person where to log in."""


class _Kept(msgspec.Struct):
    tokens: dict[str, Any] | None = None
    client: dict[str, Any] | None = None


class KeptTokens:
    """The tokens of a login for one address, in the form of the SDK."""

    def __init__(
        self, store: CredentialStore, url: str, learn: Callable[[str, str], None], *, anew: bool = False
    ) -> None:
        """With `anew`, nothing stored is used: the client registers again."""
        self._store = store
        self._name = login_name(url)
        self._learn = learn
        self._anew = anew
        self._known: _Kept | None = None
        self.unkept = ""
        """Why nothing could be kept, as a sentence; then `secret` is what would be."""

    @property
    def secret(self) -> str:
        """The tokens as one text."""
        return msgspec.json.encode(self._known or _Kept()).decode()

    @property
    def name(self) -> str:
        """Under which it is kept."""
        return self._name

    async def get_tokens(self) -> OAuthToken | None:
        tokens = (await self._all()).tokens
        return None if tokens is None else OAuthToken.model_validate(tokens)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        kept = await self._all()
        kept.tokens = tokens.model_dump(mode="json", exclude_none=True)
        await self._keep(kept)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        client = (await self._all()).client
        return None if client is None else OAuthClientInformationFull.model_validate(client)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        kept = await self._all()
        kept.client = client_info.model_dump(mode="json", exclude_none=True)
        await self._keep(kept)

    async def _all(self) -> _Kept:
        if self._known is None:
            text = "" if self._anew else await self._store.find(self._name, lambda _: None, environ={})
            self._known = msgspec.json.decode(text, type=_Kept) if text else _Kept()
            self._learn_all(self._known)
        return self._known

    async def _keep(self, kept: _Kept) -> None:
        self._learn_all(kept)
        if self._store.places().get(self._name) == "file":
            await asyncio.to_thread(self._store.keep_in_file, self._name, self.secret)
        elif kept.tokens is not None:
            self.unkept = await self._store.keep(self._name, self.secret)

    def _learn_all(self, kept: _Kept) -> None:
        for name in ("access_token", "refresh_token"):
            if value := (kept.tokens or {}).get(name):
                self._learn(f"{self._name} {name}", str(value))


def login_name(url: str) -> str:
    """Under which a login at this address is kept."""
    return f"mcp:{url}"


def kept_login(store: CredentialStore, url: str, learn: Callable[[str, str], None]) -> Any:
    """Signs requests to this address, with tokens that are renewed; None if nobody logged in."""
    if login_name(url) not in store.places():
        return None
    return OAuthClientProvider(url, _about_us(0), KeptTokens(store, url, learn))


class Login:
    """One login: listens on a port of this machine until the browser comes back."""

    def __init__(self, url: str, tokens: KeptTokens, show: ShowAddress) -> None:
        self._url = url
        self._tokens = tokens
        self._show = show
        self._answer: asyncio.Future[Mapping[str, str]] = asyncio.get_running_loop().create_future()
        self._listener: asyncio.Server | None = None

    async def __aenter__(self) -> Any:
        """What signs requests, and sends the person to the browser where that is needed."""
        self._listener = await asyncio.start_server(self._hear, "127.0.0.1", 0, limit=_LONGEST)
        port = self._listener.sockets[0].getsockname()[1]
        return OAuthClientProvider(
            self._url, _about_us(port), self._tokens, redirect_handler=self._send, callback_handler=self._wait
        )

    async def __aexit__(self, *error: object) -> None:
        if self._listener is not None:
            self._listener.close()

    async def _send(self, address: str) -> None:
        check_login_address(address)
        self._show(address)

    async def _wait(self) -> AuthorizationCodeResult:
        try:
            async with asyncio.timeout(PATIENCE):
                given = await self._answer
        except TimeoutError:
            raise OiTuiError(f"Nobody logged in within {PATIENCE:.0f} seconds.") from None
        if "code" not in given:
            raise OiTuiError(f"The login was refused: {given.get('error', 'there is no code in it')}.")
        return AuthorizationCodeResult(code=given["code"], state=given.get("state"), iss=given.get("iss"))

    async def _hear(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request of a browser. Other requests learn nothing, and the SDK compares the state."""
        try:
            async with asyncio.timeout(10):
                line = await reader.readline()
            found = re.match(rb"GET (/callback\?\S*) HTTP/1", line)
            if found is not None and not self._answer.done():
                query = parse_qs(urlsplit(found[1].decode("ascii", "replace")).query)
                self._answer.set_result({name: values[0] for name, values in query.items()})
            text = DONE if found is not None else "Nothing is here."
            head = f"HTTP/1.1 {'200 OK' if found else '404 Not Found'}\r\nContent-Type: text/plain; charset=utf-8\r\n"
            writer.write(f"{head}Content-Length: {len(text)}\r\nConnection: close\r\n\r\n{text}".encode())
            await writer.drain()
        except (OSError, ValueError, TimeoutError):
            pass  # a browser that goes away, or something that is none
        finally:
            writer.close()


def check_login_address(address: str) -> None:
    """SettingsError for a page that nobody should log in at: the server names it."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    if not host or not (parts.scheme == "https" or (parts.scheme == "http" and is_this_machine(host))):
        raise SettingsError(f"The server sends you to {parts.scheme}://{host} to log in, which is not safe.")


def _about_us(port: int) -> OAuthClientMetadata:
    return OAuthClientMetadata.model_validate(
        {
            "redirect_uris": [f"http://127.0.0.1:{port}/callback"],
            "client_name": "oi-tui",
            "grant_types": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_method": "none",
        }
    )
