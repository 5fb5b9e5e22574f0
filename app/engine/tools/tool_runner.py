"""Runs calls of one tool as a kernel runs code: what comes of a call is capped, can be interrupted, and ends once."""

import asyncio
import logging
from pathlib import Path

from oi_tui.app.engine.core.events import Emit, ProgressReported
from oi_tui.app.engine.core.outcomes import KernelState
from oi_tui.app.engine.core.outputs import ErrorOutput, Progress, RichOutput
from oi_tui.app.engine.core.values import Confinement
from oi_tui.app.engine.kernels.base import InterruptMeans, RunRequest, RunResult
from oi_tui.app.engine.kernels.output_stream import OutputStream
from oi_tui.app.engine.tools.tool import Arguments, Tool, ToolFailed, decode_arguments

CAP = 200_000
"""Characters of text that one call passes on as they come."""

GRACE = 2.0
"""Seconds that a call has to end when it was cancelled."""

_log = logging.getLogger(__name__)


class ToolRunner:
    """Runs one call at a time."""

    place = ""
    state: KernelState = "idle"
    generation = 1
    """A tool does not change while the session is open."""

    def __init__(self, tool: Tool, spill_dir: Path | None = None) -> None:
        self.tool = tool
        self._spill_dir = spill_dir
        self._running: asyncio.Future[str | RichOutput | None] | None = None
        self._over = asyncio.Event()
        """The call has ended, or nobody waits for it any more."""

    @property
    def confinement(self) -> Confinement:
        """What holds back its calls."""
        return self.tool.confinement

    async def start(self) -> None:
        """There is nothing to start."""

    async def run(self, source: str, block_id: str, emit: Emit) -> RunResult:
        """Run a call with these arguments. What it does wrong is its error output, never ours."""
        stream = OutputStream(RunRequest(source, block_id, emit, CAP, self._spill_dir))
        try:
            arguments = decode_arguments(source)
            _check(arguments, self.tool)
            running = await self._run(arguments, _Output(stream, block_id, emit))
            if not running.done() or running.cancelled():
                return await _finish(stream, RunResult(status="interrupted"))
            result = running.result()
        except asyncio.CancelledError:
            stream.detach()
            raise
        except Exception as error:
            # Boundary: the tool may be somebody else's. What it raises is told like an exception of code.
            if not isinstance(error, ToolFailed | ValueError):
                _log.warning("the tool %s failed", self.tool.name, exc_info=True)
            name, text = type(error).__name__, str(error)
            line = text if isinstance(error, ToolFailed) else f"{name}: {text}"
            stream.error(ErrorOutput(name=name, value=text, traceback=tuple(line.split("\n"))))
            return await _finish(stream, RunResult(status="error"))
        match result:
            case str():
                stream.display(RichOutput(data={"text/plain": result}, is_result=True))
            case RichOutput():
                stream.display(result)
            case _:
                pass
        return await _finish(stream, RunResult(status="ok"))

    async def _run(self, arguments: Arguments, output: "_Output") -> asyncio.Future[str | RichOutput | None]:
        """The call, when it has ended or was given up."""
        self._running = running = asyncio.ensure_future(self.tool.run(arguments, output))
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

    async def answer(self, text: str) -> None:
        """No call asks for a line."""

    async def interrupt(self, *, restart: bool = True) -> InterruptMeans:
        """Cancel the call. One that goes on all the same is given up with `restart`: nothing more is heard of it."""
        running = self._running
        if running is None:
            return "nothing_ran"
        running.cancel()
        await asyncio.wait([running], timeout=GRACE)
        if running.done():
            return "signal"
        if restart:
            self._over.set()
        return "restart" if restart else "ignored"


class _Output:
    """What a call is given to speak with; nothing is heard of it once the call is over."""

    def __init__(self, stream: OutputStream, block_id: str, emit: Emit) -> None:
        self._stream, self._block_id, self._emit = stream, block_id, emit
        self._open = True

    def print(self, text: str) -> None:
        if self._open:
            self._stream.stream("stdout", text)

    def show(self, output: RichOutput) -> None:
        if self._open:
            self._stream.display(output)

    def report(self, done: float, total: float | None = None, message: str = "") -> None:
        if self._open:
            progress = Progress(done=done, total=total, message=message)
            self._emit(ProgressReported(block_id=self._block_id, progress=progress))

    def close(self) -> None:
        self._open = False


def _check(arguments: Arguments, tool: Tool) -> None:
    """ToolFailed if the arguments are not what the tool asks for."""
    import jsonschema  # deferred: 60 ms that a session without tools does not pay

    try:
        jsonschema.validate(arguments, tool.schema)
    except jsonschema.ValidationError as error:
        where = "/".join(str(part) for part in error.absolute_path)
        raise ToolFailed(f"The arguments do not fit{f' at {where}' if where else ''}: {error.message}") from error


def _forget(ended: asyncio.Future[str | RichOutput | None]) -> None:
    """Take what a call raised after it was given up: nobody else does."""
    if not ended.cancelled() and (error := ended.exception()) is not None:
        _log.debug("a call that was over raised %r", error)


async def _finish(stream: OutputStream, result: RunResult) -> RunResult:
    stream.finish(result)
    return await stream.result()
