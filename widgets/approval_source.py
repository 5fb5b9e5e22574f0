"""What the question shows of a source, and how many rows that gets."""

from oi_tui.app.engine.core.events import DecisionRequested
from oi_tui.app.engine.text.safe import collapse_blanks, visible_text
from oi_tui.widgets.approval_view import changed_lines
from oi_tui.widgets.call_fields import call_text
from oi_tui.widgets.editor import SourceEditor
from oi_tui.widgets.timeline.source_view import SourceView


def show_source(view: SourceView, request: DecisionRequested, source: str, *, full: bool = False) -> None:
    """Show the source as it would run, with the lines marked that differ from what was asked about; of a call its
    arguments as fields."""
    if request.tool:
        text, language = call_text(request, source, full=full)
        before = text if source == request.source else call_text(request, request.source, full=full)[0]
    else:
        text, language, before = source, request.written_in, request.source
    view.show(collapse_blanks(visible_text(text).text), language, changed_lines(before, text))


def show_again(view: SourceView, request: DecisionRequested | None, source: str, *, full: bool) -> None:
    """Of a call whose fields are folded, the whole screen shows all; an end that was seen stays seen."""
    if request is not None and request.preview is not None:
        seen = view.end_seen
        show_source(view, request, source, full=full)
        view.end_seen = seen


def share_rows(view: SourceView, editor: SourceEditor, left: int, width: int, *, full: bool) -> None:
    """Give the source, or its editor, this many rows at most; with `full`, all of them."""
    rows = view.row_count(width)
    editor.styles.height = left if full else min(left, max(rows + 1, 6))
    if rows > left:
        left = max(1, left - 1)  # the line that counts what is below
    view.styles.height = left if full else min(rows, left)
