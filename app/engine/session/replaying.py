"""A recording as the other side of the loop: a model that says what was said, kernels that give what they gave.

`rerun_events` has the loop of today do what the recording tells of; what happens should be what happened then.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterator

from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.chat_model import ChatRequest, Delta
from oi_tui.app.engine.core.errors import KernelError, ModelError, StoreError
from oi_tui.app.engine.core.events import (
    AnyEvent,
    DecisionRequested,
    Emit,
    InputRequested,
    KernelState,
    SessionOpened,
    TurnStarted,
)
from oi_tui.app.engine.core.settings import LoopSection
from oi_tui.app.engine.core.values import Confinement, Language
from oi_tui.app.engine.core.verbs import Decide, Interrupt, Retry, Run, Submit
from oi_tui.app.engine.kernels.base import InterruptMeans, Kernel, RunResult, in_block
from oi_tui.app.engine.log.recording.form import (
    Asked,
    KernelFailed,
    KernelRunBegan,
    KernelSaid,
    ModelBegan,
    ModelFailed,
    ModelSaid,
    Recording,
)

RecordedAnswer = list[Delta | ModelError]
Ran = list[AnyEvent | RunResult | KernelError]


class RecordedModel:
    """Gives the answers of a recording, in order."""

    def __init__(self, recording: Recording) -> None:
        self.name = next((e.model for e in events_of(recording) if isinstance(e, SessionOpened)), "")
        self.context_window: int | None = None
        self.takes_images = False
        self._answers: deque[RecordedAnswer] = deque()
        for line in recording.lines:
            match line.what:
                case ModelBegan():
                    self._answers.append([])
                case ModelSaid(delta=delta):
                    self._answers[-1].append(delta)
                case ModelFailed() as failed:
                    self._answers[-1].append(
                        ModelError(failed.kind, failed.title, hint=failed.hint, details=failed.details)
                    )
                case _:
                    pass

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Delta, None]:
        """The next answer; StoreError if there is none."""
        if not self._answers:
            raise StoreError("The recording has no further answer of the model: the loop asked once more than then.")
        for item in self._answers.popleft():
            await asyncio.sleep(0)
            if isinstance(item, ModelError):
                raise item
            yield item


class RecordedKernel:
    """Gives what came of each run, in order, whatever it is given."""

    def __init__(self, language: Language, runs: deque[Ran]) -> None:
        self.language = language
        self.confinement = Confinement()
        self.state: KernelState = "cold"
        self.generation = 0
        self._runs = runs

    async def start(self) -> None:
        """Ready at once, unless it failed then."""
        if self._runs and self._runs[0] and isinstance(error := self._runs[0][0], KernelError):
            self._runs.popleft()
            self.state = "dead"
            raise error
        if self.state in ("cold", "dead"):
            self.generation += 1
            self.state = "idle"

    async def run(self, source: str, block_id: str, emit: Emit) -> RunResult:
        """What came of the run that was next then."""
        if not self._runs:
            raise KernelError("The recording has no further run: the loop ran something that did not run then.")
        for what in self._runs.popleft():
            await asyncio.sleep(0)
            match what:
                case KernelError():
                    raise what
                case RunResult():
                    self.state = "dead" if what.status == "died" else "idle"
                    return what
                case _:
                    emit(in_block(what, block_id))
        return RunResult(status="interrupted")  # it was broken off with the program

    async def answer(self, text: str) -> None:
        """What was answered then has been answered."""

    async def interrupt(self, *, restart: bool = True) -> InterruptMeans:
        """The run ends when it ended then."""
        return "signal"

    async def restart(self) -> None:
        """Another generation."""
        self.generation += 1
        self.state = "idle"

    async def close(self) -> None:
        """Nothing to end."""


class RecordedKernels:
    """All kernels of a recording; runs are taken in the order in which they were made, of whatever kernel."""

    def __init__(self, recording: Recording) -> None:
        runs: deque[Ran] = deque()
        languages: dict[Language, None] = {}
        for line in recording.lines:
            match line.what:
                case KernelRunBegan(language=language):
                    languages[language] = None
                    runs.append([])
                case KernelSaid(event=event, late=False):
                    runs[-1].append(event)
                case KernelFailed() as failed:
                    runs.append([KernelError(failed.title, hint=failed.hint, details=failed.details)])
                case _:
                    pass
        self.languages: tuple[Language, ...] = tuple(languages) or ("python",)
        self._kernels = {language: RecordedKernel(language, runs) for language in self.languages}

    def canonical(self, label: str) -> Language | None:
        """The language of a fence label; those that ran then."""
        name = {"py": "python", "bash": "shell", "sh": "shell"}.get(label, label)
        return name if name in self._kernels else None

    surroundings = ""

    def get(self, language: Language) -> Kernel:
        """The kernel of this language; KernelError if nothing of it ran."""
        if language not in self._kernels:
            raise KernelError(f"Nothing of the recording ran in {language}.")
        return self._kernels[language]

    def started_kernels(self) -> tuple[Kernel, ...]:
        """Those that have been started."""
        return tuple(kernel for kernel in self._kernels.values() if kernel.generation)


def events_of(recording: Recording) -> Iterator[AnyEvent]:
    """The events that make up the session, from the last time that it was told anew."""
    told = [what for _, what in recording.told()]
    begin = max((number for number, what in enumerate(told) if what.replay and not what.further), default=0)
    for what in told[begin:]:
        yield from what.events


async def rerun_events(recording: Recording) -> list[AnyEvent]:
    """The events that the loop makes of it today. Times and ids are others; what came late is not in it."""
    header = recording.header
    session = Session(
        kernels=RecordedKernels(recording),
        settings=LoopSection(approve=header.approve, max_steps=header.max_steps),
        model=RecordedModel(recording),
    )
    contexts = {event.text: event.context for event in events_of(recording) if isinstance(event, TurnStarted)}
    verbs = [line.what.verb for line in recording.lines if isinstance(line.what, Asked)]
    decisions = deque(verb for verb in verbs if isinstance(verb, Decide))
    events: list[AnyEvent] = []
    answers: set[asyncio.Task[bool]] = set()

    def follow(event: AnyEvent) -> None:
        events.append(event)
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

    session.emitter.observers = (follow,)
    for verb in verbs:
        match verb:
            case Submit():
                await session.run(verb.text, verb.files, contexts.get(verb.text, ""))
            case Run():
                await session.run_code(session.kernels.canonical(verb.language) or verb.language, verb.source)
            case Retry():
                await session.go_on()
            case Interrupt():
                raise StoreError("The recording was interrupted by hand, at a moment that cannot be repeated.")
            case _:
                pass
    return events
