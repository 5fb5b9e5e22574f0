"""Earlier texts: the unsent draft, and prompts of other days."""

from typing import ClassVar

from textual.timer import Timer

from oi_tui.app.engine.core.library_replies import PromptsFound
from oi_tui.app.engine.core.protocol import DraftKept
from oi_tui.app.engine.core.verbs import KeepDraft
from oi_tui.app.frontend.bridge import Bridge
from oi_tui.app.screens.history import HistoryScreen
from oi_tui.app.screens.open_screen import is_open
from oi_tui.widgets.composer import PromptArea, as_prompt


class Recall:
    """Keeps the draft of one prompt area, and looks through earlier prompts for it."""

    PAUSE: ClassVar[float] = 0.3
    """Seconds without typing after which the draft is written down."""

    def __init__(self, area: PromptArea, bridge: Bridge) -> None:
        self._area = area
        self._bridge = bridge
        self._screen: HistoryScreen | None = None
        self._timer: Timer | None = None
        self._kept = ""

    def schedule_save(self) -> None:
        """The text changed: it is written down when the person pauses."""
        if self._timer is not None:
            self._timer.stop()
        self._timer = self._area.set_timer(self.PAUSE, self.keep)

    def keep(self) -> None:
        """Save the draft now, if it changed."""
        text = self._area.full_text
        if text != self._kept and not self._bridge.stopped:
            self._kept = text
            self._bridge.send(KeepDraft(text=text))

    def search(self) -> None:
        """Bring up the earlier prompts; what is typed so far is looked for first."""
        screen = HistoryScreen(self._area.text.strip(), self._bridge.send)
        self._screen = screen
        self._area.app.push_screen(screen, self._take)

    def show(self, reply: PromptsFound | DraftKept) -> None:
        """What the engine found."""
        if isinstance(reply, PromptsFound):
            if self._screen is not None and is_open(self._screen):
                self._screen.show(reply)
        elif not self._area.text:
            self._kept = reply.text
            self._area.fill(reply.text)

    def _take(self, text: str | None) -> None:
        if text is not None:
            self._area.fill(as_prompt(text))
        self._area.focus()
