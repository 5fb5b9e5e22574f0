"""Something big on the whole screen: a text of any size, a table, a tree of JSON.

What is shown comes as a value; what moves in it is a widget of `widgets/viewer`. Here is what all of them have in
common: the line about it, searching, copying, saving, the editor.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import Screen
from textual.worker import Worker

from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.words import quantity, size_in_words
from oi_tui.app.screens.clipboard import copy
from oi_tui.app.screens.external_editor import EditorFailed, view_in_editor
from oi_tui.app.screens.save_as import SaveAsScreen, SaveFailed, save
from oi_tui.app.screens.table_actions import TableActions
from oi_tui.themes.palette import Palette
from oi_tui.widgets.keyrow import Hint, KeyLabel, KeyRow, key_labels
from oi_tui.widgets.lettering import Words
from oi_tui.widgets.search_bar import SearchBar
from oi_tui.widgets.timeline.search import Search
from oi_tui.widgets.timeline.table_data import TableData
from oi_tui.widgets.viewer.json_tree import JsonTree, to_json
from oi_tui.widgets.viewer.line_index import LineIndex, Step
from oi_tui.widgets.viewer.pane import TextPane
from oi_tui.widgets.viewer.table_csv import as_csv
from oi_tui.widgets.viewer.table_pane import TablePane
from oi_tui.widgets.viewer.table_source import NoRows, TableSource

MOST_EDITED = 20_000_000
"""Largest file, in bytes, that the editor gets a copy of."""


class TextContent(NamedTuple):
    """A text, or the file that holds it."""

    title: str
    text: str | Path
    suffix: str = ".txt"
    """How a file with it ends."""
    exact: str | None = None
    """What is saved, where that is not the text that is shown."""


class TableContent(NamedTuple):
    """A table, as far as it has arrived."""

    title: str
    table: TableData
    source: TableSource | None = None
    """What has all of its rows."""


class JsonContent(NamedTuple):
    """A parsed JSON value, shown as a tree."""

    title: str
    value: Any


ViewerContent = TextContent | TableContent | JsonContent


class ViewerScreen(Screen[None]):
    """Shows one thing; Escape goes back step by step."""

    CSS_PATH = "viewer.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Hint("escape", "step_back", "End the search, or back", id="viewer.back", show=False, label="back"),
        Binding("q", "dismiss", "Back", id="viewer.close", show=False),
        Hint(
            "slash", "search", "Search", id="viewer.search", show=False, key_display="/", label="search", short="find"
        ),
        Hint("n", "find(1)", "Next match", id="viewer.next_match", show=False, label="next match", short="next"),
        Binding("N", "find(-1)", "Match before", id="viewer.match_before", show=False),
        Hint(
            "y,c", "copy", "Copy what is selected, or what the cursor is on", id="viewer.copy", show=False, label="copy"
        ),
        Hint("s", "save", "Save as a file", id="viewer.save", show=False, label="save"),
        Hint("e", "edit", "Look at a copy in $EDITOR", id="viewer.edit", show=False, label="editor", short="edit"),
    ]

    def __init__(self, content: ViewerContent, palette: Palette, folder: Path, *, editor: str = "") -> None:
        """Shows `content`; `CannotRead` where that is a file that cannot be read. Files are saved in `folder`."""
        super().__init__()
        self._content = content
        self._palette = palette
        self._folder = folder
        self._editor = editor
        self._search: Search | None = None
        self._seeking: Worker[None] | None = None
        self._table: TableActions | None = None
        self._body: TextPane | TablePane | JsonTree
        match content:
            case TextContent(text=source):
                lines = LineIndex.open(source) if isinstance(source, Path) else LineIndex.of(source)
                self._body = TextPane(lines, palette, id="viewer-body")
            case TableContent():
                table = content.table
                self._body = TablePane(table, palette, source=content.source, ref=table.ref, id="viewer-body")
                self._table = TableActions(self, self._body, say=self._say, copy=self._copy, show=self._show_text)
            case JsonContent():
                self._body = JsonTree(content.value, palette, id="viewer-body")

    def compose(self) -> ComposeResult:
        """The line about it, the thing itself, the line to search in, the keys."""
        with Horizontal(id="viewer-head"):
            yield Words(self._title(), id="viewer-title")
            yield Words(id="viewer-place")
        yield self._body
        yield SearchBar(id="viewer-search")
        yield KeyRow(id="viewer-keys")

    def on_mount(self) -> None:
        """The keys go to what is shown."""
        self.query_one(KeyRow).labels = self.row_of_keys()
        self._body.focus()

    def row_of_keys(self) -> tuple[KeyLabel, ...]:
        """What the last row says."""
        return (
            *key_labels(self, "/", "n"),
            *(key_labels(self._body) if not isinstance(self._body, JsonTree) else ()),
            *key_labels(self, *(("y", "s", "esc") if self._table is not None else ("y", "s", "e", "esc"))),
        )

    def on_unmount(self) -> None:
        """The file is given back."""
        if isinstance(self._body, TextPane):
            self._body.lines.close()

    # -- searching -----------------------------------------------------------------------------------------------

    def on_search_bar_changed(self, event: SearchBar.Changed) -> None:
        """Mark what can be seen while it is typed."""
        event.stop()
        self._stop_seeking()
        self._search = Search(event.needle) if event.needle else None
        self._body.mark(self._search)

    def on_search_bar_accepted(self, event: SearchBar.Accepted) -> None:
        """Go to the first match."""
        event.stop()
        if self._search is None:
            self._search = Search(event.needle)
        self._body.focus()
        self.action_find(1)

    def on_search_bar_left(self, event: SearchBar.Left) -> None:
        """No more marks; what still looks for one stops."""
        event.stop()
        self.action_step_back()

    async def _seek(self, search: Search, step: int) -> None:
        bar = self.query_one(SearchBar)
        try:
            async for at in _steps(self._body.find(search, step)):
                if at.line is not None:
                    bar.matches = ""
                    self._body.mark(search, at.line)
                    self._tell_place()
                    return
                bar.matches = f"searching … {at.share:.0%}"
                await asyncio.sleep(0)
            bar.matches = "not here"
        except NoRows as error:
            bar.matches = str(error)

    def _stop_seeking(self) -> bool:
        """Whether there was a search to stop."""
        seeking, self._seeking = self._seeking, None
        self.query_one(SearchBar).matches = ""
        if seeking is None or seeking.is_finished:
            return False
        seeking.cancel()
        return True

    # -- actions -------------------------------------------------------------------------------------------------

    def action_step_back(self) -> None:
        """Stop what runs (a search, reading, saving), else end the search, else go back."""
        if self._stop_seeking() or (self._table is not None and self._table.stop_saving()):
            return
        if self.has_class("-searching"):
            self.remove_class("-searching")
            self._search = None
            self._body.mark(None)
            self._body.focus()
            return
        if isinstance(self._body, TablePane) and self._body.stop_loading():
            return
        self.dismiss()

    def action_search(self) -> None:
        """What to look for?"""
        self.add_class("-searching")
        self.query_one(SearchBar).begin()

    def action_find(self, step: int) -> None:
        """Go to the next match, or the one before."""
        if self._search is None:
            self.action_search()
            return
        self._stop_seeking()
        self._seeking = self.run_worker(self._seek(self._search, step), name="search", exclusive=True, group="search")

    async def action_copy(self) -> None:
        """What is selected, else what the cursor is on."""
        if self._table is not None:
            await self._table.copy()
        elif selected := self.get_selected_text():
            await self._copy(selected, "what is selected")
        elif not isinstance(self._body, TablePane) and (copied := self._body.text_to_copy()) is not None:
            await self._copy(*copied)
        else:
            self._say("That is too much for the clipboard. Select a part with the mouse, or save it.", True)

    def action_save(self) -> None:
        """Ask where, then write it there."""

        def save_to(path: Path | None) -> None:
            if path is not None and self._table is not None:
                self._table.save(path)
            elif path is not None:
                self.run_worker(self._save(path), name="save", group="save")

        self.app.push_screen(SaveAsScreen(_file_name(self._content), self._folder), save_to)

    def action_edit(self) -> None:
        """A copy in the person's own editor."""
        data = _data(self._content)
        if isinstance(data, Path):
            path = data
            try:
                if path.stat().st_size > MOST_EDITED:
                    self._say(f"Too big for a copy. The file is {path}.", True)
                    return
                data = path.read_bytes()
            except OSError as error:
                self._say(f"{path.name} cannot be read: {error.strerror}.", True)
                return
        try:
            view_in_editor(self.app, data.decode("utf-8", errors="replace"), _suffix(self._content), self._editor)
        except EditorFailed as failed:
            self._say(str(failed), True)

    @on(TablePane.Asked)
    def _do_with_table(self, event: TablePane.Asked) -> None:
        """What takes a screen of its own; the table stays responsive."""
        event.stop()
        if self._table is not None:
            self.run_worker(self._table.do(event.wish), name="table", group="table", exclusive=True)

    # -- inside --------------------------------------------------------------------------------------------------

    @on(TextPane.Moved)
    @on(TablePane.Moved)
    @on(JsonTree.Moved)
    def _tell_place(self) -> None:
        if self._table is not None:
            self._table.tell_note()
        trouble = self._body.lines.trouble if isinstance(self._body, TextPane) else ""
        self.query_one("#viewer-place", Words).update(trouble or self._body.position)

    def _title(self) -> str:
        match self._content:
            case TextContent() if isinstance(self._body, TextPane):
                size = size_in_words(self._body.lines.size)
            case TableContent(table=table):
                size = f"{quantity(table.total_rows, 'row')} × {quantity(table.total_columns, 'column')}"
            case _:
                size = "JSON"
        return safe_text(f"{self._content.title} · {size}")

    async def _save(self, path: Path) -> None:
        try:
            await asyncio.to_thread(save, path, _bytes_to_save(self._content))
        except SaveFailed as failed:
            self._say(str(failed), True)
            return
        self._say(f"Saved: {path}.")

    async def _copy(self, text: str, what: str) -> None:
        trouble = await copy(self.app, text)
        self._say(f"Copied {what}." + (f" The desktop's clipboard: {trouble}" if trouble else ""))

    def _show_text(self, title: str, text: str) -> None:
        self.app.push_screen(ViewerScreen(TextContent(title, text), self._palette, self._folder, editor=self._editor))

    def _say(self, text: str, warning: bool = False) -> None:
        self.notify(text, severity="warning" if warning else "information", timeout=4)


