"""The REST side of a Jupyter server, hub or gateway. Unexpected answers raise a KernelError in plain words.

The token goes to this server only: redirects are not followed, and no error contains it.
"""

import asyncio
import getpass
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self
from urllib.parse import quote, urlsplit

from oi_tui.app.engine.core.errors import KernelError, SettingsError
from oi_tui.app.engine.core.http_session import REDIRECTS, open_http, tell_failure
from oi_tui.app.engine.kernels.processes import cancel_tasks
from oi_tui.app.engine.kernels.remote.running import MOST_RUNNING, RunningKernel, read_notebooks, read_running

if TYPE_CHECKING:
    from aiohttp import ClientSession, ClientWebSocketResponse

ANSWER_LIMIT = 8_000_000
"""Bytes of an answer that is read."""

TIMEOUT = 30.0
"""Seconds that an answer may take. A gateway answers a start only when the cluster has granted it: `START_TIMEOUT`."""

START_TIMEOUT = 300.0

LAST_WORD = 2.0
"""Seconds that a start has left when nobody waits for it any more, and that the end of what it started has."""

REFUSED = {
    401: "The server wants a token, or another one.",
    403: "The server does not allow that with this token.",
    404: "The server knows nothing of that.",
    405: "The server does not do that.",
    429: "The server is asked too often.",
}


class Tunnel(Protocol):
    """A way to a server that has no reachable address."""

    host: str
    """For the person: where the server is."""
    socket: Path
    """The local end of it."""

    async def ready(self) -> None:
        """Wait until it is connected; KernelError if it is not, KernelGone if the server no longer exists."""
        ...


class JupyterServer:
    """One server; an asynchronous context."""

    def __init__(
        self, url: str, token: str = "", tunnel: Tunnel | None = None, *, name: str = "", remedy: str = ""
    ) -> None:
        """`url` with the path before `/api`; a `?token=` in it applies if no other token is given. A `tunnel`, if
        given, leads there. `name` is the user's name for it, `remedy` the advice for a refused token."""
        parts = urlsplit(url)
        given = dict(pair.partition("=")[::2] for pair in parts.query.split("&"))
        self.host = tunnel.host if tunnel is not None else parts.hostname or ""
        self._called = f"{name} ({self.host})" if name else self.host
        self._remedy = remedy
        self._tunnel = tunnel
        self._url = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/').removesuffix('/lab')}"
        self._token = (token or given.get("token", "")).strip()
        self._http: ClientSession | None = None
        if parts.scheme not in ("http", "https") or not self.host:
            raise KernelError("That is no address of a Jupyter server.", hint=_offer_schemes(url))
        if not self._token.isprintable():
            raise KernelError(f"The token for {self._called} has a line break or the like inside.", hint=remedy)

    async def __aenter__(self) -> Self:
        headers = {"Authorization": f"token {self._token}"} if self._token else {}
        try:
            self._http = await open_http(
                self._url, headers, socket=None if self._tunnel is None else self._tunnel.socket
            )
        except SettingsError as error:
            raise KernelError(error.title, hint=error.hint) from error
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._http is not None:
            await self._http.close()

    async def kernelspecs(self) -> dict[str, str]:
        """Name and language of what can be started there."""
        match await self.ask("GET", "/api/kernelspecs"):
            case {"kernelspecs": dict(specs)}:
                return {str(name): _language(spec) for name, spec in specs.items()}
        raise self.strange()

    async def start(self, name: str) -> str:
        """Start a kernel; its id. If cancelled, a kernel that appears within a moment is ended again."""
        starting = asyncio.create_task(self._start(name))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            await asyncio.wait([starting], timeout=LAST_WORD)
            if starting.done() and not starting.cancelled() and starting.exception() is None:
                removing = asyncio.create_task(self.remove(starting.result()))
                await asyncio.wait([removing], timeout=LAST_WORD)
                await cancel_tasks(removing)
            await cancel_tasks(starting)
            raise

    async def _start(self, name: str) -> str:
        body = {"name": name, "env": {"KERNEL_USERNAME": _user()}}  # gateways count kernels by person
        match await self.ask("POST", "/api/kernels", body, START_TIMEOUT):
            case {"id": str(kernel_id)}:
                return kernel_id
        raise self.strange()

    async def is_empty(self) -> bool:
        """Whether there is no kernel on it, and no terminal."""
        terminals: object = []
        with suppress(KernelRefused):  # it need not have any
            terminals = await self.ask("GET", "/api/terminals")
        kernels: object = await self.ask("GET", "/api/kernels")
        return kernels == [] and terminals == []

    async def look_up(self, kernel_id: str) -> RunningKernel | None:
        """The kernel, None if it is not there."""
        try:
            model = await self.ask("GET", f"/api/kernels/{quote(kernel_id, safe='')}")
        except KernelGone:
            return None
        return read_running(model) or RunningKernel(kernel_id=kernel_id)

    async def running(self) -> tuple[RunningKernel, ...]:
        """The running kernels, with the notebooks that they were opened for if the server lists those."""
        match await self.ask("GET", "/api/kernels"):
            case list(models):
                pass
            case _:
                raise self.strange()
        notebooks: dict[str, str] = {}
        with suppress(KernelError):  # a gateway may keep that to itself
            notebooks = read_notebooks(await self.ask("GET", "/api/sessions"))
        found = (read_running(model, notebooks) for model in models[: 10 * MOST_RUNNING])
        return tuple(kernel for kernel in found if kernel is not None)[:MOST_RUNNING]

    async def find_running(self, beginning: str) -> RunningKernel:
        """The kernel whose id begins so; KernelGone if there is none, KernelError if there are several."""
        if (exact := await self.look_up(beginning)) is not None:
            return exact
        found = [kernel for kernel in await self.running() if kernel.kernel_id.startswith(beginning)]
        if len(found) > 1:
            raise KernelError(
                f"{self.host} has {len(found)} kernels whose id begins with {beginning}.", hint="Say more."
            )
        if not found:
            raise KernelGone(f"{self.host} has no kernel {beginning}.", hint="It was ended, or is on another server.")
        return found[0]

    async def interrupt(self, kernel_id: str) -> None:
        """Interrupt what it runs."""
        await self.ask("POST", f"/api/kernels/{quote(kernel_id, safe='')}/interrupt")

    async def remove(self, kernel_id: str) -> None:
        """End it; nothing if it is gone."""
        with suppress(KernelGone):
            await self.ask("DELETE", f"/api/kernels/{quote(kernel_id, safe='')}")

    async def connect(self, kernel_id: str, session: str, protocol: str, limit: int) -> "ClientWebSocketResponse":
        """The kernel's messages. To the same `session` the server replays what it kept while nobody listened.
        Messages may have `limit` bytes."""
        path = f"/api/kernels/{quote(kernel_id, safe='')}/channels?session_id={quote(session, safe='')}"
        return await self.open_socket(path, [protocol], limit)

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        """Errors of the connection as errors of a kernel."""
        from aiohttp import ClientError, ClientHttpProxyError, ClientResponseError  # deferred: heavy

        try:
            yield
        except ClientHttpProxyError as error:
            raise ServerUnreachable(self._called, error) from None
        except ClientResponseError as error:
            raise self._refusal(error.status, "") from None
        except (ClientError, OSError, TimeoutError) as error:
            raise ServerUnreachable(self._called, error) from None

    async def open_socket(self, path: str, protocols: list[str], limit: int) -> "ClientWebSocketResponse":
        """A WebSocket, whose messages may have `limit` bytes."""
        from aiohttp import ClientWSTimeout  # deferred: heavy

        assert self._http is not None
        if self._tunnel is not None:
            await self._tunnel.ready()
        with self._refusals():
            async with asyncio.timeout(TIMEOUT):
                return await self._http.ws_connect(
                    self._url + path,
                    protocols=protocols,
                    heartbeat=15,
                    max_msg_size=limit,
                    timeout=ClientWSTimeout(ws_close=2),
                )

    async def ask(self, method: str, path: str, body: Any = None, timeout: float = TIMEOUT) -> Any:
        """What the server answers, as JSON; KernelError, `KernelRefused` or `KernelGone` if it is no good answer."""
        assert self._http is not None
        if self._tunnel is not None:
            await self._tunnel.ready()
        with self._refusals():
            async with (
                asyncio.timeout(timeout),
                self._http.request(method, self._url + path, json=body) as answer,
            ):
                text = await answer.content.read(ANSWER_LIMIT)
                while len(text) < ANSWER_LIMIT and (more := await answer.content.read(ANSWER_LIMIT - len(text))):
                    text += more
        if not 200 <= answer.status < 300:
            raise self._refusal(answer.status, _message(text))
        if not text.strip():
            return None
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise self.strange() from None

    def _refusal(self, status: int, said: str) -> KernelError:
        if status in REDIRECTS:
            return KernelError(
                f"{self._called} sends us to another page, as servers do that want a token.",
                hint="Give a token, and the address with the path before /lab or /tree.",
            )
        kind = KernelGone if status == 404 else KernelRefused if status in (403, 405, 501) else KernelError
        why = REFUSED.get(status, f"The server answered {status}.")
        hint = self._remedy if status in (401, 403) else ""
        return kind(f"{self._called}: {why}", hint=hint, details=said[:2_000])

    def strange(self) -> KernelError:
        """The answer makes no sense."""
        return KernelError(
            f"{self._called} answers, but not as a Jupyter server does.", hint="Is there a path before /api missing?"
        )


