"""Fakes that ship with the engine: a scripted model and a scripted kernel, both recording.

Use them in tests of everything above them, here and in plugins.

    model = FakeModel("I'll add.\n```python\n1+1\n```", "It is 2.")
    kernels = FakeKernels(python=FakeKernel({"1+1": [text_result("2"), RunResult(status="ok")]}))
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from oi_tui.app.engine.core.chat_model import AnswerEnded, AnswerUsage, ChatRequest, Delta, Model, TextDelta
from oi_tui.app.engine.core.errors import KernelError, ModelError, OiTuiError
from oi_tui.app.engine.core.events import AnyEvent, Emit, InputRequested, OutputAdded
from oi_tui.app.engine.core.kernel_choice import KernelChoice, KernelMove
from oi_tui.app.engine.core.outcomes import KernelState
from oi_tui.app.engine.core.outputs import RichOutput, StreamOutput
from oi_tui.app.engine.core.protocol import FetchProgressed, ModelOffer, ModelsFound
from oi_tui.app.engine.core.values import FRESH_KERNEL, Confinement, Language, Reach
from oi_tui.app.engine.kernels.base import InterruptMeans, Kernel, RejoinableKernel, RunResult, ServerFile, in_block
from oi_tui.app.engine.kernels.inspection import CodeNames, Listing, VariableDetail, VariableRow

ScriptedAnswer = str | Sequence[Delta | ModelError | asyncio.Event]
"""A scripted answer: text (cut into pieces of `chunk` characters), or deltas, errors to raise, events to wait for."""


class FakeModel:
    """Answers from a script, one answer a request; records every request. The last answer repeats."""

    def __init__(
        self, *answers: ScriptedAnswer, name: str = "fake/model", chunk: int = 5, takes_images: bool = False
    ) -> None:
        self.answers = list(answers)
        self.requests: list[ChatRequest] = []
        self.name = name
        self.chunk = chunk
        self.context_window: int | None = 8192
        self.takes_images = takes_images
        self.tells_price = True
        self.closed = 0
        """How often an answer was cancelled."""
        self._asked = asyncio.Condition()

    async def wait_for_requests(self, count: int) -> None:
        """Wait until this many requests have arrived."""
        async with self._asked:
            await self._asked.wait_for(lambda: len(self.requests) >= count)

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Delta, None]:
        """The next scripted answer."""
        index = min(len(self.requests), len(self.answers) - 1)
        self.requests.append(request)
        async with self._asked:
            self._asked.notify_all()
        ended = False
        try:
            for item in self._items(self.answers[index]):
                match item:
                    case ModelError():
                        ended = True
                        raise item
                    case asyncio.Event():
                        await item.wait()
                    case _:
                        await asyncio.sleep(0)
                        yield item
            ended = True
        finally:
            self.closed += not ended

    def _items(self, answer: ScriptedAnswer) -> Sequence[Delta | ModelError | asyncio.Event]:
        if not isinstance(answer, str):
            return answer
        pieces = [TextDelta(text=answer[i : i + self.chunk]) for i in range(0, len(answer), self.chunk)]
        usage = AnswerUsage(input_tokens=100, output_tokens=len(pieces), cost=0.0)
        return [*pieces, usage, AnswerEnded()]


ScriptItem = TypeVar("ScriptItem")

Happenings = Sequence[AnyEvent | RunResult]
"""The events of a run, its result last. The kernel fills in the block."""

Script = Mapping[str, Happenings] | Callable[[str], Happenings]


class FakeKernel:
    """Runs from a script (source to events); an unknown source gives its own text on stdout. Records what ran."""

    def __init__(
        self, script: Script | None = None, language: Language = "python", confinement: Confinement | None = None
    ) -> None:
        self.script = script if script is not None else {}
        self.language = language
        self.place = ""
        self.elsewhere = False
        self.confinement = confinement or Confinement()
        self.state: KernelState = "cold"
        self.generation = 0
        self.ran: list[str] = []
        self.answers: list[str] = []
        self.interrupts = 0
        self.blocked = False
        """Set it to make every run wait until it is interrupted, after its events but the last."""
        self.stubborn = False
        """Set it to make runs ignore everything but a restart."""
        self.stops_by: InterruptMeans = "signal"
        """What stops a run that is not stubborn."""
        self.fails: KernelError | None = None
        """Set it to make every start fail."""
        self.starting: asyncio.Event | None = None
        """Give it an event to hold up every start until it is set."""
        self.holds: dict[str, str] = {}
        """Variables and their values; the script may change them. A restart does away with them."""
        self.tells = True
        """Unset it to have questions about variables not answered."""
        self.asked: list[str] = []
        """The requests about variables: "*" for all of them, "* again" if nothing ran since, else a name."""
        self.late: list[Emit] = []
        """For each run, what emits an event of it: call it for what comes after its end."""
        self.closed = asyncio.Event()
        """Set when it was closed permanently."""
        self._released = asyncio.Event()
        self._interrupted = False

    async def start(self) -> None:
        """Ready at once, or when `starting` is set."""
        if self.starting is not None:
            await self.starting.wait()
        if self.fails is not None:
            self.state = "dead"
            raise self.fails
        if self.state in ("cold", "dead"):
            self.generation += 1
            self.state = "idle"

    async def run(self, source: str, block_id: str, emit: Emit) -> RunResult:
        """Run the script's part for this source."""
        await self.start()

        def tell(event: AnyEvent) -> None:
            emit(in_block(event, block_id))

        self.late.append(tell)
        self.ran.append(source)
        self.state = "busy"
        self._interrupted = False
        self._released.clear()
        try:
            for item in self._happenings(source):
                if isinstance(item, RunResult) and self.blocked:
                    await self._released.wait()
                if self._interrupted:
                    break
                if isinstance(item, RunResult):
                    self.state = "dead" if item.status == "died" else "idle"
                    return item
                tell(item)
                if isinstance(item, InputRequested):
                    await self._released.wait()
                    self._released.clear()
            return RunResult(status="interrupted")
        finally:
            if self.state == "busy":
                self.state = "idle"

    def _happenings(self, source: str) -> Happenings:
        if callable(self.script):
            return self.script(source)
        default = (stdout_output(source), RunResult(status="ok"))
        return self.script.get(source, default)

    async def answer(self, text: str) -> None:
        """Recorded; the waiting run continues."""
        self.answers.append(text)
        self._released.set()

    async def interrupt(self, *, restart: bool = True) -> InterruptMeans:
        """Ends the run at its next event; a stubborn one only with a restart."""
        if self.state != "busy":
            return "nothing_ran"
        self.interrupts += 1
        if self.stubborn and not restart:
            return "ignored"
        self._interrupted = True
        self._released.set()
        return "restart" if self.stubborn else self.stops_by

    def variables(self, known: tuple[str, ...], *, again: bool) -> Awaitable[Listing | None]:
        """The variables that it has now."""
        self.asked.append("* again" if again else "*")
        rows = tuple(VariableRow(name=name, type="str", peek=value, mark=value) for name, value in self.holds.items())
        gone = tuple(name for name in known if name not in self.holds)
        return self._answer(Listing(variables=rows, gone=gone))

    def peek(self, name: str) -> Awaitable[VariableDetail | None]:
        self.asked.append(name)
        return self._answer(VariableDetail(text=self.holds.get(name)))

    def names(self, source: str, place: int) -> Awaitable[CodeNames | None]:
        return self._answer(None)

    def _answer(self, answer: ScriptItem) -> Awaitable[ScriptItem | None]:
        coming: asyncio.Future[ScriptItem | None] = asyncio.get_running_loop().create_future()
        coming.set_result(answer if self.tells and self.state == "idle" else None)
        return coming

    async def restart(self) -> None:
        """Counts the generation up."""
        self.generation += 1
        self.holds = {}
        self.state = "idle"

    async def close(self) -> None:
        self.state = "dead"
        self.closed.set()


