"""A function that is about to be kept: its file or what changed in it, how its test went, and a yes.

Who comes here typed /keep, or pressed a key on a block. They look at the source, at what else of the session it takes
along, at the test; y keeps it, Escape does not. Where one of that name is kept already, they see the difference first.
"""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from oi_tui.app.engine.core.tool_replies import FunctionDrafted
from oi_tui.app.engine.text.safe import collapse_blanks, safe_text, visible_text
from oi_tui.app.engine.text.words import one_line
from oi_tui.app.screens.confirm import QuestionScreen
from oi_tui.themes.palette import Palette
from oi_tui.widgets.keyrow import Hint, KeyRow, key_labels
from oi_tui.widgets.lettering import Words
from oi_tui.widgets.timeline.source_view import SourceView


class KeepScreen(QuestionScreen):
    """Whether a function is kept: its source, its test and the two answers."""

    CSS_PATH = "keep_screen.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Hint("y", "agree", "Keep it", id="keep.agree", label="keep"),
        Hint("c", "switch", "Only what changes, or the whole file", id="keep.changes", label="changes / whole file"),
        Hint("n,escape", "dismiss(False)", "Do not keep it", id="keep.back", label="not now"),
        Binding("up,k", "scroll_source(-1)", "Scroll up", id="keep.up", show=False),
        Binding("down,j", "scroll_source(1)", "Scroll down", id="keep.down", show=False),
        Binding("pageup", "page(-1)", "Page up", id="keep.page_up", show=False),
        Binding("pagedown,space", "page(1)", "Page down", id="keep.page_down", show=False),
    ]

    def __init__(self, draft: FunctionDrafted, palette: Palette) -> None:
        super().__init__()
        self._draft, self._palette = draft, palette
        self._shows_changes = bool(draft.changes)

    def compose(self) -> ComposeResult:
        """Title, how the test went, the source, the keys."""
        yield Words(id="keep-title")
        yield Words(id="keep-test")
        yield SourceView(id="keep-source")
        yield KeyRow(id="keep-keys")

    def on_mount(self) -> None:
        draft = self._draft
        version = f", version {draft.version}" if draft.version > 1 else ""
        self.query_one("#keep-title", Words).update(safe_text(f"Keep {draft.name}{version}?"))
        test = self.query_one("#keep-test", Words)
        test.set_class(not draft.passed, "-failed")
        needs = f" It takes along: {', '.join(draft.needs)}." if draft.needs else ""
        test.update(safe_text(one_line(f"{draft.tested}{needs}")))
        self.query_one(SourceView).set_palette(self._palette)
        self._show()

    def action_switch(self) -> None:
        """What changes, or the whole."""
        if self._draft.changes:
            self._shows_changes = not self._shows_changes
            self._show()

    def action_scroll_source(self, rows: int) -> None:
        """Move what is shown by rows."""
        self.query_one(SourceView).scroll_relative(y=rows, animate=False, immediate=True)

    def action_page(self, pages: int) -> None:
        """Move it by pages."""
        view = self.query_one(SourceView)
        view.scroll_relative(y=pages * max(1, view.size.height - 1), animate=False, immediate=True)

    def _show(self) -> None:
        draft, view = self._draft, self.query_one(SourceView)
        text, language = (draft.changes, "diff") if self._shows_changes else (draft.text, "python")
        view.show(collapse_blanks(visible_text(text).text), language)
        view.scroll_home(animate=False)

    def show_keys(self, off: tuple[str, ...]) -> None:
        """Without the one for changes, where nothing was kept before."""
        self.query_one(KeyRow).labels = key_labels(self, off=off + (() if self._draft.changes else ("c",)))
