"""Where the person writes: many lines, a history, and pastes of any size."""

from collections.abc import Sequence
from typing import ClassVar, Protocol

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.events import Click, DescendantBlur, DescendantFocus, Key, Resize
from textual.message import Message
from textual.reactive import reactive
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets.text_area import Location

from oi_tui.app.engine.text.safe import safe_text
from oi_tui.widgets.lettering import Words
from oi_tui.widgets.paste_tokens import Paster, PasteTokens
from oi_tui.widgets.text_box import TextBox, editing_keys

SHORT_HINT = 25
"""Characters of a hint at most, for which there is always room; the style sheet below has two more."""

QUEUED_ROWS = 3
"""Queued prompts whose beginning is shown."""

SIGNS = ("!", "%")
"""At the very beginning of a text they make it code to run, if they were typed."""

_PLACEHOLDER = "Ask, or !shell, %python, /command, @file"


def as_prompt(text: str) -> str:
    """The text so that it is no code to run: a sign that was not typed gets a space before it, also one that would
    only come to the front when what cannot be seen is taken out."""
    return f" {text}" if safe_text(text).startswith(SIGNS) else text


_OTHERWISE = frozenset({"up", "down", "page_up", "page_down", "delete_right", "cut", "paste"})
"""What keys do in another way here than in other texts."""


class Modal(Protocol):
    """Takes keys before they are typed."""

    def take(self, event: Key) -> bool:
        """Whether this key did something."""

    def begin(self) -> None:
        """What was written was sent."""
        ...


