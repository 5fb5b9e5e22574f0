"""Which renderer draws a rich result: plugins first, then ours, by preference; the first one that can.

A renderer gets the `RichOutput` and returns what is drawn of it: one of ours an `OutputContent`, one of a plugin a
`Drawing`; or another `RichOutput` that is drawn in its place (the easy way: turn what nobody knows into
`text/markdown`, `image/png` or a table), or None where this one is not in a form that it can draw. It is imported when
the first result of its type is drawn. One that raises is reported in the log, the next one takes its place, and a dim
row says so.

Renderers of installed plugins come first, those of built-in plugins behind pictures. In what a plugin registers
(`register_renderers`), `*` in a mime type matches any characters: `application/vnd.vegalite.v*+json`.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache, partial
from itertools import islice
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.text.rich_text import says_something
from oi_tui.plugins.builtin import BUILT_IN
from oi_tui.widgets.timeline.console import MOST_LINES, note
from oi_tui.widgets.timeline.outputs.plain_output import DrawnLines, PlainText
from oi_tui.widgets.timeline.row_pieces import BlockDisplay, Canvas, RowPiece

if TYPE_CHECKING:  # what calls plugins is imported with them, or for the first rich result
    from oi_tui.plugins.screen_values import Drawing

_log = logging.getLogger(__name__)


class OutputContent(Protocol):
    """What is drawn of one output."""

    @property
    def line_count(self) -> int:
        """Lines of text when all is shown, 0 for what has no lines."""

    @property
    def has_more(self) -> bool:
        """Whether something is hidden until asked for."""

    @property
    def beyond(self) -> int:
        """Cells by which its widest row is too wide and can be moved sideways; as of the last layout."""

    def pieces(self, canvas: Canvas, display: BlockDisplay) -> list[RowPiece]:
        """Rows of the output, drawn for this canvas."""


Renderer = Callable[[RichOutput], "OutputContent | Drawing | RichOutput | None"]
"""Makes the content of a result, or another result to be drawn in its place; None if it cannot."""

_HERE = "oi_tui.widgets.timeline.outputs"

_PLUGINS = "(built-in plugins)"

_OURS = (
    ("application/vnd.oi-tui.table+json", f"{_HERE}.frame:FrameContent.of"),
    ("application/vnd.dataresource+json", f"{_HERE}.frame:FrameContent.of"),
    ("image/png", "oi_tui.widgets.timeline.picture:Picture"),
    ("image/jpeg", "oi_tui.widgets.timeline.picture:Picture"),
    ("image/gif", "oi_tui.widgets.timeline.picture:Picture"),
    ("image/webp", "oi_tui.widgets.timeline.picture:Picture"),
    ("image/svg+xml", "oi_tui.widgets.timeline.svg:svg_content"),
    (_PLUGINS, ""),
    ("text/x-diff", f"{_HERE}.diff:DiffText.of"),
    ("text/markdown", f"{_HERE}.markdown_output:MarkdownText.of"),
    ("text/latex", f"{_HERE}.latex:Formula.of"),
    ("application/json", f"{_HERE}.json:JsonOutline.of"),
    ("text/plain", f"{_HERE}.plain_output:PlainText"),
    ("text/html", f"{_HERE}.html:HtmlText.of"),
    ("*+json", f"{_HERE}.json:JsonOutline.of"),
)
"""Mime type (or how it ends) and renderer, best first. Each is imported when it is first needed."""

_REPLACED = 3
"""How often a result may be replaced by another one before it is drawn as text."""


class RendererChoice(NamedTuple):
    """A renderer that may draw a result."""

    name: str
    """Who it is, for a remark."""
    mime: str
    load: Callable[[], Any]
    is_ours: bool


def renderer_choices(output: RichOutput) -> Iterator[RendererChoice]:
    """The renderers of the types that a result has, best first."""
    yield from _plugin_choices(output, built_in=False)
    for pattern, reference in _OURS:
        if pattern == _PLUGINS:
            yield from _plugin_choices(output, built_in=True)
        if pattern == "text/plain" and not says_something(output.data.get(pattern)):
            continue
        ending = pattern[1:] if pattern.startswith("*") else ""
        mime = next((mime for mime in output.data if ending and mime.endswith(ending)), pattern)
        if mime in output.data:
            yield RendererChoice(pattern, mime, partial(resolve_name, reference), True)


def _plugin_choices(output: RichOutput, *, built_in: bool) -> Iterator[RendererChoice]:
    for plugin, pattern, renderer in plugin_renderers():
        if (plugin in BUILT_IN["screen"]) is built_in:
            for mime in output.data:
                if fnmatchcase(mime, pattern):
                    yield RendererChoice(plugin, mime, partial(_guarded_renderer, plugin, pattern, renderer), False)


def content_of(output: RichOutput) -> OutputContent:
    """The content of a result; text where nothing better can be drawn."""
    return FallbackContent(output)


class FallbackContent:
    """The content that the first renderer makes which does not fail."""

    def __init__(self, output: RichOutput) -> None:
        self._output = output
        self._choices = renderer_choices(output)
        self._replaced = 0
        self._failed: list[str] = []
        self._content = self._next()

    @property
    def line_count(self) -> int:
        return self._content.line_count

    @property
    def has_more(self) -> bool:
        return self._content.has_more

    @property
    def beyond(self) -> int:
        return self._content.beyond

    def pieces(self, canvas: Canvas, display: BlockDisplay) -> list[RowPiece]:
        while True:
            try:
                drawn = self._content.pieces(canvas, display)
                break
            except Exception:
                # The boundary to renderers, some of which are not ours: on an error the next one draws it.
                if isinstance(self._content, PlainText):
                    raise
                self._report(self._name)
                self._content = self._next()
        remarks = [note(canvas, f"{name} could not draw this") for name in self._failed]
        return [*drawn, *remarks]

    def _next(self) -> OutputContent:
        for choice in self._choices:
            self._name = choice.name
            try:
                made = self._make(choice)
            except Exception:
                # As above.
                self._report(choice.name)
                continue
            if made is not None:
                return made
        self._name = ""
        return PlainText(self._output)

    def _make(self, choice: RendererChoice) -> OutputContent | None:
        from oi_tui.plugins.screen_values import Drawing  # as above

        made = choice.load()(self._output)
        if isinstance(made, RichOutput):
            if self._replaced == _REPLACED:
                return None
            self._replaced += 1
            self._output, self._choices = made, renderer_choices(made)
            return self._next()
        if isinstance(made, Drawing):
            return DrawnLines(made)
        if made is not None and not choice.is_ours:
            raise TypeError(f"a renderer returns a RichOutput, a Drawing or None, no {type(made).__name__}")
        content: OutputContent | None = made
        return content

    def _report(self, name: str) -> None:
        _log.warning("%s cannot draw a result of the types %s", name, ", ".join(self._output.data), exc_info=True)
        self._failed.append(name)


def _guarded_renderer(plugin: str, pattern: str, renderer: Renderer | str) -> Renderer:
    """The renderer, each of whose calls is timed, and interrupted if it hangs."""
    from oi_tui.plugins.host import screen_hooks  # as above
    from oi_tui.plugins.screen_values import Drawing

    hooks, name = screen_hooks(), f"renderer of {pattern}"

    def import_and_draw(output: RichOutput) -> OutputContent | Drawing | RichOutput | None:
        imported: Renderer = resolve_name(renderer) if isinstance(renderer, str) else renderer
        return imported(output)

    def draw(output: RichOutput) -> OutputContent | Drawing | RichOutput | None:
        made = hooks.run(plugin, name, import_and_draw, output)
        if not isinstance(made, Drawing):
            drawn: RichOutput | None = made
            return drawn
        return Drawing(lambda width: hooks.run(plugin, name, lambda: list(islice(made.lines(width), MOST_LINES))))

    return draw


@cache
def plugin_renderers() -> tuple[tuple[str, str, Renderer | str], ...]:
    """Plugin, mime type and renderer of each that plugins add; asked once, when the first rich result is drawn."""
    from oi_tui.plugins.host import screen_hooks  # as above

    found: list[tuple[str, str, Renderer | str]] = []
    for plugin, renderers in screen_hooks().results("register_renderers"):
        if isinstance(renderers, Mapping):
            found += ((plugin, mime, renderer) for mime, renderer in renderers.items())
        else:
            screen_hooks().reject(plugin, "register_renderers", f"{type(renderers).__name__} is no mapping")
    return tuple(found)
