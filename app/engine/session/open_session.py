"""A session while it is open: what it was asked to do, done one thing after the other.

Jobs (prompts, the person's own code, restarts) wait for each other; decisions, answers and interrupts reach into the
job that runs. Events go to the store and, a frame's worth at a time, to the front end.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any, assert_never

from oi_tui.app.engine.agent.emitter import Observer
from oi_tui.app.engine.agent.halt import INTERRUPTED
from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.chat_model import Model
from oi_tui.app.engine.core.errors import OiTuiError, StoreError
from oi_tui.app.engine.core.events import AnyEvent, SessionOpened, TurnEnded, TurnStarted
from oi_tui.app.engine.core.extractions import ExtractionVerb
from oi_tui.app.engine.core.kernel_looks import LookVerb
from oi_tui.app.engine.core.protocol import SandboxFailed, WorkState, failure_reply
from oi_tui.app.engine.core.tool_verbs import CallTool, SkillJob, ToolDeskVerb
from oi_tui.app.engine.core.verbs import (
    AddRule,
    Answer,
    CancelFetch,
    Clear,
    Compact,
    ContextVerb,
    Decide,
    FetchModel,
    FindInstructions,
    FindModels,
    ForgetKey,
    InstallKernel,
    Interrupt,
    Job,
    KernelVerb,
    Pause,
    Rebuild,
    Restart,
    Retry,
    Revise,
    Run,
    SetApproval,
    SetBudget,
    SetComplete,
    Settle,
    Submit,
    TellUsage,
    UseInstructions,
    UseKernel,
    UseModel,
    Withdraw,
    WorkVerb,
)
from oi_tui.app.engine.core.widget_controls import OperateWidget
from oi_tui.app.engine.sandbox.availability import Availability
from oi_tui.app.engine.session.accounting import Accounting
from oi_tui.app.engine.session.attachments import read_prompt
from oi_tui.app.engine.session.catching_up import late_batches, work_state
from oi_tui.app.engine.session.extraction_desk import ExtractionDesk
from oi_tui.app.engine.session.job_queue import AnyJob, JobQueue
from oi_tui.app.engine.session.kernel_switch import KernelSwitch
from oi_tui.app.engine.session.model_switch import ModelNames, ModelSwitch
from oi_tui.app.engine.session.outbox import TELLING, Outbox, address_replies
from oi_tui.app.engine.session.proposed_job import ProposedJob
from oi_tui.app.engine.session.run_tracer import RunTracer
from oi_tui.app.engine.session.sandbox_notices import sandbox_notices
from oi_tui.app.engine.session.services import KernelTies, Services
from oi_tui.app.engine.session.titles import Titles, entitle
from oi_tui.app.engine.session.tool_desk import ToolDesk
from oi_tui.app.engine.session.variable_inspector import VariableInspector
from oi_tui.app.engine.transcript.stale_runs import has_run_code
from oi_tui.app.engine.transcript.transcript import Transcript

_log = logging.getLogger(__name__)


class OpenSession:
    """One session, from opening it to leaving it."""

    def __init__(
        self,
        services: Services,
        session_id: str,
        past: Transcript | None,
        *,
        broke: Callable[["OpenSession", BaseException | None], None],
        models_elsewhere: ModelNames = tuple,
        forked_from: "OpenSession | None" = None,
    ) -> None:
        """`past` is the fold of the stored events, None in a new session; it continues from here. `broke` is called
        when a task that must not end ends. A fork takes over the kernels of the session left for it."""
        self.id = session_id
        self.send = address_replies(services.send, session_id)
        """Past everything that waits."""
        self._services, self._store = services, services.store
        self._resumed, self._broke = past is not None, broke
        if forked_from is None:
            self.ties = KernelTies(session_id=session_id)
            self.kernels = services.make_kernels(self.ties)
            self._log = services.log.session()
        else:
            self.ties, self.kernels = forked_from.ties, forked_from.kernels
            self.ties.session_id = session_id
            self.kernels.hand_over(forked_from.id, session_id)
            self._log = services.log.session(forked_from._log)
        self._outbox, tell = (outbox := Outbox(self.send)), outbox.put
        self.tools = ToolDesk(services, lambda: self.session, lambda: self.id, self.kernels, tell)
        self.session: Session = Session(
            kernels=self.kernels,
            settings=services.setup.settings.loop,
            transcript=past if past is not None else Transcript(),
            can_ask=services.setup.can_ask,
            policy=services.policy,
            redactor=services.redactor,
            ready=self._ready,
            seal=self._log.seal,
            hooks=services.hooks,
            tools=self.tools.toolbox,
            look=services.look,
            find_written=services.find_written,
            keeper=self.tools.keeper,
            steers=self._take_steers,
            time_limit=services.setup.settings.kernel.time_limit or 0.0,
            instructions=services.instructions,
            forked_from=None if forked_from is None else forked_from.session,
        )
        self.accounting = Accounting(self.session, services.setup, services.ledger, session_id)
        self.chooser = ModelSwitch(
            self.session,
            services.models,
            tell,
            lambda model: self.accounting.meter(services.filter_model(self._log.listen(model), self.ties)),
            models_elsewhere,
            services.servers,
        )
        self.ties.on_refusal = self._log.note_refusal
        self.ties.has_embedded_model = lambda: self.chooser.is_embedded
        self.kernel_switch = KernelSwitch(self.session, self.kernels, tell)
        self.inspector = VariableInspector(self.kernels, tell)
        self.extractions = ExtractionDesk(self.session, services, self.chooser, tell)
        left = None if forked_from is None else forked_from.tracer
        self.tracer: RunTracer = RunTracer(self.session.transcript, self.session.emit, self.inspector.compare, left)
        self._titles: Titles | None = None
        if self._store is not None and services.setup.settings.model.titles:
            self._titles = Titles(self.session, self._store, services.redactor, self._rests, tell)
        self.session.emitter.observers = tuple(self._observers())
        self._jobs, self._tasks, self._used = JobQueue(tell), list[asyncio.Task[None]](), False  # used at all

    def _observers(self) -> Iterator[Observer]:
        """Who receives an event, in this order: it must be recorded before anybody can see it."""
        yield self._log.append
        yield self._outbox.put
        yield self.inspector.follow
        if self._services.setup.can_ask:  # somebody sees it
            yield self.tracer.follow
        yield self.accounting.follow
        if self._titles is not None:
            yield self._titles.follow
        if self.session.plugins.follows:
            yield self.session.plugins.follow

    # -- from the beginning to the end -----------------------------------------------------------------

    def begin(self, model: Model | UseModel | None, notes: tuple[str, ...] = (), past: Sequence[AnyEvent] = ()) -> None:
        """Announce that it is open, and accept jobs. `notes` follow the past events (`past`), for the user."""
        self._log.begin(self.id, past, note=self.session.notice, gave_up=self.session.report)
        opened = SessionOpened(
            session_id=self.id,
            created=time.time(),
            cwd=self._services.setup.cwd,
            model=model.name if model is not None else "",
            approval=self.session.decisions.mode,
            resumed=self._resumed,
        )
        self.session.emit(opened)
        for note in filter(None, (*notes, self.kernels.remark)):
            self.session.notice("info", note)
        self.session.plugins.tell_troubles()
        if obstacle := self._log.obstacle():
            title = f"No code can run here: what runs is written down before, and {obstacle}."
            self.session.notice("warning", title, "The conversation continues without it.")
        self.kernel_switch.tell_states()
        self.tools.begin()
        self._tasks = [self._watch_task(job) for job in (self._outbox.pump(), self._log.keep(), self._work())]
        if isinstance(model, UseModel):
            self.chooser.use(model, remember=False)
        elif model is not None:
            self.session.choices.use_model(self.chooser.with_fallback(self.accounting.meter(model)))

    async def end(self, why: str) -> None:
        """Interrupt what runs and write everything down; failures on the way are logged."""
        self.tools.end()
        self._jobs.close()
        titles = self._titles.close() if self._titles is not None else ()
        desks = (self.chooser, self.kernel_switch, self.inspector, self.extractions)
        tasks = (*self._tasks, *(task for desk in desks for task in desk.tasks()), *titles)
        self._tasks, current = [], asyncio.current_task()
        for task in (running := [task for task in tasks if task is not current]):
            task.cancel()
        for result in await asyncio.gather(*running, return_exceptions=True):
            if isinstance(result, Exception):
                _log.error("a task ended with an error", exc_info=result)
        if self.session.transcript.turn_open:
            self.session.emit(TurnEnded(reason="interrupted", detail=why))
        error = await self._log.end()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(TELLING):
                await self._outbox.flush()  # what was found while it ended, for instance by the last look at the folder
                if error is not None:
                    await self.send(failure_reply(error))
        if not self._resumed and not self._used:
            self._services.drop_empty(self.id)

    def _watch_task(self, job: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """A task that must not end by itself; if it does, the front end learns that the engine is unusable."""
        task = asyncio.create_task(job)
        task.add_done_callback(self._on_task_end)
        return task

    def _on_task_end(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            self._broke(self, task.exception())

    # -- verbs -----------------------------------------------------------------------------------------

    async def follow(self, verb: WorkVerb) -> None:
        """Do what the person wants of this session; OiTuiError if that cannot be."""
        session = self.session
        if isinstance(verb, Job) and not (isinstance(verb, Retry) and verb.now):
            self.add(verb)
            return
        match verb:
            case Retry():
                self.chooser.retry_now()
            case Decide() | Revise():
                session.decide(verb)
            case Answer():
                await session.answer(verb.request_id, None if verb.declined else verb.text)
            case Interrupt():
                self.interrupt(verb)
            case UseModel():
                self.chooser.use(self._services.servers.place(verb, session.transcript))
            case SetApproval() | AddRule() | SetComplete():
                session.choices.follow(verb)
            case Pause():
                session.steering.pause()
            case SetBudget():
                session.choices.set_budget(verb)
                session.notice("info", session.budget.describe(session.transcript.usage))
            case UseInstructions():
                session.instructions.use(verb.text)
            case FindInstructions():
                self._outbox.put(session.instructions.describe())
            case TellUsage():
                self.accounting.tell_usage()
            case FindModels():
                self.chooser.find()
            case ForgetKey():
                self.chooser.forget_key(verb.whose)
            case FetchModel():
                await self.chooser.fetch(verb.model_id)
            case CancelFetch():
                await self.chooser.cancel_fetch()
            case LookVerb():
                self.inspector.follow_verb(verb)
            case Withdraw():
                self._jobs.withdraw(verb.text)
            case ContextVerb():
                session.dialogue.window.follow(verb, self._outbox.put)
            case ToolDeskVerb():
                await self.tools.follow(verb)
            case KernelVerb():
                self.kernel_switch.begin_task(verb)
            case ExtractionVerb():
                self.extractions.follow(verb)
            case _:
                assert_never(verb)

    def resend_state(self) -> None:
        """Tell a front end that has just come all there is."""
        self._outbox.drop_index(late_batches(self._store, self.id, self._log.unwritten(), self.session.transcript))
        self.kernel_switch.tell_states()
        self._jobs.resend_state()
        self.extractions.resend_state()

    @property
    def state(self) -> WorkState:
        """The present state of the session."""
        return work_state(self.session.transcript, self.kernels, busy=self._jobs.is_busy or self.extractions.is_working)

    # -- jobs ------------------------------------------------------------------------------------------

    def add(self, job: AnyJob) -> None:
        """Do this when everything before it is done."""
        self._used |= not isinstance(job, Settle)
        if isinstance(job, Submit | Retry | Compact):
            self._services.expect_request()
        self._jobs.add(job)

    def interrupt(self, verb: Interrupt) -> None:
        """Stop what runs; with `turn`, also what waits for its turn: prompts are given back."""
        if verb.turn:
            for job in (waiting := self._jobs.take_prompts()):
                self.session.notice("info", "Not sent, because you stopped the turn:", job.text)
            if waiting and not self.session.transcript.turn_open:
                self.session.emit(TurnEnded(reason="interrupted", detail=INTERRUPTED))
        self.session.interrupt(turn=verb.turn)

    async def _work(self) -> None:
        await self.kernel_switch.begin(returns=self._resumed)  # kernels left alive come first
        while True:
            await self._do(await self._jobs.next_job())
            self._jobs.hold(self.session.transcript.ended == "paused")

    def _rests(self) -> bool:
        """Whether the model has nothing to do, and no person waits for this machine."""
        return not self._jobs and not self.chooser.is_embedded

    async def _do(self, job: AnyJob) -> None:
        session = self.session
        try:
            match job:
                case Submit():
                    entitle(self.session, self._store, job.text)
                    session.dialogue.required.demand(job.schema)
                    prompt = await self._read(job)
                    await session.run(prompt.text, prompt.files, prompt.context, prompt.command, prompt.origins)
                case Retry():
                    await session.go_on()
                case ProposedJob():
                    await job.perform(session)
                case Run():
                    entitle(self.session, self._store, job.source)
                    await session.run_code(self.kernel_switch.language(job.language), job.source)
                case CallTool():
                    await session.call_tool(job.tool, job.source)
                case OperateWidget():
                    await session.run_code(*self.inspector.widgets.operation(job))
                case SkillJob():
                    await self.tools.skills.work(job)
                case Compact():
                    await session.dialogue.compact(job.focus)
                case Restart() | UseKernel() | InstallKernel():
                    await self.kernel_switch.follow(job)
                case Rebuild():
                    if not job.here:
                        await self.kernel_switch.restart(None)
                    await session.rebuild(job.block_ids, here=job.here)
                case Clear():
                    await self.kernel_switch.restart(None)
                    session.forget()
        except OiTuiError as error:
            session.report(error)
            self._end_broken(job)
        except Exception as error:
            # Boundary: a defect of ours ends this job, not the session. The person sees it in plain words.
            _log.exception("a job failed")
            session.notice("error", f"oi-tui failed: {error!r}.", "See the log.")
            self._end_broken(job)

    def _end_broken(self, job: AnyJob) -> None:
        """A prompt is always answered with the end of a turn, also where it never began."""
        if self.session.transcript.turn_open or isinstance(job, Submit | Retry):
            self.session.emit(TurnEnded(reason="engine_lost", detail="The turn ended with an error."))

    async def _ready(self) -> None:
        self.chooser.switch_to(self.accounting.cheaper_model())
        await asyncio.gather(self.chooser.wait_until_open(), self.tools.settle())
        if (missing := await self.kernels.settle()) is not None:
            self.session.report(missing, "warning")

    async def _read(self, job: Submit) -> TurnStarted:
        """The prompt with its files and what the model reads of them."""
        fresh = has_run_code(self.session.transcript.blocks) and not self.kernels.started_kernels()
        named, sees, folder = self.chooser.is_embedded, self.chooser.sees, Path(self._services.setup.cwd)
        asked = await read_prompt(job, folder, self.kernels, named=named, sees=sees, fresh=fresh)
        return await self.chooser.tell_pictures(await self.tools.add_resources(asked))

    async def _take_steers(self) -> list[TurnStarted]:
        try:
            return [await self._read(job) for job in self._jobs.take_steers()]
        except OiTuiError as error:
            self.session.report(error)
            return []

    def tell_sandbox(self, found: Availability) -> None:
        """Report the result of the sandbox's trial, if the person must know it before something runs."""
        for notice in sandbox_notices(found) if self._tasks else ():  # or it is left already
            self.session.emit(notice)
        if self._tasks and not found.works:
            self._outbox.put(SandboxFailed())

    def write_down(self) -> StoreError | None:
        """Have on disk what has happened so far: somebody is going to read it there. What went wrong, if anything."""
        return self._log.write()
