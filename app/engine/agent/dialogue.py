"""What the session and its model say to each other: one request for each step, and the answer as it streams."""

from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any

from oi_tui.app.engine.agent import completion
from oi_tui.app.engine.agent.answer_review import AnswerReview
from oi_tui.app.engine.agent.answer_stream import AnswerStream
from oi_tui.app.engine.agent.ask_model import AskedModel
from oi_tui.app.engine.agent.budget import Budget, BudgetNotice
from oi_tui.app.engine.agent.compaction import Compactor
from oi_tui.app.engine.agent.context_window import ContextWindow
from oi_tui.app.engine.agent.conversation import Conversation
from oi_tui.app.engine.agent.failure_notice import failure_notice
from oi_tui.app.engine.agent.halt import Halt, TurnStopped
from oi_tui.app.engine.agent.hook_calls import HookCalls
from oi_tui.app.engine.agent.instructions import Instructions
from oi_tui.app.engine.agent.plan_notice import plan_notice
from oi_tui.app.engine.agent.prompt import in_helpers
from oi_tui.app.engine.agent.recall import recall_tool
from oi_tui.app.engine.agent.required_answer import RequiredAnswer
from oi_tui.app.engine.agent.runners import Runners
from oi_tui.app.engine.agent.session_choices import SessionChoices
from oi_tui.app.engine.agent.withheld_notices import withheld_events
from oi_tui.app.engine.core.blocks import Action, CallBlock, CodeBlock, ProseBlock
from oi_tui.app.engine.core.chat_model import FENCED_CALLS, Delta, Model, ToolSpec, take_unreported
from oi_tui.app.engine.core.errors import ModelError
from oi_tui.app.engine.core.events import Emit, NoticeAdded, StepStarted
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.settings import LoopSection
from oi_tui.app.engine.core.values import Language
from oi_tui.app.engine.kernels.base import KernelSource
from oi_tui.app.engine.transcript.transcript import Transcript

Answered = ProseBlock | CodeBlock | CallBlock
"""What an answer consists of, but for thoughts."""


