"""Data frames and other tables that come as tables."""

from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.widgets.timeline.outputs.table_lines import has_more, table_lines
from oi_tui.widgets.timeline.row_pieces import BlockDisplay, Canvas, DrawnContent, RowPiece, rows
from oi_tui.widgets.timeline.table_data import TableData, table_of


class FrameContent(DrawnContent):
    """The first rows of a table and its last ones; all that are here when it is opened."""

    def __init__(self, table: TableData) -> None:
        self._table = table
        self.has_more = has_more(table)

    @classmethod
    def of(cls, output: RichOutput) -> "FrameContent | None":
        """The table that a result is."""
        table = table_of(output)
        return None if table is None else cls(table)

    def pieces(self, canvas: Canvas, display: BlockDisplay) -> list[RowPiece]:
        lines, self.beyond = table_lines(self._table, canvas.ink, canvas.room, display, canvas.keys)
        return [rows(canvas, lines, canvas.ink.console, "│", canvas.ink.console_faint)]
