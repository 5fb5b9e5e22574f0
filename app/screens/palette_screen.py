"""The command palette: every command with its keys; those with choices open a second list.

People press ctrl+p, type a part of a word ("mod", "theme", "auto"), and press Enter; Escape goes one level back. What
is typed narrows the list; in the second one it may also be the argument itself (`allow Shell(git log *)`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, NamedTuple

from rich.cells import cell_len, set_cell_size
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Input, OptionList

from oi_tui.app.commands.argument_verbs import WrongArgument
from oi_tui.app.commands.registry import Command, Situation, own_keys
from oi_tui.app.screens.pick import PickScreen
from oi_tui.widgets.keyrow import Hint, KeyRow, joint_label, key_labels, keymap_of
from oi_tui.widgets.lettering import Options, Words, lettering

_TYPED = frozenset({"budget", "rule"})
"""Of ours, those whose argument may be typed in their list."""
_ALONE = {"budget": "Show what this session has cost"}
"""The effect of a command with a list when it has no argument, if any."""
_KEPT = {"approve": "loop.approve"}
"""Commands whose choice can be kept for new sessions, and the setting that has it."""
_TITLES = 26
"""Cells of the column of titles."""
_WIDE = 72
"""Cells from which on the help is beside the titles; it is below the list in any case."""


class Picked(NamedTuple):
    """A command and what follows it."""

    command: Command
    argument: str = ""
    setting: str = ""
    """The key of the settings under which it is kept for new sessions, "" if it is not."""


class PaletteRow(NamedTuple):
    """One row of either list."""

    title: str
    help: str
    keys: str = ""
    picked: Picked | None = None
    """What Enter does; None where it opens the list of `command`, or fills in `argument`."""
    command: Command | None = None
    argument: str = ""


class PaletteScreen(PickScreen[Picked | None]):
    """Dismissed with the choice, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Hint("enter", "take", "choose", id="pick.take", priority=True),
        Hint("ctrl+s", "keep", "choose, also for new sessions", id="pick.keep", short="default", priority=True),
        Hint("escape", "step_back", "back", id="pick.back"),
    ]
    TITLE = "Commands"

    def __init__(
        self, commands: Sequence[Command], now: Situation, current: Mapping[str, str], command: Command | None = None
    ) -> None:
        """`current`: by id of a command, the choice that is in force. With a `command`, its list comes first."""
        super().__init__()
        self._commands, self._situation = commands, now
        self._current = current
        self._command = command
        self._is_second = command is None
        """Whether Escape returns from a command's list to the list of all commands."""
        self._words = ""
        """The query in the first list."""
        self._rows: list[PaletteRow] = []

    def on_resize(self) -> None:
        """Keys are at the right edge."""
        self.look_for(self.query_one(Input).value)

    def look_for(self, words: str) -> None:
        """Show what fits, the best first; a choice in force is highlighted at first."""
        now = self._current.get(self._command.id, "") if self._command else ""
        kept = ("ctrl+s",) if self._command is not None and self._command.id in _KEPT else ()
        labels = key_labels(self, "enter", *kept, "esc")
        self.query_one(KeyRow).labels = (joint_label(self, "select", "pick.up", "pick.down"), *labels)
        title = self.TITLE if self._command is None else self._command.title
        self.query_one("#pick-title", Words).update(f"{title} · now: {now}" if now else title)
        self._rows = list(
            _command_rows(self._commands, self._situation, words, keymap_of(self))
            if self._command is None
            else _choice_rows(self._command, now, words)
        )
        options = self.query_one(Options)
        options.clear_options()
        options.add_options(Content() for _ in self._rows)
        in_force = (n for n, row in enumerate(self._rows) if now and not words and row.argument == now)
        options.highlighted = next(in_force, 0) if self._rows else None
        self._mark()

    def take(self, number: int) -> None:
        """Run it, or show its choices."""
        row, field = self._rows[number], self.query_one(Input)
        if row.picked is not None:
            self.dismiss(row.picked)
        elif row.command is not None:
            self._words, self._command = field.value, row.command
            self._fill("")
        else:
            self._fill(f"{row.argument} ")

    def action_keep(self) -> None:
        """Choose it, and write it into the settings."""
        highlighted = self.query_one(Options).highlighted
        picked = self._rows[highlighted].picked if highlighted is not None else None
        if picked is not None and picked.argument and (setting := _KEPT.get(picked.command.id)):
            self.dismiss(picked._replace(setting=setting))
        else:
            self.app.bell()

    def action_step_back(self) -> None:
        """Return from the choices of a command to all commands, or leave."""
        if self._command is None or not self._is_second:
            self.dismiss(None)
        else:
            self._command = None
            self._fill(self._words)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """The mark and the help go along."""
        event.stop()
        self._mark()

    def _fill(self, text: str) -> None:
        field = self.query_one(Input)
        field.value = text
        field.cursor_position = len(text)
        self.look_for(text)

    def _mark(self) -> None:
        options, width = self.query_one(Options), max(10, self.size.width - 6)
        for index, row in enumerate(self._rows):
            mark = ("▸ ", "bold $accent") if index == options.highlighted else ("  ", "")
            options.replace_option_prompt_at_index(index, lettering(mark, _line(row, width)))
        told = self.query_one("#pick-text", Words)
        if options.highlighted is not None and options.highlighted < len(self._rows):
            told.update(self._rows[options.highlighted].help or " ")
        else:
            told.update("Nothing has all of these words.")


