"""What plugins give to hooks, as values."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from oi_tui.app.engine.core.blocks import Block
from oi_tui.app.engine.transcript.outline import SessionOutline


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What a policy of a plugin says of an action. There is none that allows: rules and mode have the last word."""

    verdict: Literal["ask", "deny"]
    reason: str
    """For the person and, of what is denied, for the model."""


@dataclass(frozen=True)
class Refuse:
    """A request is not sent, or an answer is not used."""

    reason: str
    """For the person."""


@dataclass(frozen=True)
class SessionContent:
    """A session as exporters get it: folded, pictures left out where that is wanted."""

    blocks: tuple[Block, ...]
    outline: SessionOutline


@dataclass(frozen=True, kw_only=True)
class Exporter:
    """A file format that sessions can be written in."""

    format: str
    """Its short name: `ipynb`, `adoc`."""
    title: str
    """For the list of formats."""
    suffix: str
    """Of files, with its dot."""
    write: Callable[[SessionContent], bytes | str] | str
    """The function, or where it is, `module:function`, to be imported for the first export. StoreError for what the
    person should read."""


@dataclass(frozen=True, kw_only=True)
class ImportedContent:
    """What an importer read."""

    blocks: tuple[Block, ...]
    outline: SessionOutline | None = None


@dataclass(frozen=True, kw_only=True)
class Importer:
    """A file format that sessions can be read from. What is read is a stranger's: nothing of it runs or is granted."""

    format: str
    title: str
    suffixes: tuple[str, ...]
    """Of files that it is asked about, with their dots."""
    read: Callable[[bytes, str], ImportedContent | None] | str
    """Gets content and name of a file; None if it is of another format, StoreError if it is a broken one. The function
    or where it is, as above."""