class FakeKernels:
    """Kernels by language, all of them fakes."""

    def __init__(self, *, installer: FakeKernel | None = None, **kernels: FakeKernel) -> None:
        """`installer` is what installs something; by default another fake."""
        self.by_language, self.files = kernels or {"python": FakeKernel()}, dict[str, bytes]()
        self._installer = installer or FakeKernel(language="shell")

    @property
    def languages(self) -> tuple[Language, ...]:
        """What can be run."""
        return tuple(self.by_language)

    surroundings = remark = ""

    async def settle(self) -> KernelError | None:
        """There is nothing to find out."""
        return None

    async def read_file(self, path: str) -> ServerFile:
        """One of `files`, which are on a server "fake"; KernelError if it is not there."""
        if path not in self.files:
            raise KernelError(f"There is no file {path} on fake.")
        return ServerFile(path=path, host="fake", data=self.files[path])

    async def write_file(self, path: str, data: bytes) -> str:
        """One more of `files`."""
        self.files[path] = data
        return "fake"

    async def look_around(self) -> None:
        """There is nothing to find out."""

    def left_alive(self) -> tuple[RejoinableKernel, ...]:
        """Fakes are never left."""
        return ()

    def hand_over(self, session_id: str, heir: str) -> None:
        """Nobody reconnects to them."""

    async def use(self, name: str, *, agreed: bool = False) -> KernelMove:
        """A fresh kernel that is not started yet, whatever the name."""
        self.by_language["python"].holds, self.by_language["python"].state = {}, "cold"
        return KernelMove(name)

    async def choices(self, server: str = "") -> tuple[KernelChoice, ...]:
        """The fake in use, and on any server one kernelspec."""
        if server:
            return (KernelChoice(name=f"{server}:fake", kind="kernelspec", title="A fake", server=server),)
        return (KernelChoice(name="fake", kind="environment", title="A fake", in_use=True),)

    async def installer(self, name: str) -> tuple[Kernel, str]:
        """The fake that installs, and a command that names the environment."""
        return self._installer, f"install {name}"

    def canonical(self, label: str) -> Language | None:
        """The languages given, by exact name, and py and bash."""
        name = {"py": "python", "bash": "shell", "sh": "shell"}.get(label, label)
        return name if name in self.by_language else None

    def get(self, language: Language) -> Kernel:
        """The fake of this language; KernelError if there is none."""
        if language not in self.by_language:
            raise KernelError(f"There is no kernel named {language}.")
        return self.by_language[language]

    def pip_installer(self, arguments: tuple[str, ...]) -> Kernel:
        """A kernel of its own, which runs `pip install` and the arguments."""
        held = Confinement(sandboxed=True, apart="/w/.venv", apart_hosts=("pypi.org",))
        fake = self.by_language["installer"] = FakeKernel(language="shell", confinement=held)
        return fake

    def fresh_kernel(self) -> Kernel:
        """One more, known as `fresh`."""
        return self.by_language.setdefault("fresh", FakeKernel(confinement=Confinement(apart=FRESH_KERNEL)))

    def tool_kernel(self, *, writes: bool, network: bool) -> Kernel:
        """A fake that promises a sandbox, known as `tools`, or as `readers` where it cannot write."""
        held = Confinement(sandboxed=True, offline=not network, reach=Reach(writes=("/w",) if writes else ()))
        return self.by_language.setdefault("tools" if writes else "readers", FakeKernel(confinement=held))

    def started_kernels(self) -> tuple[Kernel, ...]:
        """The kernels that have been started."""
        return tuple(kernel for kernel in self.by_language.values() if kernel.generation)

    async def close(self) -> None:
        for kernel in self.by_language.values():
            await kernel.close()


