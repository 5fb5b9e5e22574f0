"""One picture on the whole screen: closer, from side to side, and into a file as it came."""

from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen

from oi_tui.app.screens.picture_viewer import NoPictureViewer, open_picture
from oi_tui.app.screens.save_as import SaveAsScreen, SaveFailed, save
from oi_tui.themes.palette import Palette
from oi_tui.widgets.keyrow import Hint, KeyRow, key_labels
from oi_tui.widgets.lettering import Words
from oi_tui.widgets.timeline.figure_words import FigureWords
from oi_tui.widgets.timeline.graphics import Graphics
from oi_tui.widgets.timeline.pixels import PictureSource
from oi_tui.widgets.viewer.picture_view import PictureView

PICTURE_SUFFIXES = {
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/gif": ".gif",
    "image/webp": ".webp",
    "image/svg+xml": ".svg",
}
"""How a file of this mime type ends."""


class PictureScreen(Screen[None]):
    """Arrows move, + and - zoom, s saves the bytes that came."""

    CSS_PATH = "picture_screen.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Hint("escape,q,z", "dismiss", "back", id="picture.back"),
        Hint("o", "open_outside", "open in the desktop's viewer", id="picture.open_outside", label="open outside"),
        Hint("s", "save", "save", id="picture.save"),
    ]

    def __init__(
        self,
        data: bytes,
        mime: str,
        graphics: Graphics,
        palette: Palette,
        *,
        source: PictureSource | None = None,
        words: FigureWords | None = None,
        title: str = "figure",
        name: str = "",
        folder: Path | None = None,
    ) -> None:
        """`data` is what is saved; `source` shows it where its bytes are no picture by themselves: an SVG."""
        super().__init__()
        self._data = data
        self._title = title
        self._file_name = name or f"figure{PICTURE_SUFFIXES.get(mime, '')}"
        self._folder = folder or Path.cwd()
        self._source = source or PictureSource(data)
        # Who wants no pictures in the timeline still asked for this one.
        self._graphics = graphics if graphics.protocol != "none" else graphics._replace(protocol="cells")
        self._palette = palette
        self._words = words

    def compose(self) -> ComposeResult:
        """A line of facts, the picture, the keys."""
        yield Words(id="picture-head")
        yield PictureView(self._source, self._graphics, self._palette, words=self._words, id="picture-view")
        yield KeyRow(id="picture-keys")

    def on_mount(self) -> None:
        """The picture has the keys."""
        view = self.query_one(PictureView)
        self.query_one(KeyRow).labels = (*key_labels(view), *key_labels(self, "o", "s", "esc"))
        view.focus()

    def on_picture_view_looked(self, event: PictureView.Looked) -> None:
        """How close that is."""
        event.stop()
        width, height = self._source.size or (0, 0)
        share = f" · {event.scale:.0%}" if self._graphics.protocol in ("kitty", "sixel") else ""
        self.query_one("#picture-head", Words).update(f"{self._title} · {width}×{height}{share}")

    def action_open_outside(self) -> None:
        """In the program that the desktop has for pictures."""

        def open_outside() -> None:
            try:
                open_picture(self._source)
            except NoPictureViewer as error:
                self.app.call_from_thread(self.notify, str(error), severity="warning")

        self.run_worker(open_outside, name="open", group="open", thread=True)

    def action_save(self) -> None:
        """Ask where, then write it there."""

        def save_to(path: Path | None) -> None:
            if path is not None:
                self.run_worker(lambda: self._save(path), name="save", group="save", thread=True)

        self.app.push_screen(SaveAsScreen(self._file_name, self._folder, what=self._title), save_to)

    def _save(self, path: Path) -> None:
        try:
            save(path, self._data)
        except SaveFailed as failed:
            self.app.call_from_thread(self.notify, str(failed), severity="warning")
        else:
            self.app.call_from_thread(self.notify, f"Saved {path.name}.")
