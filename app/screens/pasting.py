"""What a paste becomes: a picture of the clipboard, a file whose path was dragged in, or text."""

import asyncio
import os
from typing import TYPE_CHECKING

from oi_tui.app.commands.mentions import mention_paths
from oi_tui.app.engine.files.given_picture import UnreadablePicture, read_picture
from oi_tui.widgets.text_box import with_line_feeds

if TYPE_CHECKING:
    from oi_tui.app.screens.prompt_desk import PromptDesk


class Pasting:
    """The `Paster` of the prompt."""

    def __init__(self, desk: "PromptDesk") -> None:
        self._desk = desk

    def mention(self, text: str) -> str | None:
        """Mentions of the files whose paths were pasted."""
        return mention_paths(text, self._desk.folder)

    def tell_mention(self) -> None:
        """Say what became of the paths."""
        from oi_tui.widgets.keyrow import key_in_use  # not for the first frame

        undo = key_in_use(self._desk.area, "composer.undo")
        back = f" {undo} makes it a path again." if undo else ""
        self._desk.tell(f"Pasted as @file: it is sent with the prompt.{back}", seconds=6.0)

    async def paste(self) -> None:
        """Insert what is in the desktop's clipboard, else what was copied within the program."""
        # For the first paste.
        from oi_tui.app.engine.text.attached import attach_picture
        from oi_tui.app.screens.clipboard import read_clipboard
        from oi_tui.app.screens.clipboard_reading import terminal_clipboard

        area = self._desk.area
        terminal = terminal_clipboard(area.app._driver)
        found = await read_clipboard(os.environ, terminal, lambda words: self._desk.tell(words, seconds=0))
        if found.paths and mention_paths(found.paths, self._desk.folder):
            area.insert_paste(found.paths)
        elif found.picture:
            try:
                picture = await asyncio.to_thread(read_picture, found.picture)
            except UnreadablePicture as error:
                self._desk.tell(f"The clipboard has a picture that {error}.", failed=True)
                return
            if picture is None:
                self._desk.tell("The clipboard has a picture of a kind that cannot be sent.", failed=True)
                return
            area.insert_picture(attach_picture("", picture.mime, picture.data), f"{picture.width}×{picture.height}")
        elif text := found.text or self._desk.app_clipboard:
            area.insert_paste(with_line_feeds(text))
        else:
            self._desk.tell(found.why or "The clipboard is empty.", failed=bool(found.why))
