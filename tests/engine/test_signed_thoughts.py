"""Anthropic signs its thoughts and wants them back with the calls that they led to, over LiteLLM."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from oi_tui.app.engine.core.chat_model import (
    ChatMessage,
    ChatRequest,
    Delta,
    TextDelta,
    ThoughtDelta,
    ToolCall,
    ToolDelta,
    ToolSpec,
)
from oi_tui.app.engine.core.settings import ModelExtra, ModelSection
from oi_tui.app.engine.models.litellm_model import LiteLLMModel
from oi_tui.app.engine.models.signed_thoughts import MOST, SignedThoughts
from support.openai_server import read_request

START: dict[str, Any] = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "content": [],
    "model": "claude",
    "stop_reason": None,
}
USAGE = {"input_tokens": 5, "output_tokens": 5}
TOOL = ToolSpec(name="execute", description="Runs code.", schema={"type": "object", "properties": {}})


def answer(*blocks: tuple[dict[str, Any], list[dict[str, Any]]], reason: str) -> bytes:
    """A stream of these blocks, each with its deltas."""
    events: list[dict[str, Any]] = [{"type": "message_start", "message": {**START, "usage": USAGE}}]
    for index, (block, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    events.append({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}})
    events.append({"type": "message_stop"})
    return b"".join(f"event: {one['type']}\ndata: {msgspec.json.encode(one).decode()}\n\n".encode() for one in events)


CALLS = answer(
    (
        {"type": "thinking", "thinking": "", "signature": ""},
        [
            {"type": "thinking_delta", "thinking": "Let me "},
            {"type": "thinking_delta", "thinking": "count."},
            {"type": "signature_delta", "signature": "SIGNED=="},
        ],
    ),
    (
        {"type": "tool_use", "id": "toolu_1", "name": "execute", "input": {}},
        [{"type": "input_json_delta", "partial_json": '{"code": "1+1"}'}],
    ),
    reason="tool_use",
)
SAYS = answer(({"type": "text", "text": ""}, [{"type": "text_delta", "text": "It is 2."}]), reason="end_turn")


@asynccontextmanager
async def anthropic_server(*answers: bytes) -> AsyncIterator[tuple[str, list[dict[str, Any]]]]:
    """Gives these answers in turn, and records what it was asked."""
    asked: list[dict[str, Any]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, _, _, body = await read_request(reader)
        data = answers[min(len(asked), len(answers) - 1)]
        asked.append(body)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n")
        writer.write(f"Content-Length: {len(data)}\r\n\r\n".encode() + data)
        await writer.drain()
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}", asked


def behind(call_id: str, *more: ChatMessage) -> ChatRequest:
    """The request behind the result of a call."""
    call = ToolCall(id=call_id, name="execute", arguments='{"code": "1+1"}')
    messages = (
        ChatMessage(role="system", text="rules"),
        ChatMessage(role="user", text="add"),
        ChatMessage(role="assistant", calls=(call,)),
        ChatMessage(role="tool", call_id=call_id, text="2"),
    )
    return ChatRequest(messages=(*messages, *more), tools=(TOOL,))


async def test_L25_signed_thoughts_go_back_with_the_call_that_they_led_to() -> None:
    async with anthropic_server(CALLS, SAYS) as (url, asked), asyncio.timeout(60):
        section = ModelSection(
            name="anthropic/claude-sonnet-4-5",
            api_base=url,
            extra=ModelExtra(thinking_budget=2000),
            max_output_tokens=4000,
            tools="on",
        )
        model = LiteLLMModel(section, api_key="k", environ={})
        first: list[Delta] = [delta async for delta in model.stream(behind("toolu_0"))]
        assert "".join(one.text for one in first if isinstance(one, ThoughtDelta)) == "Let me count."
        (call,) = (one.id for one in first if isinstance(one, ToolDelta) and one.id)
        steered = ChatMessage(role="user", text="and in hexadecimal")
        for more in ((), (steered,)):
            said = [delta async for delta in model.stream(behind(call, *more))]
            assert "".join(one.text for one in said if isinstance(one, TextDelta)) == "It is 2."
    assert "thinking" not in asked[0], "of this call nobody has the thoughts"
    for request in asked[1:]:
        assert request["thinking"] == {"type": "enabled", "budget_tokens": 2000}
        (spoken,) = (message for message in request["messages"] if message["role"] == "assistant")
        assert spoken["content"][0] == {"type": "thinking", "thinking": "Let me count.", "signature": "SIGNED=="}
        assert spoken["content"][1]["type"] == "tool_use"


def test_L25_of_many_calls_the_latest_thoughts_are_kept() -> None:
    thoughts = SignedThoughts()
    block = {"type": "thinking", "thinking": "x", "signature": "s"}
    for number in range(MOST + 1):
        thoughts.remember([f"c{number}"], [block])
    old, new = ({"role": "assistant", "tool_calls": [{"id": name}]} for name in ("c0", f"c{MOST}"))
    thoughts.add_to([old, new])
    assert ("thinking_blocks" in old, "thinking_blocks" in new) == (False, True)
    assert thoughts.allow_thinking([old, {"role": "user", "content": "next"}]), "the turn was over"
    assert not thoughts.allow_thinking([new, old, {"role": "tool"}, {"role": "user", "content": "wait"}])
