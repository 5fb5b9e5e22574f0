"""A rich result in a form that is text: the way to draw what has no better one."""

import json
from typing import Any

from rich.segment import Segment

from oi_tui.app.engine.outputs import RichOutput
from oi_tui.widgets.timeline.console import HEAD, TAIL, hidden, shown, terminal_lines
from oi_tui.widgets.timeline.markdown import MarkdownLines, clean
from oi_tui.widgets.timeline.pieces import Canvas, Display, Piece, rows
from oi_tui.widgets.timeline.wrap import Line, cells, window

_TEXTS = ("text/plain", "text/latex", "application/json", "text/html", "image/svg+xml")
"""Readable forms of a rich result, best first; Markdown is drawn as such before them."""


class PlainText:
    """A rich result in a form that is text: tables keep their columns, so lines are cut, not wrapped."""

    def __init__(self, output: RichOutput) -> None:
        self._markdown = output.data.get("text/markdown")
        self._lines = terminal_lines(readable(output.data))
        self._beyond = 0

    @property
    def line_count(self) -> int:
        """Lines of the text."""
        return len(self._lines)

    @property
    def has_more(self) -> bool:
        """Whether lines are hidden."""
        return len(self._lines) > HEAD + TAIL + 1

    @property
    def beyond(self) -> int:
        """Cells of the widest drawn line that do not fit."""
        return self._beyond

    def pieces(self, canvas: Canvas, display: Display) -> list[Piece]:
        """The lines, or the first and last of them, moved sideways where they are wider than the room."""
        ink, fold = canvas.ink, display.fold
        if isinstance(self._markdown, str):
            drawn = MarkdownLines(canvas).draw(canvas.markdown.parse(clean(self._markdown)))
            return [rows(canvas, drawn, ink.page, "│", ink.faint)]
        lines: list[Line] = []
        self._beyond = 0
        for number in shown(len(self._lines), fold):
            if number is None:
                lines.append([Segment(hidden(len(self._lines) - HEAD - TAIL, fold), ink.console_dim)])
                continue
            runs = [(text, ink.sgr(sgr, ink.console)) for text, sgr in self._lines[number]]
            lines.append(window(runs, display.shift, canvas.room))
            self._beyond = max(self._beyond, cells([Segment(text) for text, _ in runs]) - canvas.room)
        return [rows(canvas, lines, ink.console, "│", ink.console_faint)]


def readable(data: dict[str, Any]) -> str:
    """The best text among the forms of a result."""
    for mime in _TEXTS:
        content = data.get(mime)
        if content is None:
            continue
        if isinstance(content, str):
            return content
        return json.dumps(content, indent=2, ensure_ascii=False)
    return f"({', '.join(sorted(data))})" if data else ""
