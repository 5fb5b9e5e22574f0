"""The person's own commands and those of a trusted folder: each makes a prompt, and nothing but a prompt.

They are listed as they are on the disk at that moment. A folder's are read again when one is used: it must be the text
that the person trusted.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from oi_tui.app.commands.argument_verbs import WrongArgument
from oi_tui.app.commands.command_set import CommandSet, TakenName, check_new_name
from oi_tui.app.commands.mentions import find_mentions
from oi_tui.app.commands.registry import Argument, Command
from oi_tui.app.commands.typed import SlashLine, interpret
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.instructions import TemplateValue
from oi_tui.app.engine.core.verbs import AnyVerb, Submit
from oi_tui.app.engine.files.command_folder import (
    CommandSource,
    command_paths,
    commands_digest,
    find_command_files,
    read_command_folder,
)
from oi_tui.app.engine.files.paths import COMMANDS_FOLDER, PROJECT, config_dir
from oi_tui.app.engine.text.command_file import (
    CommandArgument,
    OwnCommand,
    WrongCommandFile,
    WrongUse,
    fill_command,
    parse_command,
)
from oi_tui.app.engine.text.own_template import local_facts
from oi_tui.app.engine.text.safe import visible_text

YOURS, THIS_FOLDER = "yours", "this folder"

_TWICE_MENTIONED = re.compile(r'(?<!\S)@@(?=["\w./~])')
"""A mention typed where the template has the sign already."""

_REMOTE_MENTION = "@remote:"


class FoundCommand(NamedTuple):
    """A file of either folder, and what became of it."""

    source: CommandSource
    origin: str
    says: OwnCommand | None = None
    wrong: str = ""
    """Why it cannot be used."""

    def row(self, make: Callable[[str], AnyVerb] | None = None) -> Command:
        """How it is listed; `make` makes its prompt."""
        arguments = self.says.arguments if self.says else ()
        return Command(
            f"own.{self.source.name}",
            self.source.name,
            self.says.description if self.says else f"cannot be used: {self.wrong}",
            slash=self.source.name,
            arguments=tuple(map(_as_argument, arguments)),
            verb=make,
            origin=self.origin,
        )


class OwnCommands:
    """Commands defined by files, as available in a folder."""

    def __init__(
        self,
        folder: Callable[[], Path],
        trusted: Callable[[], str | None],
        selection: Callable[[], str] = lambda: "",
    ) -> None:
        """`trusted` is the digest of the commands with which the person trusted the folder, None where they did not;
        `selection` is what is selected on the screen."""
        self._folder, self._trusted, self._selection = folder, trusted, selection
        self._stamp: object = None
        self._found: tuple[FoundCommand, ...] = ()

    def entries(self) -> tuple[FoundCommand, ...]:
        """All commands of both folders, the person's first; a file is read again once it changed."""
        stamp = (self._trusted(), *map(_stamp, (config_dir() / COMMANDS_FOLDER, self._of_folder())))
        if stamp != self._stamp:
            self._stamp, self._found = stamp, tuple(self._read())
        return self._found

    def rows(self) -> Iterator[Command]:
        """A row for each that has a name; those that cannot be used say why."""
        for one in self.entries():
            if _has_good_name(one.source):
                yield one.row(partial(self._make, one))

    def faults(self) -> list[str]:
        """What cannot be used and why, one line each, safe to show."""
        return [f"{_place(one)}: {one.wrong}" for one in self.entries() if one.wrong]

    def prompt(self, name: str, typed: str) -> Submit:
        """The prompt that `/name typed` sends; WrongArgument if there is no such command or its template gives no
        prompt."""
        for one in self.entries():
            if one.source.name == name and _has_good_name(one.source):
                return self._make(one, typed)
        raise WrongArgument(f"There is no command /{visible_text(name).text} of yours or of this folder.")

    def _of_folder(self) -> Path:
        return self._folder() / PROJECT / COMMANDS_FOLDER

    def _read(self) -> Iterator[FoundCommand]:
        taken: set[str] = set()
        for source in read_command_folder(config_dir() / COMMANDS_FOLDER, links=True):
            taken.add(source.name)
            yield _parse(source, YOURS, source.wrong)
        sources = find_command_files(self._folder())
        untrusted = self._why_untrusted(sources)
        for source in sources:
            hidden = "you have a command of this name" if source.name in taken else ""
            yield _parse(source, THIS_FOLDER, source.wrong or untrusted or hidden)

    def _why_untrusted(self, sources: Iterable[CommandSource]) -> str:
        trusted = self._trusted()
        if trusted is None:
            return "this folder is not trusted"
        same = commands_digest(sources) == trusted
        return "" if same else "the commands of this folder changed since you trusted it"

    def _make(self, one: FoundCommand, typed: str) -> Submit:
        """Read it once more, and fill in its template."""
        name = one.source.name
        if one.origin == YOURS:
            sources = read_command_folder(config_dir() / COMMANDS_FOLDER, links=True)
            now = next((_parse(source, YOURS, source.wrong) for source in sources if source.name == name), None)
        else:
            sources = find_command_files(self._folder())
            untrusted = self._why_untrusted(sources) or (one.wrong if one.says is None else "")
            wrongs = ((source, source.wrong or untrusted) for source in sources if source.name == name)
            now = next((_parse(source, THIS_FOLDER, wrong) for source, wrong in wrongs), None)
        if now is None or now.says is None:
            why = now.wrong if now is not None else "its file is gone"
            raise WrongArgument(f"/{name} cannot be used: {why}.{_trust_hint(why)}")
        folder = self._folder()
        facts: Mapping[str, TemplateValue] = {**local_facts(str(folder)), "selection": self._selection()}
        try:
            text = fill_command(now.says, typed, facts)
        except WrongUse as error:
            usage = f"/{name} {' '.join(_as_argument(each).label for each in now.says.arguments)}".rstrip()
            raise WrongArgument(f"{usage}: {visible_text(str(error)).text}") from error
        text = _TWICE_MENTIONED.sub("@", text)
        if one.origin != YOURS:
            _require_inside(text, typed, folder)
        return Submit(text=text, files=find_mentions(text, folder).files, command=f"/{name} {typed}".rstrip())


