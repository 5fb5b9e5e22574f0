"""What a slash command does on one screen. Loaded with the first `/`: no session begins with a command."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from textual.screen import Screen

from oi_tui.app.commands.argument_verbs import WrongArgument
from oi_tui.app.commands.command_set import CommandSet, verb_of
from oi_tui.app.commands.macros import macro_rows, why_not_a_step
from oi_tui.app.commands.mentions import find_mentions
from oi_tui.app.commands.own_commands import OwnCommands
from oi_tui.app.commands.registry import APPROVAL_HELP, Command, Situation
from oi_tui.app.commands.typed import SlashLine, interpret
from oi_tui.app.engine.core.tool_verbs import FindSkills, FindTools, SetPlanMode
from oi_tui.app.engine.core.verbs import (
    FindInstructions,
    FindKernels,
    FindModels,
    ReadContext,
    SetApproval,
    Submit,
)
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.frontend.bridge import Bridge
from oi_tui.app.frontend.workplace import Workplace
from oi_tui.app.screens.macro_player import MacroPlayer
from oi_tui.widgets.composer import PromptArea

_QUIET = FindInstructions | FindKernels | FindModels | FindSkills | FindTools | ReadContext | SetApproval
"""What the session says nothing of: another view shows the answer, or the line above the prompt."""


class SendsPrompts(Protocol):
    """Where the person writes."""

    workplace: Workplace | None
    server_rows: Callable[[], Iterable[Command]]

    @property
    def area(self) -> PromptArea:
        """What the person is writing."""
        ...

    @property
    def folder(self) -> Path:
        """Where the session works."""
        ...

    def tell(self, words: str, *, failed: bool = False, seconds: float = ...) -> None:
        """Say it where the person writes or is asked; 0 seconds is until the text changes."""
        ...

    def insists(self, text: str) -> bool:
        """Whether this very text was held back the last time."""
        ...

    def hold(self, text: str, words: str) -> None:
        """Leave a text in the prompt and say why; sent again, it is sent."""
        ...

    def set_approval(self, verb: SetApproval) -> None:
        """Another approval mode, and what it means."""
        ...

    def submit(self, prompt: Submit, *, wait: bool, typed: bool) -> bool:
        """Send a prompt, if all that it mentions is there."""
        ...


class CommandDesk:
    """All that can be asked for on a screen, and how it is done."""

    def __init__(self, screen: Screen[None], bridge: Bridge, desk: SendsPrompts) -> None:
        self._screen, self._bridge, self._desk = screen, bridge, desk
        own = OwnCommands(lambda: desk.folder, self._trusted_commands, self._selection)
        self.commands = CommandSet(own.rows, macro_rows, lambda: desk.server_rows())
        """Also what others added."""
        self.macros = MacroPlayer(screen, bridge, desk.tell, self._play)

    @property
    def situation(self) -> Situation:
        """What the session is doing."""
        bridge, transcript = self._bridge, self._bridge.transcript
        return Situation(transcript.turn_open, bridge.busy, not transcript.blocks, bridge.stopped)

    async def run(self, typed: SlashLine, *, wait: bool = False, written: bool = True) -> bool:
        """Do what a slash command says; one that was `written` in the prompt, and cannot be followed, stays there.
        Whether the session will show an answer, rather than another view."""
        try:
            if written and (self.commands.by_name(typed.name) is None or "\n" in typed.argument):
                return self._take_as_prompt(typed, wait=wait)
            return await self._follow(typed, wait=wait, written=written or self._is_lone_command())
        except WrongArgument as wrong:
            self._desk.tell(str(wrong), failed=True, seconds=0)
            return False

    def _take_as_prompt(self, typed: SlashLine, *, wait: bool) -> bool:
        """Send a text that begins with a path; what else is no command only if the person sends it once more."""
        desk, row = self._desk, self.commands.by_name(typed.name)
        text = desk.area.full_text
        if not (self.commands.is_path(typed) or desk.insists(text)):
            told = f"/{row.slash} takes one line." if row is not None else self._unknown(typed.name)
            slip = row is None and (not typed.argument or bool(self.commands.similar(typed.name)))
            if slip and "/" not in typed.name and "\n" not in typed.argument:
                raise WrongArgument(told)
            desk.hold(text, f"{told} Enter sends it to the model.")
            return False
        sent = desk.submit(Submit(text=text, files=find_mentions(text, desk.folder).files), wait=wait, typed=True)
        if sent:
            self.macros.note(text)
        return sent

    async def _play(self, text: str) -> None:
        """Do what a step of a macro says, whatever is in the prompt; WrongArgument where that cannot be."""
        if why := why_not_a_step(text):
            raise WrongArgument(f"It cannot be played: {why}.")
        asked, folder = interpret(text, self._desk.folder), self._desk.folder
        if isinstance(asked, SlashLine) and not self.commands.is_path(asked):
            await self._follow(asked, wait=False, written=False, played=True)
        elif isinstance(asked, SlashLine | Submit):
            self._send_played(Submit(text=text, files=find_mentions(text, folder).files))
        else:
            self._bridge.send(asked)

    def _send_played(self, prompt: Submit) -> None:
        if missing := find_mentions(prompt.text, self._desk.folder).missing:
            raise WrongArgument(f"No such file: @{safe_text(missing[0])}.")
        self._bridge.send(prompt)

    def _is_lone_command(self) -> bool:
        """Whether the prompt holds the name of a command only: what was begun there is done elsewhere."""
        asked = interpret(self._desk.area.text, self._desk.folder)
        return isinstance(asked, SlashLine) and not asked.argument and self.commands.by_name(asked.name) is not None

    async def _follow(self, typed: SlashLine, *, wait: bool, written: bool, played: bool = False) -> bool:
        row, area = self.commands.by_name(typed.name), self._desk.area
        if row is None:
            raise WrongArgument(self._unknown(typed.name))
        if why := row.why_not(self.situation):
            raise WrongArgument(f"/{row.slash} does not apply now: {why}.")
        if not typed.argument and (row.picker or (row.choices() and row.arguments[0].required)):
            if written:
                area.accept()  # who leaves the list finds it with ↑, and nothing that is typed next is added to it
            await self._screen.run_action(row.picker or f"app.palette({row.id!r})")
            return False
        verb, line = verb_of(row, typed.argument), f"/{row.slash} {typed.argument}".rstrip()
        if isinstance(verb, Submit) and played:
            self._send_played(verb)
            return True
        if isinstance(verb, Submit):
            sent = self._desk.submit(verb, wait=wait, typed=written)
            if sent:
                self.macros.note(line)
            return sent
        if written:
            area.accept()
        if isinstance(verb, SetApproval):
            self._desk.set_approval(verb)
        elif isinstance(verb, SetPlanMode):
            self._bridge.send(verb)
            said = f"{APPROVAL_HELP['plan']}. /plan off leaves plan mode."
            self._desk.tell(said if verb.on else "Plan mode is off.")
        elif verb is not None:
            self._bridge.send(verb)
        else:
            await self._screen.run_action(row.action.replace("ARGUMENT", repr(typed.argument)))
        if row.id != "macro" and not played:
            self.macros.note(line)
        return not isinstance(verb, _QUIET | None)

    def _unknown(self, name: str) -> str:
        similar = [f"/{one}" for one in self.commands.similar(name)]
        meant = f" Did you mean {' or '.join(similar)}?" if similar else " Type / for the list."
        return f"No command /{safe_text(name)}.{meant}"

    def _trusted_commands(self) -> str | None:
        place, folder = self._desk.workplace, self._desk.folder
        return place.trusted_commands if place is not None and place.folder.resolve() == folder.resolve() else None

    def _selection(self) -> str:
        return self._screen.get_selected_text() or self._desk.area.selected_text
