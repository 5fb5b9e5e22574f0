"""A summary of old turns under the person's hands: what the model reads from then on is theirs."""

from textual.app import ComposeResult
from textual.screen import ModalScreen

from oi_tui.themes.palette import Palette
from oi_tui.widgets.editor import SourceEditor
from oi_tui.widgets.keyrow import KeyRow
from oi_tui.widgets.lettering import Words


class SummaryScreen(ModalScreen[str | None]):
    """Dismissed with the text, or None where it stays as it was."""

    CSS_PATH = "summary_screen.tcss"

    def __init__(self, text: str, palette: Palette) -> None:
        super().__init__()
        self._text = text
        self._palette = palette

    def compose(self) -> ComposeResult:
        """The editor between a title and its keys."""
        yield Words("Edit the summary that the model reads", id="summary-title")
        yield SourceEditor(id="summary-text")
        yield KeyRow(id="summary-keys")

    def on_mount(self) -> None:
        editor = self.query_one(SourceEditor)
        editor.set_palette(self._palette)
        editor.soft_wrap = True
        editor.begin(self._text, "text")
        self._show_keys()

    def on_source_editor_finished(self, event: SourceEditor.Finished) -> None:
        """An empty text changes nothing: u leaves the summary out."""
        event.stop()
        changed = event.source is not None and event.source.strip() not in ("", self._text)
        self.dismiss(event.source if changed else None)

    def on_source_editor_hesitated(self, event: SourceEditor.Hesitated) -> None:
        event.stop()
        self._show_keys()

    def _show_keys(self) -> None:
        self.query_one(KeyRow).labels = self.query_one(SourceEditor).labels()
