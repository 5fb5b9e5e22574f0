"""Moving through a timeline: which block the keys act on, and the place of its window."""

from collections.abc import Callable
from typing import Literal, NamedTuple

from oi_tui.app.engine.core.blocks import Action, Block, NoticeBlock, UserBlock
from oi_tui.widgets.timeline.logical import has_picture
from oi_tui.widgets.timeline.viewport import Viewport

Destination = Literal["block", "page", "half", "row", "start", "end", "prompt", "error", "picture", "raised"]
"""Blocks, screens, rows, the ends, blocks of a kind, or the line of the source that raised the error."""

_KINDS: dict[str, Callable[[Block], bool]] = {
    "prompt": lambda block: isinstance(block, UserBlock),
    "error": lambda block: (
        (isinstance(block, Action) and block.state in ("error", "died"))
        or (isinstance(block, NoticeBlock) and block.level == "error")
    ),
    "picture": has_picture,
}


class Stand(NamedTuple):
    """Where a move leads: the block under the cursor, and whether the end is in sight."""

    cursor: int | None
    """Index of the block that the keys act on."""
    at_end: bool
    """Whether the window shows the last row."""


def walk(view: Viewport, cursor: int | None, way: Destination, step: int) -> Stand | None:
    """Move the window `step` times (negative: up) this way, and the cursor with it; None where it leads nowhere."""
    match way:
        case "page":
            at_end = view.scroll(step * max(1, view.height - 2))  # two rows in common
            rows = view.rows()
            return Stand(rows[0 if step < 0 else -1].item if rows else None, at_end)
        case "half":
            return Stand(cursor, view.scroll(step * max(1, view.height // 2)))
        case "row":
            return Stand(cursor, view.scroll(step))
        case "start":
            return Stand(0 if view.blocks else None, view.jump(0))
        case "end":
            view.to_end()
            return Stand(len(view.blocks) - 1 if view.blocks else None, True)
        case "raised":
            row = None if cursor is None else view.cell(cursor).error_row
            return None if cursor is None or row is None else Stand(cursor, view.show_row(cursor, row))
        case "block":
            return None if cursor is None else _to_block(view, cursor, step)
        case kind:
            return None if cursor is None else _to_kind(view, cursor, _KINDS[kind], step)


def _to_block(view: Viewport, cursor: int, step: int) -> Stand:
    """Go to the next block, after the rest of this one if it goes beyond the edge."""
    if hidden := view.hidden_rows(cursor, step):
        return Stand(cursor, view.scroll(step * min(max(1, view.height - 2), hidden)))
    index = min(max(0, cursor + step), len(view.blocks) - 1)
    return Stand(index, view.show(index) if index != cursor else view.scroll(0))


def _to_kind(view: Viewport, cursor: int, is_one: Callable[[Block], bool], step: int) -> Stand | None:
    found = range(cursor + 1, len(view.blocks)) if step > 0 else range(cursor - 1, -1, -1)
    index = next((index for index in found if is_one(view.blocks[index])), None)
    return None if index is None else Stand(index, view.show(index))
