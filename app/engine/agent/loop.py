"""The agent loop: ask the model, decide about its actions, run them, report to the model, until nothing is left to do.

Events go to `Session.emit`, which folds them into `Session.transcript` and notifies the observers. Plain methods may be
called while a coroutine runs, from the same event loop. Nothing here knows of LiteLLM, Jupyter, files or sockets.
"""

import contextlib
import time
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from itertools import takewhile
from typing import Any

from oi_tui.app.engine.agent.action_runs import ActionRuns, RunTerms, side_by_side
from oi_tui.app.engine.agent.budget import Budget
from oi_tui.app.engine.agent.decision_events import decision_event
from oi_tui.app.engine.agent.decisions import Decisions
from oi_tui.app.engine.agent.dialogue import Dialogue
from oi_tui.app.engine.agent.emitter import Emitter, Observer
from oi_tui.app.engine.agent.execution import Seal, no_seal
from oi_tui.app.engine.agent.guard import RepeatGuard
from oi_tui.app.engine.agent.halt import INTERRUPTED, Halt, TurnStopped
from oi_tui.app.engine.agent.hook_calls import HookCalls
from oi_tui.app.engine.agent.instructions import Instructions
from oi_tui.app.engine.agent.proposal import Proposal
from oi_tui.app.engine.agent.rerun import rebuild, run_here
from oi_tui.app.engine.agent.runners import Runners
from oi_tui.app.engine.agent.session_choices import SessionChoices
from oi_tui.app.engine.agent.steering import Steering, Steers, no_steers
from oi_tui.app.engine.agent.syntax_check import SyntaxCheck
from oi_tui.app.engine.agent.written_look import NO_KEEPER, FindWritten, RunKeeper
from oi_tui.app.engine.core.blocks import ActionBlock, CodeBlock
from oi_tui.app.engine.core.chat_model import Model
from oi_tui.app.engine.core.errors import KernelError, OiTuiError
from oi_tui.app.engine.core.events import (
    CallFinished,
    CallStarted,
    CodeFinished,
    CodeStarted,
    ConversationCleared,
    Emit,
    NoticeAdded,
    TurnEnded,
    TurnStarted,
)
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.instructions import NO_INSTRUCTIONS, InstructionSources
from oi_tui.app.engine.core.settings import LoopSection
from oi_tui.app.engine.core.values import ApprovalMode, Language, Level
from oi_tui.app.engine.core.verbs import Decide, Revise
from oi_tui.app.engine.hooks.calling import NO_PLUGINS, Hooks
from oi_tui.app.engine.kernels.base import KernelSource, RejoinableKernel, Runner
from oi_tui.app.engine.policy.decision import Policy, PolicyDecision
from oi_tui.app.engine.policy.losses import NO_LOOK, WorkLook
from oi_tui.app.engine.secrets.redaction import Redactor
from oi_tui.app.engine.tools.toolbox import Toolbox
from oi_tui.app.engine.transcript.transcript import Transcript

