"""A front end's end of the wire: the engine as something to send verbs to and read replies from.

`ProcessClient` is the real one: the engine in a process of its own, over a private socket pair. `AttachedClient` (in
`attaching.py`) comes to one that runs already.
`LocalClient` runs the same engine in this process, for headless use and tests.
"""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Protocol

from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.core.protocol import PROTOCOL_VERSION, Detached, Failed, Hello, Reply, fatal_reply
from oi_tui.app.engine.core.protocol_lines import ProtocolError, decode_reply, encode_message
from oi_tui.app.engine.core.verbs import AnyVerb, Close, Detach
from oi_tui.app.frontend.waiting_engine import ForkedProcess, WaitingEngine

LINE_LIMIT = 256 * 1024 * 1024
"""Bytes of the longest line: the replay of a long session with pictures is one."""

CLOSE_TIMEOUT = 8.0
"""Seconds that the engine has to save and end before it is killed."""

ENGINE = (sys.executable, "-P", "-m", "oi_tui.app.start", "engine")
"""What starts an engine. -P: a module in the folder where the person works must not shadow one of ours."""


class EngineLost(Exception):
    """The engine is gone; the message says how it ended."""


class EngineClient(Protocol):
    """One running engine. `Connect` makes a new one, also after one was lost."""

    async def send(self, verb: AnyVerb) -> None:
        """Ask for something; EngineLost if nobody is there any more."""
        ...

    def replies(self) -> AsyncGenerator[Reply, None]:
        """Everything the engine says, in order; ends after `close`, raises EngineLost if the engine ended by itself."""
        ...

    async def close(self) -> None:
        """Let the engine save and end; bounded, idempotent."""
        ...


Connect = Callable[[], Awaitable[EngineClient]]
"""Starts an engine and speaks to it; raises OiTuiError (or EngineLost) where that fails."""


async def send_verbs(client: EngineClient, verbs: asyncio.Queue[AnyVerb]) -> None:
    """Send what is put into the queue, in order, until this is cancelled or the engine is lost."""
    while True:
        verb = await verbs.get()
        try:
            await client.send(verb)
        except EngineLost:
            return  # the side that reads says so


class StreamClient(ABC):
    """An engine at the other end of a connected socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._closing = False
        self._is_left = False
        """Whether the engine keeps running without this front end."""

    async def send(self, verb: AnyVerb) -> None:
        if self._writer.is_closing():
            raise EngineLost(await self._obituary())
        self._is_left |= isinstance(verb, Detach)  # if we go before the answer, it keeps running
        try:
            self._writer.write(encode_message(verb))
            await self._writer.drain()
        except ConnectionError as error:
            raise EngineLost(await self._obituary()) from error

    async def replies(self) -> AsyncGenerator[Reply, None]:
        while True:
            try:
                line = await self._reader.readline()
            except (ConnectionError, ValueError) as error:
                if self._is_left:
                    return
                raise EngineLost(f"The connection to the engine broke: {error}.") from error
            if not line:
                break
            try:
                reply = decode_reply(line)
            except ProtocolError as error:
                raise EngineLost("The engine does not speak this protocol.") from error
            if isinstance(reply, Hello):
                if reply.version != PROTOCOL_VERSION:
                    raise EngineLost(
                        f"The engine speaks version {reply.version} of the protocol, not {PROTOCOL_VERSION}."
                    )
                continue
            if isinstance(reply, Detached | Failed):
                self._is_left = isinstance(reply, Detached)
            yield reply
        if not (self._closing or self._is_left):
            raise EngineLost(await self._obituary())

    async def close(self) -> None:
        if self._closing:
            return
        self._closing = True
        if not self._is_left:
            with contextlib.suppress(ConnectionError):
                self._writer.write(encode_message(Close()))
                await self._writer.drain()
            await self._end()
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()

    @abstractmethod
    async def _end(self) -> None:
        """Wait until the engine has ended, for `CLOSE_TIMEOUT`; then kill it."""

    @abstractmethod
    async def _obituary(self) -> str:
        """How the engine ended, in plain words."""


class ProcessClient(StreamClient):
    """The engine as a child process, which may outlive us. Make it with `start`."""

    def __init__(
        self,
        process: subprocess.Popen[bytes] | ForkedProcess,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        log: Path,
    ) -> None:
        super().__init__(reader, writer)
        self._process = process
        self._log = log

    @classmethod
    async def start(
        cls, setup: Configure, *, log: Path, command: tuple[str, ...] = (), waiting: WaitingEngine | None = None
    ) -> "ProcessClient":
        """Start an engine, or take the one that is `waiting`; its own words on stdout and stderr go to the file `log`,
        never to the terminal.

        OiTuiError if it cannot be started.
        """
        try:
            descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                taken = waiting.take(descriptor) if waiting is not None else None
                ours, process = taken or cls._spawn(descriptor, command or ENGINE)
            finally:
                os.close(descriptor)
        except OSError as error:  # no process left, or a log that cannot be written
            raise OiTuiError("The engine could not be started.", hint=f"{error}.") from error
        reader, writer = await asyncio.open_connection(sock=ours, limit=LINE_LIMIT)
        writer.write(encode_message(Hello(version=PROTOCOL_VERSION, program="oi-tui")) + encode_message(setup))
        return cls(process, reader, writer, log)

    @staticmethod
    def _spawn(log: int, command: tuple[str, ...]) -> tuple[socket.socket, subprocess.Popen[bytes]]:
        """Our end of the connection, and the process that has the other."""
        ours, theirs = socket.socketpair()
        with contextlib.ExitStack() as on_failure, theirs:
            on_failure.enter_context(ours)
            # Not a process of asyncio's, which ends with the program that started it.
            process = subprocess.Popen(
                [*command, "--fd", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[theirs.fileno()],
                # Ctrl+C and Ctrl+Z in the terminal are keys of the front end, not signals for the engine.
                start_new_session=True,
            )
            on_failure.pop_all()
        return ours, process

    @property
    def pid(self) -> int:
        return self._process.pid

    async def _end(self) -> None:
        try:
            await asyncio.to_thread(self._process.wait, CLOSE_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            await asyncio.to_thread(self._process.wait)

    async def _obituary(self) -> str:
        self._writer.close()
        try:
            status = await asyncio.to_thread(self._process.wait, 2)
        except subprocess.TimeoutExpired:
            return "The engine closed the connection."
        name = next((known.name for known in signal.Signals if known == -status), f"signal {-status}")
        how = f"was ended by {name}" if status < 0 else f"ended with status {status}"
        return f"The engine {how}. Its log is {self._log}."


class VerbHandler(Protocol):
    """What `LocalClient` needs of an engine (`app.engine.service.Engine`)."""

    async def handle(self, verb: AnyVerb) -> None:
        """Follow one verb; see `Engine.handle`."""
        ...

    async def close(self) -> None:
        """Write everything down and end."""
        ...


class LocalClient:
    """The engine in this process, behind the same interface."""

    def __init__(self, make: Callable[[Callable[[Reply], Awaitable[None]]], VerbHandler]) -> None:
        """`make` gets the function that the engine sends its replies with."""
        self._replies: asyncio.Queue[Reply | None] = asyncio.Queue()
        self._engine = make(self._replies.put)
        self._closed = False

    async def send(self, verb: AnyVerb) -> None:
        try:
            await self._engine.handle(verb)
        except OiTuiError as error:
            await self._replies.put(fatal_reply(error))

    async def replies(self) -> AsyncGenerator[Reply, None]:
        while (reply := await self._replies.get()) is not None:
            yield reply

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            await self._engine.close()
            await self._replies.put(None)
