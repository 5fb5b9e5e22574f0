"""Coming back to engines that are detached: which there are, what they do, attaching to one, ending one."""

import asyncio
import contextlib
import os
import select
import signal
import socket
import time
from pathlib import Path
from typing import NamedTuple

from oi_tui.app.engine.core.errors import StoreError
from oi_tui.app.engine.core.protocol import PROTOCOL_VERSION, Attach, Hello, Reply, Standing, WorkState
from oi_tui.app.engine.core.protocol_lines import ProtocolError, decode_reply, encode_message
from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.engine.files.engine_sockets import PATIENCE, connect_engine, engine_sockets, peer_of, socket_session
from oi_tui.app.frontend.client import CLOSE_TIMEOUT, LINE_LIMIT, StreamClient

LAST_STEP = 0.5
"""Seconds between the moment in which an engine that ends hangs up and its end, at most."""

LONGEST_ANSWER = 1_000_000
"""Bytes of an engine's greeting and state."""


class LiveSession(NamedTuple):
    """A session whose engine is detached, or was once and has its door still."""

    session_id: str
    path: Path
    state: WorkState | None
    """None if it does not say: it is of another version, or does not answer."""
    attached: bool = False
    """Whether another terminal shows it."""
    cwd: str = ""
    settings: Settings = Settings()
    version: int = PROTOCOL_VERSION
    """Of the protocol that it speaks; 0 if it does not answer."""

    @property
    def activity(self) -> str:
        """What it does, in a few words."""
        if self.state is None:
            return "of another version" if self.version else "does not answer"
        return self.state

    def require_attachable(self) -> None:
        """StoreError in plain words if this program cannot attach to it."""
        if self.state is None:
            why = "is run by another version of oi-tui" if self.version else "does not answer"
            hint = f"To end it: oi-tui sessions stop {self.session_id}. Then: oi-tui --resume {self.session_id}"
            raise StoreError(f"Session {self.session_id} {why}.", hint=hint)


def live_sessions() -> list[LiveSession]:
    """All that are detached, the one detached last at the end. Sockets that nobody listens on are removed."""
    return [found for path in engine_sockets() if (found := _look_at(path)) is not None]


def live_session(session_id: str) -> LiveSession | None:
    """The one of this id, None if it is not detached."""
    return next((found for found in live_sessions() if found.session_id == session_id), None)


def _look_at(path: Path) -> LiveSession | None:
    unknown = LiveSession(socket_session(path), path, None, version=0)
    try:
        line = connect_engine(path)
        if line is None:
            return None
        with line:
            hello, standing = _greet(line)
    except (OSError, ProtocolError):
        return unknown
    if standing is None:
        return unknown._replace(version=hello.version)
    return LiveSession(standing.session_id, path, standing.state, standing.attached, standing.cwd, standing.settings)


def _greet(line: socket.socket) -> tuple[Hello, Standing | None]:
    """The engine's greeting and state; only the greeting if it speaks another version. ProtocolError if it is no
    engine."""
    line.sendall(encode_message(Hello(version=PROTOCOL_VERSION, program="oi-tui")))
    hello = _read_reply(line)
    if not isinstance(hello, Hello):
        raise ProtocolError("no greeting")
    if hello.version != PROTOCOL_VERSION:
        return hello, None
    standing = _read_reply(line)
    if not isinstance(standing, Standing):
        raise ProtocolError("not detached")
    return hello, standing


def _read_reply(line: socket.socket) -> Reply:
    """One line, not a byte more: the rest is for the next reader of the connection."""
    end, said = time.monotonic() + PATIENCE, bytearray()
    while not said.endswith(b"\n"):
        peeked = line.recv(65_536, socket.MSG_PEEK)
        if not peeked or len(said) > LONGEST_ANSWER or time.monotonic() > end:
            raise ProtocolError("no answer")
        said += line.recv(peeked.find(b"\n") + 1 or len(peeked))
    return decode_reply(bytes(said))


class AttachedClient(StreamClient):
    """An engine that ran already. Make it with `attach`; the first `Open` is answered with what is open there."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, process: int) -> None:
        """`process` is a descriptor of the engine's."""
        super().__init__(reader, writer)
        self._process = process

    @classmethod
    async def attach(cls, live: LiveSession, *, take_over: bool, outlives: bool) -> "AttachedClient":
        """Show this session here; StoreError if it has ended meanwhile, or cannot be attached to."""
        try:
            line = await asyncio.to_thread(_enter, live)
            process = -1 if line is None else os.pidfd_open(peer_of(line).pid)
        except (OSError, ProtocolError):
            line = None
        if line is None:
            hint = f"What it did is saved: oi-tui --resume {live.session_id}"
            raise StoreError("The detached session has ended.", hint=hint)
        line.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=line, limit=LINE_LIMIT)
        writer.write(encode_message(Attach(take_over=take_over, outlives=outlives)))
        return cls(reader, writer, process)

    async def close(self) -> None:
        await super().close()
        if self._process >= 0:
            os.close(self._process)
            self._process = -1

    async def _end(self) -> None:
        """An engine that hung up ends by itself or belongs to another front end: do not kill it."""
        line = self._writer.get_extra_info("socket").fileno()
        if not await asyncio.to_thread(_hangs_up_or_ends, line, self._process, CLOSE_TIMEOUT):
            _kill_process(self._process)

    async def _obituary(self) -> str:
        self._writer.close()
        return "The engine closed the connection."


def _enter(live: LiveSession) -> socket.socket | None:
    line = connect_engine(live.path)
    if line is not None and _greet(line)[1] is None:
        line.close()
        return None
    return line


def stop_engine(live: LiveSession) -> bool:
    """Have it save and end, whatever version it is of; kill it if that takes too long, and say so by False. OSError if
    that cannot be."""
    line = connect_engine(live.path)
    if line is None:
        return True
    with line:
        process = os.pidfd_open(peer_of(line).pid)  # it listens, so that the number is still its own
    try:
        signal.pidfd_send_signal(process, signal.SIGTERM)
        if select.select([process], [], [], CLOSE_TIMEOUT)[0]:
            return True
        _kill_process(process)
        return False
    finally:
        os.close(process)


def _hangs_up_or_ends(line: int, process: int, seconds: float) -> bool:
    """Whether an engine does one of these within so long; `line` is our end of the connection, -1 if it is closed."""
    watched = select.poll()
    watched.register(process, select.POLLIN)
    if line >= 0:
        # All input; poll reports a hang-up by itself, but not that the other side has stopped sending.
        watched.register(line, getattr(select, "POLLRDHUP", 0))
        if not watched.poll(seconds * 1000):
            return False
        watched.unregister(line)
    watched.poll(LAST_STEP * 1000)
    return True


def _kill_process(process: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(process, signal.SIGKILL)
    select.select([process], [], [], PATIENCE)
