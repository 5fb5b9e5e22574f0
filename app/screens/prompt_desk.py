"""What happens to a text sent from the prompt, and the message above it.

No text is lost: a text that cannot be used stays in the prompt, with the reason above it.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from textual.screen import Screen

from oi_tui.app.commands.registry import APPROVAL_HELP, Command
from oi_tui.app.engine.core.protocol import PromptsQueued
from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.engine.core.values import TOUR
from oi_tui.app.engine.core.verbs import AnyVerb, SetApproval, Submit, UseModel, Withdraw
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.words import quantity
from oi_tui.app.frontend.bridge import Bridge
from oi_tui.app.frontend.workplace import Workplace
from oi_tui.app.screens.bottom import Bottom
from oi_tui.widgets.composer import Composer, PromptArea

if TYPE_CHECKING:  # loaded with the first `/`, and when everything else is there
    from oi_tui.app.screens.command_desk import CommandDesk
    from oi_tui.app.screens.macro_player import MacroPlayer

GOODBYES = ("exit", "quit", "exit()", "quit()")
"""What ends other consoles: alone in the prompt it is no prompt."""

_TOUR_PROMPT = "Show me around."

NOTE = 3.0
"""Seconds a passing message stays."""


class ChangesSettings(Protocol):
    """What shows the settings and writes them."""

    def open(self, words: str = "") -> None:
        """Show all settings, those with these words first."""
        ...

    def choose_profile(self, name: str = "") -> None:
        """Use a profile in this session; without a name, show all of them."""
        ...

    def keep(self, values: Mapping[str, Any]) -> None:
        """Write what was chosen on another screen. UNSET removes a key."""
        ...

    def keep_model(self, name: str, api_base: str) -> None:
        """Keep this model for new sessions, as soon as it is in use."""
        ...


class PromptDesk:
    """Interprets the text of one screen's prompt."""

    def __init__(self, screen: Screen[None], bridge: Bridge) -> None:
        self.screen = screen
        """The one that shows the session; it outlasts what is on it."""
        self._bridge = bridge
        self._insisted = ""
        """A text that was not sent at once; sent again, it is."""
        self._dropping = False
        """Whether what is taken back is not wanted any more."""
        self._model = ""
        """The one that was in use before."""
        self.settings: ChangesSettings | None = None
        """What shows the settings, a moment after everything else is there."""
        self.server_rows: Callable[[], Iterable[Command]] = tuple
        """Prompts of MCP servers, as commands."""
        self._commander: CommandDesk | None = None
        self.workplace: Workplace | None = None
        """The folder with what was decided about it, where there is a decision."""

    @property
    def commander(self) -> "CommandDesk":
        """What does slash commands."""
        if self._commander is None:
            from oi_tui.app.screens.command_desk import CommandDesk  # no session begins with a command

            self._commander = CommandDesk(self.screen, self._bridge, self)
        return self._commander

    @property
    def area(self) -> PromptArea:
        """Where the person writes."""
        return self.screen.query_one(PromptArea)

    @property
    def folder(self) -> Path:
        """Where the session works."""
        return Path(self._bridge.transcript.cwd or ".")

    @property
    def app_clipboard(self) -> str:
        """What was copied within the program."""
        return self.screen.app.clipboard

    def tell(self, words: str, *, failed: bool = False, seconds: float = NOTE) -> None:
        """Say it where the person writes or is asked; 0 seconds is until the text changes."""
        if self.screen.is_current:
            self.screen.query_one(Bottom).say(words, failed=failed, seconds=seconds)
        else:
            self.screen.notify(words, severity="warning" if failed else "information", timeout=NOTE)

    def withdraw(self, text: str, *, drop: bool) -> None:
        """Take back a prompt that waits, to change it or to drop it; the engine says whether it still waited."""
        self._dropping = drop
        self._bridge.send(Withdraw(text=text))

    def show_queued(self, reply: PromptsQueued) -> None:
        """Queued prompts are above the prompt; a withdrawn one is in it."""
        composer = self.screen.query_one(Composer)
        composer.steers = reply.steers
        composer.queued = reply.prompts
        if reply.withdrawn is not None and self._dropping:
            self.tell("Dropped a prompt that waited; ↑ finds it in the history.")
        elif reply.withdrawn is not None:
            self.area.add(reply.withdrawn)
        if reply.settled and self.macros is not None:
            self.macros.settle(reply.settled)

    def keep(self, values: Mapping[str, Any]) -> None:
        """Write what was chosen on a screen into the person's settings, because they asked for that: values by key,
        UNSET for one to remove."""
        if self.settings is not None:
            self.settings.keep(values)

    def choose_model(self, verb: AnyVerb) -> None:
        """Send what the screen of models asks for; a model that is kept is written down when it answers."""
        self._bridge.send(verb)
        if isinstance(verb, UseModel) and verb.keep and verb.name != TOUR and self.settings is not None:
            self.settings.keep_model(verb.name, verb.api_base or "")

    def set_approval(self, verb: SetApproval) -> None:
        """Another approval mode, and what it means; the status line names it. A question that is open stays open."""
        self._bridge.send(verb)
        self.tell(f"{APPROVAL_HELP[verb.mode]}.")
        if self.macros is not None:
            self.macros.refuse("the approval mode is no step")

    @property
    def macros(self) -> "MacroPlayer | None":
        """What records and plays, if anything was asked for by a command."""
        return self._commander.macros if self._commander is not None else None

    async def copy(self, text: str) -> None:
        """Put the text into the clipboard, and say so."""
        from oi_tui.app.screens.clipboard import copy  # nothing that the first frame needs

        failed = await copy(self.screen.app, text)
        self.tell(failed or f"Copied {quantity(len(text), 'character')}.", failed=bool(failed))

    async def take(self, text: str, *, wait: bool = False) -> bool:
        """Do what the text asks for; returns whether the session will show a result. A prompt reaches the model at its
        next step, or after the turn if it shall `wait`."""
        from oi_tui.app.commands.typed import SlashLine, interpret, needs_body  # nothing is written at the first frame

        area = self.area
        if text.strip() in GOODBYES:
            self._offer_to_quit()
            return False
        if needs_body(text):
            from oi_tui.widgets.keyrow import key_in_use  # not for the first frame

            newline = key_in_use(area, "composer.newline") or "\\ and enter"
            first = text.split(maxsplit=1)[0]
            area.insert("\n", area.document.end)
            self.tell(f"{first}: write the lines of the cell; {newline} makes a new line, enter runs it.", seconds=0)
            return False
        asked = interpret(text, self.folder)
        if isinstance(asked, SlashLine):
            return await self.commander.run(asked, wait=wait)
        if isinstance(asked, Submit):
            sent = self.submit(asked, wait=wait, typed=True)
            if sent and self.macros is not None:
                self.macros.note(text)
            return sent
        self._bridge.send(asked)
        await asyncio.sleep(0)  # so that it is sent before the prompt is cleared, which takes longer
        area.accept()
        if self.macros is not None:
            self.macros.note(text)
        return True

    def submit(self, prompt: Submit, *, wait: bool, typed: bool) -> bool:
        """Send a prompt, if all that it mentions is there; what was `typed` for it leaves the place where it was."""
        area = self.area
        if not self._may_send(prompt.text):
            return False
        if pictures := area.tokens.pictures_of(prompt.text):
            prompt = msgspec.structs.replace(prompt, files=(*pictures, *prompt.files))
        if self._bridge.busy and not wait:
            prompt = msgspec.structs.replace(prompt, steer=True)
        if typed:
            area.accept()
        self._bridge.send(prompt)
        return True

    def insists(self, text: str) -> bool:
        """Whether this very text was held back the last time."""
        return bool(text) and text == self._insisted

    def hold(self, text: str, words: str) -> None:
        """Leave a text in the prompt and say why; sent again, it is sent."""
        self._insisted = text
        self.tell(words, failed=True, seconds=0)

    def begin_with(self, text: str, folder: Path) -> None:
        """The prompt of the command line, about this folder. A command waits for the person, and so does one that
        mentions files which are missing."""
        from oi_tui.app.commands.mentions import find_mentions  # most sessions begin without
        from oi_tui.app.commands.typed import SlashLine, interpret

        named = find_mentions(text, folder)
        if isinstance(interpret(text, folder), SlashLine):
            self.area.fill(text)
        elif named.missing:
            self.area.fill(text)
            self._refuse(text, named.missing)
        else:
            self._bridge.submit_first(Submit(text=text, files=named.files))

    def offer_tour(self, model: str) -> None:
        """Where the tour has just become the model of an empty session, the prompt that begins it waits for Enter."""
        new, self._model = model != self._model, model
        if new and model == TOUR and not self._bridge.transcript.blocks and not self.area.text:
            self.area.fill(_TOUR_PROMPT)
            self.area.select_all()  # what is typed instead takes its place
            self.tell("A tour: a script answers instead of a model. Press enter to begin.", seconds=0)

    @property
    def welcomes(self) -> bool:
        """Whether the words about the tour are there, and nobody has begun it or typed something else."""
        return self._model == TOUR and self.area.text == _TOUR_PROMPT and not self._bridge.transcript.blocks

    def fill_from(self, place: str, settings: Settings) -> None:
        """Write from the clipboard or from the person's own editor."""
        if place == "clipboard":
            self.area.action_paste()
            return

        from oi_tui.app.screens.external_editor import EditorFailed, edit_text  # starts programs; seldom wanted

        area = self.area
        try:
            area.fill(edit_text(self.screen.app, area.full_text, settings.screen.editor))
        except EditorFailed as failed:
            self.tell(str(failed), failed=True, seconds=0)

    def open_choices(self, name: str, argument: str) -> None:
        """The settings, or the profiles of them; with the name of a profile, that is used in this session."""
        if self.settings is None:
            self.tell("The settings are not read yet: try again.", failed=True)
        elif name == "profile":
            self.settings.choose_profile(argument)
        else:
            self.settings.open(argument)

    def _may_send(self, text: str) -> bool:
        """Whether all files are there, or the person knows that they are not."""
        from oi_tui.app.commands.mentions import find_mentions  # as above

        missing, lost = find_mentions(text, self.folder).missing, self.area.tokens.lost_pictures(text)
        if not (missing or lost) or self.insists(text):
            self._insisted = ""
            return True
        if missing:
            self._refuse(text, missing)
        else:
            gone = "Paste the picture again. Enter sends the prompt without it."
            self.hold(text, f"{lost[0]} was not kept. {gone}")
        return False

    def _refuse(self, text: str, missing: Sequence[str]) -> None:
        names = " and ".join(f"@{safe_text(name)}" for name in missing[:3])
        self.hold(text, f"No such file: {names}. Enter sends the prompt all the same.")

    def _offer_to_quit(self) -> None:
        if self._bridge.busy or self._bridge.extraction is not None:
            self.screen.run_worker(self.screen.run_action("app.quit"), group="quit")
            return

        from oi_tui.app.screens.confirm import ConfirmScreen  # seldom seen

        async def finish(yes: bool | None) -> None:
            if yes:
                self.area.accept()
                await self.screen.run_action("app.quit")

        question = ConfirmScreen("Quit oi-tui?", "The session is saved and can be resumed.", yes="quit", no="stay")
        self.screen.app.push_screen(question, finish)
