"""The agent loop: ask the model, decide about its actions, run them, report to the model, until nothing is left to do.

Events go to `Session.emit`, which folds them into `Session.transcript` and notifies the observers. Plain methods may be
called while a coroutine runs, from the same event loop. Nothing here knows of LiteLLM, Jupyter, files or sockets.
"""

import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from functools import partial
from itertools import takewhile
from typing import Any

from oi_tui.app.engine.agent.budget import Budget
from oi_tui.app.engine.agent.decision_events import decision_event
from oi_tui.app.engine.agent.decisions import Decisions
from oi_tui.app.engine.agent.dialogue import Dialogue
from oi_tui.app.engine.agent.emitter import Emitter, Observer
from oi_tui.app.engine.agent.execution import Execution, Seal, no_seal
from oi_tui.app.engine.agent.guard import RepeatGuard
from oi_tui.app.engine.agent.halt import INTERRUPTED, Halt, TurnStopped
from oi_tui.app.engine.agent.hook_calls import HookCalls
from oi_tui.app.engine.agent.instructions import Instructions
from oi_tui.app.engine.agent.kernel_calls import KernelCalls
from oi_tui.app.engine.agent.page_pictures import draw_results
from oi_tui.app.engine.agent.rerun import rebuild, run_here
from oi_tui.app.engine.agent.run_hints import install_note, run_hints
from oi_tui.app.engine.agent.runners import RejoinedRun, Runners
from oi_tui.app.engine.agent.session_choices import SessionChoices
from oi_tui.app.engine.agent.steering import Steering, Steers, no_steers
from oi_tui.app.engine.agent.syntax_check import SyntaxCheck
from oi_tui.app.engine.agent.written_look import FindWritten, look_for_written
from oi_tui.app.engine.core.blocks import Action, ActionBlock, CodeBlock
from oi_tui.app.engine.core.chat_model import Model
from oi_tui.app.engine.core.errors import AuditError, KernelError, OiTuiError
from oi_tui.app.engine.core.events import (
    CodeFinished,
    CodeStarted,
    ConversationCleared,
    Emit,
    FilesWritten,
    NoticeAdded,
    OutputAdded,
    TurnEnded,
    TurnStarted,
)
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.instructions import NO_INSTRUCTIONS, InstructionSources
from oi_tui.app.engine.core.outputs import StreamOutput
from oi_tui.app.engine.core.settings import LoopSection
from oi_tui.app.engine.core.values import ApprovalMode, Language, Level
from oi_tui.app.engine.core.verbs import Decide
from oi_tui.app.engine.hooks.calling import NO_PLUGINS, Hooks
from oi_tui.app.engine.kernels.base import KernelSource, RejoinableKernel, Runner
from oi_tui.app.engine.policy.decide import Policy, PolicyDecision, read_source
from oi_tui.app.engine.policy.losses import NO_LOOK, WorkLook
from oi_tui.app.engine.secrets.redaction import Redactor
from oi_tui.app.engine.tools.toolbox import Toolbox
from oi_tui.app.engine.transcript.transcript import Transcript


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
        ready: Callable[[], Coroutine[Any, Any, object]] | None = None,
        clock: Callable[[], float] = time.monotonic,
        observers: Sequence[Observer] = (),
        seal: Seal = no_seal,
        hooks: Hooks = NO_PLUGINS,
        tools: Toolbox | None = None,
        look: WorkLook = NO_LOOK,
        find_written: FindWritten | None = None,
        time_limit: float = 0.0,
        steers: Steers = no_steers,
        instructions: InstructionSources = NO_INSTRUCTIONS,
        forked_from: "Session | None" = None,
    ) -> None:
        """A run may take `time_limit` seconds, 0 is no limit; the user may give one run another. `steers` takes the
        prompts that the model reads at the next step. `ready` is awaited before each question to the model: the model
        may still be opening. `forked_from` was in these kernels before: their known state, its strictness, budget and
        late output continue here; its grants do not."""
        self.kernels = kernels
        self._runners, self.settings = Runners(kernels, tools or Toolbox()), settings
        self.transcript = transcript if transcript is not None else Transcript()
        self._inherited = 0 if kernels.started_kernels() else len(self.transcript.blocks)
        """Blocks whose code, if it ran, ran in kernels that are gone."""
        self._can_ask = can_ask
        if forked_from is None:
            past, plans = self.transcript.blocks, self.transcript.approval == "plan" and settings.approve != "never"
            self.emitter = Emitter(self.transcript)
            approve: ApprovalMode = "plan" if plans else settings.approve  # it was on when the session was left
            self.decisions = Decisions(approve, self._runners, can_ask=can_ask, policy=policy, past=past, look=look)
            self.budget = Budget(settings.max_cost, settings.max_tokens)
        else:
            self.decisions, self.budget = forked_from.decisions.fork(), forked_from.budget
            self.budget.carry(forked_from.transcript.usage, self.transcript.usage)
            self.emitter = forked_from.emitter
            self.emitter.lead_to(self.transcript)
        self.emitter.observers, self.emit = tuple(observers), self.emitter.emit
        self.choices = SessionChoices(model, self.decisions, self.budget, self.emit, complete=settings.complete)
        self.plugins = HookCalls(hooks, self.transcript, self.emit)
        self._clock, self._seal, self._time_limit, self._find_written = clock, seal, time_limit, find_written
        self.steering = Steering(steers, self.transcript, self.decisions, self.emit, self.plugins.prompt_objection)
        self._guard, self._syntax, self._halt = RepeatGuard(settings.max_repeats), SyntaxCheck(), Halt()
        self.instructions = Instructions(instructions, self.transcript, kernels, redactor or Redactor(), self.emit)
        self.decisions.objection, self.instructions.of_plugins = self.plugins.judge, self.plugins.instructions
        self.dialogue = Dialogue(
            self.transcript,
            choices=self.choices,
            budget=self.budget,
            kernels=kernels,
            runners=self._runners,
            plugins=self.plugins,
            halt=self._halt,
            emit=self.emit,
            settings=settings,
            instructions=self.instructions,
            ready=ready,
        )
        self._executions: list[Execution] = []  # what runs, behind what called it
        self._calls = KernelCalls(self._runners, self.decisions, self.emit, self._action, self._execute, self._stop)
        self._proposed: Sequence[str] = ()
        """Actions of the last answer, in order; without those in a thought or a truncated block."""

    # -- the turn ----------------------------------------------------------------------------------

    async def run(self, text: str, files: tuple[str, ...] = (), context: str = "", command: str = "") -> None:
        """One turn, from the prompt to rest."""
        self._begin()
        prompt = TurnStarted(block_id=new_id(), text=text, files=files, context=context, command=command)
        if self.steering.emit_prompt(prompt):
            await self._turn()
        else:
            self.emit(TurnEnded(reason="refused", detail="A plugin objects to the prompt."))

    async def go_on(self) -> None:
        """One turn without a new prompt: after an error, a cap or an interrupt."""
        self._begin()
        await self.steering.emit_prompts()
        await self._turn()

    async def _turn(self) -> None:
        """Ask the model, have its actions decided, run them, ask again with what came out, until something ends it."""
        actions: Iterator[str] = iter(())  # proposed actions without a decision
        try:
            for step in range(1, self.settings.max_steps + 1):
                self._proposed = await self._ask(step)
                self._guard.begin_answer()
                actions = iter(self._proposed)
                for block_id in actions:
                    if ruling := await self._decide(block_id):
                        await self._run(block_id, ruling)
                self._halt.check()
                self.dialogue.tell_budget()
                await self.steering.end_step()
            title = f"Stopped after {self.settings.max_steps} answers of the model in one turn."
            self.notice("warning", title, "Type /retry to continue, or start with a higher --max-steps.")
            raise TurnStopped("step_cap", title)
        except TurnStopped as stop:
            for block_id in actions:
                self._skip(block_id)
            if stop.reason != "budget":
                self.dialogue.tell_budget()
            if self._halt.is_asked():
                stop = TurnStopped("interrupted", INTERRUPTED)
                self.notice("info", "You stopped the turn.")
            self.emit(TurnEnded(reason=stop.reason, detail=stop.detail))

    async def _ask(self, step: int) -> Sequence[str]:
        """The actions that the model proposes, none where it goes on without any: it is done, and the user has said
        more meanwhile, for instance. TurnStopped if the turn ends."""
        try:
            return await self.dialogue.ask(step)
        except TurnStopped as stop:
            if stop.reason != "done" or self.steering.pausing or not await self.steering.emit_prompts():
                raise
            return ()

    def _begin(self) -> None:
        self.steering.begin_turn()
        self._halt.clear()
        self._calls.take_stop()
        self.decisions.begin_turn()
        self.plugins.tell_troubles()
        self._guard = RepeatGuard(self.settings.max_repeats)

    # -- deciding and running ------------------------------------------------------------------------

    async def _decide(self, block_id: str) -> PolicyDecision | None:
        """The policy's decision about this action. TurnStopped if a refusal ends the turn."""
        block = self._action(block_id)
        if self._obstacle(block):
            self._skip(block_id)
            return None
        if self.decisions.mode != "never" and (error := self._syntax.objection(block, self._runners.place(block))):
            self.emit(decision_event(block, "skip", "rule", reason=error))
            return None
        if (ruling := await self._halt.result(partial(self.decisions.rule, block))) is None:
            self._skip(block_id)
            return None
        return await self.decisions.settle(block, ruling, self._guard, self.emit)

    async def _run(self, block_id: str, ruling: PolicyDecision) -> None:
        """Run an approved action. TurnStopped if nothing can run it; an exception in the code ends nothing."""
        failure = await self._execute(block_id, ruling)
        block = self._action(block_id)
        self._guard.note_run(block)
        await self.decisions.note_end(block, ruling, whole=block.state == "ok")
        if (stop := self._calls.take_stop()) is not None:
            raise stop
        if failure is not None:
            raise TurnStopped("kernel_error", failure.title)

    def _skip(self, block_id: str) -> None:
        """Nobody is asked about this action."""
        block = self._action(block_id)
        self.emit(decision_event(block, "skip", "rule", reason=self._obstacle(block) or "the turn was stopped"))

    def _obstacle(self, block: ActionBlock) -> str:
        """Why this cannot follow what stands above it in its answer, "" if it can."""
        for earlier in map(self._action, takewhile(lambda block_id: block_id != block.id, self._proposed)):
            what = f"an earlier {'code block' if isinstance(earlier, CodeBlock) else 'call'} of the same answer"
            if earlier.state == "refused":
                return f"{what} was {'not run' if earlier.ending else 'refused'}"
            if earlier.state != "ok":
                return f"{what} did not succeed"
        return "the turn was stopped" if self._halt.is_asked() else ""

    async def run_code(self, language: Language, source: str, runner: Runner | None = None) -> ActionBlock:
        """The person's own code: no question, no turn; the model sees it with the next prompt. With a `runner` it runs
        there, apart from the kernel of its language."""
        block_id = new_id()
        self.emit(CodeStarted(block_id=block_id, language=language, author="user"))
        self.emit(CodeFinished(block_id=block_id, language=language, source=source))
        await self._execute(block_id, runner=runner)
        return self._action(block_id)

    async def rebuild(self, block_ids: Sequence[str], *, here: bool = False) -> None:
        """Run these blocks of the transcript once more, in its order, up to the first that does not go as it did; or
        (`here`) in the order given, up to the first that fails, each as a block of its own."""
        self._begin()
        codes = [block for block in self.transcript.blocks if isinstance(block, CodeBlock)]
        blocks = [block for block in codes if block.id in block_ids and block.duration is not None and not block.caller]

        async def perform(block: CodeBlock, emit: Emit) -> str:
            ruling = await self.decisions.rule(block)
            if not (why := self.decisions.denial_reason(ruling)):
                await self._perform(block, emit, ruling)
                await self.decisions.note_end(block, ruling, whole=False)
            return why

        async def objection(block: CodeBlock) -> str:
            return self.decisions.denial_reason(await self.decisions.rule(block))

        if here:
            blocks.sort(key=lambda block: block_ids.index(block.id))
            await run_here(blocks, objection, lambda block: self.run_code(block.language, block.source), self.emit)
        else:
            await rebuild(blocks, perform, self.emit)

    async def come_back(self, kernel: RejoinableKernel, block_id: str) -> None:
        """This kernel has the variables of earlier runs after all. If a block's run continued in it without us, follow
        that to its end: there is no new decision and no new audit record."""
        self._inherited = 0
        if not block_id:
            return
        runner, block = RejoinedRun(kernel), self._action(block_id)
        execution = Execution(block, runner, self.emit, no_seal, can_ask=self._can_ask, clock=self._clock)
        self._executions.append(execution)
        try:
            await execution.run()
        finally:
            self._executions.remove(execution)

    async def _execute(
        self, block_id: str, ruling: PolicyDecision | None = None, runner: Runner | None = None
    ) -> KernelError | AuditError | None:
        """Run the block's current source; returns why nothing could run at all, after notifying the user."""
        since = time.time()
        try:
            failure = await self._perform(self._action(block_id), self.emit, ruling, runner)
        except KernelError as error:
            self.report(error)
            failure = error
        if failure is None:
            await self._tell_written(block_id, since)
            await self._draw_pages(block_id)
        block, earlier = self._action(block_id), self.transcript.blocks[: self._inherited]
        if isinstance(block, CodeBlock) and runner is None and not (ruling is not None and ruling.installs):
            confinement = self._runners.confinement(block)
            known = ruling.reading if ruling is not None else None
            if note := install_note(block, confinement, partial(read_source, self._runners.request(block, known))):
                self.emit(OutputAdded(block_id=block_id, output=StreamOutput(name="stderr", text=note)))
                return failure
            for remark in run_hints(block, earlier, confinement):
                self.notice("info", remark.title, remark.hint)
        return failure

    async def _tell_written(self, block_id: str, since: float) -> None:
        """Say which files it left in the folder, as far as that is quickly seen."""
        block = self._action(block_id)
        if self._find_written is None or self._runners.runs_elsewhere(block):
            return
        written = await look_for_written(self._find_written, since)
        if written is not None and (written.files or not block.outputs):
            self.emit(FilesWritten(block_id=block_id, written=written))

    async def _draw_pages(self, block_id: str) -> None:
        """Have pictures of the pages that it showed, if the model can see them."""
        if self.choices.model is not None and self.choices.model.takes_images:
            for output in await self._halt.result(partial(draw_results, self._action(block_id))) or ():
                self.emit(OutputAdded(block_id=block_id, output=output))

    async def _perform(
        self, block: ActionBlock, emit: Emit, ruling: PolicyDecision | None, apart: Runner | None = None
    ) -> KernelError | AuditError | None:
        """Run this, which was decided about. KernelError where there is no such kernel or tool; a failure of the kernel
        that there is has been emitted when it is returned."""
        installs = ruling.offer if ruling is not None and ruling.installs else ()
        own = self.kernels.pip_installer(installs) if installs else None
        runner = apart or own or self._runners.get(block)
        execution = Execution(
            *(block, runner, emit, self._seal),
            can_ask=self._can_ask,
            clock=self._clock,
            time_limit=self._time_limit if ruling is None or ruling.time_limit is None else ruling.time_limit,
            calls=None if self._executions else self._calls,
        )
        self._executions.append(execution)
        try:
            if ruling is not None:
                await self.decisions.files.begin_run(ruling.targets)
            if apart is None and own is None:  # else it says nothing about the kernel of its language
                self.decisions.note_run(block, ruling)
            return await execution.run()
        finally:
            self._executions.remove(execution)
            if own is not None:
                await own.close()

    # -- reaching in ---------------------------------------------------------------------------------

    def decide(self, verb: Decide) -> bool:
        """Answer a `DecisionRequested`; False if that id is not waiting (any more)."""
        return self.decisions.answer(verb)

    async def answer(self, request_id: str, text: str | None) -> bool:
        """Answer an `InputRequested`, None with no answer; False if that id is not waiting for one (any more)."""
        return any([await execution.answer(request_id, text) for execution in self._executions])

    def interrupt(self, *, turn: bool = False) -> None:
        """Interrupt the current run, else the answer that streams; with `turn`, whatever the turn does.

        Returns at once; the events of the turn report the end. A kernel that ignores the interrupt keeps running,
        unless the turn is stopped: then it is restarted.
        """
        running = bool(self._executions)
        if turn or (not running and self._halt.waits):
            self._halt.ask()
        self._stop(0, force=turn)
        if not running and self._halt.is_asked() and self._halt.waits:
            self._halt.break_off()
        elif turn and not running:
            self.decisions.withdraw()

    def _stop(self, first: int, *, force: bool | None = None) -> None:
        """Stop what runs: 0 is the first of it, 1 what that called. None: by force where nobody can be asked."""
        for execution in reversed(self._executions[first:]):
            execution.interrupt(force=not self._can_ask if force is None else force)
            execution.tell_kernel("interrupting")

    # -- words -------------------------------------------------------------------------------------

    def forget(self) -> None:
        """Forget the conversation and the grants (the kernels are the caller's to restart)."""
        self.decisions.forget()
        self.emit(ConversationCleared())

    def report(self, error: OiTuiError, level: Level = "error") -> None:
        """An error as a notice of the transcript."""
        self.notice(level, error.title, error.hint, error.details)

    def notice(self, level: Level, title: str, hint: str = "", details: str = "") -> None:
        """Something to say that belongs in the transcript."""
        self.emit(NoticeAdded(block_id=new_id(), level=level, title=title, hint=hint, details=details))

    def _action(self, block_id: str) -> ActionBlock:
        block = self.transcript.block(block_id)
        assert isinstance(block, Action), block
        return block