def personal_rows() -> Iterator[Command]:
    """The rows of the person's own commands, in any folder."""
    for source in read_command_folder(config_dir() / COMMANDS_FOLDER, links=True):
        one = _parse(source, YOURS, source.wrong)
        if one.says is not None:
            yield one.row()


def shell_prompt(text: str, folder: Path, trusted: str | None) -> Submit:
    """The prompt of a task without a screen: its text, or the template of a command; SettingsError if there is none."""
    asked = interpret(text, folder)
    if not isinstance(asked, SlashLine):
        return Submit(text=text, files=find_mentions(text, folder).files)
    own = OwnCommands(lambda: folder, lambda: trusted)
    commands = CommandSet(own.rows)
    if commands.is_path(asked):
        return Submit(text=text, files=find_mentions(text, folder).files)
    row = commands.by_name(asked.name)
    hint = "“oi-tui commands” lists yours. To ask a model about it, put words before the /."
    if row is None and ":" in asked.name:  # a prompt of an MCP server, which the engine knows
        return Submit(text=text)
    if row is None:
        similar = " or ".join(f"/{name}" for name in commands.similar(asked.name))
        raise SettingsError(f"No command /{asked.name}.{f' Did you mean {similar}?' if similar else ''}", hint=hint)
    if not row.origin:
        raise SettingsError(f"/{row.slash} works on the screen only.", hint=hint)
    try:
        return own.prompt(row.slash, asked.argument)
    except WrongArgument as error:
        raise SettingsError(str(error)) from error


def _stamp(folder: Path) -> tuple[object, ...]:
    """Something else as soon as a file is."""
    stamps: list[object] = [os.path.islink(folder)]
    for path in command_paths(folder):
        try:
            state = os.stat(path)
        except OSError:
            stamps.append(path.name)
        else:
            stamps.append((path.name, os.path.islink(path), state.st_mtime_ns, state.st_size, state.st_ino))
    return tuple(stamps)


def _has_good_name(source: CommandSource) -> bool:
    return not _fault_of_name(source)


def _fault_of_name(source: CommandSource) -> str:
    try:
        check_new_name(source.name)
    except TakenName as error:
        return str(error)
    return ""


def _parse(source: CommandSource, origin: str, wrong: str) -> FoundCommand:
    """The command, or why there is none."""
    if wrong := wrong or _fault_of_name(source):
        return FoundCommand(source, origin, wrong=visible_text(wrong).text)
    try:
        return FoundCommand(source, origin, parse_command(source.text))
    except WrongCommandFile as error:
        return FoundCommand(source, origin, wrong=visible_text(f"{source.path.name}, {error}").text)


def _place(one: FoundCommand) -> str:
    return visible_text(str(one.source.path)).text.replace("\n", "<U+000A>")


def _trust_hint(why: str) -> str:
    return " /sandbox shows the folder." if "trusted" in why else ""


def _as_argument(argument: CommandArgument) -> Argument:
    choices = {word: "default" if word == argument.default else argument.help for word in argument.choices}
    label = "|".join(argument.choices) if 0 < len(argument.choices) <= 4 else argument.name.upper()
    return Argument(label, lambda: choices, argument.required)


def _require_inside(text: str, typed: str, folder: Path) -> None:
    """WrongArgument if a folder's command would hand out a file that is not of the folder, and that nobody typed."""
    inside, own = folder.resolve(), find_mentions(typed, folder).files
    for name in find_mentions(text, folder).files:
        path = (folder / Path(name).expanduser()).resolve()
        if name not in own and not path.is_relative_to(inside):
            raise WrongArgument(f"It mentions @{visible_text(name).text}, which is not in this folder.")
    if _REMOTE_MENTION in text and _REMOTE_MENTION not in typed:
        raise WrongArgument(f"It mentions a file of a server, {_REMOTE_MENTION}…, that you did not type.")
