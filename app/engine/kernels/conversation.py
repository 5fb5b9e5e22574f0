"""What a command and the person say to each other over the terminal: questions out of silence, answers in."""

import asyncio
from collections.abc import Callable
from typing import Literal

from oi_tui.app.engine.kernels.run import Run

QUIET = 0.25
"""Seconds of silence after which an unfinished line is a question."""

CTRL_C = "\x03"
"""The terminal shows the one that we type."""


class Conversation:
    """Of one run. A question is an unfinished line on the terminal, or a terminal that hides what is typed."""

    def __init__(self, run: Run, echoes: Callable[[], bool]) -> None:
        self._run = run
        self._echoes = echoes
        self._line = ""
        """What is on the terminal's current line."""
        self._last_words = ""
        """What is on the current line of the outputs: some programs put their question there."""
        self._echo = ""
        """An answer that the terminal is going to show."""
        self._asked = False
        self._over = False
        self._timer: asyncio.TimerHandle | None = None
        self._wait()

    def terminal(self, text: str) -> None:
        """Something appeared on the terminal."""
        text = self._without_echo(text.replace(CTRL_C, "").replace("\r\n", "\n"))
        if self._run.interrupting and not text.strip():
            return  # bash ends the line of the ^C
        whole, newline, self._line = (self._line + text).rpartition("\n")
        if newline:
            self._asked = False
            self._run.stream("stderr", whole + newline)
        self._wait()

    def output(self, name: Literal["stdout", "stderr"], text: str) -> None:
        """The run wrote something to its stdout or stderr."""
        self._run.stream(name, text)
        self._last_words = (self._last_words + text[-1000:]).rpartition("\n")[2][-1000:]
        self._wait()

    def answered(self, line: str) -> None:
        """The person typed this."""
        self._echo = line if self._echoes() else ""
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
        if self._asked or not (self._line or hidden):
            if not self._asked:
                self._wait()
            return
        self._asked = True
        self._run.ask(self._line or self._last_words, password=hidden)

    def _without_echo(self, text: str) -> str:
        echo, self._echo = self._echo, ""
        if echo and text.startswith(echo):
            return text.removeprefix(echo)
        return text
