"""Textual's driver, and the terminal's answers picked out of the keys."""

import os
import select
from codecs import getincrementaldecoder
from contextlib import suppress
from typing import Any

from textual._parser import ParseEOF, ParseError
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from oi_tui.app.terminal_probe import Answers, Known, questions

_TICK = 0.1
"""Seconds after which a key that could begin more is taken as it is; Textual's own."""


class TerminalKnown(Message):
    """The terminal answered."""

    def __init__(self, known: Known) -> None:
        super().__init__()
        self.known = known


class ProbingDriver(LinuxDriver):
    """Asks when the terminal is ready for Textual, so that no answer is shown or taken for a key."""

    def __init__(self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: Any = None) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._answers = Answers()
        self._questions = questions(os.environ) if self.input_tty else ""

    def start_application_mode(self) -> None:
        """As ever, and ask, but not again after a suspension."""
        super().start_application_mode()  # type: ignore[no-untyped-call]  # Textual left the types out
        if self._questions:
            self.write(self._questions)
            self._questions = ""

    def run_input_thread(self) -> None:
        """Read keys until the app leaves; tell it when the answers are complete."""
        parser = XTermParser(self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode
        while not self.exit_event.is_set():
            ready, _, _ = select.select([self.fileno], [], [], _TICK)
            text = self._without_answers(decode(os.read(self.fileno, 4096))) if ready else self._answers.rest()
            for message in (*(parser.feed(text) if text else ()), *parser.tick()):
                self.process_message(message)
        with suppress(ParseEOF, ParseError):  # a key that was cut off by leaving
            tuple(parser.feed(""))

    def _without_answers(self, text: str) -> str:
        was_complete = self._answers.complete
        keys = self._answers.feed(text)
        if self._answers.complete and not was_complete:
            self.process_message(TerminalKnown(self._answers.known))
        return keys
