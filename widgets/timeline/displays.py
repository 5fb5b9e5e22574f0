"""How a block is shown: folded or in full, moved sideways, with numbers. What a key makes of that."""

from typing import Literal

from oi_tui.widgets.timeline.cells import BlockCell
from oi_tui.widgets.timeline.row_pieces import BlockDisplay, FoldState

SIDEWAYS = 16
"""Cells that wide content moves at one press."""

DisplayChange = Literal["unfold", "close", "sideways", "numbers"]


def change_display(before: BlockDisplay, cell: BlockCell, change: DisplayChange, step: int) -> BlockDisplay:
    """How the block of `cell` is shown after this key; `step` is 1 or -1 for the one that has a direction."""
    match change:
        case "unfold":  # more of it, or less again; without anything hidden, fold it
            more: FoldState = "open" if cell.has_more else "closed"
            return before._replace(fold=more if before.fold == "short" else "short")
        case "close":
            return before._replace(fold="short" if before.fold == "closed" else "closed")
        case "sideways":
            return before._replace(shift=min(max(0, before.shift + step * SIDEWAYS), max(0, cell.beyond)))
        case "numbers":
            return before._replace(numbers=not before.numbers)
