"""The official SDK's server, in front of a desk that knows only plain values. It alone on this side knows the SDK."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from oi_tui.app.engine.mcp.answers import ServerAnswer
from oi_tui.app.engine.mcp.call_offers import AssistantCalls, OfferedCall
from oi_tui.app.engine.mcp.wire_reader import LONGEST_LINE, TooMuchNonsense, WireCount, bounded_lines

INSTRUCTIONS = (
    "Code and file tools of oi-tui, in a sandbox on the user's machine. Kernels keep their variables between calls. "
    "A call may need the user's approval, which is given in oi-tui and not by you; a result says how to get it."
)


async def serve_calls(desk: AssistantCalls, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the program at the other end until it hangs up, or says too much that is no message."""

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        _note_client(desk, context)
        return types.ListToolsResult(tools=[_tool(one) for one in desk.offers()])

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        _note_client(desk, context)

        async def report(seconds: float, words: str) -> None:
            await context.session.report_progress(seconds, None, words)

        return _result(await desk.call(params.name, params.arguments or {}, report))

    server = Server(
        "oi-tui",
        version=version("oi-tui"),
        title="oi-tui",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    async with _bounded_streams(reader, writer) as (read, write):
        await server.run(read, write, server.create_initialization_options())


def _note_client(desk: AssistantCalls, context: Any) -> None:
    params = context.session.client_params
    if params is not None:
        who = params.client_info
        desk.name_client(f"{who.title or who.name} {who.version}")


def _tool(one: OfferedCall) -> types.Tool:
    return types.Tool(
        name=one.name,
        description=one.description,
        input_schema=one.schema,
        annotations=types.ToolAnnotations(read_only_hint=one.reads_only, destructive_hint=one.destroys),
    )


def _result(answer: ServerAnswer) -> types.CallToolResult:
    content: list[Any] = [
        types.TextContent(type="text", text=part["text"])
        if "text" in part
        else types.ImageContent(type="image", data=part["data"], mime_type=part["mime"])
        for part in answer.parts
    ]
    return types.CallToolResult(content=content, is_error=answer.failed)


@asynccontextmanager
async def _bounded_streams(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> AsyncIterator[tuple[Any, Any]]:
    """The streams that the server reads and writes."""
    heard, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, said = anyio.create_memory_object_stream[SessionMessage](0)
    count, writing = WireCount(), asyncio.Lock()

    async def say_line(line: str) -> None:
        async with writing:
            writer.write(line.encode() + b"\n")
            await writer.drain()

    async def hear() -> None:
        async with heard:
            try:
                async for line in bounded_lines(reader):
                    message = _message(line)
                    match message:
                        case str():
                            refusal = count.note_nonsense(message)
                        case types.JSONRPCRequest():
                            refusal = count.objection(message.id)
                        case types.JSONRPCNotification(method="notifications/cancelled", params=params):
                            refusal = ""
                            count.note_end((params or {}).get("requestId"))
                        case _:
                            refusal = ""
                    if refusal:
                        await say_line(refusal)
                    elif message and not isinstance(message, str):
                        await heard.send(SessionMessage(message))
            except (TooMuchNonsense, OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                return

    async def say() -> None:
        async with said:
            async for sent in said:
                if isinstance(sent.message, types.JSONRPCResponse | types.JSONRPCError):
                    count.note_end(sent.message.id)
                try:
                    await say_line(sent.message.model_dump_json(by_alias=True, exclude_unset=True))
                except OSError:
                    return  # nobody reads it any more

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hear)
        tasks.start_soon(say)
        yield read, write
        tasks.cancel_scope.cancel()


def _message(line: bytes | None) -> Any:
    """The message, None for an empty line, or in words why it is none."""
    if line is None:
        return f"A message has {LONGEST_LINE:,} bytes at most."
    if not line.strip():
        return None
    try:
        return types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except (ValidationError, RecursionError):
        return "This is no message of the protocol."
