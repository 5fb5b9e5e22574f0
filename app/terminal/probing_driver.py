"""Textual's driver, and the terminal's answers picked out of the keys."""

import os
from dataclasses import dataclass
from typing import Any

from textual.app import App
from textual.message import Message

from oi_tui.app.terminal.guarded_driver import GuardedDriver
from oi_tui.app.terminal.probe import Answers, TerminalFacts, questions


@dataclass
class TerminalKnown(Message):
    """The terminal answered what it can show."""

    known: TerminalFacts


class ProbingDriver(GuardedDriver):
    """Asks when the terminal is ready for Textual, so that no answer is shown or taken for a key."""

    def __init__(self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: Any = None) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._answers = Answers()
        self._questions = questions(os.environ) if self.input_tty else ""

    def start_application_mode(self) -> None:
        """As ever, and ask, but not again after a suspension."""
        super().start_application_mode()
        if self._questions:
            self.write(self._questions)
            self._questions = ""

    def keys_of(self, text: str) -> str:
        """The keys without the answers among them; tells the app when these are complete."""
        was_complete = self._answers.complete
        keys = self._answers.feed(text)
        if self._answers.complete and not was_complete:
            self.process_message(TerminalKnown(self._answers.known))
        return keys

    def late_keys(self) -> str:
        """What could have begun an answer."""
        return self._answers.rest()
