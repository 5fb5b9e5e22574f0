"""Code that ran before, under the person's hands: changed, and run again."""

from textual.app import ComposeResult
from textual.screen import ModalScreen

from oi_tui.app.engine.core.values import Language
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.themes.palette import Palette
from oi_tui.widgets.editor import SourceEditor, hidden_note
from oi_tui.widgets.keyrow import KeyRow, key_labels
from oi_tui.widgets.lettering import Words

_WORDS = {"ctrl+s": ("run it", "run"), "esc": ("back, nothing runs", "back")}


class RunAgainScreen(ModalScreen[str | None]):
    """Dismissed with the source to run, or None."""

    CSS_PATH = "run_again.tcss"

    def __init__(self, source: str, language: Language, palette: Palette) -> None:
        super().__init__()
        self._source = source
        self._language = language
        self._palette = palette

    def compose(self) -> ComposeResult:
        """The editor between a title and its keys."""
        yield Words(f"Run again, as you change it · {safe_text(self._language)}", id="again-title")
        yield Words(id="again-hidden")
        yield SourceEditor(id="again-source")
        yield KeyRow(id="again-keys")

    def on_mount(self) -> None:
        editor = self.query_one(SourceEditor)
        self.query_one(KeyRow).labels = key_labels(editor, words=_WORDS)
        editor.set_palette(self._palette)
        editor.begin(self._source, self._language)
        note = self.query_one("#again-hidden", Words)
        note.display = editor.hidden_count > 0
        note.update(hidden_note(editor.hidden_count))

    def on_source_editor_finished(self, event: SourceEditor.Finished) -> None:
        """Run it, unless nothing is left or the person gave up."""
        event.stop()
        self.dismiss(event.source if event.source is not None and event.source.strip() else None)
