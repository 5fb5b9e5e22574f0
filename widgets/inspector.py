"""The panel of variables: what the last run did to them, what they are, and a longer look at one of them.

It shows what it is given and asks for the rest: by `PeekRequested` for a longer look, by `CloseRequested` to go away.
The filter has the focus, and arrows still move through the rows; Tab goes into the longer look, to scroll it.
"""

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import ScrollableContainer, Vertical
from textual.events import Resize
from textual.message import Message
from textual.widgets import Input, OptionList

from oi_tui.app.engine.core.kernel_looks import VariableSeen, VariablesFound
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.widgets.field import Field
from oi_tui.widgets.inspector_view import (
    VariableEntry,
    entry_matches,
    explain_no_detail,
    explain_no_variables,
    inspector_title,
    name_width,
    row_line,
    summary,
    variable_entries,
)
from oi_tui.widgets.keyrow import Hint, KeyLabel, KeyRow, joint_label, key_labels
from oi_tui.widgets.lettering import Options, Words


class Inspector(Vertical):
    """Variables of one kernel, at most a few hundred."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "move('cursor_down')", "The next variable", id="inspector.down"),
        Binding("up", "move('cursor_up')", "The one before", id="inspector.up"),
        Binding("pagedown", "move('page_down')", "A page down", id="inspector.page_down"),
        Binding("pageup", "move('page_up')", "A page up", id="inspector.page_up"),
        Hint(
            "tab,shift+tab",
            "switch",
            "Into the longer look, and back",
            id="inspector.switch",
            label="scroll",
            short="in",
        ),
        Hint("escape", "step_back", "Back, or close", id="inspector.close", label="back"),
    ]

    DEFAULT_CSS = """
    Inspector {
        width: 36; height: 1fr; background: $background;
        & > #inspector-title { height: 1; padding: 0 1; text-overflow: ellipsis; text-wrap: nowrap; }
        & > #inspector-filter {
            height: 1; border: none; padding: 0 1; background: $surface;
            &:focus { border: none; background: $surface-focus; }
        }
        & > #inspector-empty { height: 1fr; padding: 1 1; color: $dim; }
        & > #inspector-rows {
            height: 1fr; max-height: 100%; border: none; padding: 0; background: $background; color: $foreground;
            scrollbar-size-vertical: 1; scrollbar-gutter: stable;
            &:focus { border: none; background-tint: $background 0%; }
            & > .option-list--option { padding: 0; }
            & > .option-list--option-highlighted { background: $surface-focus; color: $foreground; }
            &:focus > .option-list--option-highlighted { background: $selection; text-style: bold; }
            & > .option-list--option-hover { background: $surface; }
        }
        & > #inspector-note { height: auto; padding: 0 1; color: $dim; }
        & > #inspector-summary { height: auto; max-height: 5; padding: 0 1; background: $surface; }
        & > #inspector-peek {
            height: auto; max-height: 50%; background: $surface-code; scrollbar-size: 1 1;
            & > Static { width: auto; height: auto; padding: 0 1; }
            &.-words > Static { width: 1fr; color: $dim; }
        }
        & > #inspector-keys { background: $surface; & > .keyrow--label { color: $foreground; } }
    }
    """

    class PeekRequested(Message):
        """A longer look at this variable is wanted; the answer goes to `show_seen`."""

        def __init__(self, name: str, anew: bool = False) -> None:
            super().__init__()
            self.name = name
            self.anew = anew
            """Asked for by the person, and not an update of what is shown."""

    class CloseRequested(Message):
        """The panel is not wanted any more."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._found: VariablesFound | None = None
        """The last listing that succeeded."""
        self._last: VariablesFound | None = None
        """The last one at all."""
        self._rows: list[VariableEntry] = []
        """Those that the filter leaves."""
        self._highlighted = ""
        """Name under the cursor; it stays there when the list changes."""
        self._peeked = ""
        """Name that a longer look is shown of, or was asked for."""
        self._names = 4
        """Cells of the column of names."""

    def compose(self) -> ComposeResult:
        """Title, filter, rows (or why there are none), and at the bottom what is known of one."""
        yield Words(id="inspector-title")
        yield Field(id="inspector-filter", placeholder="type to filter", compact=True)
        yield Words(id="inspector-empty")
        rows = Options(id="inspector-rows")
        rows.can_focus = False
        yield rows
        yield Words(id="inspector-note")
        yield Words(id="inspector-summary")
        with ScrollableContainer(id="inspector-peek"):
            yield Words()
        yield KeyRow(id="inspector-keys")

    def on_mount(self) -> None:
        """Nothing is known yet."""
        self._refresh()

    # -- what the screen calls ---------------------------------------------------------------------------

    def show(self, found: VariablesFound) -> None:
        """A new listing, or why there is none: then the old listing of the same kernel stays, marked as old."""
        self._last = found
        if found.telling == "told":
            self._found = found
        elif found.telling in ("cold", "dead") or (self._found is not None and self._found.language != found.language):
            self._found = None
        if self._peeked:
            if self._found is not None and any(row.name == self._peeked for row in self._found.variables):
                if found.telling == "told":
                    self.post_message(self.PeekRequested(self._peeked))
            else:
                self._close_peek()
        self._refresh()

    def show_detail(self, seen: VariableSeen) -> None:
        """What a longer look found, if it is still wanted."""
        if seen.name != self._peeked:
            return
        words = explain_no_detail(seen.telling, seen.text, seen.language)
        text = words or "\n".join(safe_text(line).expandtabs(4) for line in seen.text.split("\n"))
        peek = self.query_one("#inspector-peek", ScrollableContainer)
        peek.set_class(bool(words), "-words")
        peek.query_one(Words).update(text)
        peek.scroll_home(animate=False)
        self._show_peek()

    def focus_filter(self) -> None:
        """Give the keys to the panel."""
        self.query_one(Input).focus()

    # -- keys and mouse ----------------------------------------------------------------------------------

    def action_move(self, how: str) -> None:
        """Through the rows, while the filter has the focus."""
        rows = self.query_one(Options)
        getattr(rows, f"action_{how}")()

    def action_switch(self) -> None:
        """Between the filter and the longer look, if there is one."""
        peek = self.query_one("#inspector-peek")
        (self.query_one(Input) if peek.has_focus or not peek.display else peek).focus()

    def action_step_back(self) -> None:
        """Out of the longer look, of the filter, or of the panel."""
        if not self.step_back():
            self.post_message(self.CloseRequested())

    def step_back(self) -> bool:
        """One level back inside the panel; False if it is at its first one."""
        field = self.query_one(Input)
        if self._peeked:
            self._close_peek()
        elif field.value:
            field.value = ""
        else:
            return False
        return True

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter looks closer at the row under the cursor."""
        event.stop()
        self._look_closer()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Another row is under the cursor."""
        event.stop()
        index = self.query_one(Options).highlighted  # the event may be of rows that were there before
        if index is not None:
            self._highlight(index)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        rows, index = self.query_one(Options), event.option_index
        if index < rows.option_count and rows.get_option_at_index(index) is event.option:  # else it is gone by now
            self._highlight(index)
            self._look_closer()

    # -- inside --------------------------------------------------------------------------------------------

    def _look_closer(self) -> None:
        entry = self._entry()
        if entry is None or entry.is_gone:
            return
        if entry.variable.name != self._peeked:
            self._peeked = entry.variable.name
            self.query_one("#inspector-peek > Static", Words).update("…")
            self._show_peek()
        self.post_message(self.PeekRequested(self._peeked, anew=True))

    def _entry(self) -> VariableEntry | None:
        """The row under the cursor."""
        return next((row for row in self._rows if row.variable.name == self._highlighted), None)

    def _highlight(self, index: int) -> None:
        """Draw the cursor at this row and no longer at the last one; the facts about its variable are below."""
        before, entry = self._entry(), self._rows[index]
        self._highlighted = entry.variable.name
        for changed in (before, entry):
            if changed is not None:
                line = row_line(changed, self._width, self._names, highlighted=changed is entry)
                self.query_one(Options).replace_option_prompt_at_index(self._rows.index(changed), line)
        if self._peeked and self._peeked != self._highlighted:
            self._close_peek()
        self.query_one("#inspector-summary", Words).update(summary(entry))

    @property
    def _width(self) -> int:
        """Cells of a row, beside the scroll bar."""
        return max(10, self.content_size.width - 1)

    @on(Input.Changed)
    @on(Resize)
    def _refresh(self) -> None:
        """Everything but the longer look, filtered by the typed text, cut to the width."""
        wanted = self.query_one(Input).value.strip()
        found = self._found
        everything = variable_entries(found) if found is not None else []
        self._rows = [row for row in everything if entry_matches(row, wanted)]
        self._show_words(wanted, bool(everything))
        width = self._width
        self._names = names = name_width(self._rows, width)
        listed = self.query_one(Options)
        place = next((i for i, row in enumerate(self._rows) if row.variable.name == self._highlighted), 0)
        self._highlighted = self._rows[place].variable.name if self._rows else ""
        top = listed.scroll_y
        listed.set_options(
            row_line(row, width, names, highlighted=index == place) for index, row in enumerate(self._rows)
        )
        listed.display = bool(self._rows)
        if self._rows:
            listed.scroll_to(y=top, animate=False, immediate=True)
            listed.highlighted = place
        line = self.query_one("#inspector-summary", Words)
        line.display = bool(self._rows)
        if self._rows:
            line.update(summary(self._rows[place]))
        self._show_peek()

    def _show_words(self, wanted: str, any_rows: bool) -> None:
        """Show the title, the notes about the listing, and if there are no rows, the reason."""
        last, found = self._last, self._found
        current = last is None or last.telling == "told"
        self.query_one("#inspector-title", Words).update(inspector_title(found, current=current))
        note = self.query_one("#inspector-note", Words)
        words = "The newest are listed; there are more." if found is not None and found.cut else ""
        if found is not None and last is not None and not current:
            words = explain_no_variables(last.telling, last.language)
        note.display = bool(words)
        note.update(words)
        empty = self.query_one("#inspector-empty", Words)
        empty.display = not self._rows
        if any_rows:
            words = f"No name or type contains “{safe_text(wanted)}”."
        else:
            words = explain_no_variables(last.telling, last.language) if last is not None else "Nothing is known yet."
        empty.update(words)

    def _close_peek(self) -> None:
        if self.query_one("#inspector-peek").has_focus:
            self.focus_filter()
        self._peeked = ""
        self._show_peek()

    def _show_peek(self) -> None:
        self.query_one("#inspector-peek").display = bool(self._peeked)
        if self._peeked:
            labels = (
                joint_label(self, "another", "inspector.up", "inspector.down")._replace(short="other"),
                *key_labels(self),
            )
        else:
            field = self.query_one(Input)
            word = "clear" if field.value else "close"
            look = KeyLabel("enter", "look closer", "look", owner=field, action="submit")
            labels = (*((look,) if self._rows else ()), *key_labels(self, "esc", words={"esc": (word, word)}))
        self.query_one(KeyRow).labels = labels
