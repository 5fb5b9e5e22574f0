"""The profiles, and below them what the highlighted one changes: what is stricter, what milder.

People come here to work in another way for a while, or for a folder from now on. They move down the list and read what
each does; Enter uses it in this session, other keys make it a default or change it. Letters narrow the list.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar, Protocol

from rich.cells import cell_len, set_cell_size
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Input, OptionList

from oi_tui.app.commands.profiles import ProfileRow
from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.words import one_line
from oi_tui.app.screens.confirm import ConfirmScreen
from oi_tui.app.screens.line_ask import LineAskScreen
from oi_tui.app.screens.pick import PickScreen
from oi_tui.widgets.field import Field
from oi_tui.widgets.keyrow import Hint, KeyRow, joint_label, key_labels
from oi_tui.widgets.lettering import Options, Words, lettering

_NAMES = 16
"""Cells of the column of names."""


class ProfileBook(Protocol):
    """The profiles there are, and what is done with them. What cannot be done is an OiTuiError."""

    in_use: str
    """Name of the one of this session, "" if none."""

    def rows(self) -> Sequence[ProfileRow]:
        """Each with what it changes in this session."""
        ...

    def defaults(self) -> tuple[str, str]:
        """Names of the default of this folder and of the one of all folders; "" is none."""
        ...

    def milder_words(self, row: ProfileRow) -> str:
        """The protection that new sessions would lose if it were the default; "" if none."""
        ...

    def keep(self, name: str, *, here: bool) -> str:
        """Use it from now on in new sessions, of this folder or of all; what was written, in words."""
        ...

    def edit(self, name: str) -> str:
        """Open it in the person's editor; what came of that, in words."""
        ...

    def begin(self, name: str, based: str) -> str:
        """Write a profile that says what another one says; where it is, in words."""
        ...


