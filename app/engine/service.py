"""One session served to one front end: verbs in, replies out, everything written down on the way.

Jobs (prompts, the person's own code, restarts) are done one after the other; decisions, answers and
interrupts reach into the job that runs. Events go to the store and, a frame's worth at a time, to the
front end.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Protocol, assert_never

from oi_tui.app.engine.blocks import CodeBlock
from oi_tui.app.engine.chat import Model
from oi_tui.app.engine.errors import OiTuiError, SettingsError
from oi_tui.app.engine.events import (
    AnyEvent,
    KernelChanged,
    SessionOpened,
)
from oi_tui.app.engine.excerpts import excerpts, named_files
from oi_tui.app.engine.ids import new_id
from oi_tui.app.engine.loop.session import KernelSource, Session
from oi_tui.app.engine.outbox import Outbox, Send
from oi_tui.app.engine.protocol import (
    Batch,
    Configure,
    Failed,
    FetchEnded,
    FetchProgressed,
    ModelsFound,
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
    FetchModel,
    FindModels,
    Interrupt,
    Open,
    Restart,
    Retry,
    Run,
    SetApproval,
    Submit,
    UseModel,
)

PROGRESS_INTERVAL = 0.1
"""Seconds between two words on how far a download is."""

_log = logging.getLogger(__name__)

Job = Submit | Run | Retry | Clear | Restart


class ModelSource(Protocol):
    """Where models come from: names to models, what there is to choose from, downloads."""

    @property
    def embedded(self) -> bool:
        """Whether the model last opened runs on this machine, as a part of oi-tui."""
        ...

    async def open(self, name: str, api_base: str | None = None, api_key: str | None = None) -> Model:
        """The model of this name, ready to be asked; ModelError or LocalModelError if there is none."""
        ...

    def known(self, name: str) -> bool:
        """Whether a name remembered from another day can still be opened (its weights are here)."""
        ...

    async def found(self) -> ModelsFound:
        """What there is to choose from."""
        ...

    async def fetch(self, model_id: str, progress: Callable[[FetchProgressed], None]) -> str:
        """Download an embedded model; returns its name. LocalModelError if that fails; cancellable."""
        ...

    async def close(self) -> None:
        """End what was started."""
        ...


class ClosableKernels(KernelSource, Protocol):
    """Kernels whose life ends with the session's."""

    async def close(self) -> None:
        """End all of them."""
        ...


