"""What code gave, in lines that make sense one by one: bounded streams, tables, figures, errors."""

import re
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from oi_tui.app.engine.core.outputs import ErrorOutput, RichOutput, StreamName, Tail
from oi_tui.app.engine.text.compact_table import TABLE_TYPE
from oi_tui.app.engine.text.mime import IMAGE_TYPES, apply_carriage_returns, image_size, without_escapes
from oi_tui.app.engine.text.rich_text import best_text, says_something
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.words import one_line, quantity
from oi_tui.widgets.timeline.figure_words import FigureWord, figure_words

HEAD, TAIL = 20, 5
"""Lines of a long output that are printed: of its beginning, and of its end."""

LONGEST = 500
"""Characters of a line that are printed."""

ROWS = 5
"""Rows of a table that are printed."""

COLUMNS = 12
"""Columns of one."""

_ARROW = re.compile(r"^-+> ?(\d+) (.*)$", re.MULTILINE)
_KEPT_BACK = 100_000


class StreamLines:
    """One stream of a run: its first lines at once, its last ones at the end, and how many were between."""

    def __init__(self) -> None:
        self._part = ""
        """The line that is not complete, as it came: no escape sequence reaches over its end."""
        self._told = 0
        self._left = 0
        self._last: deque[str] = deque(maxlen=TAIL)
        self._tail: Tail | None = None

    def feed(self, text: str) -> list[str]:
        """The lines that are complete and should be printed."""
        *lines, self._part = (self._part + text).split("\n")
        self._part = self._part[-_KEPT_BACK:]
        return self._count(lines)

    def pause(self) -> list[str]:
        """The unfinished line as well: somebody is asked for the rest of it."""
        part, self._part = self._part, ""
        return self._count([part] if part.strip() else [])

    def move_tail(self, tail: Tail) -> None:
        """The end of a stream of which not all is passed on."""
        self._tail = tail

    @property
    def newest(self) -> str:
        """The last line so far: of a progress bar, how far it is."""
        return one_line(_as_left(self._part) or (self._last[-1] if self._last else ""))[:LONGEST]

    def finish(self, number: int) -> list[str]:
        """The last lines of this run, `number` for the command that shows all."""
        said = self.pause()
        if self._tail is not None:
            lines = safe_text(apply_carriage_returns(without_escapes(self._tail.text))).rstrip("\n").split("\n")
            self._left += self._tail.left_out_lines + len(lines)
            self._last.extend(lines)
        between = self._left - len(self._last)
        if between > 0:
            said.append(f"… {quantity(between, 'more line')}: /show {number}")
        return said + [_clip(line) for line in self._last]

    def _count(self, lines: Sequence[str]) -> list[str]:
        said = []
        for line in map(_as_left, lines):
            if self._told < HEAD:
                self._told += 1
                said.append(_clip(line))
            else:
                self._left += 1
                self._last.append(line)
        return said


def _as_left(line: str) -> str:
    """A line as a terminal would leave it."""
    return safe_text(apply_carriage_returns(line))


def _clip(line: str) -> str:
    more = len(line) - LONGEST
    return line if more <= 0 else f"{line[:LONGEST]} … {quantity(more, 'more character')}"


def first_lines(text: str, number: int, most: int = HEAD) -> list[str]:
    """A text in lines, the beginning of a long one; `number` for the command that shows all."""
    lines = [line for line in safe_text(without_escapes(text)).strip("\n").split("\n") if line.strip()]
    if len(lines) <= most + 1:
        return [_clip(line) for line in lines]
    return [*map(_clip, lines[:most]), f"… {quantity(len(lines) - most, 'more line')}: /show {number}"]


def stream_label(name: StreamName) -> str:
    """The line before what was written to a stream."""
    return "Output:" if name == "stdout" else "Error output:"


def error_lines(error: ErrorOutput, number: int) -> list[str]:
    """The error first, then where in the code it was."""
    lines = first_lines(f"Error: {error.name}: {error.value}" if error.value else f"Error: {error.name}", number)
    found = _ARROW.findall(without_escapes("\n".join(error.traceback)))
    if found:
        line, source = found[0]
        lines.append(_clip(f"It happened in line {line}: {one_line(source)}"))
    if len(found) > 1:
        lines.append(f"The whole traceback: /show {number}")
    return lines


