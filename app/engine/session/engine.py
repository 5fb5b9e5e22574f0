"""The engine: verbs in, replies out, one session open at a time, which may be left for another."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import assert_never

from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.blocks import NoticeBlock
from oi_tui.app.engine.core.chat_model import Model
from oi_tui.app.engine.core.endings import PROGRAM_CLOSED
from oi_tui.app.engine.core.errors import OiTuiError, StoreError
from oi_tui.app.engine.core.events import AnyEvent, TurnEnded
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.protocol import Configure, DraftKept, Failed, Reply, failure_reply
from oi_tui.app.engine.core.verbs import (
    AddRule,
    Answer,
    AnyVerb,
    CancelFetch,
    Clear,
    Close,
    Decide,
    EditSession,
    ExportSession,
    FetchModel,
    FindModels,
    FindPrompts,
    FindSessions,
    Fork,
    Inspect,
    Interrupt,
    KeepDraft,
    Open,
    Peek,
    PreviewSession,
    Rebuild,
    Restart,
    Retry,
    Run,
    SetApproval,
    SetBudget,
    Submit,
    UseModel,
)
from oi_tui.app.engine.hooks import NO_PLUGINS, Hooks
from oi_tui.app.engine.log.log import Log
from oi_tui.app.engine.log.store import CLAIM_PATIENCE, Claims, Store
from oi_tui.app.engine.policy.decide import Policy
from oi_tui.app.engine.sandbox.availability import Availability
from oi_tui.app.engine.secrets.redaction import Redactor
from oi_tui.app.engine.session.library import Library, LibraryVerb
from oi_tui.app.engine.session.model_switch import ModelSource, Servers, last_model
from oi_tui.app.engine.session.open_session import ClosableKernels, OpenSession
from oi_tui.app.engine.session.outbox import Send, replay_batches
from oi_tui.app.engine.transcript.event_log import ends_in_turn, fold_events
from oi_tui.app.engine.transcript.fork_point import events_until
from oi_tui.app.engine.transcript.transcript import Transcript

_log = logging.getLogger(__name__)

Trial = Callable[[], Awaitable[Availability]]

FRESH = "This session was resumed. Its kernels are fresh: variables of earlier runs are gone. /rebuild runs code again."


class Engine:
    """Follows verbs. `send` is awaited for every reply, so a slow front end slows nothing but itself."""

    def __init__(
        self,
        setup: Configure,
        *,
        models: ModelSource,
        kernels: ClosableKernels,
        store: Store | None,
        send: Send,
        policy: Policy | None = None,
        redactor: Redactor | None = None,
        log: Log | None = None,
        hooks: Hooks = NO_PLUGINS,
        trial: Trial | None = None,
    ) -> None:
        """`log` is where events go, by default the store. `trial` finds out whether a sandbox can be had."""
        self._setup = setup
        self._log = log if log is not None else Log(store=store)
        self._hooks = hooks
        self._policy = policy
        self._redactor = redactor if redactor is not None else Redactor()
        self._models = models
        self._servers = Servers(models, setup.settings.model, setup.api_key)
        self._kernels = kernels
        self._store = store
        self._send = send
        self._claims = Claims.beside(Path() if store is None else store.path)
        self._library = None if store is None else Library(lambda: Store(store.path), send, self._claims)
        self._sitting: OpenSession | None = None
        self._last_words: asyncio.Task[None] | None = None
        self._renewing: asyncio.Task[None] | None = None
        self._trial = trial
        self._trying: asyncio.Task[None] | None = None
        self._tidied = False
        self._closed = False

    async def handle(self, verb: AnyVerb) -> None:
        """Follow one verb; returns soon, what takes long goes on in a task.

        OiTuiError if there is no session to go on with; while one is open, the front end is told and that is all.
        """
        self._log.ask(verb)
        try:
            await self._handle(verb)
        except OiTuiError as error:
            if self._sitting is None:
                raise
            await self._send(failure_reply(error))

    async def _handle(self, verb: AnyVerb) -> None:
        sitting = self._sitting
        if isinstance(verb, Open):
            await self._change(self._open(verb))
            return
        if sitting is None:
            await self._send(Failed(title="The first verb must be Open.", fatal=True))
            return
        match verb:
            case Submit() | Run() | Retry() | Clear() | Restart() | Rebuild():
                sitting.add(verb)
            case Decide():
                sitting.session.decide(verb)
            case Answer():
                await sitting.session.answer(verb.request_id, verb.text)
            case Interrupt():
                sitting.interrupt(verb)
            case UseModel():
                self._redactor.learn("API key", verb.api_key or "")
                sitting.chooser.use(await self._servers.place(verb, sitting.session.transcript))
            case SetApproval():
                sitting.session.set_approval(verb.mode)
            case AddRule():
                sitting.session.decisions.add_rule(verb.verdict, verb.rule)
                told = f"For as long as this session is open: {verb.verdict} {verb.rule}"
                sitting.session.notice("info", told)
            case SetBudget():
                sitting.session.set_budget(verb)
            case FindModels():
                sitting.chooser.find()
            case FetchModel():
                await sitting.chooser.fetch(verb.model_id)
            case CancelFetch():
                await sitting.chooser.cancel_fetch()
            case Inspect():
                sitting.inspector.watch(verb.on)
            case Peek():
                sitting.inspector.peek(verb.name)
            case Fork():
                await self._change(self._fork(sitting, verb))
            case FindSessions() | PreviewSession() | EditSession() | ExportSession() | FindPrompts():
                sitting.write_down()
                self._ask_library(verb)
            case KeepDraft():
                if self._store is not None:
                    self._store.remember(self._draft_key, verb.text)
            case Close():
                await self.close()
            case _:
                assert_never(verb)

    async def close(self) -> None:
        """Break off what runs, write everything down, end kernels and model server. Idempotent."""
        if self._closed:
            return
        self._closed = True
        closing = asyncio.create_task(self._kernels.close())  # first: what runs in them ends at once
        if self._sitting is not None:
            await self._sitting.end(PROGRAM_CLOSED)
        self._claims.keep_only(None)
        await closing
        if self._trying is not None:
            self._trying.cancel()
        if ending := [task for task in (self._trying, self._renewing) if task is not None]:
            await asyncio.wait(ending)
        await self._models.close()
        self._log.close()
        if self._library is not None:
            await self._library.close()
        if self._store is not None:
            self._store.close()

    # -- opening -----------------------------------------------------------------------------------

    async def _change(self, opening: Coroutine[None, None, None]) -> None:
        """To another session, or an error of ours: in the one that was open, or without any."""
        try:
            await opening
        except OiTuiError:
            raise
        except Exception as error:
            # Boundary: a defect of ours, or whatever is in that file, must not leave a prompt that nobody answers.
            _log.exception("a session could not be opened")
            hint = "The engine's log says why. Nothing that was written before is lost."
            raise StoreError("The session could not be opened.", hint=hint, details=repr(error)) from error
        finally:
            self._claims.keep_only(None if self._sitting is None else self._sitting.session.transcript.session_id)

    async def _open(self, verb: Open) -> None:
        """The session that was asked for; one that is open is left, and its kernels end."""
        wanted = None if verb.anew and not self._is_kept(verb.session_id) else verb.session_id
        events = await self._past(wanted)  # before anything is left: it may not be readable, or open elsewhere
        session_id = wanted or self._create()
        left = self._sitting
        if left is None:
            await self._sit(session_id, events, self._first_model, replay=bool(events))
        else:
            before = left.session.transcript
            await self._leave(left, "Another session was opened.")
            await self._renew()
            await self._sit(session_id, events, lambda past: last_model(past) or last_model(before))
        if left is None and self._trial is not None:
            self._trying = asyncio.create_task(self._try_sandbox(self._trial))
        if left is None and self._store is not None and (draft := self._store.recall(self._draft_key)):
            await self._send(DraftKept(text=draft))

    def _is_kept(self, session_id: str | None) -> bool:
        if self._store is None or session_id is None:
            return False
        try:
            self._store.record(session_id)
        except StoreError:  # should it be the file that is broken, making a new one will say so
            return False
        return True

    async def _try_sandbox(self, trial: Trial) -> None:
        try:
            found = await trial()
        except OSError as error:  # no room for it: whether there is a sandbox shows when something is to run
            _log.warning("the sandbox could not be tried: %s", error)
            return
        if not found.works and self._sitting is not None:
            self._sitting.without_sandbox(found)

    @property
    def _draft_key(self) -> str:
        return f"draft:{self._setup.cwd}"

    async def _fork(self, sitting: OpenSession, verb: Fork) -> None:
        """Another session that begins as this one did; the kernels stay as they are, and so does the model."""
        if self._store is None:
            raise StoreError("Sessions are not kept here, so none can be forked.")
        left = sitting.session
        if not left.transcript.has(verb.block_id):
            raise StoreError("The session cannot be forked there: it has no such block.")
        old, model = left.transcript.session_id, left.model or last_model(left.transcript)
        if (error := sitting.write_down()) is not None:
            raise error  # before anything is left: what is not there cannot be shared
        await self._leave(sitting, "The session was forked.")
        try:
            new, events = self._create_fork(self._store, old, verb)
        except OiTuiError:  # as if nothing had been asked; without any session if that fails too
            await self._sit(old, await self._past(old), lambda _: model, forked_from=left)
            raise
        notes = ("Forked. The session that it comes from is kept.",)
        if self._kernels.started_kernels():
            notes = ("Forked. The session that it comes from is kept; the kernels still hold what later code did.",)
        await self._sit(new, events, lambda _: model, notes=notes, forked_from=left)

    async def _leave(self, sitting: OpenSession, why: str) -> None:
        """From here on there is none: an error before the next one is open is the end, not a prompt without answer."""
        await sitting.end(why)
        self._sitting = None

    def _create_fork(self, store: Store, old: str, verb: Fork) -> tuple[str, tuple[AnyEvent, ...]]:
        """The id of a new session, and what it shares with the old one."""
        events = store.load(old)
        count = events_until(events, verb.block_id, verb.place)
        if count is None:
            raise StoreError("The session cannot be forked there: that block was not written down.")
        new = self._create(parent=(old, count))
        return new, self._end_open_turn(new, events[:count], "The session was forked here.")

    def _create(self, parent: tuple[str, int] | None = None) -> str:
        """The id of a new session; forked from another, it shares so many of its events."""
        session_id = new_id()
        if self._store is not None:
            self._claims.take(session_id)
            self._store.create(session_id, time.time(), self._setup.cwd, parent=parent)
        return session_id

    def _ask_library(self, verb: LibraryVerb) -> None:
        if self._library is None:
            raise StoreError("Sessions are not kept here.")
        self._library.follow(verb)

    async def _renew(self) -> None:
        """End the kernels of the session that was left; the next one need not wait for that."""
        if self._renewing is not None:
            await asyncio.wait([self._renewing])
        self._renewing = asyncio.create_task(self._kernels.renew())
        await asyncio.sleep(0)  # from here on they are others

    async def _sit(
        self,
        session_id: str,
        events: Sequence[AnyEvent],
        choose: Callable[[Transcript], Model | UseModel | None],
        *,
        replay: bool = True,
        notes: tuple[str, ...] = (),
        forked_from: Session | None = None,
    ) -> None:
        """Go on with what was. The front end is told first: it folds the same events at the same time.

        With `replay` it is told even if nothing was: another session was open before.
        """
        if replay:
            for batch in replay_batches(events):
                await self._send(batch)
                await asyncio.sleep(0)  # what did not go out at once goes while the next one is made ready
        past = await asyncio.to_thread(fold_events, events) if events else None  # meanwhile the last of it goes out
        if past is not None and past.strays:
            _log.warning("session %s has %d events of blocks that are not there", session_id, past.strays)
        sitting = OpenSession(
            self._setup,
            past,
            kernels=self._kernels,
            models=self._models,
            store=self._store,
            log=self._log.session(),
            send=self._send,
            broke=self._report_broken,
            policy=self._policy,
            redactor=self._redactor,
            hooks=self._hooks,
            forked_from=forked_from,
        )
        if (
            sitting.has_run_code
            and not self._kernels.started_kernels()
            and not (past is not None and _says(past, FRESH))
        ):
            notes = (*notes, FRESH)
        sitting.begin(session_id, choose(past or Transcript()), notes, events)
        self._sitting = sitting
        if self._library is not None and not self._tidied:
            self._tidied = True
            self._library.tidy()

    async def _past(self, session_id: str | None) -> tuple[AnyEvent, ...]:
        """What is stored, ours from here on; a turn that was under way when it ends is ended by that."""
        if session_id is None or self._store is None:
            return ()
        self._store.record(session_id)  # there is no such session: said before a file is named after it
        await asyncio.to_thread(self._claims.take, session_id, CLAIM_PATIENCE)
        events = self._store.load(session_id)
        return self._end_open_turn(session_id, events, "The program ended in the middle of this turn.")

    def _end_open_turn(self, session_id: str, events: tuple[AnyEvent, ...], why: str) -> tuple[AnyEvent, ...]:
        if not ends_in_turn(events) or self._store is None:
            return events
        ended = TurnEnded(reason="engine_lost", detail=why)
        self._store.append(session_id, [ended])
        return (*events, ended)

    def _first_model(self, transcript: Transcript) -> UseModel | None:
        """What was asked for, else what the session used, else what was used last."""
        asked, key = self._setup.settings.model, self._setup.api_key
        first = last_model(transcript, key)
        if asked.name:
            first = UseModel(name=asked.name, api_base=asked.api_base or None, api_key=key)
        elif first is None and self._store is not None:
            name = self._store.recall("model")
            if name and self._models.can_open(name):
                first = UseModel(name=name, api_base=self._store.recall("api_base") or None, api_key=key)
        return first and self._servers.keep_key(first)

    # -- what must not happen --------------------------------------------------------------------------

    def _report_broken(self, error: BaseException | None) -> None:
        if self._closed:
            return
        _log.error("the engine broke", exc_info=error)
        failed = Failed(title="Something broke inside the engine.", hint="Its log says what.", fatal=True)
        self._last_words = asyncio.create_task(self._say(failed))

    async def _say(self, reply: Reply) -> None:
        """Past the outbox, which may be what broke."""
        await self._send(reply)


def _says(transcript: Transcript, title: str) -> bool:
    """Whether this was the last thing said, and nothing happened since."""
    return any(isinstance(last, NoticeBlock) and last.title == title for last in transcript.blocks[-1:])
