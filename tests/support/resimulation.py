"""A recording as the other side of the loop: a model with the recorded answers, kernels with the recorded outputs.

Today's loop runs against a recording; the events should be the recorded ones.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.blocks import Action, Block, CallBlock, CodeBlock, NoticeBlock
from oi_tui.app.engine.core.chat_model import ChatRequest, Delta
from oi_tui.app.engine.core.errors import KernelError, ModelError, StoreError
from oi_tui.app.engine.core.events import (
    ActiveLineChanged,
    AnyEvent,
    CallStarted,
    CodeFinished,
    CodeStarted,
    DecisionMade,
    DecisionRequested,
    ExecutionFinished,
    ExecutionStarted,
    InputRequested,
    KernelChanged,
    NoticeAdded,
    OutputAdded,
    OutputDropped,
    OutputKept,
    OutputsCleared,
    OutputTailMoved,
    OutputUpdated,
    SessionOpened,
    TurnStarted,
)
from oi_tui.app.engine.core.outputs import ErrorOutput, Output, RichOutput
from oi_tui.app.engine.core.settings import LoopSection
from oi_tui.app.engine.core.values import Confinement, Language
from oi_tui.app.engine.core.verbs import Decide, Interrupt, Retry, Run, Submit
from oi_tui.app.engine.kernels.base import RunResult, in_block
from oi_tui.app.engine.log.recording.form import Asked, ModelBegan, ModelFailed, ModelSaid, Recording
from oi_tui.app.engine.policy.decision import Policy
from oi_tui.app.engine.testing import FakeKernel, FakeKernels, FakeModel
from oi_tui.app.engine.tools.execute import EXECUTE
from oi_tui.app.engine.tools.tool import CallingOutput, Capabilities, Tool, ToolFailed
from oi_tui.app.engine.tools.toolbox import Toolbox
from support.turns import play

NO_RULES = Policy()

Runs = deque[list[AnyEvent | RunResult] | KernelError]
"""What came of each run, in the order in which they were made, of whatever kernel; or why its kernel did not start."""


GIVEN = (
    *(OutputAdded, OutputUpdated, OutputsCleared, OutputTailMoved, OutputKept, OutputDropped),
    *(ActiveLineChanged, InputRequested),
)
"""What a kernel emits."""


class RecordedModel(FakeModel):
    """Gives the answers of a recording, in order."""

    def __init__(self, recording: Recording) -> None:
        answers: list[list[Delta | ModelError]] = []
        for line in recording.lines:
            match line.what:
                case ModelBegan():
                    answers.append([])
                case ModelSaid(delta=delta):
                    answers[-1].append(delta)
                case ModelFailed() as failed:
                    error = ModelError(failed.kind, failed.title, hint=failed.hint, details=failed.details)
                    answers[-1].append(error)
                case _:
                    pass
        names = [event.model for event in recording.events() if isinstance(event, SessionOpened)]
        super().__init__(*answers, name=names[0] if names else "")
        self.context_window = None
        self.tells_price = True

    def stream(self, request: ChatRequest) -> AsyncGenerator[Delta, None]:
        """The next answer; StoreError if there is none."""
        if len(self.requests) >= len(self.answers):
            raise StoreError("The recording has no further answer of the model: the loop asked once more than then.")
        return super().stream(request)


class RecordedKernel(FakeKernel):
    """Gives what came of the run that was next then, whatever it is given."""

    def __init__(self, language: Language, runs: Runs) -> None:
        super().__init__(self._next, language)
        self._runs = runs

    async def start(self) -> None:
        """Ready at once, unless it failed then."""
        failed = self._runs[0] if self._runs else None
        self.fails = failed if isinstance(failed, KernelError) else None
        if self.fails is not None:
            self._runs.popleft()
        await super().start()

    def _next(self, source: str) -> list[AnyEvent | RunResult]:
        if not self._runs:
            raise KernelError("The recording has no further run: the loop ran something that did not run then.")
        run = self._runs.popleft()
        assert not isinstance(run, KernelError)
        return run


@dataclass
class RecordedCall:
    """What came of a call: what it asked, what it showed, its result, or why it failed."""

    asked: bool
    """The person, about the call."""
    unasked: str
    """Why not, where the tool said so."""
    origin: str = ""
    questions: list[InputRequested] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    codes: list[CodeFinished] = field(default_factory=list)
    """What it had run."""


def recorded_tools(events: Iterable[AnyEvent]) -> Toolbox:
    """The tools that were called, each of which gives in time what came of its calls then."""
    tools: dict[str, str] = {}
    asked: set[str] = set()
    unasked: dict[str, str] = {}
    calls: dict[str, RecordedCall] = {}
    callers: dict[str, str] = {}
    told: Iterable[Any] = events  # as above
    for event in told:
        match event:
            case CodeStarted() if event.caller in calls:
                callers[event.block_id] = event.caller
            case CodeFinished() if event.block_id in callers:
                calls[callers[event.block_id]].codes.append(event)
            case CallStarted():
                tools[event.block_id] = event.tool
            case DecisionRequested():
                asked.add(event.block_id)
            case DecisionMade(decider="rule"):
                unasked[event.block_id] = event.reason.removeprefix("allowed by ")
            case ExecutionStarted(block_id=block_id) if block_id in tools:
                calls[block_id] = RecordedCall(block_id in asked, unasked.get(block_id, ""), event.origin)
            case InputRequested() if event.block_id in calls:
                calls[event.block_id].questions.append(event)
            case OutputAdded() if event.block_id in calls:
                calls[event.block_id].outputs.append(event.output)
            case _:
                pass
    by_name: dict[str, deque[RecordedCall]] = {}
    for block_id, call in calls.items():
        by_name.setdefault(tools[block_id], deque()).append(call)
    return Toolbox(_recorded_tool(name, made) for name, made in by_name.items())


def _recorded_tool(name: str, calls: deque[RecordedCall]) -> Tool:
    async def run(arguments: dict[str, Any], output: CallingOutput) -> RichOutput | None:
        call, result = calls.popleft(), None
        for code in call.codes:
            await output.call(EXECUTE, {"language": code.language, "code": code.source})
        for question in call.questions:
            await output.ask(question.prompt, question.choices, several=question.several)
        for one in call.outputs:
            match one:
                case RichOutput(is_result=True):
                    result = one
                case RichOutput():
                    output.show(one)
                case ErrorOutput():
                    raise ToolFailed(one.value)
                case _:
                    output.print(getattr(one, "text", ""))
        return result

    first = calls[0]
    return Tool(
        name=name,
        description="As it was recorded.",
        schema={"type": "object"},
        run=run,
        capabilities=Capabilities(writes=first.asked, destroys=False, network=False),
        confinement=Confinement(sandboxed=True, offline=True),
        unasked=first.unasked,
        origin=first.origin,
    )


def recorded_kernels(events: Iterable[AnyEvent]) -> FakeKernels:
    """Kernels of the recorded languages, which replay the recorded results in time."""
    languages: dict[str, Language] = {}
    asked: set[Language] = set()
    runs: Runs = deque()
    running: dict[str, list[AnyEvent | RunResult]] = {}
    notice = NoticeAdded(block_id="", level="info", title="")
    ended: list[AnyEvent | RunResult] = []
    """The last run that ended."""
    told: Iterable[Any] = events  # narrowed by each case, the union of all events costs mypy three seconds
    for event in told:
        match event:
            case CodeStarted():
                languages[event.block_id] = event.language
            case ExecutionStarted(block_id=block_id) if block_id in languages:
                asked.add(languages[block_id])
                runs.append(running.setdefault(block_id, []))
            case NoticeAdded():
                notice = event
                if ended and isinstance(finished := ended[-1], RunResult):
                    ended[-1] = msgspec.structs.replace(finished, detail=event.title)
                ended = []
            case ExecutionFinished(block_id=block_id) if block_id in running:
                ended = running.pop(block_id)
                ended.append(RunResult(status=event.status, exit_code=event.exit_code))
            case ExecutionFinished(block_id=block_id) if block_id in languages:
                asked.add(languages[block_id])
                runs.append(KernelError(notice.title, hint=notice.hint, details=notice.details))
            case KernelChanged():
                ended = []
            case _ if (block_id := getattr(event, "block_id", "")) in running and isinstance(event, GIVEN):
                running[block_id].append(in_block(event, ""))
            case _:
                pass
    return FakeKernels(**{language: RecordedKernel(language, runs) for language in sorted(asked)})


async def resimulate(recording: Recording, policy: Policy = NO_RULES) -> list[AnyEvent]:
    """The events that the loop makes of it today. Times and ids are others; what came late is not in it. The `policy`
    is the one that held then."""
    header, past = recording.header, list(recording.events())
    session = Session(
        kernels=recorded_kernels(past),
        settings=LoopSection(approve=header.approve, max_steps=header.max_steps),
        model=RecordedModel(recording),
        policy=policy,
        tools=recorded_tools(past),
    )
    contexts = {event.text: event.context for event in past if isinstance(event, TurnStarted)}
    verbs = [line.what.verb for line in recording.lines if isinstance(line.what, Asked)]
    decisions = deque(verb for verb in verbs if isinstance(verb, Decide))
    answers: set[asyncio.Task[bool]] = set()

    def react(event: AnyEvent) -> None:
        match event:
            case DecisionRequested(request_id=request_id) if decisions:
                said = decisions.popleft()
                session.decide(
                    Decide(request_id=request_id, verdict=said.verdict, source=said.source, reason=said.reason)
                )
            case InputRequested(request_id=request_id):
                answers.add(asyncio.create_task(session.answer(request_id, "")))
            case _:
                pass

    events: list[AnyEvent] = []
    for verb in verbs:
        work: Coroutine[Any, Any, object]
        match verb:
            case Submit():
                session.dialogue.required.demand(verb.schema)
                work = session.run(verb.text, verb.files, contexts.get(verb.text, ""))
            case Run():
                work = session.run_code(session.kernels.canonical(verb.language) or verb.language, verb.source)
            case Retry():
                work = session.go_on()
            case Interrupt():
                raise StoreError("The recording was interrupted by hand, at a moment that cannot be repeated.")
            case _:
                continue
        events += await play(session, work, react)
    return events


def comparable(blocks: Sequence[Block]) -> list[Block]:
    """Without what is another each time, and without what only an engine says around the loop."""
    same: list[Block] = []
    for block in blocks:
        if isinstance(block, NoticeBlock):
            continue
        changes: dict[str, Any] = {"id": ""}
        if isinstance(block, Action) and block.caller:
            changes |= {"caller": "what called it", "written": None}
        if isinstance(block, CallBlock):
            changes |= {"duration": None, "call_id": None, "written": None}
        if isinstance(block, CodeBlock):
            changes |= {"duration": None, "call_id": None, "place": "", "written": None}
        same.append(msgspec.structs.replace(block, **changes))
    return same
