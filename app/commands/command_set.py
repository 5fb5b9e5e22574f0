"""The commands of one screen: ours, and those that others add, which take no name of ours and change nothing of what
the beginning of a name means.
"""

import re
from collections.abc import Callable, Iterable, Mapping

from oi_tui.app.commands.argument_verbs import VERBS, WrongArgument
from oi_tui.app.commands.registry import COMMANDS, Command
from oi_tui.app.commands.typed import SlashLine, exists_at_root
from oi_tui.app.engine.core.verbs import AnyVerb
from oi_tui.app.engine.text.safe import safe_text

OUR_COMMANDS = tuple(row._replace(verb=VERBS.get(row.id)) for row in COMMANDS)
"""The rows of the registry, with the verbs that the engine is asked by."""

_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")


class TakenName(Exception):
    """Why a command cannot be added, as the rest of a sentence about it."""


def is_command_name(name: str) -> bool:
    """Whether a slash command can have this name."""
    return _NAME.fullmatch(name) is not None


def _row_called(name: str, rows: Iterable[Command]) -> Command | None:
    """The row of `/name`, also where `name` is the beginning of one slash command only."""
    rows = [row for row in rows if row.slash]
    exact = [row for row in rows if row.slash == name]
    begun = exact or [row for row in rows if name and row.slash.startswith(name)]
    return begun[0] if len(begun) == 1 else None


def verb_of(row: Command, argument: str) -> AnyVerb | None:
    """The verb to send to the engine, None for a command of the front end itself; WrongArgument if the argument is not
    valid."""
    choices = {} if row.origin else row.choices()
    first = argument.split(" ", 1)[0]
    if choices and first not in choices:
        raise WrongArgument(f"No {row.slash} “{safe_text(first)}”. Choose one of: {', '.join(choices)}.")
    return None if row.verb is None else row.verb(argument)


def check_new_name(name: str) -> None:
    """TakenName if a command that others add cannot be called so."""
    if not is_command_name(name):
        raise TakenName("a command has small letters, digits and hyphens in its name, at most 40")
    if (ours := _row_called(name, OUR_COMMANDS)) is not None:
        raise TakenName(f"/{name} is a command of oi-tui" if ours.slash == name else f"/{name} means /{ours.slash}")


class CommandSet:
    """All rows, ours first. Others come by `add`, or from a source that is asked each time."""

    def __init__(self, *sources: Callable[[], Iterable[Command]]) -> None:
        """A source gives rows whose names it has checked; of two with the same name the first counts."""
        self._added: list[Command] = []
        self._sources = sources
        self._choices: dict[str, Mapping[str, str]] = {}
        """What else the first argument of a command of ours can be, by the id of the command."""

    def add(self, row: Command) -> None:
        """One more, until the program ends; TakenName if its id or its name is taken."""
        if row.slash:
            check_new_name(row.slash)
        for one in (*OUR_COMMANDS, *self._added):
            if row.id == one.id or (row.slash and row.slash == one.slash):
                raise TakenName(f"there is a command {row.slash or row.id} already")
        self._added.append(row)

    def add_choices(self, command_id: str, choices: Mapping[str, str]) -> None:
        """More words that can follow this command, each with its meaning; they replace those added before."""
        self._choices[command_id] = choices

    def _ours(self) -> tuple[Command, ...]:
        return tuple(map(self._with_choices, OUR_COMMANDS)) if self._choices else OUR_COMMANDS

    def _with_choices(self, row: Command) -> Command:
        if not (more := self._choices.get(row.id)) or not row.arguments:
            return row
        first, *rest = row.arguments
        return row._replace(
            arguments=(first._replace(choices=lambda: {**first.choices(), **more, **first.choices()}), *rest)
        )

    def rows(self) -> tuple[Command, ...]:
        found = {row.id: row for row in (*self._ours(), *self._added)}
        slashes = {row.slash for row in found.values() if row.slash}
        for source in self._sources:
            for row in source():
                if row.id not in found and row.slash not in slashes:
                    found[row.id] = row
                    slashes |= {row.slash} - {""}
        return tuple(found.values())

    def find(self, command_id: str) -> Command | None:
        """The row of this id."""
        return next((row for row in self.rows() if row.id == command_id), None)

    def by_name(self, name: str) -> Command | None:
        """The row of `/name`. The beginning of a name of ours means what it would without the others."""
        rows = self.rows()
        exact = next((row for row in rows if name and row.slash == name), None)
        return exact or _row_called(name, self._ours()) or _row_called(name, rows)

    def is_path(self, line: SlashLine) -> bool:
        """Whether a line that names no command is a prompt which begins with a path (`/api/users fails`) rather than a
        slip (`/profile/x`)."""
        if self.by_name(line.name) is not None:
            return False
        first, inner, _ = line.name.partition("/")
        return exists_at_root(first) if not inner and line.argument else bool(inner) and not self.similar(first)

    def similar(self, name: str) -> tuple[str, ...]:
        """Known slash commands with names close to an unknown one, best first, at most three."""
        from difflib import get_close_matches  # only after a slip

        name = re.split(r"[^a-z0-9-]", name.lower(), maxsplit=1)[0]
        names = [row.slash for row in self.rows() if row.slash]
        begun = [one for one in names if name and one.startswith(name)]
        return tuple(dict.fromkeys(begun + get_close_matches(name, names, n=3, cutoff=0.65)))[:3]
