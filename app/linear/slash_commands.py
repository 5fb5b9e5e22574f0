"""Slash commands of a linear session: those of the registry that ask the engine for something, those made of files, and
a few of its own that replace screens."""

import base64
import binascii
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from oi_tui.app.commands.argument_verbs import WrongArgument
from oi_tui.app.commands.command_set import CommandSet, verb_of
from oi_tui.app.commands.own_commands import OwnCommands
from oi_tui.app.commands.registry import Command, Situation
from oi_tui.app.commands.typed import SlashLine
from oi_tui.app.engine.core.blocks import ActionBlock, CallBlock, CodeBlock
from oi_tui.app.engine.core.library_verbs import ExportSession, FindSessions
from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.core.session_records import ExportFormat
from oi_tui.app.engine.core.verbs import Submit
from oi_tui.app.engine.text.mime import IMAGE_TYPES
from oi_tui.app.engine.text.plan_lines import block_numbers, plan_lines, plan_summary
from oi_tui.app.engine.text.words import one_line, quantity
from oi_tui.app.linear.block_words import past_lines
from oi_tui.app.linear.desk import Desk
from oi_tui.app.linear.listings import Listings

LAST_BLOCKS = 10
"""Blocks that `/show` says."""


class OwnRow(NamedTuple):
    """A command that replaces a screen."""

    argument: str
    help: str
    run: Callable[[str], None]


class Chores(NamedTuple):
    """What a session does at a command, beside asking the engine."""

    quit: Callable[[], None]
    restart_engine: Callable[[], None]
    edit_prompt: Callable[[], None]
    open_session: Callable[[str | None], None]
    """By its id; None is a new one."""
    decide_folder: Callable[[], None]


