"""What several renderers do with their lines: show the first and last ones, and move wide ones sideways."""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from oi_tui.widgets.timeline.console import HEAD_LINES, SHORT_LINES, TAIL_LINES, fold_note, shown_lines
from oi_tui.widgets.timeline.row_pieces import BlockKeys, FoldState
from oi_tui.widgets.timeline.wrap import Line, TextRun, window


def fold_lines(lines: Sequence[Line], fold: FoldState, dim: Style, keys: BlockKeys) -> list[Line]:
    """All lines, or the first and last of them with a remark between."""
    remark: Line = [Segment(fold_note(len(lines) - HEAD_LINES - TAIL_LINES, fold, keys), dim)]
    return [remark if number is None else lines[number] for number in shown_lines(len(lines), fold)]


def is_folded(count: int) -> bool:
    """Whether this many lines are folded."""
    return count > SHORT_LINES


def row_width(runs: Sequence[TextRun]) -> int:
    """Cells of one row."""
    return sum(cell_len(text) for text, _ in runs)


def sideways(rows: Sequence[Sequence[TextRun]], shift: int, room: int) -> tuple[list[Line], int]:
    """The rows within their room, and the cells by which the widest of them is too wide."""
    beyond = max((row_width(row) for row in rows), default=0) - room
    return [window(row, shift, room) if row else [] for row in rows], max(0, beyond)
