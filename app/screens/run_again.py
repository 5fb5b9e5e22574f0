"""Code that ran before, under the person's hands: changed, looked at, and run again."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from oi_tui.app.engine.core.values import Language
from oi_tui.app.engine.text.safe import collapse_blanks, safe_text, visible_text
from oi_tui.themes.palette import Palette
from oi_tui.widgets.approval_view import changed_lines
from oi_tui.widgets.editor import SourceEditor, hidden_note
from oi_tui.widgets.keyrow import Hint, KeyRow, key_labels
from oi_tui.widgets.lettering import Words
from oi_tui.widgets.timeline.source_view import SourceView


class RunAgainScreen(ModalScreen[str | None]):
    """Dismissed with the source to run, or None. The editor's keys mean what they mean in the question about code."""

    CSS_PATH = "run_again.tcss"
    DECIDES = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Hint("y", "run", "Run it", id="again.run", label="run"),
        Hint("e", "edit", "Edit it", id="again.edit", label="edit"),
        Hint("escape", "dismiss(None)", "Back, nothing runs", id="again.back", label="back"),
        Binding("up,k", "scroll_source(-1)", "Scroll up", id="again.up", show=False),
        Binding("down,j", "scroll_source(1)", "Scroll down", id="again.down", show=False),
    ]

    def __init__(self, source: str, language: Language, palette: Palette) -> None:
        super().__init__()
        self._before = self._source = source
        self._language = language
        self._palette = palette

    def compose(self) -> ComposeResult:
        """The editor, or what it made, between a title and the keys."""
        yield Words(id="again-title")
        yield Words(id="again-hidden")
        yield SourceEditor(id="again-source")
        yield SourceView(id="again-shown")
        yield KeyRow(id="again-keys")

    def on_mount(self) -> None:
        self.query_one(SourceEditor).set_palette(self._palette)
        self.query_one(SourceView).set_palette(self._palette)
        self.action_edit()

    def action_edit(self) -> None:
        """Change it; nothing that is typed there runs anything."""
        editor = self.query_one(SourceEditor)
        self.query_one(SourceView).display, editor.display = False, True
        editor.begin(self._source, self._language)
        note = self.query_one("#again-hidden", Words)
        note.display = editor.hidden_count > 0
        note.update(hidden_note(editor.hidden_count))
        self._show_keys()

    def action_run(self) -> None:
        """Run what is shown."""
        if self.query_one(SourceView).display:
            self.dismiss(self._source)

    def action_scroll_source(self, rows: int) -> None:
        """Move what is shown."""
        self.query_one(SourceView).scroll_relative(y=rows, animate=False, immediate=True)

    def on_source_editor_finished(self, event: SourceEditor.Finished) -> None:
        """Show what would run, unless nothing is left or the person gave up."""
        event.stop()
        if event.source is None or not event.source.strip():
            self.dismiss(None)
            return
        self._source = event.source
        view = self.query_one(SourceView)
        self.query_one(SourceEditor).display, view.display = False, True
        text = collapse_blanks(visible_text(self._source).text)
        view.show(text, self._language, changed_lines(self._before, self._source))
        view.styles.height = view.row_count(self.size.width)
        self.set_focus(None)
        self._show_keys()

    def on_source_editor_hesitated(self, event: SourceEditor.Hesitated) -> None:
        event.stop()
        self._show_keys()

    def _show_keys(self) -> None:
        editing = self.query_one(SourceEditor).display
        heading = "Edit, then run again" if editing else "Run this again?"
        self.query_one("#again-title", Words).update(f"{heading} · {safe_text(self._language)}")
        self.query_one(KeyRow).labels = self.query_one(SourceEditor).labels() if editing else key_labels(self)
