"""What a front end gets about the variables of a kernel, and asks and gets about its frames."""

from typing import Annotated, Literal

import msgspec

from oi_tui.app.engine.core.values import Value

Telling = Literal["told", "gone", "cold", "dead", "busy", "silent"]
"""`cold`: nothing has run yet; `dead`: its process is gone; `busy`: it runs something, and is not asked then;
`silent`: it does not know the question, or did not answer in time."""


class Variable(Value, frozen=True, kw_only=True):
    """One name and what a cheap look at its value tells."""

    name: str
    type: str
    shape: str = ""
    """Its length, or `rows×columns`; "" where it has none."""
    size: int | None = None
    """Bytes, without those of what it refers to; None: unknown."""
    peek: str = ""
    """The value on one line, truncated; "" if reading it would run code."""


class CodeName(Value, frozen=True, kw_only=True):
    """One possible name at the cursor."""

    name: str
    kind: str = ""
    """Its type, in a word."""


FrameSign = Literal["=", "!=", "<", "<=", ">", ">=", "~", "!~"]
"""How a column is compared with a value; `~`: contains it, whatever the case."""

Count = Annotated[int, msgspec.Meta(ge=0, le=2**62)]

MOST_WIDTH = 1_000_000
"""Columns of a frame that is believed."""


class FrameCondition(Value, frozen=True, kw_only=True):
    """A condition for the rows to show. It is never evaluated as code."""

    column: str
    """Its name."""
    sign: FrameSign
    value: str | None
    """As it was typed; None: nothing is there (`=`), or something (`!=`)."""


class FrameQuestion(Value, frozen=True, kw_only=True):
    """A window of rows and columns, or figures about one column."""

    ref: str
    """The name of the frame, as its table tells it."""
    first: int = 0
    """Row that the window begins with, in this order and of those of which the conditions hold."""
    count: int = 0
    columns: tuple[int, ...] = ()
    """Numbers of the columns; those of the index come with all windows."""
    sort: int | None = None
    """Number of a column; those of the index are below 0. None: as they are."""
    descending: bool = False
    where: tuple[FrameCondition, ...] = ()
    """All of them hold."""
    exact: bool = False
    """Values as they are written in a file, not as they are read in a table."""
    figures: int | None = None
    """The column that figures are wanted of, instead of a window."""


class FrameColumn(Value, frozen=True, kw_only=True):
    """A column of a window."""

    number: int
    name: str
    kind: str
    is_number: bool


class FramePage(Value, frozen=True, kw_only=True):
    """A window of rows and columns."""

    mark: str
    """Another one when the frame was changed, as far as a cheap look tells."""
    rows: Count
    """Of the whole frame."""
    matching: Count
    """Of which the conditions hold."""
    width: Annotated[int, msgspec.Meta(ge=0, le=MOST_WIDTH)]
    """Columns of the whole, without those of the index."""
    first: Count
    """Row that this begins with."""
    columns: tuple[FrameColumn, ...]
    """Those of the index first; their numbers are below 0."""
    cells: tuple[tuple[str, ...], ...]
    """Rows. There may be fewer than were asked for, but one at least where there are any."""


class ColumnFigures(Value, frozen=True, kw_only=True):
    """Figures about a column, of the rows that meet the conditions."""

    name: str
    kind: str
    count: Count
    """Values that are there."""
    nulls: Count
    distinct: Count | None = None
    """Values that differ; None: not counted."""
    min: str = ""
    max: str = ""
    mean: str = ""
    often: tuple[tuple[str, Count], ...] = ()
    """The values that are there most often, and how often."""
