"""The connection to a shell elsewhere, and operations on its terminal: runs in a terminal of a server, and here too.

Sent there as text before `in_terminal.py`, and imported here, since the two ends of a `Link` are the same and a local
shell is interrupted in the same way. Python 3.9 and its standard library must be enough; no first-party imports.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import struct
import termios
from collections.abc import Callable
from typing import Any

Head = dict[str, Any]
"""What a frame says, beside its bytes: JSON, by name."""

LONGEST_FRAME = 200_000
"""Characters of a frame that is believed to be one."""

LOOK = 0.02
"""Seconds between two looks at the foreground job, before a ^C is typed; at whether input is shown, while code runs."""

MAX_LOOKS = 10
"""A loop over short commands is never steady: after this many looks we type ^C anyway."""

LOCAL_MODES = 3
"""Index of the local modes in what `termios.tcgetattr` returns."""


class Link:
    """One end of a line that may lose, repeat and mix: what is put in comes out once and in order, or not yet."""

    def __init__(self, mark: str, write: Callable[[str], None], take: Callable[[Head, bytes], None]) -> None:
        """`mark` begins every frame, a word that others do not know. `take` is called with the content."""
        self.in_flight = 0
        """Characters that were not acknowledged."""
        self._mark = mark + ":"
        self._write = write
        self._take = take
        self._sent = 0
        self._kept: dict[int, str] = {}
        """Frames that were not acknowledged, by number."""
        self._got = 0
        """Number of the last one that came, all before it being there."""
        self._gaps = 0
        """Frames that came since one was missed."""
        self._rest = ""
        self._asked_again = False
        """The other end asked for all that was not acknowledged."""

    def put(self, head: Head, body: bytes = b"") -> None:
        """Send this, and keep it until it is acknowledged."""
        self._sent += 1
        frame = self._frame({**head, "n": self._sent}, body)
        self._kept[self._sent] = frame
        self.in_flight += len(frame)
        self._write(frame)

    def acknowledge(self) -> None:
        """Say what has come so far."""
        self._write(self._frame({"n": 0, "got": self._got}, b""))

    def repeat(self) -> None:
        """After a loss: what may be lost once more, and ask the other end for the same."""
        self._write(self._frame({"n": 0, "got": self._got, "again": True}, b""))
        for frame in list(self._kept.values()):
            self._write(frame)

    def feed(self, text: str) -> str:
        """Add data of the line; returns the text between frames."""
        text, self._rest = self._rest + text, ""
        at, noise, came = 0, [], self._got
        while True:
            start = text.find(self._mark, at)
            if start < 0:
                held = overlap(text[at:], self._mark)
                noise.append(text[at : len(text) - held])
                self._rest = text[len(text) - held :]
                break
            noise.append(text[at:start])
            end = text.find(";", start)
            if end < 0:
                self._rest = text[start:] if len(text) - start <= LONGEST_FRAME else ""
                break
            start = text.rfind(self._mark, start, end)  # a frame that was cut short has no end
            at = end + 1
            self._open(text[start + len(self._mark) : end])
        if self._got != came or self._gaps == 1:
            self.acknowledge()
        if self._asked_again:  # once, however often it asked
            self._asked_again = False
            for kept in list(self._kept.values()):
                self._write(kept)
        return "".join(noise)

    def _frame(self, head: Head, body: bytes) -> str:
        return self._mark + base64.b64encode(json.dumps(head).encode() + b"\0" + body).decode() + ";"

    def _open(self, frame: str) -> None:
        try:
            said, _, body = base64.b64decode(frame.encode(), validate=True).partition(b"\0")
            head = json.loads(said)
            number = head["n"]
            got, again = head.get("got", 0), head.get("again", False)
            if not isinstance(number, int) or not isinstance(got, int):
                raise TypeError("no numbers")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return  # cut or made up: if it was one, it is missed by its number
        for known in [known for known in self._kept if known <= got]:
            self.in_flight -= len(self._kept.pop(known))
        self._asked_again = self._asked_again or again is True
        if number == self._got + 1:
            self._got, self._gaps = number, 0
            self._take(head, body)
        elif number > self._got:
            self._gaps += 1
            if self._gaps % 64 == 1:
                self._write(self._frame({"n": 0, "got": self._got, "again": True}, b""))
        elif number > 0:
            self._gaps = max(self._gaps, 1)  # it came before: the other end does not know


def overlap(text: str, awaited: str) -> int:
    """How many characters at the end of the text are the first ones of what is awaited."""
    sizes = range(min(len(text), len(awaited) - 1), 0, -1)
    return next((size for size in sizes if text.endswith(awaited[:size])), 0)


def foreground_group(terminal: int) -> int:
    """The process group that the terminal belongs to, 0 if there is none."""
    with contextlib.suppress(OSError):
        return os.tcgetpgrp(terminal)
    return 0


def shows_input(terminal: int) -> bool:
    """Whether the terminal shows what is typed."""
    with contextlib.suppress(OSError, termios.error):
        return bool(termios.tcgetattr(terminal)[LOCAL_MODES] & termios.ECHO)
    return True


class CtrlC:
    """Says when to type ^C: once the foreground is steady, and again if another job comes up instead of the end.

    Bash, and a job that it is just starting, may lose one that comes in between.
    """

    def __init__(self) -> None:
        self._before, self._looks, self._met = 0, 0, -1

    def look(self, group: int) -> bool:
        """The foreground is this group now; whether to type. To be asked every `LOOK` seconds until the end."""
        steady = (group == self._before and self._looks > 1) or self._looks > MAX_LOOKS
        press = steady and group != self._met
        if press:
            self._looks, self._met = 0, group
        self._before = group
        self._looks += 1
        return press


def prepare_terminal(inner: int) -> list[Any]:
    """The attributes of a fresh pseudo-terminal, set as a run finds them: a typed ^C is not shown."""
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    modes = termios.tcgetattr(inner)
    modes[LOCAL_MODES] &= ~termios.ECHOCTL
    termios.tcsetattr(inner, termios.TCSANOW, modes)
    return modes
