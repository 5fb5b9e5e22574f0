"""The person at the controlling terminal, asked line by line whatever stdin, stdout and stderr are; and, for a plain
confirmation, the person at standard input. Text typed before a question appeared does not answer it.

No thread reads: one that waits for a line can be neither stopped nor kept from taking the answer to the next
question.
"""

import asyncio
import contextlib
import os
import signal
import sys
import termios
import tty
from collections.abc import Iterator
from typing import NoReturn

from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.terminal.echo import echo

LONGEST_LINE = 1 << 16
"""Bytes; terminals give no longer ones."""

_LOCAL_MODES = 3
"""Where `termios.tcgetattr` has the flags of echo and line editing."""


def confirm(question: str, *, err: bool = False) -> bool:
    """Whether the person at standard input, a terminal, confirms the question; `err`: asked on stderr."""
    import click  # it takes its time, and few ask

    termios.tcflush(sys.stdin, termios.TCIFLUSH)
    return click.confirm(safe_text(question), err=err)


def ask_letter(letters: str, default: str) -> str:
    """One of these letters, pressed after it was asked for by the person at standard input, a terminal; the default for
    Escape, Ctrl+D, or where nobody is there any more. A dumb terminal asks for a line. A signal raises SystemExit."""
    termios.tcflush(sys.stdin, termios.TCIFLUSH)
    if os.environ.get("TERM", "dumb") in ("dumb", "unknown"):
        import click  # it takes its time, and few ask

        return str(click.prompt("Your choice", type=click.Choice(list(letters), case_sensitive=False)))
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    handlers = {number: signal.signal(number, _exit) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        tty.setcbreak(terminal)
        echo(f" Press {', '.join(letters[:-1])} or {letters[-1]}: ", nl=False)
        while (pressed := os.read(terminal, 64).decode("utf-8", "replace").lower()) not in tuple(letters):
            if not pressed or pressed.endswith(("\x1b", "\x04")):
                return default
        return pressed
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        echo("")


def _exit(number: int, _: object) -> NoReturn:
    sys.exit(128 + number)


class TerminalAsker:
    """Asks on a terminal of its own; OSError if there is none. Close it at the end."""

    def __init__(self, path: str = "/dev/tty") -> None:
        # Two descriptions of one terminal: reading must never wait, writing a long source must.
        self._input = os.open(path, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
        try:
            self._output = os.open(path, os.O_WRONLY | os.O_NOCTTY)
        except OSError:
            os.close(self._input)
            raise

    async def line(self, question: str, *, password: bool = False) -> str | None:
        """One line typed after the question appeared, hidden for a password; None if nobody is there any more.

        Earlier input is discarded. Cancelling leaves the terminal as it was.
        """
        try:
            with self._blind() if password else contextlib.nullcontext():
                termios.tcflush(self._input, termios.TCIFLUSH)
                self._write(safe_text(question))
                line = await self._read_line()
            if password:
                self._write("\n")
        except (OSError, termios.error):  # the terminal is gone
            return None
        return line

    def close(self) -> None:
        """Let go of the terminal."""
        os.close(self._input)
        os.close(self._output)

    def _write(self, text: str) -> None:
        data = text.encode(errors="backslashreplace")
        while data:
            data = data[os.write(self._output, data) :]

    async def _read_line(self) -> str | None:
        line = b""
        while not line.endswith(b"\n"):
            piece = await self._piece()
            if not piece:  # Ctrl+D; half a line is no answer
                return None
            line += piece
        return line.decode(errors="replace").rstrip("\r\n")

    async def _piece(self) -> bytes:
        loop = asyncio.get_running_loop()
        readable = asyncio.Event()
        loop.add_reader(self._input, readable.set)
        try:
            while True:
                await readable.wait()
                try:
                    return os.read(self._input, LONGEST_LINE)
                except BlockingIOError:  # flushed in between
                    readable.clear()
        finally:
            loop.remove_reader(self._input)

    @contextlib.contextmanager
    def _blind(self) -> Iterator[None]:
        before = termios.tcgetattr(self._input)
        without_echo = before.copy()
        without_echo[_LOCAL_MODES] &= ~termios.ECHO
        termios.tcsetattr(self._input, termios.TCSANOW, without_echo)
        try:
            yield
        finally:
            termios.tcsetattr(self._input, termios.TCSANOW, before)
