"""A notebook of nbformat 4 as values: what is written, and what a foreign one is checked against.

The form is described in https://nbformat.readthedocs.io/en/latest/format_description.html. What that asks for but
foreign files sometimes lack (metadata, ids, outputs, counts) has a default here.
"""

from typing import Any, Literal

import msgspec

MAJOR: Literal[4] = 4
MINOR = 5
"""Of the format that is written: the first one in which cells have ids."""

MultilineString = str | list[str]
"""Text as it is, or as lines with their ends."""


class NotebookStream(msgspec.Struct, frozen=True, kw_only=True, tag_field="output_type", tag="stream"):
    """Text that was printed."""

    name: str = "stdout"
    text: MultilineString


class DisplayData(msgspec.Struct, frozen=True, kw_only=True, tag_field="output_type", tag="display_data"):
    """Something shown on the way."""

    data: dict[str, Any]
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)


class ExecuteResult(msgspec.Struct, frozen=True, kw_only=True, tag_field="output_type", tag="execute_result"):
    """The value of the last expression."""

    data: dict[str, Any]
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    execution_count: int | None = None


class NotebookError(msgspec.Struct, frozen=True, kw_only=True, tag_field="output_type", tag="error"):
    """An `error` output of nbformat: the exception that ended a cell."""

    ename: str = ""
    evalue: str = ""
    traceback: list[str] = msgspec.field(default_factory=list)


CellOutput = NotebookStream | DisplayData | ExecuteResult | NotebookError


class CodeCell(msgspec.Struct, frozen=True, kw_only=True, tag_field="cell_type", tag="code"):
    """Source that can be run, and what it gave."""

    id: str = ""
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    source: MultilineString
    outputs: list[CellOutput] = msgspec.field(default_factory=list)
    execution_count: int | None = None


class MarkdownCell(msgspec.Struct, frozen=True, kw_only=True, tag_field="cell_type", tag="markdown"):
    """A Markdown cell of nbformat: text to read."""

    id: str = ""
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    source: MultilineString
    attachments: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET


class RawCell(msgspec.Struct, frozen=True, kw_only=True, tag_field="cell_type", tag="raw"):
    """Text for a converter."""

    id: str = ""
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    source: MultilineString
    attachments: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET


NotebookCell = CodeCell | MarkdownCell | RawCell


class Notebook(msgspec.Struct, frozen=True, kw_only=True):
    """A whole notebook of nbformat 4."""

    cells: list[NotebookCell]
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    nbformat: Literal[4] = MAJOR
    nbformat_minor: int = MINOR


def join_lines(lines: MultilineString) -> str:
    """The text of lines."""
    return lines if isinstance(lines, str) else "".join(lines)


def split_lines(text: str) -> list[str]:
    """The lines of a text, as Jupyter writes them: each change is a line of a comparison of versions."""
    return text.splitlines(keepends=True)


def is_json_mime(mime: str) -> bool:
    """Whether content of this type is a JSON value and not text."""
    return mime == "application/json" or (mime.startswith("application/") and mime.endswith("+json"))
