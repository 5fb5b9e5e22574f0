"""The first start in a folder: what code could do there, the folder's rules and settings, and the user's choice.

Most users want to begin: Enter takes the first safe choice, and no question comes twice. A careful user wants to know
what “trust” means first: everything that would apply is listed, word for word. A user without bubblewrap wants to know
what to do about it, or to continue without a sandbox: that is a choice of its own and never the default. Keys they try:
enter, arrows, j and k, the first letters, y, escape, q, ctrl+q. Letters mark, and enter takes. Keys typed before the
screen appeared choose nothing, nor does a sentence that is typed at the question, which goes to the prompt: the next
word of a prompt must not trust a folder.
"""

import asyncio
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Protocol

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.events import Click, Key, Paste, Resize
from textual.screen import Screen
from textual.widgets import OptionList

from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.core.settings import SandboxSection
from oi_tui.app.engine.trust.folder_check import FolderCheck, check_folder
from oi_tui.app.frontend.folder_offers import Offer, folder_offers, folder_title
from oi_tui.app.frontend.workplace import FolderChoice, Workplace
from oi_tui.app.screens.folder_words import findings, introduction, offer_line, sandbox_trial
from oi_tui.widgets.arming import LOOK_INTERVAL, Arming, Clock
from oi_tui.widgets.keyrow import Hint, KeyLabel, KeyRow, key_labels, keymap_of, keys_of
from oi_tui.widgets.lettering import Options, Words
from oi_tui.widgets.stray_keys import ERASE, WRITTEN_ON, Sentence

FolderChecker = Callable[[Path, SandboxSection], FolderCheck]


class WritesPrompt(Protocol):
    """Puts text into the prompt."""

    def __call__(self, text: str, *, pasted: bool) -> None:
        """`ERASE` is a Backspace."""
        ...


def _write_nowhere(text: str, *, pasted: bool) -> None:
    pass