AT_ONCE = 8
"""Calls of one answer that run side by side at most."""


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
        keeper: RunKeeper = NO_KEEPER,
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
        self.decisions.keeper, terms = keeper, RunTerms(seal, can_ask, clock, time_limit, find_written, keeper)
        self._runs = ActionRuns(
            self.transcript, self._runners, self.decisions, self.choices, self._halt, self.emit, terms
        )
        self._proposed: Sequence[str] = ()
        """Actions of the last answer, in order; without those in a thought or a truncated block."""
        self._undecided, self._batch = deque[str](), dict[str, PolicyDecision]()
        """The rest of them, about which nothing is decided yet; and those that may run, and run next."""

    # -- the turn ----------------------------------------------------------------------------------

    async def run(
        self,
        text: str,
        files: tuple[str, ...] = (),
        context: str = "",
        command: str = "",
        origins: tuple[str, ...] = (),
    ) -> None:
        """One turn, from the prompt to rest."""
        self._begin()
        prompt = TurnStarted(
            block_id=new_id(), text=text, files=files, context=context, command=command, origins=origins
        )
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
        try:
            for step in range(1, self.settings.max_steps + 1):
                self._proposed = await self._ask(step)
                self._guard.begin_answer()
                self._undecided = deque(self._proposed)
                while self._undecided:
                    await self._act()
                self._halt.check()
                self.dialogue.tell_budget()
                await self.steering.end_step()
            title = f"Stopped after {self.settings.max_steps} answers of the model in one turn."
            self.notice("warning", title, "Type /retry to continue, or start with a higher --max-steps.")
            raise TurnStopped("step_cap", title)
        except TurnStopped as stop:
            while self._undecided:
                self._skip(self._undecided.popleft())
            if stop.reason != "budget":
                self.dialogue.tell_budget()
            if self._halt.is_asked():
                stop = TurnStopped("interrupted", INTERRUPTED)
                self.notice("info", "You stopped the turn.")
            self.emit(TurnEnded(reason=stop.reason, detail=stop.detail))

    async def _ask(self, step: int) -> Sequence[str]:
        """The actions that the model proposes, none if the turn continues without one: for instance the model is done,
        and the person sent more. TurnStopped if the turn ends."""
        try:
            return await self.dialogue.ask(step)
        except TurnStopped as stop:
            if stop.reason != "done" or self.steering.pausing or not await self.steering.emit_prompts():
                raise
            return ()

    def _begin(self) -> None:
        self.steering.begin_turn()
        self._halt.clear()
        self._runs.take_stop()
        self.decisions.begin_turn()
        self.plugins.tell_troubles()
        self._guard = RepeatGuard(self.settings.max_repeats)

    # -- deciding and running ------------------------------------------------------------------------

    async def _act(self) -> None:
        """Decide about the next action and run it, side by side with those behind it that are as harmless; of these
        none begins before all are decided about. TurnStopped if a refusal ends the turn, or nothing can run it."""
        self._batch = {}
        while self._undecided and len(self._batch) < AT_ONCE:
            block, others = self._runs.action(self._undecided[0]), map(self._runs.action, self._batch)
            beside = self._runners.is_side_by_side(block, others)
            if self._batch and not beside:
                break
            block_id = self._undecided.popleft()
            if ruling := await self._decide(block_id):
                self._batch[block_id] = ruling
                if not beside:
                    break
        await self._run_batch()

    async def _decide(self, block_id: str) -> PolicyDecision | None:
        """The policy's decision about this action. TurnStopped if a refusal ends the turn."""
        block = self._runs.action(block_id)
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

    async def _run_batch(self) -> None:
        """Run what was approved. TurnStopped if nothing can run it; an exception in the code ends nothing."""
        batch, self._batch = self._batch, {}
        if not batch or (len(batch) > 1 and self._halt.is_asked()):
            return
        failures = await side_by_side([partial(self._runs.execute, *one) for one in batch.items()])
        for block_id, ruling in batch.items():
            block = self._runs.action(block_id)
            self._guard.note_run(block)
            await self.decisions.note_end(block, ruling, whole=block.state == "ok")
        if (stop := self._runs.take_stop()) is not None:
            raise stop
        if failure := next(filter(None, failures), None):
            raise TurnStopped("kernel_error", failure.title)

    def _skip(self, block_id: str) -> None:
        """Skip this action without asking."""
        block = self._runs.action(block_id)
        self.emit(decision_event(block, "skip", "rule", reason=self._obstacle(block) or "the turn was stopped"))

    def _obstacle(self, block: ActionBlock) -> str:
        """Why an action cannot run after those before it in its answer, "" if it can."""
        for earlier in map(self._runs.action, takewhile(lambda block_id: block_id != block.id, self._proposed)):
            if earlier.id in self._batch:
                continue
            what = f"an earlier {'code block' if isinstance(earlier, CodeBlock) else 'call'} of the same answer"
            if earlier.state == "refused":
                return f"{what} was {'not run' if earlier.ending else 'refused'}"
            if earlier.state != "ok":
                return f"{what} did not succeed"
        return "the turn was stopped" if self._halt.is_asked() else ""

    async def propose(self, proposal: Proposal) -> None:
        """One action that another assistant proposes, between turns: decided about and run like the model's."""
        self._begin()
        for event in proposal.events():
            self.emit(event)
        self._proposed = (proposal.block_id,)
        self._undecided = deque(self._proposed)
        with contextlib.suppress(TurnStopped):  # there is no turn: what became of it is in its block
            await self._act()

    async def run_code(self, language: Language, source: str, runner: Runner | None = None) -> ActionBlock:
        """The person's own code: no question, no turn; the model sees it with the next prompt. With a `runner` it runs
        there, apart from the kernel of its language."""
        block_id = new_id()
        self.emit(CodeStarted(block_id=block_id, language=language, author="user"))
        self.emit(CodeFinished(block_id=block_id, language=language, source=source))
        await self._runs.execute(block_id, runner=runner)
        return self._runs.action(block_id)

    async def call_tool(self, tool: str, source: str) -> None:
        """The person's own call: no turn, but a question whatever the mode. KernelError where there is no such tool, or
        it is the model's alone."""
        if self._runners.tools.get(tool).tool.unasked:
            raise KernelError(f"Only the model calls the tool {tool}.")
        self._begin()
        block_id = new_id()
        self.emit(CallStarted(block_id=block_id, tool=tool, author="user"))
        self.emit(CallFinished(block_id=block_id, tool=tool, source=source))
        block = self._runs.action(block_id)
        try:
            ruling = await self.decisions.settle(
                block, await self.decisions.rule(block), self._guard, self.emit, wish="you want to call it again"
            )
        except TurnStopped:
            return
        if ruling is not None:
            await self._runs.execute(block_id, ruling)
            ended = self._runs.action(block_id)
            await self.decisions.note_end(ended, ruling, whole=ended.state == "ok")

    async def rebuild(self, block_ids: Sequence[str], *, here: bool = False) -> None:
        """Run these blocks of the transcript once more, in its order, up to the first that does not go as it did; or
        (`here`) in the order given, up to the first that fails, each as a block of its own."""
        self._begin()
        codes = [block for block in self.transcript.blocks if isinstance(block, CodeBlock)]
        blocks = [block for block in codes if block.id in block_ids and block.duration is not None and not block.caller]

        async def perform(block: CodeBlock, emit: Emit) -> str:
            ruling = await self.decisions.rule(block)
            if not (why := self.decisions.denial_reason(ruling)):
                await self._runs.perform(block, emit, ruling)
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
        """This kernel has the variables of earlier runs after all. If a run still continues in it, follow it."""
        await self._runs.come_back(kernel, block_id)

    # -- reaching in ---------------------------------------------------------------------------------

    def decide(self, verb: Decide | Revise) -> bool:
        """Answer a `DecisionRequested`; False if that id is not waiting (any more)."""
        return self.decisions.question.answer(verb)

    async def answer(self, request_id: str, text: str | None) -> bool:
        """Answer an `InputRequested`, None with no answer; False if that id is not waiting for one (any more)."""
        return await self._runs.answer(request_id, text)

    def give_up_waiting(self, why: str) -> None:
        """Refuse what waits for a decision, with this reason, and decline what waits for input."""
        self.decisions.question.give_up(why)
        self._runs.give_up_input()

    def interrupt(self, *, turn: bool = False) -> None:
        """Interrupt the current run, else the answer that streams; with `turn`, whatever the turn does.

        Returns at once; the events of the turn report the end. A kernel that ignores the interrupt keeps running,
        unless the turn is stopped: then it is restarted.
        """
        running = self._runs.any_under_way
        if turn or (not running and self._halt.waits):
            self._halt.ask()
        self._runs.stop(force=turn)
        if not running and self._halt.is_asked() and self._halt.waits:
            self._halt.break_off()
        elif turn and not running:
            self.decisions.withdraw()

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
