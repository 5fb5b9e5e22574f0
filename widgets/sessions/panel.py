"""The panel of past sessions: a filter, the list, and what its keys do.

It shows what it is given and asks for the rest: by `Searched` for what a text contains, by `ActionRequested` for an
action on a session. Typing filters titles at once; what the engine finds in texts comes below as it arrives.
"""

import time
from collections.abc import Callable
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.events import DescendantBlur, DescendantFocus
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Input

from oi_tui.app.engine.core.library_replies import SessionsFound
from oi_tui.app.engine.core.session_records import SessionRecord
from oi_tui.widgets.field import Field
from oi_tui.widgets.keyrow import Hint, KeyRow, key_labels
from oi_tui.widgets.lettering import Words
from oi_tui.widgets.sessions.listing import Heading, HitEntry, matched_text, record_of, words_of
from oi_tui.widgets.sessions.row_view import RowRenderer, explain_no_rows
from oi_tui.widgets.sessions.session_rows import SessionAction, SessionRows
from oi_tui.widgets.sessions.sessions_model import SHORTEST, SessionsModel

PAUSE = 0.15
"""Seconds without a key after which the engine is asked what texts contain."""


class Panel(Vertical):
    """Sessions to find, preview and resume."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Hint("down", "into_list(1)", "From the filter into the list", id="sessions.list", label="list"),
        Binding("pagedown", "into_list(0)", "To the list, where it stands", id="sessions.into_list", show=False),
        Binding("tab,shift+tab", "switch", "Between the filter and the list", id="sessions.switch"),
        Hint(
            "escape",
            "step_back",
            "Back: out of the look, the filter, the archive, the panel",
            id="sessions.back",
            label="back",
        ),
    ]

    DEFAULT_CSS = """
    Panel {
        width: 34; height: 1fr; background: $background;
        & > #sessions-filter {
            height: 1; background: $surface;
            & > #sessions-mark { width: 3; padding: 0 1; color: $accent; text-style: bold; }
            & > #sessions-count { width: auto; padding: 0 1; color: $dim; }
            & > Input {
                width: 1fr; height: 1; border: none; padding: 0; background: $surface;
                &:focus { border: none; background: $surface-focus; }
            }
            &:focus-within { background: $surface-focus; }
        }
        & > #sessions-empty { height: 1fr; padding: 1 1; color: $dim; }
        & > #sessions-note { height: auto; max-height: 4; padding: 0 1; background: $surface; color: $dim; }
        & > #sessions-note.-wrong { color: $error; }
        & > #sessions-keys { background: $surface; & > .keyrow--label { color: $foreground; } }
    }
    """

    class ActionRequested(Message):
        """An action on this session was requested."""

        def __init__(
            self, wish: SessionAction, record: SessionRecord | None, block_id: str = "", needle: str = ""
        ) -> None:
            super().__init__()
            self.wish = wish
            self.record = record
            """None where it is about no session: `undo`, `new`."""
            self.block_id = block_id
            """The place in it that a search found."""
            self.needle = needle
            """The matched text, verbatim."""

    class Searched(Message):
        """What is in the list is wanted (no query), or what texts contain; the answer goes to `show`."""

        def __init__(self, query: str, archived: bool) -> None:
            super().__init__()
            self.query, self.archived = query, archived

    class Listed(Message):
        """The rows were listed again: another session may be under the cursor."""

    class CloseRequested(Message):
        """The panel is not wanted any more."""

    def __init__(self, *, id: str | None = None, clock: Callable[[], float] = time.time, home: str = "") -> None:
        super().__init__(id=id)
        self._clock = clock
        self._home = home
        self._here = ""
        self._current = ""
        self._towards = ""
        """Where the cursor goes as soon as that session is in the list."""
        self._stock = SessionsModel(home)
        self._timer: Timer | None = None
        self.looking = False
        """Whether something is looked at beside the list, which Escape ends first."""
        self.rows = SessionRows(id="sessions-rows")

    def compose(self) -> ComposeResult:
        """The filter, the rows (or why there are none), the message, and the keys."""
        with Horizontal(id="sessions-filter"):
            yield Words("/", id="sessions-mark")
            yield Field(id="sessions-text", placeholder="filter or search…", select_on_focus=False)
            yield Words(id="sessions-count")
        yield Words(id="sessions-empty")
        yield self.rows
        yield Words(id="sessions-note")
        yield KeyRow(id="sessions-keys")

    def on_mount(self) -> None:
        """Nothing is known yet."""
        self.say("")
        self._refresh()

    # -- what others call --------------------------------------------------------------------------------

    def set_place(self, *, here: str, current: str) -> None:
        """The folder one works in, and the session that is open."""
        if (here, current) != (self._here, self._current):
            self._here, self._current, self._towards = here, current, current
            self._refresh()

    def show(self, found: SessionsFound) -> None:
        """The engine's results; answers to earlier queries are dropped."""
        if self._stock.take(found, self.search_text):
            self._refresh()
        # The engine answers only the newest of the questions that wait: the other one may have been passed over.
        if found.query and not self._stock.known:
            self.post_message(self.Searched("", self.shows_archive))
        elif not found.query and self._stock.is_searching(self.search_text):
            self.post_message(self.Searched(self.search_text, self.shows_archive))

    def put(self, record: SessionRecord) -> None:
        """One session in its new state."""
        self._stock.put(record)
        self._refresh()

    def say(self, words: str, *, wrong: bool = False) -> None:
        """The result of an action; "" for none."""
        note = self.query_one("#sessions-note", Words)
        note.set_class(wrong, "-wrong")
        note.display = bool(words)
        note.update(words)

    @property
    def shows_archive(self) -> bool:
        """Whether those are shown that were put away."""
        return self._stock.archived

    @property
    def waiting(self) -> bool:
        """Whether a request is still unanswered."""
        return not self._stock.known or self._stock.is_searching(self.search_text)

    def give_up(self) -> None:
        """What is still to come does not come."""
        self._stock.known, self._stock.searched = True, self.search_text
        self._refresh()

    def forget(self) -> None:
        """Begin with the whole list and without a message the next time."""
        self.query_one(Input).value = ""
        self.say("")

    def begin(self) -> None:
        """Take the keys, at once: the next one may be on its way. What is typed takes the place of what was."""
        field = self.query_one(Input)
        self.screen.set_focus(field)
        field.action_select_all()

    @property
    def search_text(self) -> str:
        """What is typed, as the engine is asked it."""
        return " ".join(self.query_one(Input).value.split())

    @property
    def record(self) -> SessionRecord | None:
        """The session under the cursor."""
        return record_of(self.rows.entry) if self.rows.entry is not None else None

    # -- keys ----------------------------------------------------------------------------------------------

    def action_into_list(self, step: int) -> None:
        """Go to the next row, with the keys of the list."""
        if self.rows.entry is not None:
            self.screen.set_focus(self.rows)
            self.rows.action_move(step)

    def action_switch(self) -> None:
        """Between the filter and the list."""
        if self.rows.has_focus:
            self.begin()
        else:
            self.screen.set_focus(self.rows)

    def action_step_back(self) -> None:
        """Out of the look, the filter, the archive, or the panel."""
        if self.looking:
            self._want("look")
        elif self.query_one(Input).value:
            self.query_one(Input).value = ""
        elif self.shows_archive:
            self.toggle_archive()
        else:
            self.post_message(self.CloseRequested())

    def toggle_archive(self) -> None:
        """Show archived sessions, or the others."""
        self._stock.turn()
        self.query_one(Input).placeholder = "filter the archive…" if self.shows_archive else "filter or search…"
        self._refresh()
        self.post_message(self.Searched("", self.shows_archive))
        self._ask_soon()

    # -- messages --------------------------------------------------------------------------------------------

    def on_input_changed(self, event: Input.Changed) -> None:
        """Fewer rows at once; what texts contain, when the typing pauses."""
        event.stop()
        self.say("")
        self._stock.forget_search()
        self._refresh()
        self._ask_soon()

    @on(Input.Submitted)
    @on(SessionRows.ActionRequested)
    def _obey(self, event: Input.Submitted | SessionRows.ActionRequested) -> None:
        """A key of the list, or Enter in the filter, which opens what is under the cursor."""
        event.stop()
        self._want(event.wish if isinstance(event, SessionRows.ActionRequested) else "open")

    @on(DescendantFocus)
    @on(DescendantBlur)
    def _note_focus(self) -> None:
        """The keys came, went, or are elsewhere in the panel."""
        self.call_later(self._show_keys)

    # -- inside ------------------------------------------------------------------------------------------------

    def _want(self, wish: SessionAction) -> None:
        match wish:
            case "filter":
                self.begin()
            case "archived":
                self.toggle_archive()
            case "undo" | "new":
                self.post_message(self.ActionRequested(wish, None))
            case _ if (record := self.record) is not None:
                entry = self.rows.entry
                found = (entry.hit.block_id, matched_text(entry.hit)) if isinstance(entry, HitEntry) else ("", "")
                self.post_message(self.ActionRequested(wish, record, *found))
            case _:
                pass  # nothing is under the cursor

    def _ask_soon(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._timer = None
        if len(sought := self.search_text) >= SHORTEST:
            wanted = self.Searched(sought, self.shows_archive)
            self._timer = self.set_timer(PAUSE, lambda: self.post_message(wanted))

    def _refresh(self) -> None:
        """The rows, filtered by the typed text."""
        now, stock, sought = self._clock(), self._stock, self.search_text
        entries = stock.entries(sought, now=now, here=self._here, current=self._current)
        home, here, current, words = self._home, self._here, self._current, words_of(sought)

        def pens(width: int) -> RowRenderer:
            return RowRenderer(width, now=now, home=home, here=here, current=current, words=words)

        keep = self.rows.key
        if self._towards in stock and not words:
            keep, self._towards = (self._towards, "", ""), ""
        self.rows.show(entries, pens, keep=keep)
        self.rows.set_class(not entries, "-empty")  # not hidden: its keys still work
        empty = self.query_one("#sessions-empty", Words)
        empty.display = not entries
        empty.update(
            "Reading…" if not stock.known
            else "Searching…" if stock.is_searching(sought)
            else explain_no_rows(sought, archived=self.shows_archive)
        )  # fmt: skip
        count = sum(not isinstance(entry, Heading) for entry in entries)
        self.query_one("#sessions-count", Words).update(stock.count_in_words(count, sought))
        self._show_keys()
        self.post_message(self.Listed())

    def _show_keys(self) -> None:
        if not self.is_mounted:
            return
        self.rows.set_active(self.has_focus_within)
        if self.rows.has_focus:
            labels = key_labels(self.rows, words={"a": ("take back", "take back")} if self.shows_archive else None)
        else:
            word = "back" if self.query_one(Input).value or self.shows_archive or self.looking else "close"
            some = (*key_labels(self.rows, "enter"), *key_labels(self, "↓")) if self.rows.entry is not None else ()
            labels = (*some, *key_labels(self, "esc", words={"esc": (word, word)}))
        self.query_one(KeyRow).labels = labels