class Choices(Options):
    """The list, in which a first click only marks."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "Down", id="folder.down"),
        Binding("k", "cursor_up", "Up", id="folder.up"),
    ]

    def action_cursor_up(self) -> None:
        """Not from the first around to the last, which is the gravest."""
        if self.highlighted:
            super().action_cursor_up()

    def action_cursor_down(self) -> None:
        """Not from the last around to the first."""
        if self.highlighted is None or self.highlighted + 1 < self.option_count:
            super().action_cursor_down()

    def on_click(self, event: Click) -> None:
        """A click marks; only what is marked already is chosen by one. Nothing is decided by where the mouse was."""
        clicked = event.style.meta.get("option")
        if clicked is not None and clicked != self.highlighted:
            event.prevent_default()
            if not self.get_option_at_index(clicked).disabled:
                self.highlighted = clicked


LOW = 16
"""Rows of a screen below which nothing is left free between the parts."""


class FolderScreen(Screen[FolderChoice | None]):
    """Dismissed with the choice, which is stored by then, or None: nothing was chosen."""

    CSS_PATH = "folder.tcss"
    DECIDES = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t,y", "mark('trust')", "Trust", id="folder.trust"),
        Binding("o", "mark('look')", "Only look", id="folder.look"),
        Binding("w", "mark('open')", "No sandbox", id="folder.open"),
        Binding("q,b", "mark('leave')", "Quit, or back", id="folder.leave"),
        Hint("escape", "dismiss(None)", "back", id="folder.back"),
        Hint(
            "pagedown",
            "scroll_findings(1)",
            "more of what was found",
            id="folder.page_down",
            short="more",
            priority=True,
        ),
        Binding("space", "scroll_findings(1)", "More of what was found", id="folder.more"),
        Binding("pageup", "scroll_findings(-1)", "Back in what was found", id="folder.page_up", priority=True),
    ]

    def __init__(
        self,
        place: Workplace,
        *,
        again: bool = False,
        look: FolderChecker = check_folder,
        write: WritesPrompt = _write_nowhere,
        clock: Clock = time.monotonic,
    ) -> None:
        """`again`: something holds already, and may be changed. `write` gets what is typed for the prompt."""
        super().__init__()
        self._place = place
        self._again = again
        self._look, self._write = look, write
        self._arming = Arming(clock)
        self._sentence = Sentence()
        self._marked: int | None = None
        """The choice that was marked before the last letters."""
        self._found: FolderCheck | None = None
        self._offers: list[Offer] = []
        self._read_to = 0.0
        """The furthest row of the findings that has been on the screen."""

    def compose(self) -> ComposeResult:
        """From what it is about to what can be done."""
        with Vertical(id="folder-page"):
            yield Words(folder_title(self._place, again=self._again), id="folder-title")
            with VerticalScroll(id="folder-found", can_focus=False):
                yield Words(introduction(self._place, again=self._again), id="folder-intro")
                yield Words(id="folder-trial")
                yield Words(id="folder-findings")
            yield Words(id="folder-error")
            yield Choices(id="folder-choices")
        yield KeyRow(id="folder-keys")

    def on_mount(self) -> None:
        """What is known at once; the rest is looked for meanwhile."""
        self._show()
        self.show_arming()
        self.query_one(Choices).focus()
        self.run_worker(self._find_out(), exclusive=True)
        self.set_interval(LOOK_INTERVAL, self.show_arming)

    def note_key(self, age: float) -> None:
        """The app reports every key: a key meant for something else must not answer a new question."""
        if not self._arming.is_typing:
            self._sentence.end()
        self._arming.touch(age)

    async def _find_out(self) -> None:
        """In a thread: it reads files and starts a process."""
        self._found = await asyncio.to_thread(self._look, self._place.folder, self._place.requested_settings.sandbox)
        if self not in self.app.screen_stack:
            return  # it was left meanwhile, and its widgets may be gone
        self._arming.show()
        self._show()
        self.call_after_refresh(self._arming.show)  # it is seen only then

    def _show(self) -> None:
        found = self._found
        self.query_one("#folder-trial", Words).update(sandbox_trial(found))
        self.query_one("#folder-findings", Words).update(findings(found.brought if found is not None else None))
        choices, before = self.query_one(Choices), self._offers
        self._offers = folder_offers(self._place, found, again=self._again)
        marked = choices.highlighted if self._offers == before else None
        choices.clear_options()
        choices.add_options(self._line(offer, marked=False) for offer in self._offers)
        for index, offer in enumerate(self._offers):
            if not offer.enabled:
                choices.disable_option_at_index(index)
        first = [index for index, offer in enumerate(self._offers) if offer.enabled and not offer.grave]
        self._marked = choices.highlighted = marked if marked is not None else first[0] if found is not None else None
        self.call_after_refresh(self._fit)

    def _line(self, offer: Offer, *, marked: bool) -> Content:
        line = offer_line(offer, marked=marked)
        low = self.has_class("-low")
        return line.truncate(self.size.width - 2, ellipsis=True) if low else line

    def _fit(self) -> None:
        """The findings get the remaining room: the choices stay on the screen."""
        page, found = self.query_one("#folder-page"), self.query_one("#folder-found")
        others = [child for child in page.children if child is not found and child.display]
        taken = sum(child.outer_size.height + child.styles.margin.height for child in others)
        found.styles.max_height = max(1, page.size.height - taken - found.styles.margin.height)
        self.call_after_refresh(self.show_arming)

    def on_resize(self, event: Resize) -> None:
        self.set_class(event.size.height < LOW, "-low")
        if self._offers:
            self._show()

    # -- events -------------------------------------------------------------------------------------------

    def on_key(self, event: Key) -> None:
        """A letter marks a choice, but not one of a sentence."""
        choices, text = self.query_one(Choices), ""
        if event.is_printable and event.character is not None:
            if not self._sentence.has_begun:
                self._marked = choices.highlighted
            if text := self._sentence.take(event.character, self._meaning(event.key)):
                choices.highlighted = self._marked
        elif event.key == "backspace" and self._sentence.is_typed:
            text = ERASE
        if text:
            event.stop()
            self._pass_on(text, pasted=False)

    def on_paste(self, event: Paste) -> None:
        """It was meant for the prompt."""
        event.stop()
        self._pass_on(event.text, pasted=True)

    def _meaning(self, key: str) -> str:
        """What it does here: mark, move, or scroll; "" is nothing."""
        keymap = keymap_of(self)
        bound = (one for one in (*Choices.BINDINGS, *self.BINDINGS) if isinstance(one, Binding))
        action = next((one.action for one in bound if key in keys_of(one, keymap).split(",")), "")
        return re.split(r"\W|_", action)[0]

    def _pass_on(self, text: str, *, pasted: bool) -> None:
        """To the prompt; the next key must not answer the question."""
        self._arming.show()
        self._write(text, pasted=pasted)
        said = self.query_one("#folder-error", Words)
        said.update(WRITTEN_ON)
        said.set_classes("-note")
        self._fit()

    def show_arming(self) -> None:
        """Whether Enter counts yet."""
        self._arming.look()
        said = self.query_one("#folder-error", Words)
        if self._arming.is_armed and said.has_class("-note"):
            said.remove_class("-note")
            self._fit()
        self.query_one(KeyRow).labels = (
            KeyLabel("enter", "choose", "choose", self._found is not None and self._arming.is_armed),
            KeyLabel("↑↓", "move", "move"),
            *(key_labels(self, "pgdn") if self._has_more() else ()),
            *key_labels(self, "esc", words={} if self._again else {"esc": ("quit", "quit")}),
        )

    def _complain(self, text: str) -> None:
        shown = self.query_one("#folder-error", Words)
        shown.update(f"✗ {text}")
        shown.set_classes("-shown")

    def _has_unread(self) -> bool:
        """Whether something that would count has not been on the screen yet."""
        found = self.query_one("#folder-found")
        self._read_to = max(self._read_to, found.scroll_y)
        return self._read_to < found.max_scroll_y

    def _has_more(self) -> bool:
        return self.query_one("#folder-found").max_scroll_y > 0

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """The mark goes along."""
        event.stop()
        for index, offer in enumerate(self._offers):
            event.option_list.replace_option_prompt_at_index(
                index, self._line(offer, marked=index == event.option_index)
            )

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A choice was made; it is written down before anything begins."""
        event.stop()
        self._arming.look()
        if not self._arming.is_armed:
            return
        choice, found = self._offers[event.option_index].id, self._found
        if choice == "trust" and self._has_unread():
            self._complain("Read the list to its end first: page down.")
            return
        if choice is not None and found is not None:
            try:
                self._place.choose(choice, found.brought.seen)
            except OiTuiError as error:
                self._complain(f"{error.title} {error.hint}")
                return
        self.dismiss(choice)

    def action_mark(self, choice: str) -> None:
        """Move to this choice; Enter takes it."""
        for index, offer in enumerate(self._offers):
            if (offer.id or "leave") == choice and offer.enabled:
                self.query_one(Choices).highlighted = index

    def action_scroll_findings(self, pages: int) -> None:
        """The findings may be longer than their room."""
        found = self.query_one("#folder-found", VerticalScroll)
        found.scroll_to(y=found.scroll_y + pages * max(1, found.size.height - 1), animate=False)
        self.call_after_refresh(self._has_unread)