def _command_rows(
    commands: Iterable[Command], now: Situation, words: str, keymap: Mapping[str, str]
) -> Iterator[PaletteRow]:
    """All commands, or those that have these words, the best first; those that do not apply say why."""
    ranked = [(match_rank(words, row), row) for row in commands if row.id != "palette"]
    for _, row in sorted(((rank, row) for rank, row in ranked if rank is not None), key=lambda pair: pair[0]):
        why = row.why_not(now)
        slash = f"/{row.slash}" if row.slash else ""
        keys = "  ".join(part for part in (slash, spell_keys(own_keys(row, keymap))) if part)
        opens = not row.picker and (bool(row.choices()) or _is_typed(row))
        yield PaletteRow(
            f"{row.title} …" if opens or row.picker else row.title,
            f"Not now: {why}." if why else f"{row.origin}: {row.help}" if row.origin else row.help,
            keys,
            picked=None if opens else Picked(row),
            command=row if opens else None,
        )


def _choice_rows(command: Command, now: str, words: str) -> Iterator[PaletteRow]:
    """What a command can be followed by; what is typed, where that makes sense."""
    typed = words.strip()
    if typed and _is_typed(command) and _is_whole(command, typed):
        yield PaletteRow(f"{command.slash} {typed}", f"As you typed it: {command.help}", picked=Picked(command, typed))
    if not typed and (alone := _ALONE.get(command.id) or (command.origin and _is_whole(command, "") and "As it is")):
        yield PaletteRow(alone, command.help, picked=Picked(command))
    for argument, meaning in command.choices().items():
        if not _has_words(typed, f"{argument} {meaning}"):
            continue
        title = f"{argument}  ✓ current" if argument == now else argument
        whole = _is_whole(command, argument)
        picked = Picked(command, argument) if whole else None
        yield PaletteRow(title if whole else f"{title} …", meaning, picked=picked, argument=argument)
    if not typed and _is_typed(command):
        yield PaletteRow(f"or type it: {command.argument}", command.help, picked=None, argument="")


def _is_typed(command: Command) -> bool:
    """Whether its argument may be typed in its list."""
    return command.id in _TYPED or (bool(command.origin) and bool(command.arguments))


def _is_whole(command: Command, argument: str) -> bool:
    """Whether the command can do something with it."""
    if command.origin:
        return len(argument.split()) >= sum(one.required for one in command.arguments)
    if command.verb is None:
        return True
    try:
        command.verb(argument)
    except WrongArgument:
        return False
    return True


def _has_words(words: str, text: str) -> bool:
    folded = text.casefold()
    return all(word in folded for word in words.casefold().split())


def match_rank(words: str, row: Command) -> int | None:
    """How well a command matches, 0 best; None if it does not. A word may begin a word of the title or the slash
    command, occur in the help or the choices, or (letters in order) run through the title."""
    ranks = []
    title = f"{row.title} {row.slash}".casefold()
    more = f"{row.help} {' '.join(f'{key} {value}' for key, value in row.choices().items())}".casefold()
    for word in words.casefold().lstrip("/").split():
        if any(one.startswith(word) for one in title.split()):
            ranks.append(0)
        elif word in title:
            ranks.append(1)
        elif any(one.startswith(word) for one in more.split()):
            ranks.append(2)
        elif _runs_through(word, title):
            ranks.append(3)
        else:
            return None
    return max(ranks, default=0)


def _runs_through(letters: str, text: str) -> bool:
    rest = iter(text)
    return all(letter in rest for letter in letters)


def spell_keys(keys: str) -> str:
    """The first keys of a binding, as a person writes them."""
    return " ".join(keys.replace("escape", "esc").split(",")[:2])


def _line(row: PaletteRow, width: int) -> Content:
    """Title, help where there is room, keys at the right edge."""
    keys = row.keys
    room = width - cell_len(keys) - 2
    parts: list[tuple[str, str]] = [(set_cell_size(row.title, min(max(_TITLES, cell_len(row.title)), room)), "$text")]
    left = room - cell_len(parts[0][0])
    if width >= _WIDE and left > 12:
        parts.append((set_cell_size(_cut("  " + row.help, left), left), "$dim"))
    else:
        parts.append((" " * max(0, left), ""))
    return lettering(*parts, "  ", (keys, "$accent"))


def _cut(text: str, cells: int) -> str:
    return text if cell_len(text) <= cells else set_cell_size(text, cells - 1) + "…"
