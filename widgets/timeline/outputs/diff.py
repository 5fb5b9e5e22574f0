"""A change of a file, as its unified diff: removed and added lines in colours and with signs, changed words marked."""

from collections.abc import Iterator

from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.text.rich_text import says_something
from oi_tui.widgets.timeline.diff_tokens import lex_diff
from oi_tui.widgets.timeline.ink import Ink
from oi_tui.widgets.timeline.markdown_lines import clean_text
from oi_tui.widgets.timeline.outputs.layout import fold_lines, is_folded, sideways
from oi_tui.widgets.timeline.row_pieces import BlockDisplay, Canvas, DrawnContent, RowPiece, rows
from oi_tui.widgets.timeline.wrap import TextRun

TAB = 4


class DiffText(DrawnContent):
    """A `text/x-diff` form, behind what its `text/plain` says of it."""

    def __init__(self, heading: str, diff: str) -> None:
        self._heading = [line for line in clean_text(heading).split("\n") if line.strip()]
        self._lexed = lex_diff(clean_text(diff).expandtabs(TAB).strip("\n"))
        self.line_count = len(self._heading) + len(self._lexed)
        self.has_more = is_folded(self.line_count)

    @classmethod
    def of(cls, output: RichOutput) -> "DiffText | None":
        """The diff, None where it is no text."""
        diff, plain = output.data.get("text/x-diff"), output.data.get("text/plain")
        if not isinstance(diff, str) or not diff.strip():
            return None
        return cls(str(plain) if says_something(plain) and plain != diff else "", diff)

    def pieces(self, canvas: Canvas, display: BlockDisplay) -> list[RowPiece]:
        """The lines, moved sideways where they are wider than the room."""
        ink = canvas.ink
        lines, self.beyond = sideways(list(self._runs(ink)), display.shift, canvas.room)
        shown = fold_lines(lines, display.fold, ink.console_dim, canvas.keys)
        return [
            rows(
                canvas,
                shown,
                ink.console,
                "│",
                ink.console_faint,
            )
        ]

    def _runs(self, ink: Ink) -> Iterator[list[TextRun]]:
        for line in self._heading:
            yield [(line, ink.console)]
        for tokens in self._lexed:
            yield [(text, ink.diff(kind)) for kind, text in tokens] or [("", ink.console)]
