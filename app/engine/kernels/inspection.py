"""A look into a kernel that can be looked into: the questions, and the answers as far as they can be believed."""

import asyncio
import keyword
import re
from collections.abc import Awaitable
from typing import Annotated, Any, Literal, Protocol, runtime_checkable

import msgspec

from oi_tui.app.engine.core.encoding import expressible
from oi_tui.app.engine.core.values import Value
from oi_tui.app.engine.core.variable import ColumnFigures, FramePage, FrameQuestion, Variable
from oi_tui.app.engine.kernels.json_cleaner import clean_json

ANSWER = 1.0
"""Seconds to wait for an answer; the kernel spends at most 0.02 on it."""

FRAME_ANSWER = 120.0
"""And of a frame, which may be sorted first."""

FRAME_ROWS = 2_000
"""In one window at most."""

NAMES = 200
"""In one listing at most, whatever the kernel says."""

LINES, TEXT = 40, 4_000
"""Lines and characters of a longer look at most."""

LINE = 1_000
"""Characters before the cursor that are looked at to complete a name."""

SOURCE = 50_000
"""Characters of a source that are searched for names."""

PendingReply = Awaitable[dict[str, Any] | None]
"""Content of a reply that may come; None if the process ended instead."""

_WORD = re.compile(r"\b[^\W\d]\w{0,99}")

VariableName = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
Short = Annotated[str, msgspec.Meta(max_length=100)]
Size = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
Names = Annotated[tuple[VariableName, ...], msgspec.Meta(max_length=NAMES)]


class VariableRow(Value, frozen=True, kw_only=True):
    """A variable, with a mark that changes when its value does."""

    name: VariableName
    type: Short
    shape: Short = ""
    size: Size | None = None
    peek: Short = ""
    mark: Short = ""

    @property
    def variable(self) -> Variable:
        """Its description; kernels may send lone surrogates."""
        kind, shape, peek = (expressible(text) for text in (self.type, self.shape, self.peek))
        return Variable(name=self.name, type=kind, shape=shape, size=self.size, peek=peek)


class Listing(Value, frozen=True, kw_only=True):
    """Answer to the question for variables."""

    variables: Annotated[tuple[VariableRow, ...], msgspec.Meta(max_length=NAMES)]
    cut: bool = False
    gone: Names = ()
    """Of the known names."""
    new: Names | None = None
    """Those listed that were not there before the last run, listed or not; None: unknown."""


class VariableDetail(Value, frozen=True, kw_only=True):
    """Answer to the question for one variable."""

    text: str | None
    """None: there is no such variable."""
    table: Any = None
    """Of a frame, in the form of `in_kernel_tables.py`."""


class FrameAnswer(Value, frozen=True, kw_only=True):
    """Answer to a question about a frame."""

    state: Literal["told", "gone", "problem"]
    problem: Annotated[str, msgspec.Meta(max_length=1_000)] = ""
    page: FramePage | None = None
    figures: ColumnFigures | None = None


class NameRow(Value, frozen=True, kw_only=True):
    """A possible name at the cursor, and the type of its value."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    kind: Short = ""


class CodeNames(Value, frozen=True, kw_only=True):
    """Answer to the question for names that complete one."""

    start: Annotated[int, msgspec.Meta(ge=0, le=SOURCE)] = 0
    """Where in the requested source the name begins."""
    names: Annotated[tuple[NameRow, ...], msgspec.Meta(max_length=NAMES)] = ()


@runtime_checkable
class Inspectable(Protocol):
    """A kernel that can be asked for its variables. Each question is sent at once, before anything that is run later;
    the answer is None where the kernel is not idle, does not know the question, or says what cannot be believed.
    """

    def variables(self, known: tuple[str, ...], *, again: bool) -> Awaitable[Listing | None]:
        """List the variables; `known` are the names of the listing before. `again`: nothing has run since then."""
        ...

    def peek(self, name: str) -> Awaitable[VariableDetail | None]:
        """A longer look at one variable."""
        ...


@runtime_checkable
class FrameSource(Protocol):
    """A kernel that can be asked for parts of frames, in the same way."""

    def frame(self, question: FrameQuestion) -> Awaitable[FrameAnswer | None]:
        """A window of the frame, or figures about a column, without running anything of the person's."""
        ...