class Dialogue:
    """Asks the model of one session. Each request is made from the transcript alone."""

    def __init__(
        self,
        transcript: Transcript,
        *,
        choices: SessionChoices,
        budget: Budget,
        kernels: KernelSource,
        runners: Runners,
        plugins: HookCalls,
        halt: Halt,
        emit: Emit,
        settings: LoopSection,
        instructions: Instructions,
        ready: Callable[[], Coroutine[Any, Any, object]] | None,
    ) -> None:
        """`ready` is awaited before each request: the model may still be opening."""
        self._transcript = transcript
        self._choices, self._budget = choices, budget
        self._kernels, self._runners = kernels, runners
        self._plugins, self._halt, self._emit = plugins, halt, emit
        self._conversation = Conversation(instructions.redactor, settings.output_to_model)
        self._instructions, self._ready = instructions, ready
        instructions.offered = lambda: frozenset(spec.name for spec in self._tools(recall=False))
        instructions.of_tools = runners.tools.instructions
        self._review = AnswerReview(transcript, kernels, emit, plugins)
        self.required = RequiredAnswer(emit, lambda: settings.answer_tries)
        spilled = runners.tools.spill_dir
        runners.tools.add_recall(recall_tool(lambda: transcript.blocks, instructions.redactor, spilled))
        runners.tools.add_inner(
            AskedModel(transcript, choices, budget, plugins, instructions.redactor, emit, ready).tool
        )
        self.window = ContextWindow(
            transcript,
            self._conversation,
            choices,
            Compactor(transcript, choices, budget, halt, emit),
            halt,
            emit,
            instructions=instructions.parts,
            tools=self._tools,
        )

    async def ask(self, step: int) -> Sequence[str]:
        """Ask the model; returns the ids of the actions it proposes, none if it must be asked again.

        TurnStopped if the turn ends here, or the model could not answer: the partial answer is kept, marked as cut.
        """
        self._require(self._budget.check_limits(self._transcript.usage))
        if self._ready is not None:
            await self._halt.result(self._ready)
        self._halt.check()
        if model := self._choices.model:
            self._require(self._budget.check_price(model.name, known=model.tells_price))
        if (notice := plan_notice(self._transcript)) is not None:
            self._emit(notice)
        self._emit(StepStarted(number=step))
        if step == 1:
            self._review.begin_turn()
            self.required.begin_turn()
        try:
            whole = await self._stream()
        except ModelError as error:
            self._halt.check()  # a cancelled request may look like one that failed
            if error.continues:
                self._notice(BudgetNotice("warning", error.title, "What arrived is kept; the next model continues."))
                return ()
            self._emit(failure_notice(error))
            raise TurnStopped("model_error", error.title) from error
        self._halt.check()
        blocks, step = self._transcript.blocks, self._transcript.step
        written = [block for block in blocks if isinstance(block, Answered) and block.step == step]
        proposed = [block.id for block in written if isinstance(block, Action) and block.state == "proposed"]
        if not proposed and whole and model is not None and await self._review.objects(written, model.name):
            return ()
        if not proposed and model is not None and self.required.objects(written, model.name, whole=whole):
            return ()
        if not proposed and (end := completion.end_of(blocks, step, insist=self._choices.complete)) is not None:
            raise TurnStopped("done", end)
        return proposed

    async def compact(self, focus: str) -> None:
        """Have all but the last turn summarised; where that is stopped, nothing has changed. ModelError without a
        model."""
        self._halt.clear()
        try:
            if self._ready is not None:
                await self._halt.result(self._ready)
            self._halt.check()
            await self.window.compact(self._model(), focus)
        except TurnStopped:
            self._notice(BudgetNotice("info", "You stopped the summary: nothing has changed."))

    def tell_budget(self) -> None:
        """Say what the person should know of the budget by now, each thing once."""
        for remark in self._budget.notices(self._transcript.usage):
            self._notice(remark)

    def _require(self, obstacle: BudgetNotice | None) -> None:
        """TurnStopped if the budget allows no further request."""
        if obstacle is not None:
            self._notice(obstacle)
            raise TurnStopped("budget", obstacle.title)

    def _notice(self, remark: BudgetNotice) -> None:
        self._emit(NoticeAdded(block_id=new_id(), level=remark.level, title=remark.title, hint=remark.hint))

    async def _stream(self) -> bool:
        """Send the request, and emit the answer while it comes; whether that is whole."""
        model = self._model()
        try:
            return await self._send(model)
        except ModelError as error:
            if error.kind == "context_too_long":
                self.window.note_refusal(model, error)
            elif error.refuses_schema and self.required.is_wanted:
                pass  # the model remembers, and is asked in another form
            elif not (error.refuses_tools and self._review.note_refused_calls(model.name)):
                raise
        return await self._send(model)  # once more, with what is known now

    def _model(self) -> Model:
        if (model := self._choices.model) is None:
            raise ModelError("unknown_model", "No model chosen.", hint="Type /model, or start with -m NAME.")
        return model

    async def _send(self, model: Model) -> bool:
        """One request; whether its answer is whole. ModelError if it fails."""
        if (request := await self.window.request(model)) is None:
            return False
        if self._instructions.writes_helpers:
            request = in_helpers(request)
        request = self.required.shape(request, model)
        self._require(self._budget.check_limits(self._transcript.usage))  # a summary may have spent the rest
        for event in withheld_events(self._conversation, self._transcript):
            self._emit(event)
        answer = AnswerStream(self._canonical, self._emit, self._runners.tools.names)
        if self.required.is_demanded:  # nothing in it is a call
            answer = AnswerStream(lambda label: None, self._emit)
        before = self._transcript.usage
        with self._plugins.around(request):
            try:
                await self._halt.result(partial(_read, self.required.read(model.stream(request)), answer))
            except ModelError:
                answer.close(complete=False)
                raise
            if self._halt.is_asked() and (spent := take_unreported(model)) is not None:
                answer.take(spent)
            answer.close(complete=not self._halt.is_asked())
        if (usage := self._transcript.usage) is not before and not usage.last_estimated:
            self.window.note_counted(model, usage.last_input_tokens)
        if (remark := answer.remark) and not (answer.empty and self._halt.is_asked()):
            self._notice(BudgetNotice("warning", *remark))
        return answer.remark is None

    def _tools(self, recall: bool) -> tuple[ToolSpec, ...]:
        """The tools that the model may call; `recall` if it is not sent everything."""
        model = self._choices.model
        if model is not None and not self._review.allows_calls(model.name):
            return ()
        small = self._instructions.is_small
        return self._runners.tools.specs(self._kernels.languages, recall=recall, small=small)

    def _canonical(self, label: str) -> Language | None:
        """The language of a fence; some calls are written like one, by models without tools."""
        name = label.strip().lower()
        is_call = name in FENCED_CALLS and self._runners.tools.has(name)
        return self._kernels.canonical(label) or (name if is_call else None)


async def _read(deltas: AsyncGenerator[Delta, None], answer: AnswerStream) -> None:
    async with aclosing(deltas):
        async for delta in deltas:
            answer.take(delta)
