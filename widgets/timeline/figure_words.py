"""The words of a figure, and their places as text over a picture that is too coarse to read them.

Our part inside a Python kernel sends them beside the picture (`in_kernel_figures.py` has the shape). They come from a
stranger: what has the wrong shape is left out.
"""

import re
from collections.abc import Iterator
from math import floor
from typing import Literal, NamedTuple

from rich.cells import cell_len

from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.widgets.timeline.math import readable_math

FIGURE_MIME_TYPE = "application/vnd.oi-tui.figure+json"

_MOST_WORDS = 400
_LONGEST_WORDS = 300

WordRole = Literal["title", "x-label", "y-label", "legend", "note", "x-tick", "y-tick"]

_ROLES: tuple[WordRole, ...] = ("title", "legend", "x-label", "note", "x-tick", "y-tick", "y-label")
"""In the order in which they get their place. A label of the y axis takes any free place; of crowded ticks, some are
left out."""

_COLOUR = re.compile(r"#[0-9a-f]{6}")

ShareBox = tuple[float, float, float, float]
"""Left, top, right, bottom in shares of the picture."""


class FigureWord(NamedTuple):
    """One text of a figure."""

    text: str
    """Safe; may have several lines."""
    role: WordRole
    align: str
    """left, center or right: which end of it keeps its place."""
    upright: bool
    """Whether it reads from left to right."""
    colour: str
    """`#rrggbb`."""
    box: ShareBox
    axes: ShareBox | None = None
    """Of a label of the y axis: the plot it belongs to."""


class FigureWords(NamedTuple):
    """All texts of a figure."""

    words: tuple[FigureWord, ...]
    can_stretch: bool = False
    """Whether the proportions of the picture mean nothing."""


class PlacedWord(NamedTuple):
    """One line of a text in its cells."""

    row: int
    column: int
    text: str
    word: FigureWord


def figure_words(output: RichOutput) -> FigureWords | None:
    """The words of the figure that a result is, None if it is none."""
    match output.data.get(FIGURE_MIME_TYPE):
        case {"texts": list(texts), "stretch": bool(stretch)}:
            words = tuple(word for text in texts[:_MOST_WORDS] if (word := _word(text)) is not None)
            return FigureWords(words, stretch) if words else None
        case _:
            return None


def place_words(words: FigureWords, columns: int, rows: int) -> list[PlacedWord]:
    """The place of each text in this many cells. None covers another; texts without room are left out."""
    return _Sheet(columns, rows).place(words.words)


def _word(described: object) -> FigureWord | None:
    match described:
        case {
            "text": str(text),
            "role": "title" | "x-label" | "y-label" | "legend" | "note" | "x-tick" | "y-tick" as role,
            "align": "left" | "center" | "right" as align,
            "angle": int(angle),
            "colour": str(colour),
            "box": list(corners),
        } if _COLOUR.fullmatch(colour) and (box := _box(corners)) is not None:
            lines = [_readable(line) for line in text[:_LONGEST_WORDS].split("\n")]
            if not any(lines):
                return None
            around = described.get("axes") if isinstance(described, dict) else None
            axes = _box(around) if isinstance(around, list) else None
            return FigureWord("\n".join(lines), role, align, angle == 0, colour, box, axes)
        case _:
            return None


def _box(corners: list[object]) -> ShareBox | None:
    match corners:
        case [int() | float() as left, int() | float() as top, int() | float() as right, int() | float() as bottom]:
            inside = all(0 <= share <= 1 for share in (left, top, right, bottom))  # so that each fits into a float
            return (left, top, right, bottom) if inside and left < right and top < bottom else None
        case _:
            return None


def _readable(line: str) -> str:
    """Matplotlib's formulas in Unicode."""
    line = safe_text(line).replace("\t", " ").strip()
    return readable_math(line.replace("\\mathdefault", ""), rows=False) if line.count("$") > 1 else line


