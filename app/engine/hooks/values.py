"""What plugins give to hooks, as values."""

from collections.abc import Callable
from typing import Literal

import msgspec

from oi_tui.app.engine.core.blocks import Block
from oi_tui.app.engine.transcript.outline import SessionOutline


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict of a plugin's policy about an action. None of them allows it: rules and mode have the last word."""

    verdict: Literal["ask", "deny"]
    reason: str
    """For the person and, of what is denied, for the model."""


class Refuse(msgspec.Struct, frozen=True):
    """A request is not sent, or an answer is not used."""

    reason: str
    """For the person."""


class SessionContent(msgspec.Struct, frozen=True):
    """A session as exporters get it: folded, pictures left out where that is wanted."""

    blocks: tuple[Block, ...]
    outline: SessionOutline


class Exporter(msgspec.Struct, frozen=True, kw_only=True):
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


class ImportedContent(msgspec.Struct, frozen=True, kw_only=True):
    """The content that an importer read."""

    blocks: tuple[Block, ...]
    outline: SessionOutline | None = None


class Importer(msgspec.Struct, frozen=True, kw_only=True):
    """A file format that sessions can be read from. What is read is a stranger's: nothing of it runs or is granted."""

    format: str
    title: str
    suffixes: tuple[str, ...]
    """Of files that it is asked about, with their dots."""
    read: Callable[[bytes, str], ImportedContent | None] | str
    """Gets content and name of a file; None if it is of another format, StoreError if it is a broken one. The function
    or where it is, as above."""
