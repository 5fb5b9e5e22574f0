"""Runs calls of one tool as a kernel runs code: its output is limited, it can be interrupted, and it ends once."""

import asyncio
import contextlib
import logging
import math
import threading
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from numbers import Real
from pathlib import Path

import msgspec

from oi_tui.app.engine.core.chat_model import ASK_USER
from oi_tui.app.engine.core.encoding import decode_arguments, expressible
from oi_tui.app.engine.core.events import Emit, InputRequested, NoticeAdded, OutputAdded, ProgressReported
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.outcomes import KernelState
from oi_tui.app.engine.core.outputs import ErrorOutput, Progress, RichOutput
from oi_tui.app.engine.core.values import Confinement, Level
from oi_tui.app.engine.kernels.base import InterruptMeans, RunRequest, RunResult
from oi_tui.app.engine.kernels.output_stream import OutputStream
from oi_tui.app.engine.text.mime import plain_text
from oi_tui.app.engine.tools.checking import check_arguments, clean_output, late_output
from oi_tui.app.engine.tools.later import LaterResult, Pending
from oi_tui.app.engine.tools.tool import (
    Arguments,
    Tool,
    ToolFailed,
    error_text,
)

CAP = 200_000
"""Characters of text that one call passes on as they come."""

MESSAGE = 1_000
"""Characters of a message beside progress."""

CHOICES = 20
"""Answers that one question offers."""

THE_MODEL = "the model"
"""The asker named in questions of the tool `ask_user`."""

GRACE = 2.0
"""Seconds that a call has to end when it was cancelled."""

TO_MODEL = 20_000
"""Characters of a later result that the model reads."""

Ask = Callable[[InputRequested, Emit], Awaitable[str | None]]
"""Asks the person; how a runner and what it gives a call speak with each other."""

Perform = Callable[[str, str, Arguments], Awaitable[str]]
"""Performs what a call (the id of its block) calls: a tool with arguments."""

_log = logging.getLogger(__name__)


class ToolRunner:
    """Runs a call as a kernel runs code; each call has a runner of its own."""

    elsewhere = False
    state: KernelState = "idle"
    generation = 1
    """A tool does not change while the session is open."""

    def __init__(
        self,
        tool: Tool,
        spill_dir: Path | None = None,
        questions: asyncio.Lock | None = None,
        perform: Perform | None = None,
    ) -> None:
        """`questions` is held while the person is asked; `perform` is given what the call calls."""
        self.tool = tool
        self._perform = perform
        self._questions = questions or asyncio.Lock()
        self._spill_dir = spill_dir
        self._running: asyncio.Future[RichOutput | None] | None = None
        self._interrupted = False
        """Whether somebody asked for the end of the call."""
        self._asked: asyncio.Future[str | None] | None = None
        """The answer to the question that is open."""
        self._over = asyncio.Event()
        """The call has ended, or nobody waits for it any more."""

    @property
    def place(self) -> str:
        """What its calls run in, "" for the engine."""
        return self.tool.place

    @property
    def confinement(self) -> Confinement:
        """The sandbox of its calls."""
        return self.tool.confinement

    async def start(self) -> None:
        """Tools need no start."""

    async def run(self, source: str, block_id: str, emit: Emit) -> RunResult:
        """Run a call with these arguments. What it does wrong is its error output, never ours."""
        stream = OutputStream(RunRequest(source, block_id, emit, CAP, self._spill_dir))
        try:
            arguments = decode_arguments(source)
            check_arguments(arguments, self.tool.schema)
            running = await self._run(arguments, _Output(stream, block_id, emit, self._ask, self._call, self.tool.name))
            if not running.done() or (running.cancelled() and self._interrupted):
                return await _finish(stream, RunResult(status="interrupted"))
            if running.cancelled():
                raise ToolFailed("The call was cancelled, and not by the person.")
            result = running.result()
            if result is not None:
                stream.display(result)
        except asyncio.CancelledError:
            stream.detach()
            raise
        except Exception as error:
            # Boundary: the tool may be somebody else's. Its exceptions are reported like those of code.
            if not isinstance(error, ToolFailed | ValueError):
                _log.warning("the tool %s failed", self.tool.name, exc_info=True)
            name, text = type(error).__name__, error_text(error)
            line = text if isinstance(error, ToolFailed) else f"{name}: {text}"
            stream.error(ErrorOutput(name=name, value=text, traceback=tuple(line.split("\n"))))
            return await _finish(stream, RunResult(status="error"))
        return await _finish(stream, RunResult(status="ok"))

    async def _run(self, arguments: Arguments, output: "_Output") -> asyncio.Future[RichOutput | None]:
        """The call, when it has ended or was given up."""
        self._running = running = asyncio.ensure_future(_call(self.tool, arguments, output))
        self._interrupted = False
        self._over.clear()
        running.add_done_callback(lambda _: self._over.set())
        try:
            await self._over.wait()
            return running
        finally:
            running.cancel()
            running.add_done_callback(_forget)
            self._running = None
            output.close()

    @property
    def _name(self) -> str:
        """Who asks, in words."""
        origin = self.tool.origin
        if self.tool.name == ASK_USER and not origin:
            return THE_MODEL
        return expressible(f"tool {self.tool.name}{f' of {origin[:MESSAGE]}' if origin else ''}")

    async def _ask(self, request: InputRequested, emit: Emit) -> str | None:
        if self._asked is not None:
            raise ValueError("one question at a time")
        self._asked = asyncio.get_running_loop().create_future()
        try:
            async with self._questions:
                emit(msgspec.structs.replace(request, asked_by=self._name))
                return await self._asked
        finally:
            self._asked = None

    async def _call(self, block_id: str, name: str, arguments: Arguments) -> str:
        if self._perform is None:
            raise ToolFailed("Nothing can be called from here.")
        return await self._perform(block_id, name, arguments)

    async def answer(self, text: str) -> None:
        """The line that the call asked for."""
        self._answer(text)

    def decline(self) -> None:
        """Answer the call's question with None."""
        self._answer(None)

    def _answer(self, text: str | None) -> None:
        if self._asked is not None and not self._asked.done():
            self._asked.set_result(text)

    async def interrupt(self, *, restart: bool = True) -> InterruptMeans:
        """Cancel the call. One that ignores that is abandoned with `restart`: its later results are dropped."""
        running = self._running
        if running is None:
            return "nothing_ran"
        self._interrupted = True
        running.cancel()
        await asyncio.wait([running], timeout=GRACE)
        if running.done():
            return "signal"
        if restart:
            self._over.set()
        return "restart" if restart else "ignored"