class PromptArea(TextBox):
    """The text itself. Enter sends; up and down at the edges walk through the history."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "enter,ctrl+enter",
            "submit",
            "Send; while a turn runs, the model reads it at the next step",
            id="composer.send",
            key_display="enter",
        ),
        Binding("alt+q", "submit(True)", "Send after the turn that runs", id="composer.queue", priority=True),
        Binding(
            "ctrl+j,alt+enter,shift+enter",
            "newline",
            "New line; so does \\ before enter",
            id="composer.newline",
            key_display="ctrl+j, alt+enter",
        ),
        Binding("up", "line(-1)", "Line up; at the top, the queued prompt, then earlier ones", id="composer.up"),
        Binding("down", "line(1)", "Line down; at the bottom, later prompts", id="composer.down"),
        Binding("pageup", "screen.page(-1)", "The timeline, a page up", id="composer.page_up"),
        Binding("pagedown", "screen.page(1)", "The timeline, a page down", id="composer.page_down"),
        Binding("ctrl+v,alt+v", "paste", "Paste what is in the clipboard, also a picture", id="composer.clipboard"),
        Binding("ctrl+o", "expand_paste", "Open the paste at the cursor", id="composer.paste"),
        Binding("ctrl+x,super+x", "cut_or_drop", "Cut; from an empty prompt, drop the queued one", id="composer.drop"),
        Binding("ctrl+d", "delete_or_quit", "Quit from an empty prompt; else delete a character", id="composer.quit"),
        Binding("ctrl+f", "screen.part('find')", "Search in the session", id="composer.find"),
        Binding("delete", "delete_right", "Delete the character at the cursor", id="composer.delete_right"),
        *editing_keys("composer", without=_OTHERWISE),
    ]

    class Submitted(Message):
        """The user sent this, which may be nothing; pastes are in it in full. It may have to `wait` until the turn
        ends."""

        def __init__(self, text: str, wait: bool = False) -> None:
            super().__init__()
            self.text = text
            self.wait = wait

    class Withdrawn(Message):
        """The person takes back a prompt that waits: to change it, or to `drop` it."""

        def __init__(self, text: str, drop: bool) -> None:
            super().__init__()
            self.text = text
            self.drop = drop

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, soft_wrap=True, tab_behavior="focus", highlight_cursor_line=False)
        self.placeholder = _PLACEHOLDER
        self.cursor_blink = False  # nothing blinks: each time would be a frame
        self.tokens = PasteTokens()
        self.paster: Paster | None = None
        """Who knows more of pastes than their text; None before all is there."""
        self.modal: Modal | None = None
        """Where the prompt has a normal mode: what takes keys in it."""
        self._history: list[str] = []
        self._position: int | None = None
        self._draft = ""
        self.queued: tuple[str, ...] = ()
        """Prompts that wait; an empty prompt takes the last one back."""

    # -- what others call -------------------------------------------------------------------------------

    def set_history(self, prompts: Sequence[str]) -> None:
        """Earlier prompts, oldest first."""
        self._history = [as_prompt(prompt) for prompt in prompts]
        self._position = None

    @property
    def full_text(self) -> str:
        """The text with its pastes instead of their tokens."""
        full = self.tokens.expand(self.text)
        return full if self.text.startswith(SIGNS) else as_prompt(full)

    def fill(self, text: str) -> None:
        """Replace the text; the cursor goes to its end."""
        self.load_text(text)
        self.move_cursor(self.document.end)

    def load_text(self, text: str) -> None:
        """Another text, wherever it comes from: drafts, prompts of other days, files."""
        super().load_text(safe_text(text))

    def add(self, text: str) -> None:
        """Append a text that was not typed."""
        self.move_cursor(self.document.end)
        self.insert_foreign(safe_text(f"\n{text}" if self.text else text), *self.selection)

    # -- events -----------------------------------------------------------------------------------------

    async def on_key(self, event: Key) -> None:
        """The list of completions first. Enter is no text here, and Tab leaves only an empty prompt."""
        if self.completion.take_key(event):
            return
        if self.modal is not None and self.modal.take(event):
            pass
        elif event.key not in ("enter", "tab"):
            return
        elif event.key == "enter":
            self.action_submit()
        elif not self.text or not self.completion.request():
            return
        event.stop()
        event.prevent_default()

    def insert_paste(self, text: str) -> None:
        """A large paste becomes a token; none makes code of the text."""
        token = self.tokens.shorten(text)
        start = min(self.selection)
        self.insert_foreign(safe_text(token), *self.selection)
        if self.paster and not self.text.startswith(SIGNS) and (mentioned := self.paster.mention(text)):
            self.history.checkpoint()  # undone, it is the path
            self.insert_foreign(safe_text(mentioned), start, self.cursor_location)
            self.paster.tell_mention()

    def insert_picture(self, url: str, words: str) -> None:
        """A token for a picture, which goes along when the text is sent."""
        self.insert_foreign(f"{self.tokens.keep_picture(url, words)} ", *self.selection)

    # -- actions -----------------------------------------------------------------------------------------

    def action_paste(self) -> None:
        """What is in the desktop's clipboard, where somebody can read it."""
        if self.paster is None:
            super().action_paste()
        else:
            self.run_worker(self.paster.paste(), group="paste", exclusive=True)

    def action_submit(self, wait: bool = False) -> None:
        """Send the text, even an empty one; it stays until the screen accepts it. After a backslash, insert a new line
        instead; in code the backslash stays, because there it continues the line."""
        row, column = self.cursor_location
        if self.document.get_line(row)[:column].endswith("\\") and self.selection.is_empty:
            start = (row, column if self.text.startswith(SIGNS) else column - 1)
            self.replace("\n", start, (row, column), maintain_selection_offset=False)
        else:
            self.post_message(self.Submitted(self.full_text, wait))

    def accept(self) -> None:
        """The text was accepted: it is history, and the prompt is empty."""
        if not self._history or self._history[-1] != self.text:
            self._history.append(self.text)
        self._position = None
        self.load_text("")
        if self.modal is not None:
            self.modal.begin()

    async def action_delete_or_quit(self) -> None:
        """As in a shell: quit at an empty prompt, or delete the character after the cursor."""
        if self.text:
            self.action_delete_right()
        else:
            await self.run_action("app.quit")

    def action_cut_or_drop(self) -> None:
        """Cut what is selected; from an empty prompt, drop the last prompt that waits."""
        if self.queued and not self.text:
            self.post_message(self.Withdrawn(self.queued[-1], drop=True))
        else:
            self.action_cut()

    def action_newline(self) -> None:
        self.replace("\n", *self.selection, maintain_selection_offset=False)

    def action_line(self, step: int) -> None:
        """A line up or down within the text; beyond its ends, to the last prompt that waits, to an earlier prompt, to a
        later one, or back to the draft."""
        if step < 0 and self.queued and not self.text:
            self.post_message(self.Withdrawn(self.queued[-1], drop=False))
        elif step < 0 and not self.navigator.is_first_wrapped_line(self.cursor_location):
            self.action_cursor_up()
        elif step > 0 and not self.navigator.is_last_wrapped_line(self.cursor_location):
            self.action_cursor_down()
        elif step > 0 and self._position is not None:
            self._recall(self._position + 1)
        elif step < 0 and self._position != 0:
            if self._history:
                self._draft = self.text if self._position is None else self._draft
                self._recall((len(self._history) if self._position is None else self._position) - 1)
            elif not self.text:
                self.run_worker(self.run_action("screen.switch_focus"))  # the examples of an empty session

    def action_expand_paste(self) -> None:
        """The token under the cursor, else the last one, becomes its text."""
        row, column = self.cursor_location
        lines = range(self.document.line_count)
        found = [(line, *place) for line in lines for place in self.tokens.find(self.document.get_line(line))]
        if not found:
            return
        here = [place for place in found if place[0] == row and place[1] <= column <= place[2]]
        line, start, end, text = (here or found)[-1]
        self.insert_foreign(safe_text(text), (line, start), (line, end))

    def insert_foreign(self, text: str, start: Location, end: Location) -> None:
        """Text that was not typed cannot turn the prompt into code."""
        first = min(start, end) == (0, 0)
        self.replace(as_prompt(text) if first else text, start, end, maintain_selection_offset=False)

    def _recall(self, position: int) -> None:
        if position >= len(self._history):
            self._position = None
            self.fill(self._draft)
            return
        self._position = position
        self.fill(self._history[position])


