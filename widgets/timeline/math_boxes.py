"""Formulas as blocks of characters: atoms side by side, rows of a matrix one under the other."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from oi_tui.widgets.timeline.math_symbols import SymbolClass

MOST_BOX_CELLS = 20_000
"""Area of a box; a formula that would be larger is written on one line."""


class TooLarge(Exception):
    """A box would have more than `MOST_BOX_CELLS`."""


@dataclass(frozen=True, slots=True)
class MathBox:
    """Rows of equal width."""

    rows: tuple[str, ...] = ("",)
    base: int = 0
    """The row on the baseline of the neighbours."""

    @property
    def width(self) -> int:
        return cell_len(self.rows[0])


@dataclass(frozen=True, slots=True)
class Atom:
    """A unit of a formula."""

    box: MathBox
    kind: SymbolClass = "ord"
    single: bool = True
    """Whether it can be under a root or a fraction bar without parentheses."""

    @property
    def text(self) -> str:
        """What it is on one line."""
        return self.box.rows[self.box.base]


def join_side_by_side(boxes: Sequence[MathBox]) -> MathBox:
    """Boxes in a row, on one base line."""
    if all(len(box.rows) == 1 for box in boxes):
        return MathBox(("".join(box.rows[0] for box in boxes),))
    above = max(box.base for box in boxes)
    below = max(len(box.rows) - box.base for box in boxes)
    widths = [box.width for box in boxes]
    if (above + below) * sum(widths) > MOST_BOX_CELLS:
        raise TooLarge
    rows = (
        "".join(
            box.rows[row - above + box.base] if 0 <= row - above + box.base < len(box.rows) else " " * width
            for box, width in zip(boxes, widths, strict=True)
        )
        for row in range(above + below)
    )
    return MathBox(tuple(rows), above)


def row_of(atoms: Sequence[Atom], *, spaced: bool = True) -> MathBox:
    """Atoms side by side with the spaces between them that TeX would put there; none if not `spaced`."""
    boxes: list[MathBox] = []
    before: SymbolClass | None = None
    for number, atom in enumerate(atoms):
        kind = atom.kind
        if kind == "bin" and (before in (None, "bin", "rel", "op", "open", "punct") or number == len(atoms) - 1):
            kind = "ord"
        blank = boxes and boxes[-1].rows[0][-1:] == " "
        called = before == "op" and kind == "ord" and atom.text[:1] in ("(", "[")
        if spaced and before and not blank and not called and atom.text[:1] != " " and _needs_space(before, kind):
            boxes.append(MathBox((" ",)))
        boxes.append(atom.box)
        before = "open" if kind != atom.kind else kind  # a sign is close to what it belongs to
    return join_side_by_side(boxes)


def _needs_space(left: SymbolClass, right: SymbolClass) -> bool:
    match left, right:
        case ("rel", "rel") | ("open", _) | (_, "close" | "punct"):
            return False
        case ("rel" | "bin" | "punct", _) | (_, "rel" | "bin"):
            return True
        case ("op", "ord" | "op" | "inner") | ("ord" | "close" | "inner", "op"):
            return True
        case ("inner", "ord" | "inner" | "open") | ("ord" | "close", "inner"):
            return True
        case _:
            return False


def matrix(rows: Sequence[Sequence[MathBox]], aligned: str, gap: int = 2) -> MathBox:
    """Cells in columns; `aligned` has an `l`, `c` or `r` for each, repeated as needed.

    A column that is aligned to the left and follows one to the right stands close to it.
    """
    columns = max(map(len, rows), default=0)
    widths = [max((row[column].width for row in rows if column < len(row)), default=0) for column in range(columns)]
    if sum(len(_tallest(row)) for row in rows) * (sum(widths) + gap * columns) > MOST_BOX_CELLS:
        raise TooLarge
    lines: list[str] = []
    for row in rows:
        cells: list[MathBox] = []
        for column, width in enumerate(widths):
            side = aligned[column % len(aligned)]
            if column:
                close = side == "l" and aligned[(column - 1) % len(aligned)] == "r"
                cells.append(MathBox((" " * (1 if close else gap),)))
            cells.append(_set(row[column] if column < len(row) else MathBox(), width, side))
        lines += join_side_by_side(cells).rows if cells else ("",)
    return MathBox(tuple(lines) or ("",), max(0, len(lines) - 1) // 2)


def bracket(box: MathBox, left: str, right: str) -> MathBox:
    """A box between parentheses, brackets, braces or bars as high as it is; "" is none."""
    height = len(box.rows)
    sides = [MathBox(_side(mark, height), box.base) for mark in (left, right)]
    return join_side_by_side([sides[0], box, sides[1]])


_TALL = {
    "(": "⎛⎜⎝",
    ")": "⎞⎟⎠",
    "[": "⎡⎢⎣",
    "]": "⎤⎥⎦",
    "|": "│││",
    "‖": "‖‖‖",
}
_BRACES = {"{": "⎧⎨⎩⎪", "}": "⎫⎬⎭⎪"}


def _side(mark: str, height: int) -> tuple[str, ...]:
    if height == 1 or not mark:
        return (mark,) * height
    if mark in _BRACES:
        top, middle, bottom, bar = tuple(_BRACES[mark])
        if height == 2:
            return top, bottom
        return tuple(
            top if row == 0 else bottom if row == height - 1 else middle if row == height // 2 else bar
            for row in range(height)
        )
    top, bar, bottom = tuple(_TALL.get(mark, mark * 3))
    return (top, *[bar] * (height - 2), bottom)


def _tallest(row: Sequence[MathBox]) -> tuple[str, ...]:
    return max((box.rows for box in row), key=len, default=("",))


def _set(box: MathBox, width: int, side: str) -> MathBox:
    spare = width - box.width
    left = {"r": spare, "c": spare // 2}.get(side, 0)
    return MathBox(tuple(" " * left + row + " " * (spare - left) for row in box.rows), box.base)