@runtime_checkable
class NameSource(Protocol):
    """A kernel that can be asked for names, in the same way."""

    def names(self, source: str, place: int) -> Awaitable[CodeNames | None]:
        """Completions of the name that ends at this place, without running any of the person's code."""
        ...


async def read_listing(answer: PendingReply | None, *, within: float = ANSWER) -> Listing | None:
    """The answer, if there is one to come, comes in time and can be believed."""
    if answer is None:
        return None
    try:
        async with asyncio.timeout(within):
            found = msgspec.convert(await answer, Listing)
    except (TimeoutError, msgspec.ValidationError):
        return None
    rows = {row.name: row for row in found.variables if row.name.isidentifier()}
    return msgspec.structs.replace(found, variables=tuple(rows.values()))


async def read_detail(answer: PendingReply | None, *, within: float = ANSWER) -> VariableDetail | None:
    """The answer, if there is one to come, comes in time and can be believed; within its bounds."""
    if answer is None:
        return None
    try:
        async with asyncio.timeout(within):
            found = msgspec.convert(await answer, VariableDetail)
    except (TimeoutError, msgspec.ValidationError):
        return None
    if found.text is None:
        return VariableDetail(text=None)
    text = expressible("\n".join(found.text[:TEXT].split("\n")[:LINES]))
    return VariableDetail(text=text, table=clean_json(found.table))


async def read_frame(
    answer: PendingReply | None, question: FrameQuestion, *, within: float = FRAME_ANSWER
) -> FrameAnswer | None:
    """The answer, if there is one to come, comes in time and can be believed: it is what was asked for."""
    if answer is None:
        return None
    try:
        async with asyncio.timeout(within):
            found = msgspec.convert(clean_json(await answer), FrameAnswer)
    except (TimeoutError, msgspec.ValidationError):
        return None
    return found if found.page is None or _is_window(found.page, question) else None


def _is_window(page: FramePage, question: FrameQuestion) -> bool:
    """Whether these are the rows and columns that were asked for: else the caller would ask forever."""
    numbers = [column.number for column in page.columns]
    levels = sum(number < 0 for number in numbers)
    asked = (at for at in question.columns if 0 <= at < page.width)
    return (
        numbers == [*range(-levels, 0), *asked]
        and page.first == max(0, min(question.first, page.matching))
        and len(page.cells) <= min(max(1, question.count), FRAME_ROWS, page.matching - page.first)
        and all(len(row) == len(numbers) for row in page.cells)
    )


def frame_request(question: FrameQuestion) -> dict[str, Any]:
    """The question as a kernel is asked it, with all that it has."""
    fields = {name: getattr(question, name) for name in question.__struct_fields__}
    conditions = [{"column": one.column, "sign": one.sign, "value": one.value} for one in question.where]
    return fields | {"where": conditions}


async def read_names(answer: PendingReply | None, before: int, *, within: float = ANSWER) -> CodeNames | None:
    """The answer, if there is one to come, comes in time and can be believed. `before` are the characters of the source
    that the kernel was not sent."""
    if answer is None:
        return None
    try:
        async with asyncio.timeout(within):
            found = msgspec.convert(await answer, CodeNames)
    except (TimeoutError, msgspec.ValidationError):
        return None
    rows = tuple(NameRow(name=expressible(row.name), kind=expressible(row.kind)) for row in found.names)
    return CodeNames(start=found.start + before, names=tuple(row for row in rows if row.name.isprintable()))


def names_in(source: str) -> list[str]:
    """Names that a source may have touched, in their order."""
    words = dict.fromkeys(_WORD.findall(source[:SOURCE]))
    return [word for word in words if not keyword.iskeyword(word)][:NAMES]
