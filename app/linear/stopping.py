"""Ctrl+C and Ctrl+D: what is interrupted, stopped or left, each only as far as it was asked for."""

import time
from collections.abc import Callable

from oi_tui.app.engine.core.verbs import Interrupt
from oi_tui.app.linear.desk import Desk
from oi_tui.app.linear.questions import Questions

AGAIN = 2.0
"""Seconds in which a key that is pressed again means more."""


class Stopping:
    """Ends what runs, or the program."""

    def __init__(self, desk: Desk, questions: Questions, quit_program: Callable[[], None]) -> None:
        self._desk, self._questions, self._quit = desk, questions, quit_program
        self._pressed_at = -AGAIN
        self._offered = False
        """Whether the last key offered that another one quits."""

    def interrupt(self) -> None:
        """The cell; again within two seconds, or without a cell, the turn; where nothing runs, twice quits."""
        desk = self._desk
        again, offered, self._offered = self._is_second_press(), self._offered, False
        if desk.running and not again:
            desk.send(Interrupt())
            desk.say("Interrupting the code. Ctrl+C again stops the turn.")
        elif desk.busy:
            desk.send(Interrupt(turn=True))
            desk.say("Stopping the turn.")
        elif self._questions.is_open:
            self._questions.stop()
            desk.say("Nothing was chosen.")
        elif again and offered:
            self._quit()
        else:
            self._offered = True
            desk.say("Nothing is running. Ctrl+C again quits.")

    def leave(self) -> None:
        """Quit; where something runs, only when asked a second time."""
        if self._desk.busy and not self._is_second_press():
            self._desk.say("Something is still running. Ctrl+D again leaves; it is interrupted, and saved.")
            self._questions.resume()
        else:
            self._quit()

    def _is_second_press(self) -> bool:
        before, self._pressed_at = self._pressed_at, time.monotonic()
        return self._pressed_at - before < AGAIN
