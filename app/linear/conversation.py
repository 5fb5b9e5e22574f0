"""The second front end with a person at it: a session as lines that are only ever appended, and a prompt at the end.

It speaks to the same engine as the screen, with the same approval, policy and audit log. Nothing of Textual is loaded.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path

from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.core.events import (
    AnyEvent,
    CodeStarted,
    ConversationCleared,
    DecisionMade,
    DecisionRequested,
    ExecutionFinished,
    ExecutionStarted,
    InputAnswered,
    InputRequested,
    NoticeAdded,
    SessionOpened,
    SettingsChanged,
    TurnEnded,
    TurnStarted,
)
from oi_tui.app.engine.core.library_replies import PromptsFound, SessionExported, SessionsFound
from oi_tui.app.engine.core.library_verbs import FindPrompts
from oi_tui.app.engine.core.protocol import (
    Batch,
    ContextFound,
    Detached,
    DraftKept,
    Failed,
    InstructionsFound,
    KernelsFound,
    ModelsFound,
    Reply,
)
from oi_tui.app.engine.core.settings import Settings, describe_sandbox
from oi_tui.app.engine.core.tool_replies import ToolsFound
from oi_tui.app.engine.core.values import SessionReply
from oi_tui.app.engine.core.verbs import AnyVerb, Detach, FindModels, KeepDraft, Open, Retry, Run, Submit, address_verb
from oi_tui.app.engine.transcript.block_list import BlockList
from oi_tui.app.engine.transcript.event_log import extend
from oi_tui.app.engine.transcript.transcript import Transcript
from oi_tui.app.frontend.client import Connect, EngineLost
from oi_tui.app.frontend.workplace import Workplace
from oi_tui.app.linear.block_words import ending_lines
from oi_tui.app.linear.console import Console
from oi_tui.app.linear.desk import Desk
from oi_tui.app.linear.engine_link import EngineLink
from oi_tui.app.linear.folder_question import ask_about_folder
from oi_tui.app.linear.listings import Listings
from oi_tui.app.linear.prompts import Prompts
from oi_tui.app.linear.questions import Questions
from oi_tui.app.linear.slash_commands import Chores, SlashCommands
from oi_tui.app.linear.stopping import Stopping

ANSWERED_WITHIN = 2.0
"""Seconds at most for which the prompt waits for the response to what was sent."""

DETACHING = 3.0
"""Seconds that the engine has to say that it keeps running."""


class LinearSession:
    """A session at the terminal of this process, from its start to its end."""

    def __init__(
        self,
        connect: Connect,
        settings: Settings,
        folder: Path,
        *,
        place: Workplace | None = None,
        prompt: str = "",
        session_id: str | None = None,
        outlives: bool = False,
        look_only: bool = False,
    ) -> None:
        """With a `place`, no engine starts before a decision about the folder. `outlives`: the engine keeps running if
        the terminal is lost."""
        plain = os.environ.get("TERM", "dumb") in ("dumb", "unknown")
        console = Console(self, words=lambda: self._commands.names(), marks_pastes=not plain)
        self.desk = Desk(console, self.send, settings=settings, folder=folder, place=place)
        self._outlives, self._look_only = outlives, look_only
        self._questions = Questions(self.desk, run_line=self.take_line, leave=self.leave, changed=self._rest)
        self._stopping = Stopping(self.desk, self._questions, lambda: self._closing.set())
        self._listings = Listings()
        chores = Chores(self.leave, self._restart, self.open_editor, self._open_session, self._decide_folder)
        self._commands = SlashCommands(self.desk, chores, self._listings, lambda prompt: self._prompts.submit(prompt))
        self._prompts = Prompts(self.desk, self._commands.run)
        self._prompt, self._session_id = prompt, session_id
        self._link = EngineLink(connect, self._take)
        self._again, self._closing = asyncio.Event(), asyncio.Event()
        self._code = 0
        self._past = Transcript()
        self._awaits: asyncio.TimerHandle | None = None
        self._awaited: tuple[type[AnyEvent], ...] = _BEGUN
        self._asked_for_model = self._greeted = False
        self.detached: Detached | None = None

    # -- from start to end ----------------------------------------------------------------------------------

    async def run(self) -> int:
        """Talk until the person leaves; the exit code."""
        loop = asyncio.get_running_loop()
        console = self.desk.console
        with console.terminal_mode():
            handlers: dict[signal.Signals, Callable[[], object]] = {
                signal.SIGINT: console.press_interrupt,
                signal.SIGTSTP: console.stop_process,
                signal.SIGTERM: lambda: self._obey(signal.SIGTERM),
                signal.SIGHUP: lambda: self._obey(signal.SIGHUP),
            }
            for number, handler in handlers.items():
                loop.add_signal_handler(number, handler)
            reminding = asyncio.create_task(self._remind())
            talking = asyncio.create_task(self._talk())
            closed = asyncio.create_task(self._closing.wait())
            try:
                await asyncio.wait([talking, closed], return_when=asyncio.FIRST_COMPLETED)
                await self._end(talking)
            finally:
                for task in (reminding, talking, closed):
                    task.cancel()
                for number in handlers:
                    loop.remove_signal_handler(number)
        return self._code

    async def _end(self, talking: asyncio.Task[None]) -> None:
        """Keep what is typed; an engine that does not keep running saves and ends."""
        self.desk.console.rest(False)
        self._questions.stop()
        if (client := self._link.client) is not None and self.detached is None:
            with contextlib.suppress(EngineLost):
                if self._code == 128 + signal.SIGHUP and self._outlives:
                    await client.send(Detach())
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(asyncio.shield(talking), DETACHING)
                elif not self._look_only:
                    await client.send(KeepDraft(text=self.desk.console.draft))
            await client.close()
        if talking.done() and not talking.cancelled() and (error := talking.exception()) is not None:
            raise error

    def _obey(self, number: signal.Signals) -> None:
        self._code = 128 + number
        self._closing.set()

    async def _remind(self) -> None:
        while True:
            await asyncio.sleep(1)
            self.desk.narrator.remind()

    async def _talk(self) -> None:
        """Carry replies and verbs until closed; after a loss, from the next `/engine` on."""
        desk = self.desk
        place = desk.place
        if place is not None and place.is_undecided and not await ask_about_folder(self.desk.console, place):
            self._closing.set()
            return
        while not self._closing.is_set():
            if place is not None:
                desk.settings = place.settings
            try:
                desk.stopped = False
                await self._link.converse(self._opening())
            except EngineLost as error:
                self._lose("The engine stopped.", str(error))
            except OiTuiError as error:
                self._lose(error.title, error.hint)
            else:
                self._lose("The engine ended.", "")
            if self.detached is not None:
                self._closing.set()
                return
            await self._again.wait()
            self._again.clear()

    def _opening(self) -> list[AnyVerb]:
        opening = Open(session_id=self._session_id, anew=bool(self.desk.transcript.session_id))
        return [opening] if self._look_only else [opening, FindPrompts()]

    def _lose(self, title: str, detail: str) -> None:
        desk = self.desk
        if desk.stopped or self._closing.is_set() or self.detached is not None:
            return
        desk.stopped = True
        desk.running.clear()
        self._questions.stop()
        if desk.transcript.turn_open:
            self._follow(TurnEnded(reason="engine_lost"))
        desk.say(f"Error: {title} {detail}\nThe conversation is kept. /engine starts it again, Ctrl+D quits.")
        self._rest()

    # -- what the engine says -------------------------------------------------------------------------------

    def _take(self, reply: Reply) -> None:
        desk, shown = self.desk, self.desk.transcript.session_id
        if isinstance(reply, SessionReply) and shown and reply.session_id not in ("", shown) and not _opens(reply):
            return
        match reply:
            case Batch(replay=True):
                self._replay(reply)
            case Batch():
                for event in reply.events:
                    self._follow(event)
                if any(isinstance(event, self._awaited) for event in reply.events):
                    self._stop_awaiting()
            case Failed():
                self._stop_awaiting()
                desk.say(f"Error: {reply.title} {reply.hint}")
            case ModelsFound(more=False):
                self._questions.begin(self._questions.choose_model(reply))
            case KernelsFound():
                self._questions.begin(self._questions.choose_kernel(reply))
            case PromptsFound():  # asked for at the start, beside anything else
                desk.console.editor.history = [prompt.text for prompt in reversed(reply.prompts)]
            case DraftKept():
                desk.console.keep(reply.text)
            case Detached():  # the engine waits until we hang up
                self.detached = reply
                self._closing.set()
            case _:
                desk.say_all(self._listings.lines(reply))
        if isinstance(reply, _ANSWERS):
            self._stop_awaiting()
        self._rest()

    def _replay(self, batch: Batch) -> None:
        """Stored events: the last lines are printed when all have arrived."""
        if not batch.further:
            self._past = Transcript(BlockList())
        extend(self._past, batch.events)
        self._past.pack()
        if batch.more:
            return
        desk = self.desk
        desk.transcript = self._past
        blocks = desk.transcript.blocks
        desk.narrator.begin(blocks)
        desk.say_all(ending_lines(blocks, desk.narrator))

    def _follow(self, event: AnyEvent) -> None:
        desk = self.desk
        desk.transcript.apply(event)
        match event:
            case SessionOpened():
                self._open_with(event)
            case ExecutionStarted():
                desk.running.add(event.block_id)
            case ExecutionFinished():
                desk.running.discard(event.block_id)
            case TurnEnded():
                desk.running.clear()
                self._questions.settle()
            case DecisionMade() | InputAnswered():
                self._questions.settle()
            case _:
                pass
        desk.narrator.tell(event)
        match event:
            case DecisionRequested() | InputRequested():
                self._questions.resume()
            case _:
                pass

    def _open_with(self, event: SessionOpened) -> None:
        desk = self.desk
        self._session_id = event.session_id
        desk.running.clear()
        if not event.resumed:
            desk.narrator.begin(())
        desk.narrator.know(event.model, event.approval)
        if not self._greeted:
            self._greeted = True
            model = f"Model: {event.model}. " if event.model else ""
            held = describe_sandbox(desk.settings.sandbox)
            desk.say(f"oi-tui in {event.cwd}.\n{model}Approval: {event.approval}. Code: {held}.")
            desk.say("Type a prompt and press Enter. /help says what else.")
        elif not event.resumed:
            desk.say("A new session.")
        if not event.model and not self._asked_for_model and desk.place is not None:  # else it runs without one
            self._asked_for_model = True
            self.send(FindModels())
        self._send_first()

    def _send_first(self) -> None:
        """The prompt of the command line, as soon as there is a model."""
        if self._prompt and self.desk.transcript.model:
            prompt, self._prompt = self._prompt, ""
            self.desk.say(f"Prompt: {prompt}")
            self.take_line(prompt)

    def _rest(self) -> None:
        """Whose turn it is. What was sent begins something, as a rule, and a prompt before that would be noise."""
        if self._awaits is not None:
            return
        known = self._greeted or self._look_only or self.desk.stopped
        self.desk.console.rest(
            known and not self.desk.busy and not self._questions.is_open and not self._closing.is_set()
        )
        if not self.desk.stopped:
            self._send_first()

    # -- what the person does -------------------------------------------------------------------------------

    def send(self, verb: AnyVerb) -> None:
        """Ask the engine for something, in order."""
        if self.desk.stopped:
            self.desk.say("The engine is not running. /engine starts it again.")
            return
        self._link.send(address_verb(verb, self.desk.transcript.session_id))
        self._stop_awaiting()
        self.desk.console.rest(False)
        self._awaited = _AWAITED.get(type(verb), (*_BEGUN, SettingsChanged, SessionOpened))
        self._awaits = asyncio.get_running_loop().call_later(ANSWERED_WITHIN, self._stop_awaiting)

    def _stop_awaiting(self) -> None:
        """Something came of what was sent, or nothing does."""
        if self._awaits is not None:
            self._awaits.cancel()
            self._awaits = None
            self._rest()

    def take_line(self, text: str) -> None:
        """A prompt, code of the person's own, or a command."""
        self._prompts.take(text)

    def open_editor(self) -> None:
        """The prompt in the person's own editor; it comes back to be sent, or changed."""
        self._prompts.open_editor()
        self._rest()

    def _open_session(self, session_id: str | None) -> None:
        self._session_id = session_id
        self.send(Open(session_id=session_id))

    def _decide_folder(self) -> None:
        place = self.desk.place
        if place is None or self.desk.busy:
            self.desk.say("That is not possible while something runs." if place else "This session runs elsewhere.")
            return
        before = place.setup

        async def decide() -> None:
            if await ask_about_folder(self.desk.console, place, again=True) and place.setup != before:
                self.desk.say("The engine starts again with this choice.")
                self._again.set()
                if (client := self._link.client) is not None:
                    self.desk.stopped = True
                    await client.close()

        self._questions.begin(decide())

    def _restart(self) -> None:
        if self.desk.stopped:
            self._again.set()
        else:
            self.desk.say("The engine is running.")

    def interrupt(self) -> None:
        """Ctrl+C, with nothing typed."""
        self._stopping.interrupt()

    def leave(self, *, gone: bool = False) -> None:
        """Ctrl+D, with nothing typed; or the terminal is `gone`."""
        if gone:
            self._obey(signal.SIGHUP)
        else:
            self._stopping.leave()


_BEGUN = (TurnStarted, TurnEnded, CodeStarted, NoticeAdded, ConversationCleared)
_AWAITED: dict[type, tuple[type[AnyEvent], ...]] = {Submit: _BEGUN, Retry: _BEGUN, Run: (ExecutionStarted, NoticeAdded)}
"""Events that answer a verb; for other verbs, those that change the session."""

_ANSWERS = ModelsFound | KernelsFound | ContextFound | InstructionsFound | ToolsFound | SessionsFound | SessionExported
"""Replies that answer a verb, besides events."""


def _opens(reply: SessionReply) -> bool:
    return isinstance(reply, Batch) and (
        reply.replay or any(isinstance(event, SessionOpened) for event in reply.events)
    )
