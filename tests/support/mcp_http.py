"""Servers of tools behind an address on loopback: one that works, one that wants a login, and some that misbehave."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from aiohttp import web
from mcp.server.auth.provider import AccessToken, AuthorizationCode, RefreshToken, construct_redirect_uri
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthToken

from support.ports import free_port


class Logins:
    """An authorization server that lets everybody in, and keeps what it gave in memory."""

    def __init__(self) -> None:
        self.clients: dict[str, Any] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.tokens: dict[str, AccessToken] = {}
        self.renewals: dict[str, RefreshToken] = {}

    async def get_client(self, client_id: str) -> Any:
        return self.clients.get(client_id)

    async def register_client(self, client_info: Any) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: Any, params: Any) -> str:
        assert params.code_challenge, "PKCE"
        code = secrets.token_urlsafe(32)
        self.codes[code] = AuthorizationCode(
            code=code,
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state)

    async def load_authorization_code(self, client: Any, authorization_code: str) -> Any:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client: Any, authorization_code: Any) -> Any:
        del self.codes[authorization_code.code]
        return self._give(client, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(self, client: Any, refresh_token: str) -> Any:
        return self.renewals.get(refresh_token)

    async def exchange_refresh_token(self, client: Any, refresh_token: Any, scopes: list[str]) -> Any:
        del self.renewals[refresh_token.token]
        return self._give(client, scopes, None)

    async def load_access_token(self, token: str) -> Any:
        return self.tokens.get(token)

    async def revoke_token(self, token: Any) -> None:
        self.tokens.pop(token.token, None)

    def _give(self, client: Any, scopes: list[str], resource: str | None) -> Any:
        token, renewal = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self.tokens[token] = AccessToken(token=token, client_id=client.client_id, scopes=scopes, resource=resource)
        self.renewals[renewal] = RefreshToken(token=renewal, client_id=client.client_id, scopes=scopes)
        return OAuthToken(access_token=token, token_type="Bearer", expires_in=3600, refresh_token=renewal)


@asynccontextmanager
async def served(*, logins: Logins | None = None) -> AsyncIterator[str]:
    """The address of a server with one tool; with `logins`, whoever asks has to log in there first."""
    port = free_port()
    about: dict[str, Any] = {}
    if logins is not None:
        base = f"http://127.0.0.1:{port}"
        registration = ClientRegistrationOptions(enabled=True)
        settings = AuthSettings.model_validate(
            {
                "issuer_url": base,
                "resource_server_url": f"{base}/mcp",
                "client_registration_options": registration,
                "validate_token_resource": True,
            }
        )
        about = {"auth_server_provider": logins, "auth": settings}
    server: Any = MCPServer("loopback", **about)

    @server.tool()  # type: ignore[untyped-decorator] # the library's own
    def double(number: int) -> int:
        """Twice as much."""
        return number * 2

    config = uvicorn.Config(server.streamable_http_app(), port=port, log_level="error", lifespan="on")
    runner = uvicorn.Server(config)
    task = asyncio.create_task(runner._serve())
    while not runner.started:
        await asyncio.wait({task}, timeout=0.02)
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        runner.force_exit = runner.should_exit = True
        await task


@asynccontextmanager
async def misbehaving(behaviour: str) -> AsyncIterator[tuple[str, list[str]]]:
    """The address of a server that behaves so, and what it was asked."""
    asked: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        asked.append(f"{request.method} {request.path}")
        match behaviour:
            case "redirect_to_a_link_local_address":
                raise web.HTTPTemporaryRedirect("http://169.254.169.254/latest/meta-data/")
            case "redirect_to_another_port":
                raise web.HTTPTemporaryRedirect("http://127.0.0.1:1/mcp")
            case "endless_body":
                response = web.StreamResponse(headers={"Content-Type": "application/json"})
                await response.prepare(request)
                for _ in range(400):
                    await response.write(b" " * 100_000)
                return response
            case "page_instead_of_an_answer":
                return web.Response(text="<h1>Welcome</h1>", content_type="text/html")
            case "login_wanted":
                return web.Response(status=401)
            case _:
                return web.Response(status=500)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    port = free_port()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    try:
        yield f"http://127.0.0.1:{port}/mcp", asked
    finally:
        await runner.cleanup()
