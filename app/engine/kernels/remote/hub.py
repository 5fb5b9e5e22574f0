"""JupyterHub: whose token it is, and that person's server, started if it does not run.
https://jupyterhub.readthedocs.io/en/stable/reference/rest-api.html
"""

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.core.http_session import tell_failure
from oi_tui.app.engine.kernels.remote.server import START_TIMEOUT, JupyterServer, ServerAsleep
from oi_tui.app.engine.kernels.remote.ssh_process import printable

SPAWN_TIMEOUT = START_TIMEOUT
"""Seconds that a hub has to start a server."""

STEPS_TOLD = 50
"""Steps of a start that are shown."""

_PAGES = frozenset({"api", "consoles", "doc", "edit", "lab", "notebooks", "retro", "terminals", "tree", "voila"})
"""What follows a server's address in a browser, and is no name of a server."""

_USER = re.compile(r"(?P<base>.*?)/user/(?P<user>[^/]+)(?:/(?P<server>[^/]+))?(?:/.*)?")


class HubAddress(NamedTuple):
    """The parts of the address of a hub, or of a server on it."""

    hub: str
    """Before `/hub/` and `/user/`."""
    user: str = ""
    """"" for the one whom the token belongs to."""
    server: str = ""
    """"" for the usual one."""


def find_hub(url: str) -> HubAddress:
    """Where the hub would be, if it is one."""
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    path = parts.path.rstrip("/")
    if found := _USER.fullmatch(path):
        server = unquote(found["server"] or "")
        return HubAddress(origin + found["base"], unquote(found["user"]), "" if server in _PAGES else server)
    return HubAddress(origin + re.sub(r"/hub(/.*)?$", "", path))


class JupyterHub(JupyterServer):
    """The REST side of a hub."""

    def __init__(self, hub: str, token: str) -> None:
        """`hub` is its address up to `/hub`, as `find_hub` says it."""
        super().__init__(f"{hub}/hub", token)
        self._hub = hub

    async def version(self) -> str:
        """The hub's version; "" if this is no hub."""
        try:
            match await self.ask("GET", "/api/"):
                case {"version": str(version)} if len(version) < 100:
                    return printable(version.encode())
        except KernelError:
            pass
        return ""

    async def find_server(self, address: HubAddress) -> str:
        """Where the server is; ServerAsleep if it does not run."""
        user = address.user or await self._token_owner()
        state = await self._state(f"/api/users/{quote(user, safe='')}", address.server)
        if state is None or not state.get("ready"):
            raise ServerAsleep(self.host)
        return self._address_of(user, address.server)

    async def start_server(self, address: HubAddress, tell: Callable[[str], None]) -> str:
        """Where the server is, which runs then; KernelError that says which step failed."""
        user = address.user or await self._token_owner()
        name = address.server
        path = f"/api/users/{quote(user, safe='')}"
        person = printable(user.encode(errors="replace"))
        called = f"the server {printable(name.encode())} of {person}" if name else f"the server of {person}"
        start = f"{path}/servers/{quote(name, safe='')}" if name else f"{path}/server"
        state = await self._state(path, name)
        if state is None or not (state.get("ready") or state.get("pending")):
            tell(f"Starting {called}")
            with _step(f"{self.host} does not start {called}"):
                try:
                    await self.ask("POST", start, timeout=SPAWN_TIMEOUT)
                except HubRefusal as error:
                    if error.status != 400 or "already running" not in error.details:
                        raise
                    state = {"ready": True}  # a token that may start servers need not be one that may see them
            state = state if state and state.get("ready") else await self._state(path, name)
        if state is not None and state.get("ready"):
            tell(f"{called[0].upper()}{called[1:]} runs")
        else:
            await self._wait(f"{start}/progress", called, tell)
        return self._address_of(user, name)

    def _address_of(self, user: str, name: str) -> str:
        return f"{self._hub}/user/{quote(user, safe='')}{'/' + quote(name, safe='') if name else ''}/"

    def _refusal(self, status: int, said: str) -> KernelError:
        return HubRefusal(status, self.host, printable(said.encode(errors="replace"))[:2_000])

    async def _token_owner(self) -> str:
        with _step(f"{self.host} does not say whose token this is"):
            match await self.ask("GET", "/api/user"):
                case {"kind": "service"}:
                    raise KernelError(
                        f"The token belongs to a service of {self.host}, not to a person.",
                        hint=f"Say whose server it is: {self._hub}/user/NAME/.",
                    )
                case {"name": str(name)} if 0 < len(name) < 300:
                    return name
        raise self.strange()

    async def _state(self, path: str, name: str) -> dict[str, Any] | None:
        """What the hub says of a server; None if it says nothing, because the token may not know or there is none."""
        with _step(f"{self.host} does not tell of the server"):
            match await self.ask("GET", path):
                case {"servers": dict(servers)} if isinstance(state := servers.get(name), dict):
                    return state
        return None

    async def _wait(self, path: str, called: str, tell: Callable[[str], None]) -> None:
        """Follow the start up to its end."""
        from aiohttp import ClientError  # deferred: heavy

        assert self._http is not None
        told = 0
        try:
            async with asyncio.timeout(SPAWN_TIMEOUT), self._http.get(self._url + path) as answer:
                with _step(f"{self.host} does not tell how the start of {called} goes"):
                    if answer.status != 200:
                        raise self._refusal(answer.status, "")
                async for line in answer.content:
                    match _event(line):
                        case {"ready": True}:
                            tell(f"{called[0].upper()}{called[1:]} runs")
                            return
                        case {"failed": True, **more}:
                            raise KernelError(
                                f"{self.host} could not start {called}.", details=_words(more.get("message"))
                            )
                        case {"message": str(message)} if told < STEPS_TOLD:
                            told += 1
                            tell(_words(message))
        except TimeoutError:
            raise KernelError(
                f"{self.host} did not start {called} within {SPAWN_TIMEOUT:g} seconds.",
                hint=f"{self._hub}/hub/home shows what it is doing.",
            ) from None
        except (ClientError, OSError, ValueError) as error:
            raise KernelError(f"{self.host} failed while it started {called}: {tell_failure(error)}.") from None
        raise KernelError(f"{self.host} does not say how the start of {called} ended.")


class HubRefusal(KernelError):
    """The hub refused, with an HTTP status."""

    def __init__(self, status: int, host: str, said: str) -> None:
        super().__init__(f"{host}: the hub answered {status}.", details=said)
        self.status = status


@contextmanager
def _step(failed: str) -> Iterator[None]:
    """What is tried: a refusal in it becomes an error that names it, and the scope that the token lacks."""
    try:
        yield
    except HubRefusal as error:
        hint = "Check the address and the token: oi-tui kernels test says more."
        match error.status:
            case 403 if named := re.search(r"requires any of \[([a-z:]{1,60})", error.details):
                scope = named[1]
                why = f"the token lacks the scope {scope}"
                hint = f"Make one on the hub's page Token with the scope {scope}!user, or without a list of scopes."
            case 401 | 403:
                why, hint = "it does not know the token", "Make one on the hub's page Token, and add the server again."
            case 404:
                why = "there is no such user, or the token may not know of it"
            case status:
                why = f"it answered {status}"
        raise KernelError(f"{failed}: {why}.", hint=hint, details=error.details) from None


def _event(line: bytes) -> Any:
    if not line.startswith(b"data:"):
        return None
    try:
        return json.loads(line[5:])
    except (ValueError, RecursionError):
        return None


def _words(message: object) -> str:
    return printable(message.encode(errors="replace"))[:500].replace("\n", " ") if isinstance(message, str) else ""
