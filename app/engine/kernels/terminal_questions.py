"""What a command and the person say to each other over the terminal: questions out of silence, answers in."""

import asyncio
import re
from collections.abc import Callable
from typing import Literal

from oi_tui.app.engine.kernels.in_terminal_line import overlap
from oi_tui.app.engine.kernels.output_stream import OutputStream

LONGEST_QUESTION = 10_000
"""Characters of an unfinished line: a longer one is output."""

QUIET = 0.25
"""Seconds of silence after which an unfinished line is a question."""

CTRL_C = "\x03"
"""The terminal shows the one that we type."""


class Echo:
    """Removes the typed text from the terminal's output, in any number of pieces.

    The terminal echoes it wherever the program was just writing. Where echo is off the program may print it itself, on
    a line of its own. Text that may still become an echo is held back.
    """

    def __init__(self) -> None:
        self._typed: dict[str, re.Pattern[str]] = {}
        """Lines that were not seen yet, and how they will look."""
        self._held = ""

    @property
    def holds(self) -> bool:
        """Whether something visible is held back."""
        return bool(self._held.strip("\r"))

    def expect(self, line: str, *, shown: bool) -> None:
        """This was typed; `shown` if the terminal shows it."""
        line = line.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        if line:
            self._typed[line] = re.compile(f"{'' if shown else '^'}{re.escape(line)}$", re.MULTILINE)

    def remove(self, text: str) -> str:
        """The text that is not an echo, line ends made plain."""
        text = (self._held + text).replace("\r\n", "\n")
        for line, pattern in reversed(tuple(self._typed.items())):
            match = pattern.search(text, 0, text.rfind("\n") + 1)  # only in lines that are whole
            if match is not None:
                del self._typed[line]
                text = text[: match.start()] + text[match.end() :]
        held = max(overlap(text, f"{line}\r\n") for line in ("", *self._typed))
        self._held = text[len(text) - held :]
        return text[: len(text) - held]


class TerminalQuestions:
    """The questions of one run. A question is an unfinished line on the terminal, or a terminal that hides what is
    typed."""

    def __init__(self, run: OutputStream, echoes: Callable[[], bool]) -> None:
        self._run = run
        self._echoes = echoes
        self._line = ""
        """What is on the terminal's current line."""
        self._last_words = ""
        """What is on the current line of the outputs: some programs put their question there."""
        self._echo = Echo()
        self._asked = False
        self._over = False
        self._timer: asyncio.TimerHandle | None = None
        self._wait()

    def terminal(self, text: str) -> None:
        """Something appeared on the terminal."""
        text = self._echo.remove(text.replace(CTRL_C, ""))
        if self._run.interrupting and not text.strip():
            return  # bash ends the line of the ^C
        whole, newline, self._line = (self._line + text).rpartition("\n")
        if newline:
            self._asked = False
            self._run.stream("stderr", whole + newline)
        if len(self._line) > LONGEST_QUESTION:
            self._run.stream("stderr", self._line)
            self._line = ""
        self._wait()

    def output(self, name: Literal["stdout", "stderr"], text: str) -> None:
        """The run wrote something to its stdout or stderr."""
        self._run.stream(name, text)
        self._last_words = (self._last_words + text[-1000:]).rpartition("\n")[2][-1000:]
        self._wait()

    def note_answer(self, line: str) -> None:
        """The person typed this."""
        self._echo.expect(line, shown=self._echoes())
        self._asked = False
        self._last_words = ""
        self._wait()

    def end(self) -> None:
        """The run is over."""
        self._over = True
        if self._timer is not None:
            self._timer.cancel()
        if self._line and not self._asked:
            self._run.stream("stderr", self._line)

    def _wait(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._over:
            return
        self._timer = asyncio.get_running_loop().call_later(QUIET, self._consider)

    def _consider(self) -> None:
        hidden = not self._echoes()
        if self._asked or not (self._line or self._echo.holds or hidden):
            if not self._asked:
                self._wait()
            return
        self._asked = True
        self._run.ask(self._line or self._last_words, password=hidden)