class _Sheet:
    """The cells of a picture, and which of them are taken."""

    def __init__(self, columns: int, rows: int) -> None:
        self._columns, self._rows = columns, rows
        self._taken: dict[int, list[tuple[int, int]]] = {}
        self._placed: list[PlacedWord] = []

    def place(self, words: tuple[FigureWord, ...]) -> list[PlacedWord]:
        """Place words that belong together, the most important ones first."""
        for role in _ROLES:
            mine = [word for word in words if word.role == role]
            for word in _thin(mine) if role.endswith("tick") else mine:
                self._place(word)
        return self._placed

    def _place(self, word: FigureWord) -> None:
        for lines in self._places(word):
            if all(self._is_free(row, column, text) for row, column, text in lines):
                for row, column, text in lines:
                    self._taken.setdefault(row, []).append((column - 1, column + cell_len(text) + 1))
                    self._placed.append(PlacedWord(row, column, text, word))
                return

    def _places(self, word: FigureWord) -> Iterator[list[tuple[int, int, str]]]:
        """Rows, columns and texts, the best place first."""
        if word.role == "y-label" and not word.upright:
            yield from self._axis_label_places(word)
            return
        left, top, right, bottom = word.box
        lines = word.text.split("\n")
        middle = (top + bottom) / 2
        if not word.upright or word.role == "title":  # next to its tick; not on the frame below it
            middle = top + min(bottom - top, 1 / self._rows) / 2
        height = max((bottom - top) / len(lines), 1 / self._rows) if word.upright else 1 / self._rows
        first = middle - height * (len(lines) - 1) / 2
        place = {"left": left, "center": (left + right) / 2, "right": right}[word.align] * self._columns
        widths = [min(cell_len(line), self._columns) for line in lines]
        columns = [round(place - width * {"left": 0.0, "center": 0.5, "right": 1.0}[word.align]) for width in widths]
        columns = [max(0, min(column, self._columns - width)) for column, width in zip(columns, widths, strict=True)]
        rows = [floor((first + height * number) * self._rows) for number in range(len(lines))]
        steps = ((0, 0),) if word.role.endswith("tick") else ((0, 0), (-1, 0), (1, 0), (0, -2), (0, 2))
        for down, across in steps:
            yield [
                (row + down, max(0, min(column + across, self._columns - width)), _cut(line, width))
                for row, column, line, width in zip(rows, columns, lines, widths, strict=True)
                if line
            ]

    def _axis_label_places(self, word: FigureWord) -> Iterator[list[tuple[int, int, str]]]:
        """A text that climbs: level above its axis, as typographers would have it, else letter below letter."""
        left, top, right, bottom = word.box
        axes = word.axes or word.box
        line = " ".join(word.text.split())
        width = min(cell_len(line), self._columns)
        is_right = left > (axes[0] + axes[2]) / 2
        column = int(right * self._columns) - width if is_right else int(left * self._columns)
        column = max(0, min(column, self._columns - width))
        above = int(axes[1] * self._rows - 0.5)
        for row in (above, above - 1, above - 2):
            yield [(row, column, _cut(line, width))]
        middle = int((top + bottom) / 2 * self._rows)
        letters = [letter for letter in line if cell_len(letter) == 1]
        first = max(0, middle - len(letters) // 2)
        far = int(right * self._columns) if is_right else int(left * self._columns)  # away from the ticks
        far = min(far, self._columns - 1)
        yield [(first + number, far, letter) for number, letter in enumerate(letters)]
        yield [(above + 1, min(int(axes[0] * self._columns) + 1, self._columns - width), _cut(line, width))]

    def _is_free(self, row: int, column: int, text: str) -> bool:
        if not 0 <= row < self._rows or column < 0 or column + cell_len(text) > self._columns:
            return False
        return all(column + cell_len(text) <= start or end <= column for start, end in self._taken.get(row, ()))


def _thin(ticks: list[FigureWord]) -> list[FigureWord]:
    """The same, ends first, then ever closer: those that find no room are between others that did."""
    order: list[int] = []
    step = 1
    while step < len(ticks):
        step *= 2
    while step:
        order += [number for number in range(0, len(ticks), step) if number not in order]
        step //= 2
    return [ticks[number] for number in order]


def _cut(line: str, width: int) -> str:
    if cell_len(line) <= width:
        return line
    while line and cell_len(line) > width - 1:
        line = line[:-1]
    return line + "…"
