"""Tools of files: their calls run in a kernel beside those that run code, in the same sandbox."""

import asyncio
import json
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from msgspec import structs

from oi_tui.app.engine.core.encoding import text_digest
from oi_tui.app.engine.core.events import AnyEvent, InputRequested, OutputAdded
from oi_tui.app.engine.core.outputs import ErrorOutput, RichOutput, StreamOutput
from oi_tui.app.engine.kernels.base import Kernel, KernelSource
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.tools.ties import MakeTools, ToolTies
from oi_tui.app.engine.tools.tool import Arguments, Capabilities, Tool, ToolFailed, ToolOutput
from oi_tui.app.engine.tools.tool_file import FileFunction, ToolFile

LONGEST_ERROR = 4_000
"""Characters of a traceback, its end."""

FindToolFiles = Callable[[], Iterable[ToolFile]]
"""Gives the files that the person agreed to, as they are now."""


def tools_of_files(find: FindToolFiles) -> MakeTools:
    """What gives each session the tools of the files that there are when it opens."""

    def make(ties: ToolTies) -> Iterable[Tool]:
        if not (files := tuple(find())):
            return
        calls = FileCalls(ties.kernels)
        for file in files:
            yield from (calls.tool(file, function) for function in file.functions)

    return make


class FileCalls:
    """The calls of one session, one after the other in one kernel, which is started with the first."""

    def __init__(self, kernels: KernelSource) -> None:
        self._kernels = kernels
        self._lock = asyncio.Lock()

    def tool(self, file: ToolFile, function: FileFunction) -> Tool:
        """The tool that this function is."""
        kernel = self._kernels.tool_kernel()
        held = structs.replace(kernel.confinement, packages=None)
        return Tool(
            name=function.name,
            description=function.description,
            schema=function.schema,
            run=partial(self._run, file, function),
            capabilities=Capabilities(network=not held.offline),
            confinement=held,
            origin=file.origin,
            place=kernel.place,
        )

    async def _run(self, file: ToolFile, function: FileFunction, arguments: Arguments, output: ToolOutput) -> None:
        source = call_cell(file, function, arguments)
        async with self._lock:
            await run_cell(self._kernels.tool_kernel(), source, output)


def call_cell(file: ToolFile, function: FileFunction, arguments: Arguments) -> str:
    """The cell that calls it, after that of `preparation.for_tool_files`."""
    call = _of_file(file) | {"function": function.name, "arguments": arguments, "paths": function.paths}
    called = f"oi_tui_call({json.dumps(call)!r})"
    return f"oi_tui_show({'await ' if function.is_async else ''}{called})"


def trial_cell(file: ToolFile) -> str:
    """The cell that executes the file and the examples in its docstrings."""
    return f"oi_tui_try({json.dumps(_of_file(file))!r})"


def _of_file(file: ToolFile) -> dict[str, Any]:
    return {"place": file.place, "digest": text_digest(file.text), "text": file.text}


async def run_cell(kernel: Kernel, source: str, output: ToolOutput) -> None:
    """Run a cell and pass on what it puts out; ToolFailed with the end of its traceback if it fails."""
    errors: list[str] = []
    answering: set[asyncio.Task[None]] = set()

    async def answer(asked: InputRequested) -> None:
        given = await output.ask(asked.prompt, password=asked.password)
        if given is None:
            await kernel.interrupt(restart=False)
        else:
            await kernel.answer(given)

    def take(event: AnyEvent) -> None:
        match event:
            case OutputAdded(output=StreamOutput(text=text)):
                output.print(text)
            case OutputAdded(output=ErrorOutput() as error):
                errors.append(_traceback(error))
            case OutputAdded(output=RichOutput() as shown):
                output.show(shown)
            case InputRequested():
                answering.add(asyncio.ensure_future(answer(event)))
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


def _traceback(error: ErrorOutput) -> str:
    """What went wrong in the file, without the cell that called it."""
    frames = [safe_text(frame).strip("\n") for frame in error.traceback[2:-1]]
    kept = [frame for frame in frames if "oi_tui_" not in frame and not frame.lstrip().startswith("[... skipping")]
    return "\n".join([*kept, safe_text(f"{error.name}: {error.value}")])
