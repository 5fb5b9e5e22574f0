"""Thoughts that a provider wants back with the calls that they led to: kept with the session, sent to nobody else."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from oi_tui.app.engine.agent.answer_stream import AnswerStream
from oi_tui.app.engine.agent.conversation import Conversation
from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.chat_model import (
    AnswerEnded,
    ChatMessage,
    ChatRequest,
    Delta,
    SealDelta,
    TextDelta,
    ThoughtDelta,
    ToolCall,
    ToolDelta,
    ToolSpec,
)
from oi_tui.app.engine.core.events import AnyEvent
from oi_tui.app.engine.core.settings import ModelExtra, ModelSection
from oi_tui.app.engine.core.values import SealedThoughts
from oi_tui.app.engine.log.store.digest import Digest
from oi_tui.app.engine.models.litellm_model import LiteLLMModel
from oi_tui.app.engine.models.sealed_thoughts import (
    MOST_BYTES,
    MOST_SENT,
    ThoughtPieces,
    add_thoughts,
    may_think,
    seal,
    thoughts_by_call,
)
from oi_tui.app.engine.secrets.redaction import Redactor
from oi_tui.app.engine.transcript.from_blocks import events_of_blocks
from oi_tui.app.engine.transcript.transcript import Transcript
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


def behind(call_id: str, *more: ChatMessage, sealed: SealedThoughts | None = None) -> ChatRequest:
    """The request behind the result of a call."""
    call = ToolCall(id=call_id, name="execute", arguments='{"code": "1+1"}')
    messages = (
        ChatMessage(role="system", text="rules"),
        ChatMessage(role="user", text="add"),
        ChatMessage(role="assistant", calls=(call,), sealed=sealed),
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
        (sealed,) = (one.thoughts for one in first if isinstance(one, SealDelta))
        steered = ChatMessage(role="user", text="and in hexadecimal")
        for more in ((), (steered,)):
            said = [delta async for delta in model.stream(behind(call, *more, sealed=sealed))]
            assert "".join(one.text for one in said if isinstance(one, TextDelta)) == "It is 2."
    assert "thinking" not in asked[0], "of this call nobody has the thoughts"
    for request in asked[1:]:
        assert request["thinking"] == {"type": "enabled", "budget_tokens": 2000}
        (spoken,) = (message for message in request["messages"] if message["role"] == "assistant")
        assert spoken["content"][0] == {"type": "thinking", "thinking": "Let me count.", "signature": "SIGNED=="}
        assert spoken["content"][1]["type"] == "tool_use"


def test_L25_thoughts_go_back_to_their_owner_the_newest_first_and_within_bounds() -> None:
    def spoken(name: str, owner: str, size: int) -> ChatMessage:
        call = ToolCall(id=name, name="execute", arguments="{}")
        return ChatMessage(role="assistant", calls=(call,), sealed=SealedThoughts(owner=owner, data=f'"{"x" * size}"'))

    past = [spoken("old", "me", MOST_SENT // 2), spoken("other", "you", 9), spoken("new", "me", MOST_SENT // 2)]
    assert thoughts_by_call(past, "me").keys() == {"new"}
    assert thoughts_by_call(past, "you") == {"other": "x" * 9}
    assert list(seal("me", ["x" * MOST_BYTES])) == []
    assert list(seal("me", [])) == []


def test_L25_anthropic_may_think_behind_its_calls_only_with_the_thoughts_before_them() -> None:
    old, new = ({"role": "assistant", "tool_calls": [{"id": name}]} for name in ("c0", "c1"))
    add_thoughts([old, new], "thinking_blocks", {"c1": [{"type": "thinking"}]})
    assert ("thinking_blocks" in old, "thinking_blocks" in new) == (False, True)
    assert may_think([old, {"role": "user", "content": "next"}]), "the turn was over"
    assert not may_think([new, old, {"role": "tool"}, {"role": "user", "content": "wait"}])


def test_L25_pieces_of_reasoning_are_put_together_by_type_number_and_id() -> None:
    pieces = ThoughtPieces()
    text, secret = {"type": "reasoning.text", "format": "f", "index": 0}, {"type": "reasoning.encrypted", "index": 0}
    pieces.add([{**text, "text": "Let "}, {**text, "text": "me"}, {**secret, "data": "aa", "id": "one"}])
    pieces.add([{**text, "signature": "S", "text": None}, {**secret, "data": "bb", "id": "two"}])
    pieces.add([{**secret, "data": "cc", "id": "two"}, {"type": "reasoning.summary", "summary": "a"}])
    pieces.add([{"type": "reasoning.summary", "summary": "b"}])
    assert pieces.whole() == [
        {**text, "text": "Let me", "signature": "S"},
        {**secret, "data": "aa", "id": "one"},
        {**secret, "data": "bbcc", "id": "two"},
        {"type": "reasoning.summary", "summary": "a"},
        {"type": "reasoning.summary", "summary": "b"},
    ]
    for _ in range(3):
        pieces.add([{**text, "text": "x" * MOST_BYTES}])
    assert list(seal("me", pieces.whole())) == []


def test_L25_sealed_thoughts_are_kept_with_the_session_and_are_never_text() -> None:
    thoughts = SealedThoughts(owner="me", data='[{"data": "c2VjcmV0"}]')
    call = ToolDelta(index=0, id="c1", name="execute", arguments='{"language": "python", "code": "1+1"}')
    said: list[Delta] = [call, SealDelta(thoughts=thoughts), AnswerEnded(reason="tool_calls")]
    stored: list[AnyEvent] = []
    answer = AnswerStream(lambda label: label, stored.append)
    for delta in said:
        answer.take(delta)
    answer.close(complete=True)
    kept = msgspec.json.decode(msgspec.json.encode(stored), type=list[AnyEvent])
    folded = Transcript()
    for event in kept:
        folded.apply(event)
    (code,) = folded.blocks
    assert isinstance(code, CodeBlock)
    assert code.sealed == thoughts
    again = Transcript()
    for event in events_of_blocks(folded.blocks):
        again.apply(event)
    assert [block.sealed for block in again.blocks if isinstance(block, CodeBlock)] == [thoughts]
    (spoken,) = (one for one in Conversation(Redactor(), 1000).messages(folded.blocks, system="") if one.calls)
    assert spoken.sealed == thoughts
    digest = Digest()
    for number, event in enumerate(kept):
        digest.take(number, 0.0, event)
    assert "c2VjcmV0" not in str(digest.take_texts())


@pytest.mark.parametrize("piece", [{"type": {}, "index": 0}, {"type": [1], "index": 0, "id": {}}, {"index": []}, {}])
def test_pieces_of_thoughts_of_any_shape_are_put_together_as_they_came(piece: dict[str, object]) -> None:
    pieces = ThoughtPieces()
    pieces.add([piece])
    assert pieces.whole() == [piece]
    pieces.add([{}] * 100_000)
    assert pieces.whole() == []