async def _steps(found: Iterator[Step] | AsyncIterator[Step]) -> AsyncIterator[Step]:
    """The steps of a search, here or where a table is."""
    if isinstance(found, AsyncIterator):
        async for at in found:
            yield at
    else:
        for at in found:
            yield at


def _bytes_to_save(content: ViewerContent) -> bytes | Path:
    """The name and the bytes (or file) that are saved."""
    if isinstance(content, TextContent) and content.exact is not None:
        return content.exact.encode("utf-8", errors="replace")
    return _data(content)


def _data(content: ViewerContent) -> bytes | Path:
    """The file as it is, or all of it in the usual form."""
    match content:
        case TextContent(text=Path() as path):
            return path
        case TextContent(text=str(text)):
            words = text
        case TableContent(table=table):
            words = as_csv(table)
        case JsonContent(value=value):
            words = to_json(value) + "\n"
    return words.encode("utf-8", errors="replace")


def _suffix(content: ViewerContent) -> str:
    match content:
        case TextContent(suffix=suffix):
            return suffix
        case TableContent():
            return ".csv"
        case JsonContent():
            return ".json"


def _file_name(content: ViewerContent) -> str:
    """The name that is proposed for a file."""
    if isinstance(content, TextContent) and isinstance(content.text, Path):
        return safe_text(content.text.name)
    words = "".join(letter if letter.isalnum() else " " for letter in safe_text(content.title)).split()
    return ("-".join(words)[:60] or "unnamed") + _suffix(content)
