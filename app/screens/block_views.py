"""The forms in which a block can be taken out of the timeline: to be looked at on the whole screen, or saved."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from oi_tui.app.engine.core.blocks import Action, ActionBlock, Block
from oi_tui.app.engine.core.outputs import ErrorOutput, RichOutput, StreamOutput
from oi_tui.app.engine.text.plotly_svg import SVG_TYPE
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.screens.external_editor import suffix_of
from oi_tui.app.screens.picture_screen import PICTURE_SUFFIXES
from oi_tui.app.screens.viewer import JsonContent, TableContent, TextContent, ViewerContent
from oi_tui.widgets.timeline.figure_words import FigureWords, figure_words
from oi_tui.widgets.timeline.logical import logical_text, output_text, whole_output
from oi_tui.widgets.timeline.picture import original_of
from oi_tui.widgets.timeline.pixels import PictureSource
from oi_tui.widgets.timeline.svg import SvgSource, can_draw
from oi_tui.widgets.timeline.table_data import TableData, figure_data, table_of
from oi_tui.widgets.viewer.json_tree import to_json
from oi_tui.widgets.viewer.table_csv import as_csv


class PictureFile(NamedTuple):
    """A picture as it came."""

    data: bytes
    mime: str
    source: PictureSource | None = None
    """What shows it, where that is not `data`."""
    words: FigureWords | None = None
    """What is written over it where it is made of characters."""


class BlockView(NamedTuple):
    """One form of a result that can be viewed, saved or copied."""

    title: str
    """What it is, in words for a list."""
    name: str
    """Of the file that it would be saved in."""
    content: ViewerContent | PictureFile
    saved: Callable[[], bytes | Path]
    """The content of the file."""


def block_views(block: Block) -> list[BlockView]:
    """The forms of a block, what is most likely meant first."""
    if not isinstance(block, Action):
        text = logical_text(block)
        return [_text("the text", text, "text.md")]
    forms = [form for number, output in enumerate(block.outputs, 1) for form in _of_output(output, number)]
    if printed := _output_view(block):
        forms.append(printed)
    forms.append(_source(block))
    return forms


def _source(block: ActionBlock) -> BlockView:
    """Shown with what hides in it written out; a file gets it byte for byte."""
    suffix = suffix_of(block.written_in)
    exact = block.source if block.source.endswith("\n") else f"{block.source}\n"
    content = TextContent("the source", logical_text(block), suffix, exact)
    return BlockView(content.title, f"source{suffix}", content, lambda: exact.encode("utf-8", "replace"))


def _output_view(block: ActionBlock) -> BlockView | None:
    """What it wrote: the whole, if that is in a file."""
    title = "what it printed"
    path = whole_output(block)
    if path is not None and block.whole is not None and path.is_file():
        title += f", {block.whole.missing}" if block.whole.missing else ", all of it"
        return BlockView(title, "output.txt", TextContent(title, path), lambda: path)
    if not any(isinstance(output, StreamOutput | ErrorOutput) for output in block.outputs):
        return None
    return _text(title, output_text(block), "output.txt")


def _of_output(output: object, number: int) -> list[BlockView]:
    if not isinstance(output, RichOutput):
        return []
    if (picture := original_of(output)) is not None:
        data, mime = picture
        name = f"figure-{number}{PICTURE_SUFFIXES[mime]}"
        figure = PictureFile(data, mime, words=figure_words(output))
        shown = figure_data(output)
        points = [] if shown is None else [_table(shown, number, "its data")]
        return [BlockView("the picture", name, figure, lambda: data), *points]
    if isinstance(svg := output.data.get(SVG_TYPE), str) and svg.strip():
        return [_drawing(svg, number)]
    if (table := table_of(output)) is not None:
        return [_table(table, number)]
    forms: list[BlockView] = []
    if "application/json" in output.data:
        value = output.data["application/json"]
        content = JsonContent("the JSON", value)
        forms.append(BlockView("the JSON", f"result-{number}.json", content, lambda: to_json(value).encode()))
    for mime, ending in (
        ("text/html", "html"),
        ("text/markdown", "md"),
        ("text/latex", "tex"),
    ):
        if isinstance(text := output.data.get(mime), str):
            forms.append(_text(f"the source of the {ending.upper()}", text, f"result-{number}.{ending}"))
    if not forms and isinstance(text := output.data.get("text/plain"), str):
        forms.append(_text("the result", text, f"result-{number}.txt"))
    return forms


def _drawing(svg: str, number: int) -> BlockView:
    data = svg.encode("utf-8", "replace")
    shown = PictureFile(data, SVG_TYPE, SvgSource(svg)) if can_draw() else TextContent("the drawing", svg, ".svg")
    return BlockView("the drawing", f"drawing-{number}.svg", shown, lambda: data)


def _table(table: TableData, number: int, title: str = "the table") -> BlockView:
    content = TableContent(title, table)
    if table.hidden_rows:
        title += f", {len(table.rows):,} of its {table.total_rows:,} rows"
    return BlockView(title, f"table-{number}.csv", content, lambda: as_csv(table).encode())


def _text(title: str, text: str, name: str) -> BlockView:
    content = TextContent(title, text, Path(name).suffix)
    return BlockView(title, name, content, lambda: (safe_text(text) + "\n").encode("utf-8", "replace"))