class SlashCommands:
    """What can be asked for at this prompt."""

    def __init__(self, desk: Desk, chores: Chores, listings: Listings, submit: Callable[[Submit], None]) -> None:
        self._desk, self._listings, self._submit = desk, listings, submit
        self._open_session = chores.open_session
        own = OwnCommands(lambda: desk.folder, lambda: desk.place.trusted_commands if desk.place else None)
        self._set = CommandSet(own.rows)
        self._own: dict[str, OwnRow] = {
            "help": OwnRow("", "what can be typed here", self._help),
            "show": OwnRow(
                "[N|all]", "read code N with all its output; alone, the last blocks; all, everything", self._show
            ),
            "save": OwnRow("N [FILE]", "write the picture of code N to a file", self._save),
            "steps": OwnRow("", "read the plan, with the state of each step", lambda _: self._read_plan()),
            "sessions": OwnRow("[WORDS]", "past sessions as numbered lines", self._list_sessions),
            "open": OwnRow("N", "open session N of that list", self._open),
            "new": OwnRow("", "begin a new session", lambda _: self._open("")),
            "edit": OwnRow("", "write the prompt in your editor; ctrl+g as well", lambda _: chores.edit_prompt()),
            "export": OwnRow("FORMAT FILE", "write this session to a file: ipynb, md, html", self._export),
            "sandbox": OwnRow(
                "", "what code may do in this folder, and another choice", lambda _: chores.decide_folder()
            ),
            "engine": OwnRow("", "start the engine again after it was lost", lambda _: chores.restart_engine()),
            "quit": OwnRow("", "save and quit; ctrl+d as well", lambda _: chores.quit()),
        }

    def names(self) -> list[str]:
        """All of them, each with its slash."""
        return sorted({f"/{name}" for name in self._own} | {f"/{row.slash}" for row in self._rows()})

    def _rows(self) -> Iterator[Command]:
        """The commands that open no screen: they have a verb."""
        return (row for row in self._set.rows() if row.slash and row.verb is not None and row.slash not in self._own)

    def run(self, typed: SlashLine) -> None:
        """Run the line; what cannot be done is printed."""
        try:
            self._follow(typed)
        except WrongArgument as wrong:
            self._desk.say(str(wrong))

    def _follow(self, typed: SlashLine) -> None:
        if (own := self._own.get(typed.name)) is not None:
            own.run(typed.argument)
            return
        row = self._set.by_name(typed.name)
        if row is not None and row.slash in self._own:
            self._own[row.slash].run(typed.argument)
            return
        if row is None and ":" in typed.name:  # a prompt of an MCP server, which the engine knows
            self._submit(Submit(text=f"/{typed.name} {typed.argument}".rstrip()))
            return
        if row is None:
            raise WrongArgument(f"There is no command /{one_line(typed.name)}. /help lists all.")
        if row.verb is None:
            other = f" In a shell: oi-tui {row.shell}." if row.shell else ""
            raise WrongArgument(f"/{row.slash} needs the full screen.{other}")
        desk = self._desk
        if why := row.why_not(
            Situation(desk.transcript.turn_open, desk.busy, not desk.transcript.blocks, desk.stopped)
        ):
            raise WrongArgument(f"/{row.slash} does not apply now: {why}.")
        if not typed.argument and row.arguments and row.arguments[0].required:
            choices = ", ".join(row.choices()) or row.argument
            raise WrongArgument(f"Say what: /{row.slash} {choices}. {row.help}.")
        verb = verb_of(row, typed.argument)
        if isinstance(verb, Submit):
            self._submit(verb)
        elif verb is not None:
            desk.send(verb)

    # -- instead of screens ------------------------------------------------------------------------------

    def _help(self, _: str) -> None:
        say = self._desk.say
        say("Type a prompt and press Enter. @FILE names a file. !COMMAND runs a shell command, %CODE runs Python.")
        say("A backslash at the end of a line continues in the next. Up and down recall earlier prompts.")
        say("Ctrl+C clears what is typed; else it interrupts the code, twice it stops the turn. Ctrl+D quits.")
        say("Questions about code: y run, n refuse, e edit, a always, ? why, s stop, then Enter.")
        for name, own in self._own.items():
            say(f"/{f'{name} {own.argument}'.strip()}: {own.help}.")
        for row in self._rows():
            say(f"/{f'{row.slash} {row.argument}'.strip()}: {one_line(row.help)}.")

    def _show(self, argument: str) -> None:
        desk = self._desk
        blocks = desk.transcript.blocks
        if not argument or argument == "all":
            chosen = list(blocks) if argument else list(blocks[-LAST_BLOCKS:])
            if not chosen:
                raise WrongArgument("Nothing has happened in this session yet.")
            if len(chosen) < len(blocks):
                desk.say(f"The last {len(chosen)} of {len(blocks):,} blocks. /show all reads all.")
        else:
            chosen = [self._action(argument)]
        desk.say("\n".join(past_lines(chosen, desk.narrator)))

    def _action(self, argument: str) -> ActionBlock:
        narrator, word = self._desk.narrator, argument.removeprefix("code ").strip()
        block_id = narrator.block_id(int(word)) if word.isdecimal() else None
        if block_id is not None and self._desk.transcript.has(block_id):
            block = self._desk.transcript.block(block_id)
            if isinstance(block, CodeBlock | CallBlock):
                return block
        there = f"There is code 1 to {narrator.count}." if narrator.count else "No code was written yet."
        raise WrongArgument(f"There is no code {one_line(argument)[:20]}. {there}")

    def _save(self, argument: str) -> None:
        number, _, name = argument.partition(" ")
        block = self._action(number)
        found = [
            (mime, str(output.data[mime]))
            for output in block.outputs
            if isinstance(output, RichOutput)
            for mime in IMAGE_TYPES
            if mime in output.data
        ]
        if not found:
            raise WrongArgument(f"Code {number} has no picture.")
        for place, (mime, content) in enumerate(found, 1):
            ending = ".png" if mime == "image/png" else ".jpg"
            suffix = f"-{place}" if len(found) > 1 else ""
            given = Path(name.strip()) if name.strip() else Path(f"oi-tui-code-{number}{ending}")
            path = self._desk.folder / given.expanduser().with_stem(f"{given.stem}{suffix}")
            try:
                data = base64.b64decode(content)
                with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:
                    file.write(data)
            except FileExistsError:
                raise WrongArgument(f"{path} exists already. Name another file: /save {number} FILE.") from None
            except binascii.Error:
                raise WrongArgument(f"The picture of code {number} is damaged.") from None
            except OSError as error:
                raise WrongArgument(f"{path} could not be written: {error.strerror}.") from None
            self._desk.say(f"Written: {path}, {quantity(len(data), 'byte')}.")

    def _read_plan(self) -> None:
        transcript = self._desk.transcript
        if not transcript.plan.steps:
            raise WrongArgument("There is no plan yet. /plan asks for one before anything runs.")
        self._desk.say(f"The plan, {plan_summary(transcript.plan.steps)}:")
        self._desk.say_all(plan_lines(transcript.plan.steps, block_numbers(transcript.blocks)))

    def _open(self, argument: str) -> None:
        if self._desk.busy:
            raise WrongArgument("Something is still running. Ctrl+C interrupts it; then try again.")
        named = self._listings.sessions
        if argument.isdecimal() and 1 <= int(argument) <= len(named):
            argument = named[int(argument) - 1]
        elif argument and argument not in named:
            raise WrongArgument("There is no such number. /sessions lists sessions with numbers.")
        self._open_session(argument or None)

    def _list_sessions(self, argument: str) -> None:
        self._desk.send(FindSessions(query=argument))

    def _export(self, argument: str) -> None:
        name, _, path = argument.partition(" ")
        formats: dict[str, ExportFormat] = {"ipynb": "ipynb", "md": "md", "html": "html", "lmc": "lmc"}
        if name not in formats or not path.strip():
            raise WrongArgument("Say /export ipynb FILE, /export md FILE, /export html FILE or /export lmc FILE.")
        whole = self._desk.folder / Path(path.strip()).expanduser()
        session_id = self._desk.transcript.session_id
        self._desk.send(ExportSession(session_id=session_id, format=formats[name], path=str(whole)))