class _Output:
    """What a call is given to speak with, from any thread; nothing is heard of it once the call is over."""

    def __init__(self, stream: OutputStream, block_id: str, emit: Emit, ask: Ask, perform: Perform, tool: str) -> None:
        self._stream, self.block_id, self._emit, self._ask = stream, block_id, emit, ask
        self._perform, self._tool = perform, tool
        self._open = True
        self._loop, self._thread = asyncio.get_running_loop(), threading.get_ident()

    def print(self, text: str) -> None:
        if not isinstance(text, str):
            raise TypeError(f"what is printed is text, not {type(text).__name__}")
        self._say(partial(self._stream.stream, "stdout", text))

    def show(self, output: RichOutput) -> None:
        self._say(partial(self._stream.display, clean_output(output)))

    def report(self, done: float, total: float | None = None, message: str = "") -> None:
        if not isinstance(message, str):
            raise TypeError(f"a message is text, not {type(message).__name__}")
        whole = None if total is None else _finite(total)
        progress = Progress(done=_finite(done), total=whole, message=expressible(message[:MESSAGE]))
        self._say(partial(self._emit, ProgressReported(block_id=self.block_id, progress=progress)))

    async def ask(
        self, question: str, choices: Sequence[str] = (), *, several: bool = False, password: bool = False
    ) -> str | None:
        if not (isinstance(question, str) and all(isinstance(choice, str) for choice in choices)):
            raise TypeError("a question and its choices are text")
        if not self._open:
            return None
        request = InputRequested(
            request_id=new_id(),
            block_id=self.block_id,
            prompt=expressible(question[:MESSAGE]),
            password=password,
            choices=tuple(expressible(choice[:MESSAGE]) for choice in choices[:CHOICES]),
            several=bool(several and choices),
        )
        return await self._ask(request, self._emit)

    async def call(self, name: str, arguments: Arguments) -> str:
        if not (isinstance(name, str) and isinstance(arguments, dict)):
            raise TypeError("a call has the name of a tool and an object of arguments")
        if not self._open:
            raise ToolFailed("The call is over, and can call nothing.")
        return await self._perform(self.block_id, name, arguments)

    def finish_later(self) -> LaterResult:
        return LaterResult(self._deliver)

    def _deliver(self, result: str | RichOutput | None, failed: bool) -> None:
        """A result that comes when the call is over: in its block, and as a notice that the model reads."""
        if threading.get_ident() != self._thread:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._deliver, result, failed)
            return
        text = ""
        if result is not None:
            output = late_output(result)
            self._emit(OutputAdded(block_id=self.block_id, output=output))
            text = plain_text(output)
        did = "failed" if failed else "has come" if text else "has come: it is empty"
        title = f"The {'call' if failed else 'result'} of the tool {self._tool} that was pending {did}."
        to_model = f"{title}\n{text[:TO_MODEL]}"
        level: Level = "warning" if failed else "info"
        self._emit(NoticeAdded(block_id=new_id(), level=level, title=title, to_model=to_model))

    def close(self) -> None:
        self._open = False

    def _say(self, said: Callable[[], None]) -> None:
        if threading.get_ident() != self._thread:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens any more
                self._loop.call_soon_threadsafe(self._say, said)
        elif self._open:
            said()


async def _call(tool: Tool, arguments: Arguments, output: _Output) -> RichOutput | None:
    """The result of a call. What would end the program ends the call."""
    try:
        result = await tool.run(arguments, output)
    except (Exception, asyncio.CancelledError):
        raise
    except BaseException as error:
        # Boundary: the tool may be somebody else's, and must not end the engine, as SystemExit would.
        raise ToolFailed(f"{type(error).__name__}: {error_text(error)}") from error
    match result:
        case None:
            return None
        case str():
            return RichOutput(data={"text/plain": result}, is_result=True)
        case Pending(message=str(message)):
            return RichOutput(data={"text/plain": f"pending: {message}" if message else "pending"}, is_result=True)
        case _:
            return clean_output(result)


def _finite(number: object) -> float:
    """TypeError or ValueError for anything that is no number to count with."""
    if not isinstance(number, Real) or not math.isfinite(number):
        raise ValueError(f"progress is a finite number, not {number!r:.100}")
    return float(number)


def _forget(ended: asyncio.Future[RichOutput | None]) -> None:
    """Take what a call raised after it was given up: nobody else does."""
    if not ended.cancelled() and (error := ended.exception()) is not None:
        _log.debug("a call that was over raised %r", error)


async def _finish(stream: OutputStream, result: RunResult) -> RunResult:
    stream.finish(result)
    return await stream.result()