def stdout_output(text: str) -> OutputAdded:
    """Text on stdout, for a script."""
    return OutputAdded(block_id="", output=StreamOutput(name="stdout", text=text))


def text_result(text: str) -> OutputAdded:
    """The value of a last expression, for a script."""
    return OutputAdded(block_id="", output=RichOutput(data={"text/plain": text}, is_result=True))


def asks(prompt: str, *, password: bool = False) -> InputRequested:
    """A question to the person, for a script."""
    return InputRequested(request_id="", block_id="", prompt=prompt, password=password)


class FakeModels:
    """A source of models that always gives the same fake, or fails."""

    def __init__(self, model: FakeModel, *, fails: OiTuiError | None = None) -> None:
        self.model, self.fails = model, fails
        self.opened: list[tuple[str, str | None, str | None]] = []
        self.kept, self.closed, self.fallback = list[tuple[str, str, str]](), False, tuple[str, ...]()
        self.find_aside, self.can_open = lambda: "fake/aside", lambda name: bool(name != "gone")
        self.obstacle: ModelError | None = None
        self.opening: asyncio.Event | None = None  # give it an event to hold up every opening until it is set
        self.fetching = asyncio.Event()  # set it to let a download end

    def is_embedded(self, name: str) -> bool:
        return name.startswith("local/")

    async def open(self, name: str, api_base: str | None = None, api_key: str | None = None, **_: object) -> Model:
        self.opened.append((name, api_base, api_key))
        if self.opening is not None:
            await self.opening.wait()
        if self.fails is not None:
            raise self.fails
        self.model.name = name
        return self.model

    async def keep_key(self, name: str, api_base: str, key: str) -> str:
        self.kept.append((name, api_base, key))
        return "in the keyring"

    async def forget_key(self, whose: str) -> tuple[str, str]:
        return f"The API key of {whose} is deleted.", ""

    def provider(self, name: str) -> str:
        return name.partition("/")[0] if "/" in name else "openai"

    async def list_models(self, name: str, api_base: str, api_key: str | None) -> tuple[ModelOffer, ...]:
        names = [name, f"{name}-large"] * bool(api_base)
        return tuple(ModelOffer(id=one, kind="server", title=one, api_base=api_base) for one in names)

    async def find_obstacle(self, name: str, api_base: str, api_key: str | None) -> ModelError | None:
        return self.obstacle

    async def find_models(self) -> ModelsFound:
        download = ModelOffer(id="tiny", kind="embedded", title="Tiny", download_bytes=100, recommended=True)
        return ModelsFound(offers=(ModelOffer(id="fake/key", kind="key", title="A key"), download), why="Tiny fits.")

    async def fetch(self, model_id: str, progress: Callable[[FetchProgressed], None]) -> str:
        progress(FetchProgressed(model_id=model_id, done_bytes=50, total_bytes=100))
        await self.fetching.wait()
        return f"local/{model_id}"

    async def close(self) -> None:
        self.closed = True
