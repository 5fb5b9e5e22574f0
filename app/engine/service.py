"""One session served to one front end: verbs in, replies out, everything written down on the way.

Jobs (prompts, the person's own code, restarts) are done one after the other; decisions, answers and
interrupts reach into the job that runs. Events go to the store and, a frame's worth at a time, to the
front end.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing
from pathlib import Path
from typing import Any, Protocol, assert_never

from oi_tui.app.engine.blocks import CodeBlock
from oi_tui.app.engine.chooser import Chooser, ModelSource
from oi_tui.app.engine.errors import OiTuiError, SettingsError, StoreError
from oi_tui.app.engine.events import (
    AnyEvent,
    KernelChanged,
    SessionOpened,
    TurnEnded,
)
from oi_tui.app.engine.excerpts import excerpts, named_files
from oi_tui.app.engine.ids import new_id
from oi_tui.app.engine.inspector import Inspector
from oi_tui.app.engine.loop.session import KernelSource, Session
from oi_tui.app.engine.outbox import Outbox, Send, batches
from oi_tui.app.engine.policy.decide import Policy
from oi_tui.app.engine.protocol import (
    Configure,
    Failed,
    Reply,
)
from oi_tui.app.engine.store import Recorder, Store
from oi_tui.app.engine.transcript import Transcript
from oi_tui.app.engine.values import Language
from oi_tui.app.engine.verbs import (
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
    FindSessions,
    Fork,
    Inspect,
    Interrupt,
    Open,
    Peek,
    PreviewSession,
    Rebuild,
    Restart,
    Retry,
    Run,
    SetApproval,
    Submit,
    UseModel,
)

_log = logging.getLogger(__name__)

Job = Submit | Run | Retry | Clear | Restart


class ClosableKernels(KernelSource, Protocol):
    """Kernels whose life ends with the session's."""

    async def close(self) -> None:
        """End all of them."""
        ...


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
    ) -> None:
        self._setup = setup
        self._policy = policy
        self._models = models
        self._kernels = kernels
        self._store = store
        self._send = send
        self._session: Session | None = None
        self._outbox = Outbox(send, self._unrecorded)
        self._inspector = Inspector(kernels, self._outbox.put)
        self._jobs: deque[Job] = deque()
        self._job_added = asyncio.Event()
        self._chooser: Chooser | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._last_words: asyncio.Task[None] | None = None
        self._closed = False

    # -- verbs -------------------------------------------------------------------------------------

    async def handle(self, verb: AnyVerb) -> None:
        """Follow one verb; returns soon, what takes long goes on in a task."""
        if isinstance(verb, Open):
            await self._open(verb)
            return
        session, chooser = self._session, self._chooser
        if session is None or chooser is None:
            await self._send(Failed(title="The first verb must be Open.", fatal=True))
            return
        match verb:
            case Submit() | Run() | Retry() | Clear() | Restart():
                self._jobs.append(verb)
                self._job_added.set()
            case Decide():
                session.decide(verb)
            case Answer():
                await session.answer(verb.request_id, verb.text)
            case Interrupt():
                self._interrupt(session, verb)
            case UseModel():
                chooser.use(verb)
            case SetApproval():
                self._emit(session.set_approval(verb.mode))
            case FindModels():
                chooser.find()
            case FetchModel():
                await chooser.fetch(verb.model_id)
            case CancelFetch():
                await chooser.cancel_fetch()
            case Inspect():
                self._inspector.watch(verb.on)
            case Peek():
                self._inspector.peek(verb.name)
            case Fork() | Rebuild() | FindSessions() | PreviewSession() | EditSession() | ExportSession():
                await self._send(Failed(title="The engine cannot do this yet."))
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
        choosing = self._chooser.tasks() if self._chooser is not None else []
        inspecting = self._inspector.tasks()
        running = [task for task in (*self._tasks, *choosing, *inspecting) if task is not asyncio.current_task()]
        for task in running:
            task.cancel()
        for result in await asyncio.gather(*running, return_exceptions=True):
            if isinstance(result, Exception):
                _log.error("a task ended with an error", exc_info=result)
        if self._session is not None and self._session.transcript.turn_open:
            self._emit(self._session.end_turn("interrupted", "The program was closed."))
        self._outbox.finish()
        await closing
        await self._models.close()
        if self._store is not None:
            self._store.close()

    # -- opening -----------------------------------------------------------------------------------

    async def _open(self, verb: Open) -> None:
        past = self._past(verb.session_id)
        transcript = Transcript()
        for event in past:
            transcript.apply(event)
        session_id = verb.session_id or new_id()
        loop = self._setup.settings.loop
        self._session = session = Session(
            kernels=self._kernels,
            settings=loop,
            transcript=transcript,
            can_ask=self._setup.can_ask,
            policy=self._policy,
            ready=self._ready,
        )
        self._chooser = Chooser(session, self._models, self._store, self._outbox)
        if self._store is not None:
            if not past:
                self._store.create(session_id, time.time(), self._setup.cwd)
            self._outbox.record(Recorder(self._store, session_id))
        for batch in batches(past, replay=True):
            await self._send(batch)
        name, api_base = self._first_model(transcript)
        opened = SessionOpened(
            session_id=session_id,
            created=time.time(),
            cwd=self._setup.cwd,
            model=name,
            approval=loop.approve,
            resumed=bool(past),
        )
        self._emit(session.opened(opened))
        if any(isinstance(block, CodeBlock) and block.duration is not None for block in transcript.blocks):
            title = "This session was resumed. Its kernels are fresh: variables of earlier runs are gone."
            self._emit(session.notice("info", title))
        self._tasks = [
            self._watched(self._outbox.pump()),
            self._watched(self._outbox.keep()),
            self._watched(self._work()),
        ]
        if name:
            first = UseModel(name=name, api_base=api_base or None, api_key=self._setup.api_key)
            self._chooser.use(first, remember=False)

    def _past(self, session_id: str | None) -> tuple[AnyEvent, ...]:
        """The stored events; a turn that was under way when they end is ended by them."""
        if session_id is None or self._store is None:
            return ()
        past = self._store.load(session_id)
        transcript = Transcript()
        for event in past:
            transcript.apply(event)
        if not transcript.turn_open:
            return past
        ended = TurnEnded(reason="engine_lost", detail="The program ended in the middle of this turn.")
        self._store.append(session_id, [ended])
        return (*past, ended)

    def _watched(self, job: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """A task that must not end by itself; if it does, the front end is told that the engine is of no use."""
        task = asyncio.create_task(job)
        task.add_done_callback(self._broke)
        return task

    def _broke(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() or self._closed:
            return
        _log.error("the engine broke", exc_info=task.exception())
        failed = Failed(title="Something broke inside the engine.", hint="Its log says what.", fatal=True)
        self._last_words = asyncio.create_task(self._say(failed))

    async def _say(self, reply: Reply) -> None:
        """Past the outbox, which may be what broke."""
        await self._send(reply)

    def _first_model(self, transcript: Transcript) -> tuple[str, str]:
        """Name and server: what was asked for, else what the session used, else what was used last."""
        asked = self._setup.settings.model
        if asked.name:
            return asked.name, asked.api_base
        if transcript.model:
            return transcript.model, transcript.api_base
        name = self._remembered()
        return name, self._store.recall("api_base") if name and self._store is not None else ""

    def _remembered(self) -> str:
        name = self._store.recall("model") if self._store is not None else ""
        return name if name and self._models.known(name) else ""

    # -- jobs --------------------------------------------------------------------------------------

    def _interrupt(self, session: Session, verb: Interrupt) -> None:
        """Stop what runs; with `turn`, also what waits for its turn: prompts are given back."""
        if verb.turn:
            waiting = [job for job in self._jobs if isinstance(job, Submit)]
            for job in waiting:
                self._jobs.remove(job)
                self._emit(session.notice("info", "Not sent, because you stopped the turn:", hint=job.text))
            if waiting and not session.transcript.turn_open:
                self._emit(session.end_turn("interrupted", "Interrupted by you."))
        if (event := session.interrupt(turn=verb.turn)) is not None:
            self._emit(event)

    async def _work(self) -> None:
        while True:
            while not self._jobs:
                self._job_added.clear()
                await self._job_added.wait()
            await self._do(self._jobs.popleft())

    async def _do(self, job: Job) -> None:
        session = self._session
        assert session is not None
        try:
            match job:
                case Submit():
                    self._entitle(session, job.text)
                    await self._follow(session.run(job.text, *await self._files(job)))
                case Retry():
                    await self._follow(session.go_on())
                case Run():
                    self._entitle(session, job.source)
                    await self._follow(session.run_code(self._language(job.language), job.source))
                case Restart():
                    restarted = await self._restart(job.language)
                    what = (
                        f"Restarted: {', '.join(restarted)}. Variables are gone."
                        if restarted
                        else "No kernel runs yet."
                    )
                    self._emit(session.notice("info", what))
                case Clear():
                    await self._restart(None)
                    self._emit(session.forget())
        except OiTuiError as error:
            self._emit(session.report(error))
            self._end_broken(session, job)
        except Exception as error:
            # Boundary: a defect of ours ends this job, not the session. The person sees it in plain words.
            _log.exception("a job failed")
            self._emit(session.notice("error", f"Something went wrong inside oi-tui: {error!r}.", hint="See the log."))
            self._end_broken(session, job)

    def _end_broken(self, session: Session, job: Job) -> None:
        """A prompt is always answered with the end of a turn, also where it never began."""
        if session.transcript.turn_open or isinstance(job, Submit | Retry):
            self._emit(session.end_turn("engine_lost", "The turn was broken off by an error."))

    async def _ready(self) -> None:
        assert self._chooser is not None
        await self._chooser.opened()

    async def _files(self, job: Submit) -> tuple[tuple[str, ...], str]:
        """The files of a prompt and what the model is told of them.

        A file that is only named, not given with `@`, is looked into for a model on this machine alone.
        """
        folder = Path(self._setup.cwd)
        files = job.files
        if self._models.embedded:
            files = tuple(dict.fromkeys(files + await asyncio.to_thread(named_files, job.text, folder)))
        return files, await asyncio.to_thread(excerpts, files, folder)

    def _language(self, label: str) -> Language:
        language = self._kernels.canonical(label)
        if language is None:
            raise SettingsError(f"There is no kernel for {label!r}.")
        return language

    async def _restart(self, language: Language | None) -> list[Language]:
        """The languages whose kernels were restarted."""
        restarted = []
        for kernel in self._kernels.started():
            if language is None or kernel.language == language:
                self._emit(KernelChanged(language=kernel.language, state="restarting", generation=kernel.generation))
                await kernel.restart()
                self._emit(KernelChanged(language=kernel.language, state="idle", generation=kernel.generation))
                restarted.append(kernel.language)
        return restarted

    def _entitle(self, session: Session, text: str) -> None:
        if self._store is None:
            return
        first = next((line.strip() for line in text.splitlines() if line.strip()), "")
        try:
            self._store.entitle(session.transcript.session_id, first[:80])
        except OiTuiError as error:
            self._emit(session.report(error, "warning"))

    # -- the way out -------------------------------------------------------------------------------

    async def _follow(self, events: AsyncGenerator[AnyEvent, None]) -> None:
        async with aclosing(events):
            async for event in events:
                self._emit(event)

    def _emit(self, event: AnyEvent) -> None:
        self._outbox.put(event)
        if isinstance(event, KernelChanged):
            self._inspector.follow(event)

    def _unrecorded(self, error: StoreError) -> None:
        """The store failed: the session goes on without being written, and says so."""
        if self._session is not None:
            self._emit(self._session.report(error))
