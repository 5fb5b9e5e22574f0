"""Earlier prompts of all sessions, found by the words in them; Enter puts one into the prompt, and sends nothing."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Input

from oi_tui.app.engine.core.library_replies import PromptsFound
from oi_tui.app.engine.core.library_verbs import FindPrompts
from oi_tui.app.engine.core.session_records import PastPrompt
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.words import one_line
from oi_tui.app.screens.pick import PickScreen
from oi_tui.widgets.keyrow import Hint, KeyRow, joint_label, key_labels
from oi_tui.widgets.lettering import Options, Words, lettering

WIDE = 300
"""Characters of a prompt that its row shows at most; the terminal cuts it."""

_AGES = ((60, "min", 60), (48 * 60, "h", 3600), (60 * 24 * 60, "d", 86_400))
"""Minutes up to which an age is shown in this unit, and the seconds of one."""


class HistoryScreen(PickScreen[str | None]):
    """Dismissed with the text of an earlier prompt, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Hint("escape", "dismiss(None)", "back", id="pick.back"),
        Binding("ctrl+r", "move(1)", "Older", id="recall.older", priority=True),
        Hint("enter", "take", "into the prompt", id="pick.take", short="take", priority=True),
    ]
    TITLE = "Earlier prompts"

    def __init__(
        self, begun: str, send: Callable[[FindPrompts], None], *, clock: Callable[[], float] = time.time
    ) -> None:
        """`begun`: what to look for first; `send` asks, and the answer comes to `show`."""
        super().__init__(begun)
        self._send = send
        self._clock = clock
        self._asked: str | None = None
        self._prompts: tuple[PastPrompt, ...] = ()

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one(KeyRow).labels = (
            *key_labels(self, "enter"),
            joint_label(self, "choose", "pick.up", "pick.down"),
            *key_labels(self, "esc"),
        )

    def show(self, found: PromptsFound) -> None:
        """Show the results; answers to earlier queries are ignored."""
        field = self.query_one(Input)
        if found.query != field.value:
            return
        self._prompts = found.prompts
        options = self.query_one(Options)
        options.clear_options()
        words = found.query.casefold().split()
        options.add_options(self._line(prompt, words) for prompt in found.prompts)
        options.highlighted = 0 if found.prompts else None
        line = self.query_one("#pick-text", Words)
        line.display = not found.prompts
        line.update("No prompt has all of these words." if words else "Nothing was asked yet.")

    def look_for(self, words: str) -> None:
        """Ask for it, unless it was asked last."""
        if words != self._asked:
            self._asked = words
            self._send(FindPrompts(query=words))

    def take(self, number: int) -> None:
        self.dismiss(self._prompts[number].text)

    def _line(self, prompt: PastPrompt, words: list[str]) -> Content:
        """Text on one row with the words marked, then how long ago it was and where."""
        text = one_line(prompt.text[:WIDE])
        line = lettering(text)
        folded = text.casefold()
        if len(folded) == len(text):  # else the places would be others
            for word in words:
                at = folded.find(word)
                while at >= 0:
                    line = line.stylize("bold $accent", at, at + len(word))
                    at = folded.find(word, at + len(word))
        where = safe_text(Path(prompt.cwd).name)
        return lettering(line, (f"  {_age(self._clock() - prompt.at)} · {where}", "$dim"))


def _age(seconds: float) -> str:
    minutes = max(0, seconds) / 60
    for bound, unit, size in _AGES:
        if minutes < bound:
            return f"{int(max(0, seconds) / size)} {unit}"
    return f"{int(seconds / 86_400 / 30)} months"
