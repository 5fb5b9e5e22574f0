"""What the engine answers about sessions that need not be open."""

from oi_tui.app.engine.core.blocks import Block
from oi_tui.app.engine.core.session_records import FileFormat, PastPrompt, SearchHit, SessionRecord
from oi_tui.app.engine.core.values import Value


class SessionsFound(Value, frozen=True, kw_only=True, tag=True):
    """Answer to `FindSessions`: records without a query, hits with one, best first, one for each kind and session."""

    query: str = ""
    archived: bool = False
    sessions: tuple[SessionRecord, ...] = ()
    hits: tuple[SearchHit, ...] = ()
    cut: bool = False
    """The list is truncated."""
    behind: int = 0
    """Sessions that a search does not look through yet: the index is being made. The answer comes again after that."""


class SessionSeen(Value, frozen=True, kw_only=True, tag=True):
    """Answer to `PreviewSession`: its first blocks, long texts cut."""

    session: SessionRecord
    blocks: tuple[Block, ...] = ()
    count: int = 0
    """Blocks that it has."""


class SessionEdited(Value, frozen=True, kw_only=True, tag=True):
    """Answer to `EditSession`: the session's current state. Also sent when the model has given the session a title."""

    session: SessionRecord


class SessionExported(Value, frozen=True, kw_only=True, tag=True):
    """The file that `ExportSession` asked for has been written."""

    session_id: str
    path: str
    """Absolute."""


class FormatsFound(Value, frozen=True, kw_only=True, tag=True):
    """Answer to `FindFormats`: those of plugins, also of built-in ones."""

    formats: tuple[FileFormat, ...] = ()


class PromptsFound(Value, frozen=True, kw_only=True, tag=True):
    """Answer to `FindPrompts`: each text once, the newest first."""

    query: str = ""
    prompts: tuple[PastPrompt, ...] = ()
