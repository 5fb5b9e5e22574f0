"""What keys do to a text that Textual's own do not know: cut to the end of the line, swap, the ends of the text."""

from typing import Literal

from textual.widgets import TextArea

TextEdit = Literal["text_start", "text_end", "kill_line", "swap"]


def do_edit(box: TextArea, what: TextEdit) -> None:
    """Do this at the cursor."""
    row, column = start = box.selection.end
    line = box.document.get_line(row)
    match what:
        case "text_start":
            box.move_cursor((0, 0))
        case "text_end":
            box.move_cursor(box.document.end)
        case "kill_line":
            breaks = column == len(line) and row + 1 < box.document.line_count
            end = (row + 1, 0) if breaks else (row, len(line))
            if end != start:
                box.app._clipboard = box.get_text_range(start, end)
                box.replace("", start, end, maintain_selection_offset=False)
        case "swap":
            at = min(column, len(line) - 1)
            if at > 0:
                swapped = line[at] + line[at - 1]
                box.replace(swapped, (row, at - 1), (row, at + 1), maintain_selection_offset=False)
