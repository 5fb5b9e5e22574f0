"""A session as a file: in which format, and where? The caller is a widget of the chat."""

from pathlib import Path

from textual.widget import Widget

from oi_tui.app.commands.registry import EXPORT_FORMATS
from oi_tui.app.engine.core.library_verbs import ExportSession
from oi_tui.app.engine.core.session_records import ExportFormat
from oi_tui.app.engine.text.words import one_line
from oi_tui.app.frontend.bridge import Bridge
from oi_tui.app.screens.choose import ChooseScreen
from oi_tui.app.screens.save_as import SaveAsScreen

_ENDINGS: dict[ExportFormat, str] = {
    "ipynb": ".ipynb",
    "md": ".md",
    "html": ".html",
    "lmc": ".json",
    "messages": ".json",
}


async def ask_to_export(
    place: Widget, bridge: Bridge, session_id: str, title: str, format_: ExportFormat | None = None
) -> None:
    """Ask for missing choices, and have the engine write the file. Runs in a worker."""
    if format_ is None:
        number = await place.app.push_screen_wait(ChooseScreen("Export as", list(EXPORT_FORMATS.values())))
        if number is None:
            return
        format_ = list(EXPORT_FORMATS)[number]
    folder = Path(bridge.transcript.cwd or ".")
    name = file_name(title) + _ENDINGS[format_]
    path = await place.app.push_screen_wait(SaveAsScreen(name, folder, what=EXPORT_FORMATS[format_], may_replace=False))
    if path is not None:
        bridge.send(ExportSession(session_id=session_id, format=format_, path=str(path.absolute())))


def file_name(title: str) -> str:
    """A name for a file of what has this title."""
    words = "".join(character if character.isalnum() else " " for character in one_line(title)).split()
    return "-".join(words)[:60].strip("-").lower() or "session"
