"""The reading end of a pipe or terminal, decoded as it comes, for as long as anyone writes to it."""

import asyncio
import codecs
import os
from collections.abc import Callable
from pathlib import Path

PIECE = 65_536
"""Bytes of one read."""

CAPACITY = 1_048_576
"""Bytes that one pipe can hold at most, unless root made it larger."""


class Pipe:
    """Reads a descriptor that does not block, which it owns, and hands on text.

    `keeper` is our own writing end: while it is open, the pipe does not end.
    """

    def __init__(self, descriptor: int, take: Callable[[str], None], *, keeper: int = -1) -> None:
        self.open = True
        self._descriptor = descriptor
        self._write_end = keeper
        self._take = take
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        asyncio.get_running_loop().add_reader(descriptor, self.read)

    def read(self) -> bool:
        """Read one piece if there is any; returns whether there was."""
        if not self.open:
            return False
        try:
            data = os.read(self._descriptor, PIECE)
        except BlockingIOError:
            return False
        except OSError:
            data = b""  # a terminal that no process has open any more
        if not data:
            self.close()
            return False
        text = self._decoder.decode(data)
        if text:
            self._take(text)
        return True

    def drain(self) -> None:
        """Read everything that is available now, without waiting for more."""
        for _ in range(CAPACITY // PIECE):
            if not self.read():
                break

    def abandon(self) -> None:
        """Read further data and drop it, so that its writers do not block."""
        rest = self._decoder.decode(b"", final=True)
        if rest:
            self._take(rest)
        self._take = _ignore
        self._let_go()

    def close(self) -> None:
        if self.open:
            self.open = False
            asyncio.get_running_loop().remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._let_go()

    def _let_go(self) -> None:
        if self._write_end >= 0:
            os.close(self._write_end)
            self._write_end = -1


def named_pipe(path: Path) -> int:
    """A new named pipe that only we may use, open in both directions so that it has no end."""
    os.mkfifo(path, 0o600)
    return os.open(path, os.O_RDWR | os.O_NONBLOCK)


def named_output(path: Path, take: Callable[[str], None]) -> Pipe:
    """A new named pipe for others to write to; after `abandon` it ends with its last writer."""
    os.mkfifo(path, 0o600)
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    return Pipe(descriptor, take, keeper=os.open(path, os.O_WRONLY | os.O_NONBLOCK))


def _ignore(text: str) -> None:
    pass