class Composer(Widget):
    """The prompt mark, the text, a hint at the right, and above it a line for messages about the text."""

    DEFAULT_CSS = """
    Composer {
        height: auto;
        border-top: solid $faint;
        background: $background;
        &.-active { border-top: solid $accent 60%; }
        & > Horizontal { height: auto; }
        & > #composer-queued { display: none; height: auto; padding: 0 1; color: $dim; }
        & > #composer-note {
            display: none; height: auto; max-height: 3; padding: 0 1; color: $dim;
            &.-failed { color: $warning; }
        }
        & #composer-mark { width: 3; height: 1; padding: 0 1; color: $accent; text-style: bold; }
        & #composer-hint { width: auto; min-width: 27; height: 1; padding: 0 1; color: $dim; text-align: right; }
        & PromptArea {
            width: 1fr; height: auto; max-height: 10; border: none; padding: 0; background: $background;
            scrollbar-size: 1 1;
            & .text-area--placeholder { color: $dim; }
            &:focus { border: none; background: $background; }
        }
    }
    """

    queued: reactive[tuple[str, ...]] = reactive((), repaint=False)
    """Prompts that wait for what is under way."""

    steers: tuple[bool, ...] = ()
    """Of each, whether the model reads it at the next step; set before `queued`."""

    hint: reactive[str] = reactive("ctrl+p commands · F1 help", repaint=False)

    mode: reactive[str] = reactive("", repaint=False)
    """The mode of Vim's keys, where they are used."""

    def __init__(self, *, id: str | None = None) -> None:
        # Focused from the start: a rule for `:focus-within` would style the whole composer a second time.
        super().__init__(id=id, classes="-active")
        self.area = PromptArea(id="composer-text")
        self.area.completion.above = self
        self._queued_row, self._note_row = Words(id="composer-queued"), Words(id="composer-note")
        """Mounted when the first of them is needed; nobody sees them before."""
        self._hushing: Timer | None = None
        self._said_of = ""
        """The text at the time of the last message."""

    @property
    def note(self) -> str:
        """The message above the prompt."""
        return str(self._note_row.content) if self._note_row.display else ""

    def say(self, text: str, *, failed: bool = False, seconds: float = 0.0) -> None:
        """Show this above the prompt, until the text changes or this many seconds have passed."""
        self.hush()
        self._said_of = self.area.text
        self._mount_rows()
        note = self._note_row
        note.update(safe_text(text))
        note.set_class(failed, "-failed")
        note.display = True
        if seconds:
            self._hushing = self.set_timer(seconds, self.hush)

    def hush(self) -> None:
        """Remove the message above the prompt."""
        if self._hushing is not None:
            self._hushing.stop()
            self._hushing = None
        self._note_row.display = False

    def on_text_area_changed(self) -> None:
        """The message may be about the earlier text."""
        if self.area.text != self._said_of:
            self.hush()

    def compose(self) -> ComposeResult:
        """One row, growing downwards."""
        with Horizontal():
            yield Words("›", id="composer-mark")
            yield self.area
            yield Words(id="composer-hint")

    def watch_queued(self, queued: tuple[str, ...]) -> None:
        """The last ones, a line each."""
        self.area.queued = queued
        if not self.is_mounted or not (queued or self._queued_row.is_attached):
            return
        self._mount_rows()
        steers = (*self.steers, *[False] * len(queued))
        rows = [("steer" if steer else "queued", text) for steer, text in zip(steers, queued, strict=False)]
        lines = [f"{word:<6}  {' '.join(safe_text(text).split())}" for word, text in rows[-QUEUED_ROWS:]]
        if (more := len(queued) - len(lines)) > 0:
            lines.insert(0, f"queued  {more} more")
        self._queued_row.update("\n".join(line[: max(10, self.size.width - 3)] for line in lines))
        self._queued_row.display = bool(lines)

    @on(DescendantFocus)
    @on(DescendantBlur)
    def _follow_focus(self) -> None:
        self.set_class(self.area.has_focus, "-active")

    def watch_mode(self, mode: str) -> None:
        if self.is_mounted:
            self.query_one("#composer-mark", Words).update(mode[:1].upper() if mode not in ("", "insert") else "›")

    async def on_click(self, event: Click) -> None:
        """A click on the hint opens the palette, where the mouse finds every command."""
        if event.widget is self.query_one("#composer-hint"):
            event.stop()
            await self.run_action("app.palette")

    def watch_hint(self, hint: str) -> None:
        if self.is_mounted:
            self._show_hint()

    def on_mount(self) -> None:
        self._show_hint()

    def on_resize(self, event: Resize) -> None:
        """A narrow terminal needs its room for the text."""
        self._show_hint()

    def _mount_rows(self) -> None:
        """Have room above the prompt, shown only while there is something to say."""
        if not self._note_row.is_attached:
            self.mount(self._queued_row, self._note_row, before=0)

    def _show_hint(self) -> None:
        label = self.query_one("#composer-hint", Words)
        # Short ones have one width: a layout for each would delay a quick answer, and wrap the prompt again.
        label.update(self.hint, layout=max(len(self.hint), label.content_size.width) > SHORT_HINT)
        label.display = bool(self.hint) and self.size.width >= len(self.hint) + 24
        room = self.size.width - (len(self.hint) + 6 if label.display else 4)
        self.area.placeholder = _PLACEHOLDER if room >= len(_PLACEHOLDER) or not self.size.width else "Ask"
