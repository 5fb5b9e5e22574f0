"""The one road between the engine and the screen: replies in, values for the view; verbs out, in order.

The bridge folds events into the transcript and tells the view which blocks changed, once for each batch however many
events it holds. It knows no widgets. When the engine is lost it says so, keeps the transcript, and waits until the
person asks for a new one.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from oi_tui.app.engine.core.blocks import Block, NoticeBlock
from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.core.events import (
    AnyEvent,
    ConversationCleared,
    DecisionRequested,
    ExecutionFinished,
    ExecutionStarted,
    InputRequested,
    KernelChanged,
    NoticeAdded,
    RerunFinished,
    RerunStarted,
    SessionOpened,
    TurnEnded,
)
from oi_tui.app.engine.core.extractions import ExtractionFound
from oi_tui.app.engine.core.kernel_looks import Inspect
from oi_tui.app.engine.core.protocol import (
    Batch,
    Failed,
    Hello,
    LastBlocks,
    PromptsQueued,
    Reply,
    SandboxFailed,
    SessionGone,
    Standing,
    ViewReply,
)
from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.engine.core.values import Level, SessionReply
from oi_tui.app.engine.core.verbs import AnyVerb, FindModels, Fork, KeepDraft, Open, Submit, address_verb
from oi_tui.app.engine.transcript.block_list import BlockList
from oi_tui.app.engine.transcript.coalesce import is_delta
from oi_tui.app.engine.transcript.event_log import extend
from oi_tui.app.engine.transcript.transcript import Transcript
from oi_tui.app.frontend.client import Connect, EngineClient, EngineLost, send_verbs
from oi_tui.app.frontend.session_status import ActivityWatch, KernelBoard, current_status, lacks_model
from oi_tui.widgets.arming import Clock
from oi_tui.widgets.status import STARTING, Status

_DEFAULTS = Settings()


class View(Protocol):
    """What the bridge needs of a screen."""

    def reset(self, blocks: Sequence[Block]) -> None:
        """Show these blocks and nothing else."""
        ...

    def put(self, index: int, block: Block) -> None:
        """Show this block at this place."""
        ...

    def show_status(self, status: Status, queued: int) -> None:
        """Show the current activity, and how many prompts wait."""
        ...

    def ask(self, decision: DecisionRequested | None, question: InputRequested | None) -> None:
        """Have these and no other questions open."""
        ...

    def show(self, reply: ViewReply) -> None:
        """An answer that is not part of the session: about models, downloads, variables, other sessions."""
        ...


class Bridge:
    """Owns the connection and the transcript of one screen, which shows one session."""

    def __init__(
        self,
        connect: Connect,
        view: View,
        *,
        session_id: str | None = None,
        settings: Settings = _DEFAULTS,
        recorded: bool = False,
        clock: Clock = time.monotonic,
    ) -> None:
        """`recorded`: what it speaks to plays a recording."""
        self.transcript = Transcript()
        self._past = self.transcript
        """The past events of a session that is opening."""
        self._shows_ending = False
        """The view shows how that ends, and the transcript is still empty."""
        self.stopped = False
        """Whether there is no engine, and none is being started."""
        self._connect = connect
        self._view = view
        self._session_id = session_id
        """The one to open, also in the next engine."""
        self._shown = ""
        """The session that is shown; "" before the engine has named one: then every event is about it."""
        self._recorded = recorded
        self.settings = settings
        self._client: EngineClient | None = None
        self._verbs: asyncio.Queue[AnyVerb] = asyncio.Queue()
        self._again = asyncio.Event()
        self._closing = False
        self._renewing = False
        self.running: set[str] = set()
        self.kernels = KernelBoard()
        """By language: what its kernel runs in."""
        self._sandbox_fails = False
        self._watch = ActivityWatch(clock)
        self._queued = 0
        self._notices = 0
        self._first_prompt: Submit | None = None
        self._asked_for_model = False
        self._inspecting = False
        self._then: Callable[[], None] | None = None
        self._left = ""
        """What was on the screen when another session was requested."""
        self._switched = 0.0
        """When another session was requested (Unix time): its past events may contain earlier openings."""

    # -- what the screen calls -----------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        """Whether leaving now would interrupt anything."""
        return not self.stopped and (self.transcript.turn_open or self.transcript.summarises or bool(self.running))

    @property
    def extraction(self) -> ExtractionFound | None:
        """The extraction that leaving the session would stop, if there is one."""
        return found if (found := self._watch.extraction).is_open else None

    def send(self, verb: AnyVerb) -> None:
        """Ask the engine, in order, for something about the session shown now, even if another is being opened."""
        if self.stopped:
            self._notice("warning", "The engine is not running.", "/engine starts it again.")
            return
        if isinstance(verb, Submit):
            self._watch.note_prompt()
            self._show_status()
        self._verbs.put_nowait(address_verb(verb, self._shown))

    def switch(self, verb: Open | Fork, then: Callable[[], None] | None = None) -> None:
        """Leave this session for another one, which interrupts running code; calls `then` once that is open."""
        self._switched, self._left = time.time(), self._shown
        self.send(verb)
        self._then = None if self.stopped else then

    def inspect(self, on: bool) -> None:
        """Start or stop listing the variables; the next engine gets the same request."""
        self._inspecting = on
        if not self.stopped:
            self._verbs.put_nowait(Inspect(session_id=self._shown, on=on))

    def submit_first(self, prompt: Submit) -> None:
        """Send this prompt as soon as there is a session with a model."""
        self._first_prompt = prompt

    def use_settings(self, settings: Settings) -> None:
        """Others hold from the next engine on."""
        self.settings = settings
        self._show_status()

    def restart(self) -> None:
        """Start the engine again, on the same session, if there is none."""
        if self.stopped:
            self._again.set()

    async def renew(self) -> None:
        """Connect another engine to the same session, replacing the present one."""
        self._renewing = self._client is not None
        if self._client is not None:
            await self._client.close()
        self.restart()

    async def close(self) -> None:
        """Let the engine save and end."""
        self._closing = True
        if self._client is not None:
            while not self._verbs.empty():  # what nobody else would tell: the draft
                if isinstance(verb := self._verbs.get_nowait(), KeepDraft):
                    with contextlib.suppress(EngineLost):
                        await self._client.send(verb)
            await self._client.close()
        self._again.set()

    async def run(self, complete: asyncio.Event) -> None:
        """Carry replies and verbs until closed; after a loss, from the next `restart` on. The engine may start before
        the view is `complete`; nothing but the state of things is shown before."""
        while not self._closing:
            lost: tuple[str, str] | None = None
            try:
                await self._converse(complete)
            except EngineLost as error:
                lost = "The engine stopped.", str(error)
            except OiTuiError as error:
                lost = error.title, error.hint
            await complete.wait()
            if lost is not None:
                self._lose(*lost)
            if not self._closing and not self._renewing:
                self._lose("The engine ended.", "")
                await self._again.wait()
            self._again.clear()
            self._renewing = False

    # -- one connection --------------------------------------------------------------------------------------

    async def _converse(self, complete: asyncio.Event) -> None:
        self.stopped, self._sandbox_fails, self._shown = False, False, ""
        self._watch.say(STARTING)
        self._show_status()
        client = await self._connect()
        self._client = client
        sender: asyncio.Task[None] | None = None
        try:
            end_first = self._session_id is not None and not self.transcript.session_id
            await client.send(Open(session_id=self._session_id, anew=self._is_new, end_first=end_first))
            if self._inspecting:
                await client.send(Inspect(on=True))
            sender = asyncio.create_task(send_verbs(client, self._verbs))
            await complete.wait()
            async for reply in client.replies():
                self._route(reply)
                await asyncio.sleep(0)  # lines that are already here must not keep the keyboard waiting
        finally:
            if sender is not None:
                sender.cancel()
                await asyncio.wait([sender])
            self._client = None
            await client.close()

    @property
    def _is_new(self) -> bool:
        """Whether nothing but notices is in the session that is open, or was until the engine went."""
        return bool(self.transcript.session_id) and all(
            isinstance(block, NoticeBlock) for block in self.transcript.blocks
        )

    def _lose(self, title: str, detail: str) -> None:
        if self.stopped or self._closing:
            return
        self.stopped, self._then = True, None
        self._route(PromptsQueued())
        self._verbs = asyncio.Queue()  # the next engine is not asked what this one was
        self._rest()
        if self.transcript.turn_open:
            self._apply([TurnEnded(reason="engine_lost")])
        self._watch.say("engine stopped")
        hint = "/engine starts it again; the conversation is kept."
        self._notice("error", title, hint, detail)

    # -- replies ---------------------------------------------------------------------------------------------

    def _is_of_another(self, reply: Reply) -> bool:
        """Whether it belongs to a session that is neither shown nor being opened."""
        if not (self._shown and isinstance(reply, SessionReply)) or reply.session_id in ("", self._shown):
            return False
        events = reply.events if isinstance(reply, Batch) else ()
        opens = isinstance(reply, Batch) and reply.replay
        return not opens and not any(isinstance(event, SessionOpened) for event in events)

    def _route(self, reply: Reply) -> None:
        if self._is_of_another(reply):
            return
        match reply:
            case Batch(replay=True):
                self._replay(reply)
            case Batch():
                self._apply(reply.events)
            case LastBlocks():
                if not self.transcript.session_id:
                    self._shows_ending = True
                    self._view.reset(reply.blocks)
            case Failed():
                self._then = None if self._shown == self._left else self._then
                self._notice("error", reply.title, reply.hint, reply.details)
                self._view.show(reply)
            case SandboxFailed():
                self._sandbox_fails = True
                self._show_status()
            case PromptsQueued():
                self._queued = len(reply.prompts)
                self._show_status()
                self._view.show(reply)
            case Hello() | Standing() | SessionGone():
                pass
            case ExtractionFound():
                self._watch.extraction = reply
                self._show_status()
                self._view.show(reply)
            case _:
                self._view.show(reply)

    def _replay(self, batch: Batch) -> None:
        """Fold stored events, and show them when all have arrived. The events after them are the present state."""
        if not batch.further:
            self._past = Transcript(BlockList())
        extend(self._past, batch.events)
        self._past.pack()
        if not batch.more:
            self.transcript = self._past
            self._route(PromptsQueued())
            self._shown = batch.session_id
            self._rest()
            self._shows_ending = False
            self._view.reset(self.transcript.blocks)
            self._apply([])

    def _apply(self, events: Sequence[AnyEvent]) -> None:
        transcript, anew = self.transcript, self._shows_ending and bool(events)
        changed: dict[int, None] = {}
        for event in events:
            if isinstance(event, ConversationCleared):
                anew = True
            changed.update(dict.fromkeys(transcript.apply(event)))
            self._follow(event)
        if anew:
            self._shows_ending = False
            self._view.reset(transcript.blocks)
        else:
            for index in changed:
                self._view.put(index, transcript.blocks[index])
        if events and all(map(is_delta, events)):
            return  # more of a text changes nothing else
        self._view.ask(transcript.pending_decision, transcript.pending_input)
        self._show_status()
        if events:  # past events do not name the model the session opens with now
            self._open_with_model()
        opened = (event.created for event in events if isinstance(event, SessionOpened))
        if self._then is not None and any(created >= self._switched for created in opened):
            then, self._then = self._then, None
            then()

    def _follow(self, event: AnyEvent) -> None:
        """What the status line knows beyond the transcript."""
        self._watch.follow(event, turn_open=self.transcript.turn_open)
        match event:
            case SessionOpened():
                self._session_id = self._shown = event.session_id
                self._rest()
            case ExecutionStarted() | RerunStarted():
                self.running.add(event.block_id)
            case ExecutionFinished() | RerunFinished():
                self.running.discard(event.block_id)
            case TurnEnded():
                self.running.clear()
            case KernelChanged():
                self.kernels.follow(event)
                self._sandbox_fails &= event.state not in ("idle", "busy")  # none starts that is not enclosed
            case ConversationCleared():
                self.running.clear()
                self.kernels.states.clear()
            case _:
                pass

    def _rest(self) -> None:
        """An engine that has just opened a session runs nothing, even if the session was left while it ran."""
        self._watch.rest()
        self.running.clear()
        self.kernels.forget()

    def _open_with_model(self) -> None:
        """A session without a model begins with the choice of one; a first prompt waits for it."""
        if not self.transcript.session_id or self.stopped:
            return
        if self.transcript.model and self._first_prompt is not None:
            prompt, self._first_prompt = self._first_prompt, None
            self.send(prompt)
        elif lacks_model(self.transcript) and not self._asked_for_model:
            self._asked_for_model = True
            self.send(FindModels())

    def _notice(self, level: Level, title: str, hint: str = "", details: str = "") -> None:
        self._notices += 1
        block_id = f"screen-{self._notices}"
        self._apply([NoticeAdded(block_id=block_id, level=level, title=title, hint=hint, details=details)])

    @property
    def waits_to_retry(self) -> bool:
        """Whether the model waits for its next attempt."""
        return self._watch.now.due is not None

    def _show_status(self) -> None:
        watch = self._watch
        known = self.transcript, self.settings, self.kernels, watch.shown_activity, watch.extraction
        status = current_status(*known, fails=self._sandbox_fails, recorded=self._recorded)
        self._view.show_status(status, self._queued)
