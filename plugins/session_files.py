"""Sessions as files in all formats, those of plugins too."""

from collections.abc import Sequence

from oi_tui.app.engine.core.events import AnyEvent
from oi_tui.app.engine.core.session_records import ExportFormat
from oi_tui.app.engine.formats.export import ImportedSession, read_session, write_session
from oi_tui.app.engine.hooks.calling import Hooks
from oi_tui.app.engine.hooks.session_files import session_readers, session_writers
from oi_tui.plugins.host import built_in_hooks


def export_session(
    events: Sequence[AnyEvent],
    format: ExportFormat,
    *,
    images: bool = True,
    title: str = "",
    hooks: Hooks | None = None,
) -> bytes:
    """The session as a file; without `hooks` by the built-in plugins. StoreError if there is no such format."""
    writers = session_writers(hooks or built_in_hooks())
    return write_session(events, format, writers, images=images, title=title)


def import_session(data: bytes, name: str, hooks: Hooks | None = None) -> ImportedSession:
    """The session in a file with this name; StoreError if there is none in it."""
    return read_session(data, name, session_readers(hooks or built_in_hooks(), name))
