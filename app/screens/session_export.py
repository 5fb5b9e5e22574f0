"""A session as a file: in which format, and where? The caller is a widget of the chat."""

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace
from textual.widget import Widget

from oi_tui.app.commands.registry import EXPORT_FORMATS
from oi_tui.app.engine.core.library_verbs import ExportSession
from oi_tui.app.engine.core.session_records import FileFormat
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.words import one_line
from oi_tui.app.frontend.bridge import Bridge
from oi_tui.app.screens.choose import ChooseScreen
from oi_tui.app.screens.save_as import SaveAsScreen

_ENDINGS = {"ipynb": ".ipynb", "md": ".md", "html": ".html", "lmc": ".json", "messages": ".json"}

SHIPPED = tuple(FileFormat(name=name, title=title, suffix=_ENDINGS[name]) for name, title in EXPORT_FORMATS.items())


def all_formats(found: Sequence[FileFormat]) -> tuple[FileFormat, ...]:
    """Ours, in our words, and those that plugins add."""
    ours = {one.name for one in SHIPPED}
    others = (one for one in found if one.name not in ours)
    return (*SHIPPED, *(replace(one, title=one_line(safe_text(one.title))) for one in others))


async def ask_to_export(
    place: Widget,
    bridge: Bridge,
    session_id: str,
    title: str,
    *,
    formats: Sequence[FileFormat] = SHIPPED,
    wanted: FileFormat | None = None,
) -> None:
    """Ask for missing choices, and have the engine write the file. Runs in a worker."""
    if wanted is None:
        number = await place.app.push_screen_wait(ChooseScreen("Export as", [one.title for one in formats]))
        if number is None:
            return
        wanted = formats[number]
    folder = Path(bridge.transcript.cwd or ".")
    name = file_name(title) + wanted.suffix
    path = await place.app.push_screen_wait(SaveAsScreen(name, folder, what=wanted.title, may_replace=False))
    if path is not None:
        bridge.send(ExportSession(session_id=session_id, format=wanted.name, path=str(path.absolute())))


def file_name(title: str) -> str:
    """A name for a file of what has this title."""
    words = "".join(character if character.isalnum() else " " for character in one_line(title)).split()
    return "-".join(words)[:60].strip("-").lower() or "session"
