"""Textual's driver, and the terminal's answers picked out of the keys."""

import os
from typing import Any, Protocol

from textual.app import App
from textual.message import Message

from oi_tui.app.terminal.guarded_driver import GuardedDriver
from oi_tui.app.terminal.probe import TELL_GROUND, TELL_NO_GROUND, Answers, TerminalFacts, questions


class Picks(Protocol):
    """Takes what is for somebody else out of the keys."""

    def feed(self, text: str) -> str:
        """The keys in this."""
        ...

    def rest(self) -> str:
        """Keys that were held back, since nothing followed."""
        ...


class TerminalKnown(Message):
    """The terminal answered what it can show, or became dark or light."""

    def __init__(self, known: TerminalFacts) -> None:
        super().__init__()
        self.known = known


class ProbingDriver(GuardedDriver):
    """Asks when the terminal is ready for Textual, so that no answer is shown or taken for a key."""

    def __init__(self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: Any = None) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._answers = Answers()
        self._questions = questions(os.environ) if self.input_tty else ""
        self._asks = bool(self._questions)
        self.picks: Picks | None = None
        """Who else is answered by the terminal; read in the thread that reads keys."""

    @property
    def knows_clipboard(self) -> bool:
        """Whether the terminal reported that programs can read its clipboard."""
        return self._answers.known.clipboard

    def start_application_mode(self) -> None:
        """As in the base, and send the questions, but not again after a suspension."""
        super().start_application_mode()
        if self._questions:
            self.write(self._questions)
            self._questions = ""
        if self._asks:
            self.write(TELL_GROUND)

    def stop_application_mode(self) -> None:
        """As in the base, and turn off the terminal's reports, which the next program would get."""
        if self._asks:
            self.write(TELL_NO_GROUND)
        super().stop_application_mode()

    def keys_of(self, text: str) -> str:
        """The keys without the answers among them; tells the app when these are complete, and what is new later."""
        was_complete, before = self._answers.complete, self._answers.known
        keys = self._answers.feed(text)
        if self._answers.complete and (not was_complete or self._answers.known != before):
            self.process_message(TerminalKnown(self._answers.known))
        return keys if self.picks is None else self.picks.feed(keys)

    def late_keys(self) -> str:
        """What could have begun an answer."""
        keys = self._answers.rest()
        return keys if self.picks is None else (self.picks.feed(keys) if keys else "") + self.picks.rest()