class ProfileScreen(PickScreen[str | None]):
    """Dismissed with the name of the profile to use, or None."""

    CSS_PATH: ClassVar[list[str]] = ["pick.tcss", "profile_screen.tcss"]  # type: ignore[assignment] # the base has one
    BINDINGS: ClassVar[list[BindingType]] = [
        Hint("enter", "take", "use in this session", id="pick.take", short="use", priority=True),
        Hint(
            "ctrl+f", "keep(True)", "default of this folder", id="profiles.keep_folder", short="folder", priority=True
        ),
        Hint("ctrl+s", "keep(False)", "default of all folders", id="profiles.keep_all", short="all", priority=True),
        Hint("ctrl+g", "edit", "edit", id="profiles.edit", priority=True),
        Hint("ctrl+a", "begin", "new from it", id="profiles.new", short="new", priority=True),
        Hint("escape", "dismiss(None)", "back", id="pick.back"),
        Binding("pageup", "look(-1)", "Up in what it changes", priority=True, id="profiles.look_up"),
        Binding("pagedown", "look(1)", "Down in what it changes", priority=True, id="profiles.look_down"),
    ]
    TITLE = "Profile"

    def __init__(self, book: ProfileBook) -> None:
        super().__init__()
        self._book = book
        self._all: Sequence[ProfileRow] = ()
        self.rows: Sequence[ProfileRow] = ()
        """As they are shown."""

    def compose(self) -> ComposeResult:
        """The list above, what the highlighted one changes below."""
        with Vertical(id="profile-box"):
            yield Words(self.TITLE, id="pick-title")
            yield Field(id="pick-words", placeholder="type to filter", select_on_focus=False)
            yield Options(id="pick-list", compact=True)
            with VerticalScroll(id="profile-view", can_focus=False):
                yield Words("", id="profile-text")
            yield Words("", id="profile-said")
            yield KeyRow(id="pick-keys")

    def on_mount(self) -> None:
        """The one in use is highlighted."""
        self._all = self._book.rows()
        super().on_mount()
        self.query_one(KeyRow).labels = (joint_label(self, "select", "pick.up", "pick.down"), *key_labels(self))

    def on_resize(self) -> None:
        """A line has as much of the words as there is room."""
        self._mark()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self._mark()

    def look_for(self, words: str) -> None:
        """Profiles with these words in their name or purpose."""
        wanted = words.casefold().split()
        texts = ((row, f"{row.file.name} {row.purpose}".casefold()) for row in self._all)
        self.rows = [row for row, text in texts if all(word in text for word in wanted)]
        options = self.query_one(Options)
        options.clear_options()
        options.add_options(lettering(row.file.name) for row in self.rows)
        if self.rows:
            self._highlight("" if words else self._book.in_use)
        self._mark()

    def take(self, number: int) -> None:
        """Take it, if nothing is wrong with it."""
        row = self.rows[number]
        if row.problem:
            self._say(f"✗ {row.problem}")
        else:
            self.dismiss(row.file.name)

    def action_keep(self, here: bool) -> None:
        """Make it a default, after a yes if new sessions would be milder by it."""
        if (row := self._row()) is None:
            return
        name = row.file.name

        def write(yes: bool | None) -> None:
            if yes:
                self._do(lambda: self._book.keep(name, here=here), name)

        if row.problem:
            self._say(f"✗ {row.problem}")
        elif milder := self._book.milder_words(row):
            where = "in this folder" if here else "in all folders"
            title = f"Begin sessions {where} with {name}? They would be less strict than your settings."
            self.app.push_screen(ConfirmScreen(title, milder, yes="use it", no="keep", careful=True), write)
        else:
            write(True)

    def action_look(self, pages: int) -> None:
        """See more of what the highlighted one changes."""
        view = self.query_one("#profile-view", VerticalScroll)
        view.scroll_relative(y=pages * max(1, view.size.height - 1), animate=False)

    def action_edit(self) -> None:
        """In the person's own editor; one of ours becomes theirs."""
        if (row := self._row()) is not None:
            name = row.file.name
            self._do(lambda: self._book.edit(name), name)

    def action_begin(self) -> None:
        """A new one, under a name that is asked for."""
        if (row := self._row()) is None:
            return
        based = row.file.name

        def write(name: str | None) -> None:
            if name:
                self._do(lambda: self._book.begin(name, based), name)

        self.app.push_screen(LineAskScreen(f"Name of the new profile, with what {based} says", ""), write)

    def _do(self, work: Callable[[], str], name: str) -> None:
        try:
            said = work()
        except OiTuiError as error:
            said = f"✗ {error.title} {error.hint}".strip()
        self._fill(name)
        self._say(said)

    def _row(self) -> ProfileRow | None:
        at = self.query_one(Options).highlighted
        return self.rows[at] if at is not None and at < len(self.rows) else None

    def _say(self, words: str) -> None:
        self.query_one("#profile-said", Words).update(safe_text(words))

    def _fill(self, name: str) -> None:
        """Read all of them again; the one of this name is highlighted."""
        self._all = self._book.rows()
        self.look_for(self.query_one(Input).value)
        self._highlight(name)

    def _highlight(self, name: str) -> None:
        wanted = name or "default"
        at = next((at for at, row in enumerate(self.rows) if row.file.name == wanted), 0)
        self.query_one(Options).highlighted = at if self.rows else None

    def _mark(self) -> None:
        options = self.query_one(Options)
        here, everywhere = self._book.defaults()
        for index, row in enumerate(self.rows):
            name = row.file.name
            mark = ("▸ ", "bold $accent") if index == options.highlighted else ("  ", "")
            notes = [
                *(["✓ in use"] if name == self._book.in_use else []),
                *(["default here"] if name == here else []),
                *(["default"] if name == everywhere else []),
            ]
            noted = f"{', '.join(notes)}  " if notes else ""
            shown = f"{name[: _NAMES - 1]:{_NAMES}}"
            words = safe_text(one_line(f"✗ {row.problem}" if row.problem else row.purpose))
            words = _cut(words, max(1, self.size.width - cell_len(shown + noted) - 6))
            line = lettering(mark, (shown, "$text"), (noted, "$accent"), (words, "$dim"))
            options.replace_option_prompt_at_index(index, line)
        one = self._row()
        self.query_one("#profile-text", Words).update("No profile has these words." if one is None else _view(one))


def _cut(text: str, cells: int) -> str:
    return text if cell_len(text) <= cells else set_cell_size(text, cells - 1) + "…"


def _view(row: ProfileRow) -> str:
    """What it is for, whose it is, and what it changes."""
    head = f"{row.file.name} · {row.origin}\n{row.purpose}"
    if row.problem:
        return safe_text(f"{head}\n\n✗ {row.problem}")
    changes = "\n".join(change.words for change in row.changes) or "It changes nothing in this session's settings."
    return safe_text(f"{head}\n\n{changes}")
