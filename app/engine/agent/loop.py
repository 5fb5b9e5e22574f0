"""The loop: ask the model, have its code decided, run it, tell the model, until there is nothing more to do.

`Session.run` is an async generator of events; every event has been folded into `Session.transcript` when
it is yielded. The other methods are called while the generator runs, from the same event loop.
Nothing here knows of LiteLLM, Jupyter, files or sockets.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from functools import partial

from oi_tui.app.engine.agent import completion
from oi_tui.app.engine.agent.answer_stream import AnswerStream
from oi_tui.app.engine.agent.budget import Budget
from oi_tui.app.engine.agent.decisions import Decisions, decision_event
from oi_tui.app.engine.agent.execution import Admit, Execution, allow_any_run
from oi_tui.app.engine.agent.guard import RepeatGuard
from oi_tui.app.engine.agent.halt import Halt
from oi_tui.app.engine.agent.prompt import Conversation, system_prompt
from oi_tui.app.engine.agent.rerun import rerun_blocks
from oi_tui.app.engine.agent.run_hints import run_hints
from oi_tui.app.engine.agent.withheld_notices import withheld_events
from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.chat_model import ChatRequest, Model
from oi_tui.app.engine.core.errors import KernelError, ModelError, OiTuiError
from oi_tui.app.engine.core.events import (
    AnyEvent,
    CodeFinished,
    CodeStarted,
    ConversationCleared,
    KernelChanged,
    NoticeAdded,
    SettingsChanged,
    StepStarted,
    StopReason,
    TurnEnded,
    TurnStarted,
)
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.settings import LoopSection
from oi_tui.app.engine.core.values import ApprovalMode, Language, Level
from oi_tui.app.engine.core.verbs import Decide, SetBudget
from oi_tui.app.engine.kernels.base import KernelSource
from oi_tui.app.engine.policy.decide import Policy
from oi_tui.app.engine.secrets.redaction import Redactor
from oi_tui.app.engine.transcript.transcript import Transcript

SessionEvents = AsyncGenerator[AnyEvent, None]


class Session:
    """One conversation. One turn at a time; `decide`, `answer` and `interrupt` reach into the one that runs."""

    def __init__(
        self,
        *,
        kernels: KernelSource,
        settings: LoopSection,
        model: Model | None = None,
        transcript: Transcript | None = None,
        can_ask: bool = True,
        policy: Policy | None = None,
        redactor: Redactor | None = None,
        ready: Callable[[], Awaitable[object]] | None = None,
        clock: Callable[[], float] = time.monotonic,
        aside: Callable[[AnyEvent], None] = lambda _event: None,
        admit: Admit = allow_any_run,
        forked_from: "Session | None" = None,
    ) -> None:
        """`ready` is awaited before each question to the model: the model may still be opening. `aside` is told what
        no generator yields, folded like all else: output after the end of a run. `forked_from` was in these kernels
        before: what is known of them, its strictness, budget and late output go on here; its grants do not."""
        self.kernels = kernels
        self.settings = settings
        self.model = model
        self.transcript = transcript if transcript is not None else Transcript()
        self._inherited = 0 if kernels.started_kernels() else len(self.transcript.blocks)
        """Blocks whose code, if it ran, ran in kernels that are gone."""
        self._model_name = model.name if model is not None else ""
        self._api_base = ""
        self._can_ask, self._ready = can_ask, ready
        self._aside = aside
        self._successor: Session | None = None
        if forked_from is None:
            past = self.transcript.blocks
            self.decisions = Decisions(settings.approve, kernels, can_ask=can_ask, policy=policy, past=past)
            self.budget = Budget(settings.max_cost, settings.max_tokens)
        else:
            self.decisions, self.budget = forked_from.decisions.fork(), forked_from.budget
            self.budget.carry(forked_from.transcript.usage, self.transcript.usage)
            forked_from._successor = self
        self._clock, self._admit = clock, admit
        self._guard = RepeatGuard(settings.max_repeats)
        self._conversation = Conversation(redactor or Redactor(), settings.output_to_model, insist=settings.complete)
        self._halt = Halt()
        self._execution: Execution | None = None
        self._end: TurnEnded | None = None

    # -- verbs -------------------------------------------------------------------------------------

    async def run(self, text: str, files: tuple[str, ...] = (), context: str = "") -> SessionEvents:
        """One turn, from the prompt to rest."""
        self._begin()
        self.decisions.note_files(files)
        yield self._apply(TurnStarted(block_id=new_id(), text=text, files=files, context=context))
        async with aclosing(self._turn()) as events:
            async for event in events:
                yield event

    async def go_on(self) -> SessionEvents:
        """One turn without a new prompt: after an error, a cap or an interrupt."""
        self._begin()
        async with aclosing(self._turn()) as events:
            async for event in events:
                yield event

    async def _turn(self) -> SessionEvents:
        for number in range(1, self.settings.max_steps + 1):
            if (over := self.budget.check_limits(self.transcript.usage)) is not None:
                yield self.notice(*over)
                yield self._apply(TurnEnded(reason="budget", detail=over.title))
                return
            async with aclosing(self._step(number)) as events:
                async for event in events:
                    yield event
            for remark in self.budget.notices(self.transcript.usage):
                yield self.notice(*remark)
            if self._end is not None:
                yield self._apply(self._end)
                return
        cap = self.settings.max_steps
        title = f"Stopped after {cap} answers of the model in one turn."
        yield self.notice("warning", title, hint="Type /retry to let it go on, or start with a higher --max-steps.")
        yield self._apply(TurnEnded(reason="step_cap", detail=title))

    async def run_code(self, language: Language, source: str) -> SessionEvents:
        """The person's own code: no question, no turn; the model sees it with the next prompt."""
        block_id = new_id()
        yield self._apply(CodeStarted(block_id=block_id, language=language, author="user"))
        yield self._apply(CodeFinished(block_id=block_id, language=language, source=source))
        async with aclosing(self._execute(block_id)) as events:
            async for event in events:
                yield event

    def decide(self, verb: Decide) -> bool:
        """Answer a `DecisionRequested`; False if that id is not waiting (any more)."""
        return self.decisions.answer(verb)

    async def answer(self, request_id: str, text: str) -> bool:
        """Answer an `InputRequested`; False if that id is not waiting (any more)."""
        execution = self._execution
        return execution is not None and await execution.answer(request_id, text)

    def interrupt(self, *, turn: bool = False) -> AnyEvent | None:
        """Stop the run that is under way, else the answer that streams; with `turn`, whatever the turn does.

        Returns at once; how it ended is told by the events of the turn. A kernel that ignores the interrupt
        goes on, unless the turn is stopped: then it is restarted.
        """
        execution = self._execution
        if turn or (execution is None and self._halt.waits):
            self._halt.ask()
        if execution is not None:
            execution.interrupt(force=turn)
            kernel = execution.kernel
            return self._apply(
                KernelChanged(language=kernel.language, state="interrupting", generation=kernel.generation)
            )
        if self._halt.is_asked() and self._halt.waits:
            self._halt.break_off()
        elif turn:
            self.decisions.withdraw()
        return None

    def take(self, event: AnyEvent) -> AnyEvent:
        """Fold what happened outside: the session was opened, or a turn ended whose generator is gone."""
        return self._apply(event)

    def set_approval(self, mode: ApprovalMode) -> AnyEvent:
        """Another approval mode from the next decision on."""
        self.decisions.mode = mode
        return self._settings_event()

    def set_budget(self, verb: SetBudget) -> tuple[AnyEvent, ...]:
        """Other limits from the next request on; what they are is said."""
        self.budget.change(verb.max_cost, verb.max_tokens)
        told = self.budget.describe(self.transcript.usage)
        return self._settings_event(), self.notice("info", told)

    def expect_model(self, name: str, api_base: str) -> AnyEvent:
        """Another model, on this server if one was named, is being opened: `ready` waits for it."""
        self._model_name, self._api_base = name, api_base
        return self._settings_event()

    def use_model(self, model: Model) -> AnyEvent:
        """Another model from the next step on."""
        self.model, self._model_name = model, model.name
        return self._settings_event()

    def _settings_event(self) -> AnyEvent:
        return self._apply(
            SettingsChanged(
                model=self._model_name,
                approval=self.decisions.mode,
                context_window=self.model.context_window if self.model is not None else None,
                api_base=self._api_base,
                max_cost=self.budget.cost,
                max_tokens=self.budget.tokens,
            )
        )

    def forget(self) -> AnyEvent:
        """Forget the conversation and the grants (the kernels are the caller's to restart)."""
        self.decisions.forget()
        return self._apply(ConversationCleared())

    def report(self, error: OiTuiError, level: Level = "error") -> AnyEvent:
        """An error as a notice of the transcript."""
        return self.notice(level, error.title, hint=error.hint, details=error.details)

    # -- one step ----------------------------------------------------------------------------------

    async def _step(self, number: int) -> SessionEvents:
        if self._ready is not None:
            await self._halt.result(self._ready)
        if self._halt.is_asked():
            self._stop("interrupted", "Interrupted by you.")
            return
        yield self._apply(StepStarted(number=number))
        try:
            async with aclosing(self._ask()) as events:
                async for event in events:
                    yield event
        except ModelError as error:
            if self._halt.is_asked():  # breaking a request off may look like its failure
                self._stop("interrupted", "Interrupted by you.")
                return
            yield self.notice("error", error.title, hint=error.hint, details=error.details)
            self._stop("model_error", error.title)
            return
        if self._halt.is_asked():
            self._stop("interrupted", "Interrupted by you.")
            return
        blocks, step = self.transcript.blocks, self.transcript.step
        codes = (block for block in blocks if isinstance(block, CodeBlock) and block.step == step)
        proposed = [code.id for code in codes if code.state == "proposed"]
        if not proposed:
            self._end = self._end or completion.end_of(blocks, step, insist=self.settings.complete)
            return
        async with aclosing(self._settle_all(proposed)) as events:
            async for event in events:
                yield event
        if self._halt.is_asked():
            self._end = TurnEnded(reason="interrupted", detail="Interrupted by you.")

    async def _ask(self) -> SessionEvents:
        """Stream one answer into blocks. On an error what has arrived is kept, marked as cut."""
        if (model := self.model) is None:
            raise ModelError("unknown_model", "No model is chosen.", hint="Type /model NAME, or start with -m NAME.")
        blocks, languages, images = tuple(self.transcript.blocks), self.kernels.languages, model.takes_images
        system = system_prompt(languages, self.transcript.cwd or "the current folder", self.kernels.surroundings)
        # A thread: of a session that was resumed, all is looked through for secrets, which can take seconds.
        look = partial(self._conversation.messages, blocks, system=system, images=images)
        if (messages := await self._halt.result(partial(asyncio.to_thread, look))) is None:
            return
        for told in withheld_events(self._conversation, self.transcript):
            yield self._apply(told)
        request = ChatRequest(messages=messages, languages=languages)
        answer = AnswerStream(self.kernels.canonical)
        failure: ModelError | None = None
        try:
            async with aclosing(self._halt.until(model.stream(request))) as deltas:
                async for delta in deltas:
                    for event in answer.events(delta):
                        yield self._apply(event)
        except ModelError as error:
            failure = error
        for event in answer.close(complete=failure is None and not self._halt.is_asked()):
            yield self._apply(event)
        if failure is not None:
            raise failure
        if (remark := answer.remark) and not (answer.empty and self._halt.is_asked()):
            yield self.notice("warning", *remark)

    # -- deciding and running ------------------------------------------------------------------------

    async def _settle_all(self, proposed: list[str]) -> SessionEvents:
        """Decide and run the code of one answer, in order; after a refusal or a failure the rest is not run."""
        obstacle = ""
        for block_id in proposed:
            block = self._code(block_id)
            if obstacle or self._end is not None or self._halt.is_asked():
                yield self._apply(decision_event(block, "skip", "rule", reason=obstacle or "the turn was stopped"))
                continue
            async with aclosing(self._settle(block)) as events:
                async for event in events:
                    yield event
            after = self._code(block_id)
            if after.state == "refused":
                obstacle = f"an earlier code block of the same answer was {'not run' if after.ending else 'refused'}"
            elif after.state != "ok":
                obstacle = "an earlier code block of the same answer did not succeed"

    async def _settle(self, block: CodeBlock) -> SessionEvents:
        next_generation = partial(self._next_generation, block.language)
        async with aclosing(self.decisions.settle(block, self._guard, next_generation)) as events:
            async for event in events:
                yield self._apply(event)
        self._end = self._end or self.decisions.end
        decided = self._code(block.id)
        if decided.state == "refused":
            return
        async with aclosing(self._execute(block.id)) as events:
            async for event in events:
                yield event
        self._guard.note_run(self._code(block.id))

    async def _execute(self, block_id: str) -> SessionEvents:
        """Run what the block says now. A kernel that cannot start ends the turn; code that raises does not."""
        try:
            async with aclosing(self.perform(self._code(block_id))) as events:
                async for event in events:
                    yield self._apply(event)
        except KernelError as error:
            yield self.report(error)
            self._stop("kernel_error", error.title)
        block, earlier = self._code(block_id), self.transcript.blocks[: self._inherited]
        for remark in run_hints(block, earlier, self.decisions.confinement(block.language)):
            yield self.notice("info", remark.title, remark.hint)

    async def perform(self, block: CodeBlock) -> SessionEvents:
        """Run this source, which was decided about; what happens is not folded yet.

        KernelError before the first event where there is no such kernel; of one that fails later the events tell.
        """
        kernel = self.kernels.get(block.language)
        self.decisions.note_run(block.language, block.source, self._next_generation(block.language))
        aside, admit = self._tell_aside, self._admit
        self._execution = run = Execution(block, kernel, aside, admit, can_ask=self._can_ask, clock=self._clock)
        try:
            async with aclosing(run.events()) as events:
                async for event in events:
                    yield event
        finally:
            self._execution = None
        if run.failure is not None:
            self._stop("kernel_error", run.failure.title)

    async def rebuild(self, block_ids: Sequence[str]) -> SessionEvents:
        """Run these blocks of the transcript once more, in its order, up to the first that does not go as it did."""
        self._begin()
        codes = [block for block in self.transcript.blocks if isinstance(block, CodeBlock)]
        blocks = [block for block in codes if block.id in block_ids and block.duration is not None]

        def denied(block: CodeBlock) -> str:
            return self.decisions.denial_reason(block, self._next_generation(block.language))

        async with aclosing(rerun_blocks(blocks, self.perform, denied)) as events:
            async for event in events:
                yield self._apply(event)

    # -- small parts ---------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._halt.clear()
        self._end = self.decisions.end = None
        self._guard = RepeatGuard(self.settings.max_repeats)

    def _next_generation(self, language: Language) -> int:
        """Generation of the kernel that would run code now."""
        kernel = next((kernel for kernel in self.kernels.started_kernels() if kernel.language == language), None)
        return 1 if kernel is None else kernel.generation + (kernel.state in ("cold", "dead"))

    def _apply(self, event: AnyEvent) -> AnyEvent:
        self.transcript.apply(event)
        return event

    def _tell_aside(self, event: AnyEvent) -> None:
        """Unless its block is gone: the conversation was cleared meanwhile, or forked above it."""
        if self._successor is not None:
            self._successor._tell_aside(event)
        elif isinstance(event, NoticeAdded) or self.transcript.has(getattr(event, "block_id", "")):
            self._aside(self._apply(event))

    def _stop(self, reason: StopReason, detail: str = "") -> None:
        """The turn ends after this step; the first reason counts."""
        if self._end is None:
            self._end = TurnEnded(reason=reason, detail=detail)

    def notice(self, level: Level, title: str, hint: str = "", *, details: str = "") -> AnyEvent:
        """Something to say that belongs in the transcript."""
        return self._apply(NoticeAdded(block_id=new_id(), level=level, title=title, hint=hint, details=details))

    def _code(self, block_id: str) -> CodeBlock:
        block = self.transcript.block(block_id)
        assert isinstance(block, CodeBlock), block
        return block
