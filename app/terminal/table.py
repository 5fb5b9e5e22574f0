"""Tables on standard output, as wide as the terminal at most."""

import shutil
import sys
from collections.abc import Sequence

from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.terminal.echo import echo


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]], *, wide: int) -> None:
    """Columns as wide as they must be; the column `wide` and those after it share what is left of the terminal."""
    from rich.cells import cell_len  # deferred: not for JSON

    if not rows:
        return
    clean = [[" ".join(safe_text(cell).split()) for cell in row] for row in (head, *rows)]
    widths = [max(cell_len(row[column]) for row in clean) for column in range(len(head))]
    if sys.stdout.isatty():
        room = shutil.get_terminal_size().columns - sum(widths[:wide]) - 2 * (len(head) - 1)
        for column in range(wide, len(head)):
            share = room if column == len(head) - 1 else max(room * 2 // 3, room - widths[column + 1])
            widths[column] = max(min(widths[column], share), 0)
            room -= widths[column]
    for number, row in enumerate(clean):
        cells = [_fit_cell(cell, width) for cell, width in zip(row, widths, strict=True)]
        echo("  ".join(cells).rstrip(), dim=number == 0)


def _fit_cell(cell: str, width: int) -> str:
    """So many columns wide; of a path the end is kept."""
    from rich.cells import cell_len, set_cell_size  # deferred, as above

    if cell_len(cell) <= width or width < 2:
        return set_cell_size(cell, width)
    if cell.startswith(("/", "~/")):
        while cell_len(cell) > width - 1:
            cell = cell[1:]
        return set_cell_size(f"…{cell}", width)
    return set_cell_size(set_cell_size(cell, width - 1).rstrip() + "…", width)
