"""What a front end can ask about sessions that need not be open."""

from oi_tui.app.engine.core.session_records import ExportFormat
from oi_tui.app.engine.core.values import Verb


class FindSessions(Verb, frozen=True, kw_only=True, tag=True):
    """The sessions, the one last active first, or (with a query) what a search in them finds; `SessionsFound`."""

    query: str = ""
    archived: bool = False


class PreviewSession(Verb, frozen=True, kw_only=True, tag=True):
    """The beginning of a stored session; answered with `SessionSeen`."""

    session_id: str


class EditSession(Verb, frozen=True, kw_only=True, tag=True):
    """Change every field that is not None; answered with `SessionEdited`. `deleted=False` undoes a deletion."""

    session_id: str
    title: str | None = None
    tags: tuple[str, ...] | None = None
    archived: bool | None = None
    deleted: bool | None = None


class ExportSession(Verb, frozen=True, kw_only=True, tag=True):
    """Write a session to a file that does not exist yet; answered with `SessionExported`."""

    session_id: str
    format: ExportFormat
    path: str
    images: bool = True


class FindFormats(Verb, frozen=True, kw_only=True, tag=True):
    """In which formats sessions can be written; answered with `FormatsFound`."""


class FindPrompts(Verb, frozen=True, kw_only=True, tag=True):
    """Find prompts of all sessions that contain these words, newest first; answered with `PromptsFound`."""

    query: str = ""