class ServerUnreachable(KernelError):
    """A server cannot be reached."""

    def __init__(self, called: str, error: BaseException) -> None:
        why = "it did not answer in time" if isinstance(error, TimeoutError) else tell_failure(error)
        super().__init__(f"{called} cannot be reached: {why}.", hint="Is the server running, and the address right?")


class ServerAsleep(KernelError):
    """The server would have to start."""

    def __init__(self, host: str) -> None:
        super().__init__(f"No Jupyter server runs on {host}.", hint="It starts when code first runs there.")


class KernelRefused(KernelError):
    """The server does not do that, or not for us."""


class KernelGone(KernelRefused):
    """The server does not know this kernel (any more), or nothing of the kind."""


def _offer_schemes(url: str) -> str:
    """The message about an address without http:// or https://; it contains nothing that may be a secret."""
    bare = url.partition("?")[0]
    if "://" in bare or "@" in bare or not re.fullmatch(r"[\w.-]+\.[\w.-]+(:\d+)?(/.*)?|[\w.-]+:\d+(/.*)?", bare):
        return "Say http://… or https://…, as in https://HOST/."
    return f"Say http://{bare} or https://{bare}."


def _user() -> str:
    with suppress(KeyError, OSError, ImportError):  # in a container a number may have no name
        return os.environ.get("KERNEL_USERNAME") or getpass.getuser()
    return "oi-tui"


def _language(spec: object) -> str:
    match spec:
        case {"spec": {"language": str(language)}}:
            return language
    return ""


def _message(text: bytes) -> str:
    with suppress(ValueError, RecursionError):
        match json.loads(text):
            case {"message": str(said)}:
                return said
    return ""
