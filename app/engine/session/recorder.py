"""Stands between the loop and what it talks to, and writes everything down on the way."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Protocol

from oi_tui.app.engine.core.chat_model import ChatRequest, Delta, Model
from oi_tui.app.engine.core.errors import KernelError, ModelError
from oi_tui.app.engine.core.events import AnyEvent, Emit, KernelState
from oi_tui.app.engine.core.protocol import Batch, FetchProgressed, ModelsFound, Reply
from oi_tui.app.engine.core.values import Confinement, Language
from oi_tui.app.engine.core.verbs import Answer, AnyVerb, KeepDraft, UseModel
from oi_tui.app.engine.kernels.base import InterruptMeans, Kernel, RunResult, in_block
from oi_tui.app.engine.log.recording.form import (
    Asked,
    KernelFailed,
    KernelRunBegan,
    KernelSaid,
    ModelBegan,
    ModelFailed,
    ModelSaid,
    Tape,
    Told,
)
from oi_tui.app.engine.session.model_switch import ModelSource
from oi_tui.app.engine.session.open_session import ClosableKernels
from oi_tui.app.engine.session.outbox import Send


class RecordableEngine(Protocol):
    """An engine."""

    async def handle(self, verb: AnyVerb) -> None:
        """Follow one verb."""
        ...

    async def close(self) -> None:
        """Save and end."""
        ...


class TappedModel:
    """A model whose answers are written down."""

    def __init__(self, model: Model, tape: Tape) -> None:
        self._model = model
        self._tape = tape

    @property
    def name(self) -> str:
        """Name for the screen."""
        return self._model.name

    @property
    def context_window(self) -> int | None:
        """Tokens that fit, None if unknown."""
        return self._model.context_window

    @property
    def takes_images(self) -> bool:
        """Whether pictures may be sent."""
        return self._model.takes_images

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Delta, None]:
        """Ask."""
        self._tape.put(ModelBegan())
        try:
            async with aclosing(self._model.stream(request)) as deltas:
                async for delta in deltas:
                    self._tape.put(ModelSaid(delta=delta))
                    yield delta
        except ModelError as error:
            self._tape.put(ModelFailed(kind=error.kind, title=error.title, hint=error.hint, details=error.details))
            raise
        finally:
            self._tape.over("model")


class TappedModels:
    """Where such models come from."""

    def __init__(self, models: ModelSource, tape: Tape) -> None:
        self._models = models
        self._tape = tape

    @property
    def is_embedded(self) -> bool:
        """Whether the model last opened runs on this machine, as a part of oi-tui."""
        return self._models.is_embedded

    async def open(self, name: str, api_base: str | None = None, api_key: str | None = None) -> Model:
        """The model of this name."""
        return TappedModel(await self._models.open(name, api_base, api_key), self._tape)

    def can_open(self, name: str) -> bool:
        """Whether a name remembered from another day can still be opened."""
        return self._models.can_open(name)

    async def provider(self, name: str) -> str:
        """Whose name this is."""
        return await self._models.provider(name)

    async def find_models(self) -> ModelsFound:
        """What there is to choose from."""
        return await self._models.find_models()

    async def fetch(self, model_id: str, progress: Callable[[FetchProgressed], None]) -> str:
        """Download an embedded model; returns its name."""
        return await self._models.fetch(model_id, progress)

    async def close(self) -> None:
        """End what was started."""
        await self._models.close()


class TappedKernel:
    """A kernel whose runs are written down."""

    def __init__(self, kernel: Kernel, tape: Tape) -> None:
        self._kernel = kernel
        self._tape = tape

    @property
    def language(self) -> Language:
        """What it runs."""
        return self._kernel.language

    @property
    def confinement(self) -> Confinement:
        """What holds back the code that it runs."""
        return self._kernel.confinement

    @property
    def state(self) -> KernelState:
        """Where it stands now."""
        return self._kernel.state

    @property
    def generation(self) -> int:
        """How often it was started."""
        return self._kernel.generation

    async def start(self) -> None:
        """Start it if it is cold or dead."""
        try:
            await self._kernel.start()
        except KernelError as error:
            self._tape.put(KernelFailed(title=error.title, hint=error.hint, details=error.details))
            raise

    async def run(self, source: str, block_id: str, emit: Emit) -> RunResult:
        """Run the source."""
        late = False

        def tap(event: AnyEvent) -> None:
            self._tape.put(KernelSaid(event=in_block(event, ""), late=late))
            emit(event)

        self._tape.put(KernelRunBegan(language=self.language, source=source))
        try:
            result = await self._kernel.run(source, block_id, tap)
            self._tape.put(KernelSaid(event=result))
        finally:
            late = True
            self._tape.over("kernel")
        return result

    async def answer(self, text: str) -> None:
        """Give the line that the run waits for."""
        await self._kernel.answer(text)

    async def interrupt(self, *, restart: bool = True) -> InterruptMeans:
        """Stop the run."""
        return await self._kernel.interrupt(restart=restart)

    async def restart(self) -> None:
        """A fresh process."""
        await self._kernel.restart()

    async def close(self) -> None:
        """End the process."""
        await self._kernel.close()


class TappedKernels:
    """Where such kernels come from."""

    def __init__(self, kernels: ClosableKernels, tape: Tape) -> None:
        self._kernels = kernels
        self._tape = tape

    @property
    def languages(self) -> tuple[Language, ...]:
        """What can be run here, best first."""
        return self._kernels.languages

    @property
    def surroundings(self) -> str:
        """What code in them can reach and change."""
        return self._kernels.surroundings

    def canonical(self, label: str) -> Language | None:
        """The language of a fence label."""
        return self._kernels.canonical(label)

    def get(self, language: Language) -> Kernel:
        """The kernel of this language."""
        return TappedKernel(self._kernels.get(language), self._tape)

    def started_kernels(self) -> tuple[Kernel, ...]:
        """Those that have been started."""
        return tuple(TappedKernel(kernel, self._tape) for kernel in self._kernels.started_kernels())

    async def renew(self) -> None:
        """End all of them; those that are asked for from now on are others."""
        await self._kernels.renew()

    async def close(self) -> None:
        """End all of them for good."""
        await self._kernels.close()


class TappedEngine:
    """An engine whose verbs are written down, and what it says to its front end: see `tapped_send`."""

    def __init__(self, engine: RecordableEngine, tape: Tape) -> None:
        self._engine = engine
        self._tape = tape

    async def handle(self, verb: AnyVerb) -> None:
        """Follow one verb. A key stays out of the recording, and so does a line that was given to running code."""
        match verb:
            case UseModel() | KeepDraft():
                pass
            case Answer():
                self._tape.put(Asked(verb=Answer(request_id=verb.request_id, text="")))
            case _:
                self._tape.put(Asked(verb=verb))
        await self._engine.handle(verb)

    async def close(self) -> None:
        """Save and end."""
        await self._engine.close()
        self._tape.close()


def tapped_send(send: Send, tape: Tape) -> Send:
    """The same, with every batch of events written down when it is sent."""

    async def record(reply: Reply) -> None:
        if isinstance(reply, Batch):
            tape.put(Told(events=reply.events, replay=reply.replay, further=reply.further, more=reply.more))
        await send(reply)

    return record
