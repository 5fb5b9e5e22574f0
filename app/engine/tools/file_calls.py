"""Tools of files: their calls run in a kernel beside those that run code, in the same sandbox."""

import asyncio
import contextlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import msgspec
from msgspec import structs

from oi_tui.app.engine.core.encoding import as_json, text_digest
from oi_tui.app.engine.core.events import AnyEvent, InputRequested, OutputAdded, OutputUpdated
from oi_tui.app.engine.core.kernel_call import CallAnswer
from oi_tui.app.engine.core.outputs import ErrorOutput, Progress, RichOutput, StreamOutput
from oi_tui.app.engine.kernels.base import Kernel, KernelSource
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.tools.tool import Arguments, Tool, ToolFailed, ToolOutput
from oi_tui.app.engine.tools.tool_file import FileFunction, ToolFile

_SYSTEM_ERRORS: list[type[OSError]] = [OSError, *OSError.__subclasses__(), *ConnectionError.__subclasses__()]
_OF_THE_SYSTEM = frozenset(kind.__name__ for kind in _SYSTEM_ERRORS)
"""Names of what Python raises where the system refuses."""

PROGRESS = "application/vnd.oi-tui.progress+json"
"""The progress of a call, as its kernel sends it; shown as that of other tools."""

NO_CALLS = "A tool of a file cannot call code or the model."

LONGEST_ERROR = 4_000
"""Characters of a traceback, its end."""

FindToolFiles = Callable[[], Iterable[ToolFile]]
"""Gives the files that the person agreed to, as they are now."""


class FileCalls:
    """The calls of one session. What may do the same shares a kernel, which is started with the first call, and in
    which one call comes after the other."""

    def __init__(self, kernels: KernelSource) -> None:
        self._kernels = kernels
        self._locks: defaultdict[Kernel, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._files: tuple[ToolFile, ...] = ()

    def take(self, files: tuple[ToolFile, ...]) -> list[Tool] | None:
        """The tools of these files, which count from now on; None if they counted before."""
        if files == self._files:
            return None
        self._files = files
        return [self.tool(file, function) for file in files for function in file.declared.functions]

    def tool(self, file: ToolFile, function: FileFunction) -> Tool:
        """The tool that this function is. What its file declares counts as far as the sandbox holds it to that."""
        declared = file.declared.capabilities
        kernel = kernel_of(self._kernels, file)
        held = structs.replace(kernel.confinement, packages=None)
        writes = declared.writes or held.reach is None or bool(held.reach.writes)
        return Tool(
            name=function.name,
            description=function.description,
            schema=function.schema,
            run=partial(self._run, file, function),
            capabilities=structs.replace(declared, writes=writes, network=not held.offline),
            confinement=held,
            origin=file.origin,
            place=kernel.place,
            kernel=f"tool files, writes={declared.writes}, network={declared.network}",
        )

    async def _run(self, file: ToolFile, function: FileFunction, arguments: Arguments, output: ToolOutput) -> None:
        source = call_cell(file, function, arguments)
        kernel = kernel_of(self._kernels, file)
        async with self._locks[kernel]:
            await run_cell(kernel, source, output, file.place)


def kernel_of(kernels: KernelSource, file: ToolFile) -> Kernel:
    """The kernel for calls of this file, which can do no more than the file declares."""
    may = file.declared.capabilities
    return kernels.tool_kernel(writes=may.writes, network=may.network)


def call_cell(file: ToolFile, function: FileFunction, arguments: Arguments) -> str:
    """The cell that calls it, after that of `preparation.for_tool_files`."""
    call = _of_file(file) | {"function": function.name, "arguments": arguments}
    call |= {"output": function.output, "progress": PROGRESS}
    called = f"oi_tui_call({json.dumps(call)!r})"
    return f"oi_tui_show({'await ' if function.is_async else ''}{called})"


def trial_cell(file: ToolFile) -> str:
    """The cell that executes the file and the examples in its docstrings."""
    return f"oi_tui_try({json.dumps(_of_file(file))!r})"


def _of_file(file: ToolFile) -> dict[str, Any]:
    return {"place": file.place, "digest": text_digest(file.text), "text": file.text}


async def run_cell(kernel: Kernel, source: str, output: ToolOutput, place: str) -> None:
    """Run a cell that calls what the file at that place holds, and pass on what it puts out; ToolFailed with the end of
    its traceback if it fails."""
    errors: list[str] = []
    answering: set[asyncio.Task[None]] = set()

    async def answer(asked: InputRequested) -> None:
        if asked.call is not None:  # `import computer`: nothing is called from here
            await kernel.answer(as_json(CallAnswer(number=asked.call.number, refusal=NO_CALLS)).decode())
            return
        try:
            given = await output.ask(asked.prompt, password=asked.password)
        except ValueError:
            return  # another question is open: a kernel that waits for a line sends no second one
        if given is None:
            await kernel.interrupt(restart=False)
        else:
            await kernel.answer(given)

    def take(event: AnyEvent) -> None:
        match event:
            case OutputAdded(output=StreamOutput(text=text)):
                output.print(text)
            case OutputAdded(output=ErrorOutput() as error):
                errors.append(_traceback(error, place))
            case OutputAdded(output=RichOutput(data=data)) | OutputUpdated(output=RichOutput(data=data)) if (
                PROGRESS in data
            ):
                _report(data[PROGRESS], output)
            case OutputAdded(output=RichOutput() as shown):
                output.show(shown)
            case InputRequested():
                answering.add(task := asyncio.ensure_future(answer(event)))
                task.add_done_callback(answering.discard)
            case _:
                pass

    try:
        result = await kernel.run(source, output.block_id, take)
    finally:
        for task in answering:
            task.cancel()
    match result.status:
        case "ok":
            return
        case "error":
            raise ToolFailed("\n".join(errors)[-LONGEST_ERROR:].strip() or "It failed.")
        case "died":
            raise ToolFailed(f"The kernel of this tool ended. {result.detail}".strip())
        case _:
            raise ToolFailed("It was interrupted.")


def _report(progress: object, output: ToolOutput) -> None:
    """Pass on how far the call is. It comes out of a kernel, where anything could have written it."""
    with contextlib.suppress(TypeError, ValueError, OverflowError, msgspec.ValidationError):
        told = msgspec.convert(progress, Progress)
        output.report(told.done, told.total, told.message)


def _traceback(error: ErrorOutput, place: str) -> str:
    """The traceback within the file, without the cell that called it and the libraries that it called. For a missing
    file or an unreachable machine, one line: the tool does not need a fix."""
    last = safe_text(f"{error.name}: {error.value}")
    if error.name in _OF_THE_SYSTEM:
        return last
    frames = [safe_text(frame).strip("\n") for frame in error.traceback[2:-1]]
    return "\n".join([*(frame for frame in frames if frame.lstrip().startswith(f"File {place}")), last])
