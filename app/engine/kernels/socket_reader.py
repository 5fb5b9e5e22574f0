"""Reads a zmq socket in the loop: all messages that have arrived, in one go, without a task or a future for each."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

EVENTS, POLLIN, NOBLOCK = 15, 1, 1
"""Numbers of zmq's, which is loaded with the first kernel."""

AT_ONCE = 32
"""Messages that are taken before anything else gets its turn."""

ROW, PAUSE = 16, 0.008
"""After so many messages in a row, each so soon (seconds) after the one before, the socket is read only this often: a
progress bar wakes nobody for each of its steps."""


class SocketReader:
    """One socket, from `begin` to `close`.

    zmq's descriptor says only once that something came, and any call of the socket may take note of that: so it is read
    until nothing is there, and looked at again (`look`) after whatever was sent.
    """

    def __init__(self, socket: Any, take: Callable[[list[Any]], Awaitable[None] | None]) -> None:
        """`take` gets the frames of a message. What it returns is waited for before the next one is read."""
        self._socket, self._take = socket, take
        self._loop = asyncio.get_running_loop()
        self._descriptor: int = socket.FD
        self._next: asyncio.Handle | None = None
        """The next look, if one is due."""
        self._waiting: asyncio.Task[None] | None = None
        """What the last message is waited for."""
        self._row, self._last = 0, 0.0
        """Messages in a row, and when the last came."""
        self._is_open = False

    def begin(self) -> None:
        """Take what comes, from now on."""
        self._is_open = True
        self._loop.add_reader(self._descriptor, self._read)
        self.look()

    def close(self) -> asyncio.Task[None] | None:
        """Take nothing any more, before the socket is closed; what the last message is waited for."""
        if self._is_open:
            self._is_open = False
            self._loop.remove_reader(self._descriptor)
        if self._next is not None:
            self._next.cancel()
        return self._waiting

    def look(self) -> None:
        """Look soon whether something has come."""
        if self._is_open and self._next is None and self._waiting is None:
            self._next = self._loop.call_soon(self._read)

    def end_row(self) -> None:
        """What came was no more of the same: the next message is taken at once."""
        self._row = 0

    def _read(self) -> None:
        if self._next is not None:
            self._next.cancel()
            self._next = None
        now = self._loop.time()
        if now > self._last + 2 * PAUSE:
            self._row = 0
        for _ in range(AT_ONCE):
            # Only this has zmq take note of all that came; to receive may leave the descriptor as it is.
            if not self._socket.get(EVENTS) & POLLIN:
                break
            frames = [self._socket.recv(NOBLOCK, copy=False)]
            while frames[-1].more:
                frames.append(self._socket.recv(NOBLOCK, copy=False))
            self._row, self._last = self._row + 1, now
            try:
                handling = self._take(frames)
            except BaseException:
                self.look()  # nothing else says that there is more
                raise
            if handling is not None:
                self._loop.remove_reader(self._descriptor)
                self._waiting = asyncio.ensure_future(self._wait(handling))
            if handling is not None or not self._is_open:
                return
        else:
            self._next = self._loop.call_soon(self._read)
            return
        if self._row >= ROW and now == self._last:
            self._loop.remove_reader(self._descriptor)
            self._next = self._loop.call_later(PAUSE, self._go_on)

    async def _wait(self, handling: Awaitable[None]) -> None:
        try:
            await handling
        finally:
            self._waiting = None
            if self._is_open:
                self._go_on()

    def _go_on(self) -> None:
        self._next = None
        self._loop.add_reader(self._descriptor, self._read)
        self._read()