def rich_lines(output: RichOutput, number: int, *, rows: int = ROWS, most: int = HEAD) -> list[str]:
    """A result: a table in at most so many rows, a figure in its words, else its text in at most so many lines."""
    label = "Result:" if output.is_result else "Shown:"
    if table := list(_table(output.data.get(TABLE_TYPE), number, rows)):
        return table
    if any(mime in output.data for mime in IMAGE_TYPES):
        return list(_figure(output, number))
    text = best_text(output.data)
    lines = first_lines(text, number, most) if text.strip() else []
    return [f"{label} {lines[0]}"] if len(lines) == 1 else [label, *lines] if lines else []


def _figure(output: RichOutput, number: int) -> Iterator[str]:
    data = next(output.data[mime] for mime in IMAGE_TYPES if mime in output.data)
    size = image_size(str(data))
    yield f"Picture{f', {size[0]} by {size[1]} pixels' if size else ''}. To write it to a file: /save {number}"
    known = figure_words(output)
    words = known.words if known is not None else ()
    for role, name in (("title", "Title"), ("x-label", "x axis"), ("y-label", "y axis")):
        yield from (f"{name}: {_flat(word)}." for word in words if word.role == role)
    for role, name in (("x-tick", "x axis"), ("y-tick", "y axis")):
        ticks = [_flat(word) for word in words if word.role == role]
        if len(ticks) > 1:
            yield f"{name} from {ticks[0]} to {ticks[-1]}."
    for role, name in (("legend", "Legend"), ("note", "Text in it")):
        if texts := [_flat(word) for word in words if word.role == role]:
            yield _clip(f"{name}: {'; '.join(texts)}.")
    if not words and says_something(plain := output.data.get("text/plain")):
        yield _clip(one_line(str(plain)))


def _flat(word: FigureWord) -> str:
    return one_line(word.text)


def _table(frame: object, number: int, most: int) -> Iterator[str]:
    """Rows with the names of their columns: `row 0: city Oslo, mm 763`."""
    match frame:
        case {
            "index": [*index],
            "columns": [*columns],
            "head": [*head],
            "tail": [*tail],
            "rows": int(count),
            "width": int(width),
        } if _are_cells([*index, *columns]) and _are_cells([*head, *tail]):
            rows = [*head, *tail] if count > len(head) else head
        case _:
            return
    names = [one_line(str(column[0])) for column in columns]
    more = f", of which {COLUMNS} are read here" if width > COLUMNS else ""
    yield f"Table: {quantity(count, 'row')}, {quantity(width, 'column')}{more}: {', '.join(names[:COLUMNS])}."
    first = rows[:most] if len(rows) > most + 1 else rows
    for place, row in enumerate(first):
        yield _row(row, len(index), names, place)
    last = rows[-1:] if len(first) < count else []
    if left := count - len(first) - len(last):
        yield f"… {quantity(left, 'more row')}{f': /show {number}' if len(first) < len(rows) else ''}"
    for row in last:
        yield _row(row, len(index), names, count - 1)


def _row(row: list[Any], levels: int, names: Sequence[str], place: int) -> str:
    label = " ".join(one_line(str(cell)) for cell in row[:levels]) if levels else str(place)
    cells = zip(names[:COLUMNS], row[levels:], strict=False)
    return _clip(f"row {label}: {', '.join(f'{name} {one_line(str(cell))}' for name, cell in cells)}")


def _are_cells(parts: list[object]) -> bool:
    return all(isinstance(part, list) and part for part in parts)


_GAP = re.compile(r"\s{2,}")


def name_columns(lines: list[str]) -> list[str]:
    """Lines in columns below a head, with the name of its column before each cell; other lines as they are."""
    cells = [_GAP.split(line.strip()) for line in lines]
    if len(cells) < 2 or len(cells[0]) < 3 or any(len(row) != len(cells[0]) for row in cells[1:]):
        return lines
    head, *rows = cells
    named = [[f"{name} {cell}" for name, cell in zip(head[1:], row[1:], strict=True)] for row in rows]
    return [f"{row[0]}: {', '.join(told)}" for row, told in zip(rows, named, strict=True)]