class Engine:
    """Follows verbs. `send` is awaited for every reply, so a slow front end slows nothing but itself."""

    def __init__(
        self, setup: Configure, *, models: ModelSource, kernels: ClosableKernels, store: Store | None, send: Send
    ) -> None:
        self._setup = setup
        self._models = models
        self._kernels = kernels
        self._store = store
        self._send = send
        self._session: Session | None = None
        self._outbox = Outbox(send, self._unrecorded)
        self._jobs: deque[Job] = deque()
        self._job_added = asyncio.Event()
        self._opening: asyncio.Task[str] | None = None
        self._fetching: asyncio.Task[None] | None = None
        self._finding: asyncio.Task[None] | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._closed = False

    # -- verbs -------------------------------------------------------------------------------------

    async def handle(self, verb: AnyVerb) -> None:
        """Follow one verb; returns soon, what takes long goes on in a task."""
        if isinstance(verb, Open):
            await self._open(verb)
            return
        session = self._session
        if session is None:
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
                await self._interrupt(session, verb)
            case UseModel():
                self._use(verb)
            case SetApproval():
                self._emit(session.set_approval(verb.mode))
            case FindModels():
                self._finding = asyncio.create_task(self._find())
            case FetchModel():
                await self._cancel_fetch()
                self._fetching = asyncio.create_task(self._fetch(verb.model_id))
            case CancelFetch():
                await self._cancel_fetch()
            case Close():
                await self.close()
            case _:
                assert_never(verb)

    async def close(self) -> None:
        """Break off what runs, write everything down, end kernels and model server. Idempotent."""
        if self._closed:
            return
        self._closed = True
        tasks = [*self._tasks, self._opening, self._fetching, self._finding]
        running = [task for task in tasks if task is not None and task is not asyncio.current_task()]
        for task in running:
            task.cancel()
        for result in await asyncio.gather(*running, return_exceptions=True):
            if isinstance(result, Exception):
                _log.error("a task ended with an error", exc_info=result)
        if self._session is not None and self._session.transcript.turn_open:
            self._emit(self._session.end_turn("interrupted", "The program was closed."))
        self._outbox.finish()
        await self._kernels.close()
        await self._models.close()
        if self._store is not None:
            self._store.close()

    # -- opening -----------------------------------------------------------------------------------

    async def _open(self, verb: Open) -> None:
        transcript = Transcript()
        past: tuple[AnyEvent, ...] = ()
        session_id = verb.session_id
        if session_id is not None and self._store is not None:
            past = self._store.load(session_id)
            for event in past:
                transcript.apply(event)
        session_id = session_id or new_id()
        name = self._setup.settings.model.name or transcript.model or self._remembered()
        loop = self._setup.settings.loop
        session = Session(kernels=self._kernels, settings=loop, transcript=transcript, can_ask=self._setup.can_ask)
        self._session = session
        if self._store is not None:
            if not past:
                self._store.create(session_id, time.time(), self._setup.cwd)
            self._outbox.record(Recorder(self._store, session_id))
        if past:
            await self._send(Batch(events=past, replay=True))
        self._emit(
            session.opened(
                SessionOpened(
                    session_id=session_id,
                    created=time.time(),
                    cwd=self._setup.cwd,
                    model=name,
                    approval=loop.approve,
                    resumed=bool(past),
                )
            )
        )
        if past:
            self._greet_resumed(session)
        self._tasks = [asyncio.create_task(self._outbox.pump()), asyncio.create_task(self._work())]
        if name:
            self._use(UseModel(name=name, api_base=self._api_base(name), api_key=self._setup.api_key))

    def _greet_resumed(self, session: Session) -> None:
        if session.transcript.turn_open:
            self._emit(session.end_turn("engine_lost", "The program ended in the middle of this turn."))
        ran = any(isinstance(block, CodeBlock) and block.duration is not None for block in session.transcript.blocks)
        if ran:
            title = "This session was resumed. Its kernels are fresh: variables of earlier runs are gone."
            self._emit(session.notice("info", title))

    def _remembered(self) -> str:
        name = self._store.recall("model") if self._store is not None else ""
        return name if name and self._models.known(name) else ""

    def _api_base(self, name: str) -> str | None:
        """The server that was named, or the one that this model was last used with."""
        given = self._setup.settings.model.api_base
        if given or self._store is None or self._store.recall("model") != name:
            return given or None
        return self._store.recall("api_base") or None

    # -- models ------------------------------------------------------------------------------------

    def _use(self, verb: UseModel) -> None:
        previous = self._opening
        self._opening = asyncio.create_task(self._open_model(verb, previous))

    async def _open_model(self, verb: UseModel, previous: asyncio.Task[str] | None) -> str:
        """Why it could not be opened, "" if it is in use now."""
        if previous is not None:
            await asyncio.wait([previous])
        session = self._session
        assert session is not None
        try:
            model = await self._models.open(verb.name, verb.api_base, verb.api_key)
        except OiTuiError as error:
            self._emit(session.report(error))
            return error.title
        self._emit(session.use_model(model))
        if self._store is not None:
            self._store.remember("model", verb.name)
            self._store.remember("api_base", verb.api_base or "")
        return ""

    async def _find(self) -> None:
        self._outbox.put(await self._models.found())

    async def _fetch(self, model_id: str) -> None:
        """Download, then use."""
        told = 0.0

        def progress(value: FetchProgressed) -> None:
            nonlocal told
            now = time.monotonic()
            if now - told >= PROGRESS_INTERVAL:
                told = now
                self._outbox.put(value)

        try:
            name = await self._models.fetch(model_id, progress)
        except asyncio.CancelledError:
            self._outbox.put(FetchEnded(model_id=model_id, ready=False))
            raise
        except OiTuiError as error:
            self._outbox.put(FetchEnded(model_id=model_id, ready=False, error=error.title, hint=error.hint))
            return
        self._outbox.put(FetchProgressed(model_id=model_id, done_bytes=1, total_bytes=1, stage="starting"))
        self._use(UseModel(name=name))
        assert self._opening is not None
        error_title = await self._opening
        self._outbox.put(FetchEnded(model_id=model_id, ready=not error_title, error=error_title))

    async def _cancel_fetch(self) -> None:
        if self._fetching is not None and not self._fetching.done():
            self._fetching.cancel()
            await asyncio.wait([self._fetching])

    # -- jobs --------------------------------------------------------------------------------------

    async def _interrupt(self, session: Session, verb: Interrupt) -> None:
        if verb.turn:
            unsent = [job.text for job in self._jobs if isinstance(job, Submit)]
            self._jobs.clear()
            for text in unsent:
                self._emit(session.notice("info", "Not sent, because you stopped the turn:", hint=text))
        await session.interrupt(turn=verb.turn)

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
                    await self._ready()
                    self._entitle(session, job.text)
                    await self._follow(session.run(job.text, *await self._files(job)))
                case Retry():
                    await self._ready()
                    await self._follow(session.go_on())
                case Run():
                    await self._follow(session.run_code(self._language(job.language), job.source))
                case Restart():
                    await self._restart(job.language)
                case Clear():
                    await self._restart(None)
                    self._emit(session.forget())
        except OiTuiError as error:
            self._emit(session.report(error))
            self._end_open_turn(session)
        except Exception as error:
            # Boundary: a defect of ours ends this job, not the session. The person sees it in plain words.
            _log.exception("a job failed")
            self._emit(session.notice("error", f"Something went wrong inside oi-tui: {error!r}.", hint="See the log."))
            self._end_open_turn(session)

    def _end_open_turn(self, session: Session) -> None:
        if session.transcript.turn_open:
            self._emit(session.end_turn("kernel_error", "The turn was broken off."))

    async def _ready(self) -> None:
        if self._opening is not None:
            await asyncio.wait([self._opening])

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

    async def _restart(self, language: Language | None) -> None:
        for kernel in self._kernels.started():
            if language is None or kernel.language == language:
                self._emit(KernelChanged(language=kernel.language, state="restarting", generation=kernel.generation))
                await kernel.restart()
                self._emit(KernelChanged(language=kernel.language, state="idle", generation=kernel.generation))

    def _entitle(self, session: Session, text: str) -> None:
        if self._store is not None:
            first = next((line.strip() for line in text.splitlines() if line.strip()), "")
            self._store.entitle(session.transcript.session_id, first[:80])

    # -- the way out -------------------------------------------------------------------------------

    async def _follow(self, events: AsyncGenerator[AnyEvent, None]) -> None:
        async with aclosing(events):
            async for event in events:
                self._emit(event)

    def _emit(self, event: AnyEvent) -> None:
        self._outbox.put(event)

    def _unrecorded(self, error: OiTuiError) -> None:
        """The store failed: the session goes on without being written, and says so."""
        if self._session is not None:
            self._emit(self._session.report(error))
