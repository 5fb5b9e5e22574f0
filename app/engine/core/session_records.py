"""Sessions as a list shows them: one record each, and what a search found in them."""

from typing import Literal

from oi_tui.app.engine.core.values import Value

ExportFormat = str
"""`lmc`, `messages`, or the name of a format of a plugin: `ipynb`, `md`, `html` of the built-in ones."""

HitKind = Literal["title", "prompt", "answer", "code", "output"]
"""Where in a session a word was found."""

Titler = Literal["prompt", "model", "person"]
"""Who gave a session its title; the later in this row counts more."""

TITLE_LIMIT = 200
"""Characters of a title."""


class FileFormat(Value, frozen=True, kw_only=True):
    """A format in which sessions are written."""

    name: ExportFormat
    title: str
    suffix: str
    """Of files, with its dot."""


class SessionRecord(Value, frozen=True, kw_only=True):
    """The facts about a session that need no reading of its events."""

    id: str
    created: float
    """Unix time in seconds."""
    active: float
    """Unix time of the last event."""
    cwd: str
    title: str = ""
    """The person's, else the model's, else the first line of the first prompt; "" before there is one."""
    model: str = ""
    """The one used last."""
    tags: tuple[str, ...] = ()
    """In alphabetical order."""
    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    """US dollars of the steps whose price is known, None if none was."""
    archived: bool = False
    deleted: bool = False
    """Not in any list; can be restored until the session is removed permanently."""
    parent_id: str | None = None
    """The session that this one was forked from; what came before the fork is shared with it."""


class SnippetPart(Value, frozen=True, kw_only=True):
    """A part of a snippet."""

    text: str
    matched: bool = False


class SearchHit(Value, frozen=True, kw_only=True):
    """A place in a session that a search found."""

    session: SessionRecord
    kind: HitKind
    snippet: tuple[SnippetPart, ...]
    """One line around the match."""
    block_id: str = ""
    """The block of the match; "" for a title."""


class PastPrompt(Value, frozen=True, kw_only=True):
    """A prompt of any session."""

    text: str
    """Byte for byte as sent."""
    at: float
    """Unix time."""
    session_id: str
    cwd: str
    place: int
    """Counts up; those before it are older."""
