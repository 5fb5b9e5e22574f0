"""A session for tools alone: no model is asked, and nothing of it is kept but the audit log."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from oi_tui.app.build import make_engine, make_tool_kernels
from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.encoding import decode_arguments
from oi_tui.app.engine.core.errors import KernelError, SettingsError
from oi_tui.app.engine.core.events import (
    AnyEvent,
    DecisionMade,
    DecisionRequested,
    ExecutionFinished,
    InputRequested,
    NoticeAdded,
    OutputAdded,
    ProgressReported,
)
from oi_tui.app.engine.core.outputs import ErrorOutput, RichOutput
from oi_tui.app.engine.core.protocol import Batch, Failed, PromptsQueued
from oi_tui.app.engine.core.tool_replies import ServersFound, ToolRecord, ToolsFound
from oi_tui.app.engine.core.tool_verbs import CallTool, FindServers, FindTools, TestFunction
from oi_tui.app.engine.core.verbs import Answer, AnyVerb, Decide, Open, Settle
from oi_tui.app.engine.files.paths import data_dir, private_dir
from oi_tui.app.engine.text.call_words import call_remarks, preview_text
from oi_tui.app.engine.text.input_answers import asker_words
from oi_tui.app.engine.text.mime import plain_text
from oi_tui.app.engine.text.words import describe_progress, one_line
from oi_tui.app.engine.tools.file_calls import kernel_of, run_cell, trial_cell
from oi_tui.app.engine.tools.tool import ToolFailed
from oi_tui.app.engine.tools.tool_file import ToolFile
from oi_tui.app.frontend.client import EngineLost, LocalClient
from oi_tui.app.terminal.echo import echo
from oi_tui.app.terminal.tty_prompt import confirm

SERVERS = 15.0
"""Seconds that MCP servers have to come up before tools are listed."""

BETWEEN_REPORTS = 1.0
"""Seconds, at least, between two lines about how far a call is."""

REFUSED, FAILED = 7, 1
"""Exit codes of a call."""


@asynccontextmanager
async def _open_session(setup: Configure) -> AsyncIterator[LocalClient]:
    with TemporaryDirectory(prefix="tools-", dir=private_dir(data_dir())) as folder:
        client = LocalClient(lambda send: make_engine(setup, send, sessions=Path(folder, "sessions.db")))
        try:
            await client.send(Open())
            yield client
        finally:
            await client.close()


async def list_tools(setup: Configure) -> tuple[ToolRecord, ...]:
    """What a model may call in a session that opens here now. SettingsError where there can be none."""
    async with _open_session(setup) as client, aclosing(client.replies()) as replies:
        await client.send(FindServers())
        until = asyncio.get_running_loop().time() + SERVERS
        async for reply in replies:
            match reply:
                case Failed():
                    raise SettingsError(reply.title, hint=reply.hint)
                case ServersFound(servers=servers):
                    starting = any(one.state == "starting" for one in servers)
                    if starting and asyncio.get_running_loop().time() < until:
                        continue
                    await client.send(FindTools())
                case ToolsFound(tools=tools):
                    return tools
                case _:
                    pass
    raise EngineLost("The engine ended.")


async def call_tool(setup: Configure, name: str, arguments: str, *, yes: bool) -> int:
    """Call it, after a question unless `yes` answers it; the exit code. What it gives goes to stdout."""
    try:
        decode_arguments(arguments)
    except ValueError as error:
        raise SettingsError(f"{one_line(arguments)[:80]} is no JSON object: {error}") from error
    call = _Call(yes=yes)
    async with _open_session(setup) as client, aclosing(client.replies()) as replies:
        await client.send(CallTool(tool=name, source=arguments))
        await client.send(Settle(request_id="called"))
        async for reply in replies:
            match reply:
                case Failed():
                    raise SettingsError(reply.title, hint=reply.hint)
                case PromptsQueued(settled="called"):
                    return call.code
                case Batch(replay=False):
                    for event in reply.events:
                        if (verb := call.take(event)) is not None:
                            await client.send(verb)
                case _:
                    pass
    raise EngineLost("The engine ended.")


class _Call:
    """One call, as it goes."""

    def __init__(self, *, yes: bool) -> None:
        self._yes = yes
        self._next_report = 0.0
        self.code = FAILED

    def take(self, event: AnyEvent) -> AnyVerb | None:
        """Tell what happens; the answer to what is asked."""
        match event:
            case DecisionRequested():
                return self._decide(event)
            case InputRequested():
                echo(f"{asker_words(event)} {one_line(event.prompt)}: no answer is given here.", err=True)
                return Answer(request_id=event.request_id, text="", declined=True)
            case DecisionMade(verdict="skip" | "stop"):
                self.code = REFUSED
                echo(f"⊘ Not called: {event.reason or 'you refused it'}.", err=True)
            case OutputAdded(output=ErrorOutput() as error):
                echo("\n".join(error.traceback) or error.value, err=True)
            case OutputAdded(output=output):
                echo(plain_text(output), nl=isinstance(output, RichOutput))
            case ProgressReported(progress=progress) if (now := monotonic()) >= self._next_report:
                self._next_report = now + BETWEEN_REPORTS
                echo(one_line(describe_progress(progress)), err=True)
            case NoticeAdded(level="warning" | "error"):
                echo(f"! {event.title} {event.hint}".rstrip(), err=True)
            case ExecutionFinished():
                self.code = 0 if event.status == "ok" else FAILED
            case _:
                pass
        return None

    def _decide(self, request: DecisionRequested) -> Decide:
        for line in (request.source, *map(one_line, (*request.labels, *call_remarks(request))), preview_text(request)):
            if line:
                echo(line, err=True)
        agreed = self._yes or (sys.stdin.isatty() and confirm(f"Call {request.tool}?", err=True))
        if agreed:
            return Decide(request_id=request.request_id, verdict="run")
        reason = "" if sys.stdin.isatty() else "nobody is there who could agree to it, and --yes was not given"
        return Decide(request_id=request.request_id, verdict="skip", reason=reason)


async def try_tool_file(setup: Configure, file: ToolFile) -> bool:
    """Execute the file and its examples in the sandbox; whether all is well."""
    for function in file.declared.functions:
        echo(one_line(function.signature))
    kernels = make_tool_kernels(setup)
    try:
        await run_cell(kernel_of(kernels, file), trial_cell(file), _Printed(), file.place)
    except (ToolFailed, KernelError) as error:
        echo(f"✗ {error}", err=True)
        return False
    finally:
        await kernels.close()
    return True


async def try_function(setup: Configure, name: str) -> bool:
    """Run a kept function and its example as /skills does, in a fresh kernel; whether all is well."""
    passed = False
    async with _open_session(setup) as client, aclosing(client.replies()) as replies:
        await client.send(TestFunction(name=name))
        await client.send(Settle(request_id="tested"))
        async for reply in replies:
            match reply:
                case Failed():
                    raise SettingsError(reply.title, hint=reply.hint)
                case PromptsQueued(settled="tested"):
                    return passed
                case Batch(replay=False):
                    for event in reply.events:
                        match event:
                            case OutputAdded(output=ErrorOutput()):
                                pass  # the notice says what went wrong
                            case OutputAdded(output=output):
                                echo(plain_text(output), nl=isinstance(output, RichOutput))
                            case NoticeAdded(title=title) if title.startswith(f"{name}: "):
                                passed = event.level == "info"
                                echo(title, err=not passed)
                            case NoticeAdded(level="warning" | "error"):
                                echo(f"! {event.title} {event.hint}".rstrip(), err=True)
                            case _:
                                pass
                case _:
                    pass
    raise EngineLost("The engine ended.")


class _Printed:
    """What a trial says, printed."""

    block_id = "trial"

    def print(self, text: str) -> None:
        echo(text, nl=False)

    def show(self, output: RichOutput) -> None:
        echo(plain_text(output))

    def report(self, done: float, total: float | None = None, message: str = "") -> None:
        """Progress of a trial is not shown: it is over soon."""

    async def ask(self, question: str, choices: object = (), *, several: bool = False, password: bool = False) -> None:
        """None: a trial runs by itself."""
