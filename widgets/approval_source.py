"""What the question shows of a source, and how many rows that gets; and what of it is edited."""

import json

from textual.content import Content

from oi_tui.app.engine.core.encoding import decode_arguments
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
    """If the fields of a call are folded, the whole screen shows all; an end that was seen stays seen."""
    if request is not None and request.preview is not None:
        seen = view.end_seen
        show_source(view, request, source, full=full)
        view.end_seen = seen


def text_to_edit(request: DecisionRequested, source: str) -> tuple[str, str]:
    """What the editor opens: the text that a call would write, where its tool names one, else the source; and its
    language."""
    if (text := _editable_text(request, source)) is None or request.editable is None:
        return source, request.written_in
    return text, request.editable.language


def source_of_edited(request: DecisionRequested, source: str, edited: str) -> str:
    """The source with what came back from the editor in it."""
    if (text := _editable_text(request, source)) is None or request.editable is None:
        return edited
    if text == edited:
        return source
    arguments = decode_arguments(source) | {request.editable.argument: edited}
    return json.dumps(arguments, ensure_ascii=False, indent=2)


def _editable_text(request: DecisionRequested, source: str) -> str | None:
    if request.editable is None:
        return None
    try:
        text = decode_arguments(source).get(request.editable.argument)
    except ValueError:
        return None
    return text if isinstance(text, str) else None


def share_rows(view: SourceView, editor: SourceEditor, note: Content, left: int, width: int, *, full: bool) -> int:
    """Share so many rows between the note and the source, or its editor; with `full`, these get all that the note
    leaves. Returns the note's."""
    rows = view.row_count(width)
    note_rows = min(len(note.wrap(width - 2)) if note.plain else 0, left - min(rows, left - left // 2))
    left -= note_rows
    editor.styles.height = left if full else min(left, max(rows + 1, 6))
    if rows > left:
        left = max(1, left - 1)  # the line that counts what is below
    view.styles.height = left if full else min(rows, left)
    return note_rows
