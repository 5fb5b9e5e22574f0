"""The list itself: any number of entries; only the rows on the screen are ever drawn."""

import bisect
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import ClassVar, Literal

from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual

from oi_tui.widgets.keyrow import Hint
from oi_tui.widgets.sessions.listing import Heading, HitEntry, ListEntry
from oi_tui.widgets.sessions.row_view import Cursor, RowRenderer, height_of

SessionAction = Literal[
    "open", "look", "fork", "rename", "tag", "archive", "archived", "delete", "undo", "export", "new", "filter",
]  # fmt: skip
"""What a person can want here beyond moving."""

EntryKey = tuple[str, str, str]
"""Session, block and kind, by which an entry is found again in a new list."""


class SessionRows(ScrollView, can_focus=True, inherit_bindings=False):
    """Sessions under each other; one of them, or a place in it, is what the keys act on."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", "The next one", id="sessions.down"),
        Binding("up,k", "move(-1)", "The one before; above the first, the filter", id="sessions.up"),
        Binding("pagedown", "page(1)", "A page down", id="sessions.page_down"),
        Binding("pageup", "page(-1)", "A page up", id="sessions.page_up"),
        Binding("home,g", "edge(0)", "The first", id="sessions.start"),
        Binding("end,G", "edge(-1)", "The last", id="sessions.end", key_display="end, G"),
        Hint("enter", "want('open')", "Open it; what a search found, at that place", id="sessions.open", label="open"),
        Hint(
            "space,right",
            "want('look')",
            "Look at it first, beside the list; press again to close",
            id="sessions.look",
            label="look",
        ),
        Hint("f", "want('fork')", "Fork it: a new session that begins with the same", id="sessions.fork", label="fork"),
        Hint("r", "want('rename')", "Give it another title", id="sessions.rename", label="rename"),
        Hint("number_sign", "want('tag')", "Its tags", id="sessions.tags", key_display="#", label="tags"),
        Hint("a", "want('archive')", "Archive it, or unarchive it", id="sessions.archive", label="archive"),
        Binding(
            "A", "want('archived')", "Show archived sessions, or the others", id="sessions.archived", key_display="A"
        ),
        Hint("e,s", "want('export')", "Export it: notebook, Markdown, HTML, LMC", id="sessions.export", label="export"),
        Hint("d,delete", "want('delete')", "Delete it", id="sessions.delete", label="delete"),
        Binding("u", "want('undo')", "Undo the last change made here", id="sessions.undo"),
        Binding("n", "want('new')", "Begin a new session", id="sessions.new"),
        Binding("slash", "want('filter')", "Filter and search", id="sessions.filter", key_display="/"),
        Binding("ctrl+d", "look_half(1)", "Half a page down in what is looked at", id="sessions.half_down"),
        Binding("ctrl+u", "look_half(-1)", "Half a page up in it", id="sessions.half_up"),
    ]

    DEFAULT_CSS = """
    SessionRows {
        height: 1fr; background: $background; color: $foreground; overflow: hidden auto;
        scrollbar-size-vertical: 1; scrollbar-gutter: stable;
        &.-empty { height: 0; }
        & > .sessionrows--here { background: $surface-focus; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"sessionrows--here"}

    class ActionRequested(Message):
        """The person wants something done with what is under the cursor."""

        def __init__(self, wish: SessionAction) -> None:
            super().__init__()
            self.wish = wish

    class CursorMoved(Message):
        """The cursor is elsewhere."""

    class LookScrolled(Message):
        """Half a page of what is looked at, down (1) or up (-1)."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._entries: Sequence[ListEntry] = ()
        self._starts: list[int] = [0]
        """First row of each entry, and at the end how many rows there are."""
        self._chosen: list[int] = []
        """Entries that can be chosen."""
        self._pens: Callable[[int], RowRenderer] | None = None
        self._pen: RowRenderer | None = None
        self._drawn: dict[tuple[int, Cursor], list[Strip]] = {}
        self._cursor = -1
        self.active = False
        """Whether the keys act on the row under the cursor, even from the filter."""

    # -- what the panel calls ----------------------------------------------------------------------------

    @property
    def entry(self) -> ListEntry | None:
        """What is under the cursor."""
        return self._entries[self._cursor] if self._cursor >= 0 else None

    @property
    def key(self) -> EntryKey | None:
        """How to find it again."""
        return key_of(self.entry) if self.entry is not None else None

    def show(
        self, entries: Sequence[ListEntry], pens: Callable[[int], RowRenderer], *, keep: EntryKey | None = None
    ) -> None:
        """Other entries; the cursor stays with `keep`, or as near as can be, and in view.

        `pens` makes what draws them at a width.
        """
        place = self._chosen.index(self._cursor) if self._cursor >= 0 else 0
        self._entries, self._pens, self._pen = entries, pens, pens(self._room)
        self._drawn.clear()
        heights = (height_of(entry, first=number == 0) for number, entry in enumerate(entries))
        self._starts = [0, *accumulate(heights)]
        self._chosen = [number for number, entry in enumerate(entries) if not isinstance(entry, Heading)]
        kept = next((number for number in self._chosen if key_of(entries[number]) == keep), None) if keep else None
        if kept is None and self._chosen:
            kept = self._chosen[min(place, len(self._chosen) - 1) if keep else 0]
        self._cursor = -1 if kept is None else kept
        self.virtual_size = Size(self._room, self._starts[-1])
        self._bring_into_view()
        self.refresh()

    def set_active(self, active: bool) -> None:
        """Whether the cursor looks like something that keys act on."""
        if active != self.active:
            self.active = active
            self._repaint(self._cursor)

    @property
    def _room(self) -> int:
        """Cells of a row, beside the scroll bar."""
        return self.scrollable_content_region.width

    # -- drawing -------------------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        """One row of the screen."""
        row = y + self.scroll_offset.y
        if self._pen is None or row >= self._starts[-1]:
            return Strip.blank(self._room, self.rich_style)
        number = bisect.bisect_right(self._starts, row) - 1
        return self._strips(number)[row - self._starts[number]]

    def _strips(self, number: int) -> list[Strip]:
        assert self._pen is not None
        here = number == self._cursor
        look: Cursor = "none" if not here else "here" if self.active else "away"
        if (number, look) not in self._drawn:
            lines = self._pen.lines(self._entries[number], look, first=number == 0)
            style = self.get_visual_style("sessionrows--here") if look == "here" else self.visual_style
            self._drawn[number, look] = [
                Visual.to_strips(self, line, self._room, 1, style, apply_selection=False, pad=True)[0] for line in lines
            ]
        return self._drawn[number, look]

    def _repaint(self, number: int) -> None:
        """The rows of one entry only: on a slow line every other one would be felt."""
        if 0 <= number < len(self._entries):
            top = self._starts[number] - self.scroll_offset.y
            height = self._starts[number + 1] - self._starts[number]
            self.refresh(Region(0, top, self._room, height))

    def notify_style_update(self) -> None:
        self._drawn.clear()
        super().notify_style_update()

    def on_resize(self) -> None:
        """Rows are cut to the width; the cursor stays in view at another height."""
        if self._pens is not None and self._pen is not None and self._pen.width != self._room:
            self._pen = self._pens(self._room)
            self._drawn.clear()
            self.refresh()
        self.virtual_size = Size(self._room, self._starts[-1])
        self._bring_into_view()

    # -- moving ----------------------------------------------------------------------------------------------

    def action_move(self, step: int) -> None:
        """Move to the next row, or out of the list above its first."""
        if not self._chosen:
            self.action_want("filter")
            return
        place = self._chosen.index(self._cursor) + step
        if place < 0:
            self.action_want("filter")
        elif place < len(self._chosen):
            self._go(self._chosen[place])

    def action_page(self, step: int) -> None:
        """Move as far as a screen of rows."""
        if not self._chosen:
            return
        row = self._starts[self._cursor] + step * max(1, self.size.height - 2)
        number = bisect.bisect_right(self._starts, max(0, min(row, self._starts[-1] - 1))) - 1
        place = bisect.bisect_left(self._chosen, number)
        self._go(self._chosen[min(place, len(self._chosen) - 1)])

    def action_edge(self, place: int) -> None:
        """The first or the last."""
        if self._chosen:
            self._go(self._chosen[place])

    def action_want(self, wish: SessionAction) -> None:
        """Request an action on the session under the cursor."""
        self.post_message(self.ActionRequested(wish))

    def action_look_half(self, step: int) -> None:
        """Half a page of what is looked at."""
        self.post_message(self.LookScrolled(step))

    def _go(self, number: int) -> None:
        if number == self._cursor:
            return
        before, self._cursor = self._cursor, number
        self._repaint(before)
        self._repaint(number)
        self._bring_into_view()
        self.post_message(self.CursorMoved())

    def _bring_into_view(self) -> None:
        """The entry under the cursor, and above the first one its day."""
        if self._cursor < 0 or not self.size.height:
            return
        top, end = self._starts[self._cursor], self._starts[self._cursor + 1]
        if self._cursor > 0 and isinstance(self._entries[self._cursor - 1], Heading):
            top = self._starts[self._cursor - 1]
        y = self.scroll_offset.y
        if top < y:
            self.scroll_to(y=top, animate=False, immediate=True)
        elif end > y + self.size.height:
            self.scroll_to(y=end - self.size.height, animate=False, immediate=True)

    # -- the mouse -------------------------------------------------------------------------------------------

    def on_click(self, event: events.Click) -> None:
        """The cursor there; twice: open it."""
        event.stop()
        row = event.y + self.scroll_offset.y
        if row >= self._starts[-1]:
            return
        number = bisect.bisect_right(self._starts, row) - 1
        if isinstance(self._entries[number], Heading):
            return
        self._go(number)
        if event.chain == 2:
            self.action_want("open")


def key_of(entry: ListEntry) -> EntryKey:
    """What an entry is recognised by."""
    if isinstance(entry, HitEntry):
        return (entry.hit.session.id, entry.hit.block_id, entry.hit.kind)
    return ("" if isinstance(entry, Heading) else entry.record.id, "", "")
