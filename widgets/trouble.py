"""Keys that help after an error: a row above the prompt, after a turn that the error ended.

The error itself is in the timeline. The row takes the focus only if nobody is typing, and ignores letters: the first
one begins a prompt and returns the focus.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.events import Blur, Focus, Key, Paste
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget

from oi_tui.app.engine.core.blocks import Block, NoticeBlock
from oi_tui.app.engine.core.verbs import FindModels, Retry
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.widgets.arming import Clock
from oi_tui.widgets.keyrow import Hint, KeyRow, key_labels
from oi_tui.widgets.lettering import Words, lettering
from oi_tui.widgets.prompt_start import start_prompt

SETTLING = 0.5
"""Seconds in which a key still belongs to whatever the user did before the row appeared."""

_LINES = 8
"""Lines of the details that are shown here; the timeline has all."""


_VERBS: Mapping[str, Retry | FindModels | None] = {"retry": Retry(), "model": FindModels(), "close": None}
"""What is sent for each choice."""


class TroubleRow(Widget, can_focus=True):
    """Offers what helps against one error."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Hint("enter", "choose('retry')", "Try again", id="trouble.retry", label="try again", short="retry"),
        Hint("alt+m", "choose('model')", "Choose a model", id="trouble.model", label="choose a model", short="model"),
        Hint("alt+d", "show_details", "Show the details", id="trouble.details", label="details"),
        Hint("escape", "choose('close')", "Back to the prompt", id="trouble.close", label="close"),
    ]

    DEFAULT_CSS = """
    TroubleRow {
        height: auto;
        display: none;
        border-top: solid $error;
        & > #trouble-title { height: auto; padding: 0 1; }
        & > #trouble-details { height: auto; padding: 0 1; color: $dim; display: none; }
    }
    """

    class CommandChosen(Message):
        """What the person wants to be done; None: nothing more."""

        def __init__(self, verb: Retry | FindModels | None) -> None:
            super().__init__()
            self.verb = verb

    def __init__(self, clock: Clock, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._clock = clock
        self._error: NoticeBlock | None = None
        self._past = ""
        """Id of the error that the session ended with when it was opened."""
        self._done = ""
        """Id of the error that was dealt with last."""
        self._appeared = self._due = float("-inf")
        self._counting: Timer | None = None

    def compose(self) -> ComposeResult:
        """What happened, the details when asked for, and the keys."""
        yield Words(id="trouble-title")
        yield Words(id="trouble-details")
        yield KeyRow(id="trouble-keys")

    def on_mount(self) -> None:
        """Count down what a server asked to wait."""
        self._counting = self.set_interval(1.0, self._show, pause=True)

    def note_past(self, blocks: Sequence[Block]) -> None:
        """The session that was opened ends with these: what is the matter with it did not happen just now."""
        error = _trouble_of(blocks)
        self._past = error.id if error is not None else ""

    def offer(self, blocks: Sequence[Block], *, take_keys: bool) -> None:
        """Offer what helps against the error that these blocks end with, or nothing."""
        error = _trouble_of(blocks)
        past = error is not None and error.id == self._past
        if error is not None and error.id == self._done:
            error = None
        self.display = error is not None
        if error is None or self._error is None or error.id != self._error.id:
            self._error = error
            self.query_one("#trouble-details").display = False
            if error is not None:
                self._appeared = self._clock()
                self._due = self._appeared + (0.0 if past else error.wait)
            if error is not None and take_keys and not past:
                self.focus()
        self._show()

    def action_choose(self, what: Literal["retry", "model", "close"]) -> None:
        """Have this done, once the row has been there for a moment."""
        if self._error is None or self._clock() - self._appeared < SETTLING:
            return
        if what == "retry" and what not in self._error.remedies:
            what = "model"
        self._done, self._error = self._error.id, None
        self.display = False
        self._show()
        self.post_message(self.CommandChosen(_VERBS[what]))

    def action_show_details(self) -> None:
        """Show or hide the server's message."""
        if self._error is not None and self._error.details and self._clock() - self._appeared >= SETTLING:
            details = self.query_one("#trouble-details", Words)
            details.update("\n".join(safe_text(self._error.details).splitlines()[:_LINES]))
            details.display = not details.display

    def on_key(self, event: Key) -> None:
        """The first letter of a prompt goes there, and the others after it."""
        start_prompt(self, event)

    def on_paste(self, event: Paste) -> None:
        """A paste is for the prompt."""
        start_prompt(self, event)

    def on_focus(self, event: Focus) -> None:
        self._show()

    def on_blur(self, event: Blur) -> None:
        """Without the focus, other keys work: show the commands instead."""
        self._show()

    def _show(self) -> None:
        """Bring the words up to date."""
        error = self._error
        left = self._due - self._clock()
        if self._counting is not None:
            (self._counting.resume if error is not None and left > 0 else self._counting.pause)()
        if error is None:
            return
        wait = f" in {left:.0f} s" if left >= 1 else ""
        here = self.screen.focused is self
        title = self.query_one("#trouble-title", Words)
        title.display = bool(wait) or not here
        title.update(_title(error, wait, here=here))
        keys = {"enter": True, "alt+m": "retry" in error.remedies, "alt+d": bool(error.details), "esc": True}
        again = (f"try again{' now' if wait else ''}", "retry")
        words = {"enter": again if "retry" in error.remedies else ("choose a model", "model")}
        self.query_one(KeyRow).labels = key_labels(self, *(key for key, on in keys.items() if on), words=words)
        self.query_one(KeyRow).display = here


def _trouble_of(blocks: Sequence[Block]) -> NoticeBlock | None:
    """The error that ended the last turn, if something can be done about it."""
    last = blocks[-1] if blocks else None
    return last if isinstance(last, NoticeBlock) and last.level == "error" and last.remedies else None


def _title(error: NoticeBlock, wait: str, *, here: bool) -> Content:
    told = lettering(("✗ ", "$error"), f"{safe_text(error.title)} Retry{wait}. " if wait else "")
    ways = "/retry tries again · /model chooses another model" if "retry" in error.remedies else "/model chooses one"
    return told if here else lettering(told, (ways, "$dim"))
