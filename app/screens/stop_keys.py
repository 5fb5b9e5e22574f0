"""Escape and Ctrl+C: what they stop, and what they say of it.

what is so                    Escape                           Ctrl+C
text is selected              (as below)                       copies it
a list of completions         closes it                        (as below)
a level is open in a panel    one step back                    (as below)
a macro plays                 ends it, and (as below)          the same
a cell runs                   interrupts it; again, the turn   the same
the model thinks              stops the turn                   the same
a question is open            again stops the turn             the same; it stays undecided
a tool asks something         gives it no answer               interrupts the call; again, the turn
nothing runs, text            back to the prompt               clears the prompt, which can be undone
nothing runs, no text         back to the prompt               again quits
"""

from textual.screen import Screen

from oi_tui.app.engine.core.verbs import Interrupt
from oi_tui.app.frontend.bridge import Bridge
from oi_tui.app.screens.prompt_desk import PromptDesk
from oi_tui.widgets.arming import Clock

SECOND_PRESS = 1.0
"""Seconds within which another Escape stops the whole turn."""

SECOND_QUIT = 2.0
"""Seconds within which another Ctrl+C quits."""


class StopKeys:
    """Stops what runs, or what is written."""

    def __init__(self, bridge: Bridge, desk: PromptDesk, clock: Clock) -> None:
        self._bridge = bridge
        self._desk = desk
        self._clock = clock
        self._stopped = self._asked = float("-inf")

    def interrupt(self) -> bool:
        """Stop what runs, harder the second time, and say what that does; False if nothing runs."""
        bridge, macros = self._bridge, self._desk.macros
        ends_macro = macros is not None and macros.stop()
        if not bridge.busy:
            return ends_macro
        now = self._clock()
        again, self._stopped = now - self._stopped <= SECOND_PRESS, now
        bridge.send(Interrupt(turn=again))
        if again:
            words = "Stopping the turn."
        elif bridge.transcript.pending_decision is not None:
            words = "Again stops the turn; the question stays open."
        elif bridge.running:
            words = "Interrupting the cell. Again stops the turn."
        elif not bridge.transcript.turn_open:
            words = "Stopping the summary."
        else:
            words = "Stopping the turn."
        self._desk.tell(f"The macro ends. {words}" if ends_macro else words, seconds=SECOND_PRESS)
        return True

    async def stop(self, screen: Screen[object]) -> None:
        """Ctrl+C on this screen, where nothing is selected."""
        from oi_tui.widgets.keyrow import key_in_use  # not for the first frame

        if self.interrupt():
            return
        area = self._desk.area
        if area.screen is screen and area.text:
            area.clear()
            undo = key_in_use(area, "composer.undo")
            self._desk.tell(f"Cleared. {undo} brings it back." if undo else "Cleared.")
            return
        now = self._clock()
        if now - self._asked <= SECOND_QUIT:
            await screen.app.run_action("app.quit")
            return
        self._asked = now
        again = f"{key_in_use(screen, 'stop')} again to quit".lstrip()
        if area.screen is screen:
            self._desk.tell(again, seconds=SECOND_QUIT)
        else:
            screen.notify(again, timeout=SECOND_QUIT)
