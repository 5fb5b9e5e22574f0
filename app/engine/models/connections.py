"""Connections to model servers, kept open between requests.

aiohttp takes 0.15 s to import: `prepare` does it in a thread, when a request is likely soon.
"""

import asyncio
import contextlib
import io
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from oi_tui.app.engine.core.errors import ModelError, SettingsError
from oi_tui.app.engine.core.http_session import REDIRECTS, open_http, tell_failure
from oi_tui.app.engine.models.answer_bounds import require_same_origin
from oi_tui.app.engine.models.failures import BoundBroken, shown_address

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession


A_MOMENT = 1.0
"""Seconds that the last bytes of an answer may take."""
LEFT_OVER = 65_536
"""Bytes that may be left of it."""


def _import_library() -> None:
    import aiohttp  # noqa: F401 - heavy, and here to be there when it is needed


class Connections:
    """One pool for all models of a program; used within one event loop, and closed there."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        """The environment names proxies and certificates."""
        self._environ = environ
        self._sessions: dict[tuple[str, str], ClientSession] = {}
        """By address and key: what is for one server goes to no other."""
        self._opening = asyncio.Lock()
        self._importing: asyncio.Task[None] | None = None
        self._reading_on: set[asyncio.Task[None]] = set()

    def expect_request(self) -> None:
        """Begin to import what a request needs: one comes soon."""
        if self._importing is None:
            self._importing = asyncio.create_task(asyncio.to_thread(_import_library))

    async def prepare(self) -> None:
        """Have what a request needs."""
        self.expect_request()
        assert self._importing is not None
        await asyncio.shield(self._importing)

    @asynccontextmanager
    async def post(
        self,
        base: str,
        path: str,
        body: bytes,
        key: str | None,
        *,
        connect: float,
        silence: float,
        further: Mapping[str, str] | None = None,
    ) -> AsyncGenerator["ClientResponse", None]:
        """Send this, and give the answer whose body is not read yet. At most `connect` seconds to reach the server, and
        `silence` seconds without a byte; `further` headers go along. Redirects are refused, nothing is unpacked."""
        await self.prepare()
        session = await self._session(base, key)
        from aiohttp import (  # heavy
            ClientHttpProxyError,
            ClientProxyConnectionError,
            ClientResponseError,
            ClientTimeout,
        )

        headers = {
            **(further or {}),
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            "Accept": "text/event-stream",
            "Accept-Encoding": "identity",
            "User-Agent": "oi-tui",
        }
        timeout = ClientTimeout(total=None, connect=connect, sock_connect=connect, sock_read=silence)
        # A file, since aiohttp warns of bytes beyond a megabyte.
        request = session.post(
            base + path, data=io.BytesIO(body), headers=headers, timeout=timeout, auto_decompress=False
        )
        try:
            response = await request
        except (ClientHttpProxyError, ClientProxyConnectionError) as error:
            title = f"{shown_address(base)} cannot be reached: {tell_failure(error)}."
            raise ModelError("unreachable", title, hint="Check the proxy that the environment names.") from None
        except ClientResponseError as error:
            if error.status in REDIRECTS:
                raise _redirect(base + path, error.headers.get("Location", "") if error.headers else "") from None
            raise
        try:
            yield response
        except BaseException:
            response.close()
            raise
        if response.content.at_eof():
            response.close()  # its connection has returned to the pool before
            return

        def let_go(task: asyncio.Task[None]) -> None:
            self._reading_on.discard(task)
            response.close()

        task = asyncio.create_task(_read_on(response))
        self._reading_on.add(task)
        task.add_done_callback(let_go)  # also where it was cancelled before it began

    async def close(self) -> None:
        """Let go of all that is open."""
        for task in self._reading_on:
            task.cancel()
        await asyncio.gather(*self._reading_on, return_exceptions=True)
        sessions = list(self._sessions.values())
        self._sessions.clear()
        await asyncio.gather(*(session.close() for session in sessions))

    async def _session(self, base: str, key: str | None) -> "ClientSession":
        async with self._opening:
            if (session := self._sessions.get((base, key or ""))) is None:
                headers = {"Authorization": f"Bearer {key}"} if key else {}
                try:
                    session = await open_http(base, headers, self._environ)
                except SettingsError as error:
                    raise ModelError("unreachable", error.title, hint=error.hint) from error
                self._sessions[base, key or ""] = session
            return session


async def _read_on(response: "ClientResponse") -> None:
    """Read the little that comes behind the end of an answer, so that its connection can be used again."""
    from aiohttp import ClientError  # heavy

    left = LEFT_OVER
    with contextlib.suppress(ClientError, OSError, TimeoutError):  # then it is not used again
        async with asyncio.timeout(A_MOMENT):
            while left > 0 and (piece := await response.content.readany()):
                left -= len(piece)


def _redirect(url: str, location: str) -> BoundBroken:
    """The error for a redirect."""
    try:
        require_same_origin(url, location)
    except BoundBroken as broken:
        return broken
    hint = "Give that address with /model or --api-base, without /chat/completions."
    return BoundBroken(f"sends requests on to {location[:200] or 'nowhere'}: that was not followed", hint=hint)
