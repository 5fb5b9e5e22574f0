"""A line above the prompt: what Enter does while the prompt is empty. Without the line, it does nothing there."""

from oi_tui.app.engine.core.verbs import Retry
from oi_tui.widgets.lettering import Words

SETTLED = 0.5
"""Seconds in which a key still belongs to whatever the person did before the line appeared."""


class EnterLine(Words):
    """Shown only while something waits for Enter."""

    DEFAULT_CSS = """
    EnterLine { height: 1; padding: 0 1; color: $accent; display: none; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._words = ""
        self._since: float | None = None
        """When the line that is shown began to promise something of Enter."""

    def offer(self, words: str, *, takes: bool, now: float) -> None:
        """Say this, "" for nothing; with `takes`, Enter does what it says."""
        if words == self._words:
            return
        self._words, self._since = words, now if words and takes else None
        self.update(words)
        self.display = bool(words)

    def counts(self, pressed: float) -> bool:
        """Whether an Enter of this moment answers the line."""
        return self._since is not None and pressed - self._since >= SETTLED

    @staticmethod
    def verb(*, now: bool) -> Retry:
        """What Enter asks of the engine: to try again `now` where it waits, else to continue."""
        return Retry(now=now)
