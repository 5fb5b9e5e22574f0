"""OpenAI's chat language as we speak it: what is sent to whom, and what is made of events of all dialects."""

import json
from typing import Any

import msgspec
import pytest

from oi_tui.app.engine.core.chat_model import ChatMessage, ChatRequest, ToolCall
from oi_tui.app.engine.core.settings import ModelSection
from oi_tui.app.engine.models.failures import UnreadableAnswer
from oi_tui.app.engine.models.lean_facts import look_up_lean
from oi_tui.app.engine.models.openai_wire import chat_body, read_event
from oi_tui.app.engine.models.prices import TokenCounts
from oi_tui.app.engine.models.providers import find_lean
from oi_tui.app.engine.models.wire import error_body
from oi_tui.app.engine.tools.execute import execute_spec

CALL = ToolCall(id="call_from_elsewhere", name="execute", arguments='{"language": "python", "code": "1"}')
PAST = (
    ChatMessage(role="user", text="add"),
    ChatMessage(role="assistant", calls=(CALL,)),
    ChatMessage(role="tool", text="2", call_id=CALL.id),
    ChatMessage(role="assistant", text=""),
    ChatMessage(role="user", text="and now?"),
)


def body_of(name: str, thoughts: dict[str, str] | None = None, **settings: Any) -> dict[str, Any]:
    """What is sent to this model at the end of a conversation with a call."""
    section = msgspec.structs.replace(ModelSection(name=name, tools="on"), **settings)
    choice = find_lean(name, section.api_base)
    assert choice is not None
    facts, _ = look_up_lean(choice, section, api_key="key", environ={}, free=False)
    request = ChatRequest(messages=PAST, tools=(execute_spec(("python",)),))
    sent: dict[str, Any] = json.loads(msgspec.json.encode(chat_body(choice, facts, section, request, thoughts or {})))
    return sent


def said(**delta: Any) -> bytes:
    """An event with this delta."""
    return json.dumps({"choices": [{"index": 0, "delta": delta}]}).encode()


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("openai/gpt-4o", {"temperature": 0.5, "max_tokens": 9}),
        ("gpt-4o", {"temperature": 0.5, "max_tokens": 9}),
        ("openai/gpt-5-chat-latest", {"temperature": 0.5, "max_tokens": 9}),
        ("openai/gpt-5", {"max_completion_tokens": 9}),
        ("openai/gpt-5.6", {"max_completion_tokens": 9}),
        ("openai/o3-mini", {"max_completion_tokens": 9}),
        ("groq/openai/gpt-oss-120b", {"temperature": 0.5, "max_tokens": 9}),
    ],
)
def test_a_model_that_thinks_first_gets_the_limit_by_its_name_and_no_temperature(
    name: str, sent: dict[str, Any]
) -> None:
    body = body_of(name, temperature=0.5, max_output_tokens=9)
    limits = {"temperature", "max_tokens", "max_completion_tokens"}
    assert {key: body[key] for key in limits & body.keys()} == sent
    assert body["stream_options"] == {"include_usage": True}


def test_mistral_gets_no_field_that_it_refuses_and_ids_as_it_wants_them() -> None:
    body = body_of("mistral/mistral-large-latest")
    assert body.keys() == {"model", "messages", "stream", "tools"}
    assert "additionalProperties" not in json.dumps(body["tools"])
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "tool", "user"]
    (call,) = body["messages"][1]["tool_calls"]
    assert len(call["id"]) == 9
    assert call["id"].isalnum()
    assert body["messages"][2]["tool_call_id"] == call["id"]
    assert "content" not in body["messages"][1]


def test_deepseek_gets_the_thoughts_that_led_to_a_call_or_a_blank_where_there_are_none() -> None:
    known = body_of("deepseek/deepseek-chat", {CALL.id: "I should add."})
    assert known["messages"][1]["reasoning_content"] == "I should add."
    assert body_of("deepseek/deepseek-chat")["messages"][1]["reasoning_content"] == " "
    assert "reasoning_content" not in json.dumps(body_of("openai/gpt-4o", {CALL.id: "I should add."}))


def test_openrouter_is_asked_for_the_price() -> None:
    assert body_of("openrouter/anthropic/claude-x")["usage"] == {"include": True}
    assert body_of("openrouter/anthropic/claude-x")["model"] == "anthropic/claude-x"


@pytest.mark.parametrize(
    ("event", "text", "reasoning"),
    [
        (said(content="Hi"), "Hi", ""),
        (said(content=None, reasoning_content="Hm"), "", "Hm"),
        (said(reasoning="Hm"), "", "Hm"),
        (said(content=[{"type": "text", "text": "Hi"}]), "Hi", ""),
        (said(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}]), "", "Hm"),
        (said(refusal="No."), "No.", ""),
        (b'{"choices": [{"message": {"content": "Whole"}, "finish_reason": "stop"}]}', "Whole", ""),
        (b'{"choices": []}', "", ""),
        (b"{}", "", ""),
        (b" ", "", ""),
        (b'{"choices": [{"delta": {"content": "caf\xc3"}}]}', "caf\ufffd", ""),
        (b'{"choices": [{"delta": {"content": "a\x00b"}}]}', "a\x00b", ""),
        (b'{"choices": [{"delta": {"content": "\\ud83d"}}]}', "?", ""),
        (b'{"choices": [{"index": 1, "delta": {"content": "another"}}]}', "", ""),
    ],
)
def test_what_an_event_says_is_read_in_all_dialects(event: bytes, text: str, reasoning: str) -> None:
    piece = read_event(event)
    assert (piece.text, piece.reasoning) == (text, reasoning)


@pytest.mark.parametrize("event", [b"oops", b"[]", b"[" * 100_000, b'{"choices": 7}', b"null", b'"x"'])
def test_what_is_no_event_is_unreadable(event: bytes) -> None:
    with pytest.raises(UnreadableAnswer):
        read_event(event)


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 4}, TokenCounts(input_tokens=9, output_tokens=4)),
        (
            {"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 8}},
            TokenCounts(input_tokens=9, output_tokens=4, cached=8),
        ),
        (
            {"prompt_tokens": 9, "completion_tokens": 4, "prompt_cache_hit_tokens": 8},
            TokenCounts(input_tokens=9, output_tokens=4, cached=8),
        ),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 4,
                "total_tokens": 20,
                "completion_tokens_details": {"reasoning_tokens": 7},
            },
            TokenCounts(input_tokens=9, output_tokens=11, reasoning=7),
        ),
        (
            {"prompt_tokens": 9, "completion_tokens": 4, "cost": 0.25},
            TokenCounts(input_tokens=9, output_tokens=4, cost=0.25),
        ),
        (
            {"prompt_tokens": 9, "completion_tokens": 4, "cost_in_usd_ticks": 10_000_000_000},
            TokenCounts(input_tokens=9, output_tokens=4, cost=1.0),
        ),
        ({"prompt_tokens": "many"}, TokenCounts(input_tokens=0, output_tokens=0)),
        ({}, None),
        ([], None),
    ],
)
def test_usage_is_read_as_each_provider_tells_it(usage: Any, counts: TokenCounts | None) -> None:
    assert read_event(json.dumps({"choices": [], "usage": usage}).encode()).counts == counts
    assert read_event(json.dumps({"choices": [], "x_groq": {"usage": usage}}).encode()).counts == counts


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"error": {"message": "no", "code": "x"}}', "no"),
        (b'{"error": "no"}', "no"),
        (b'{"detail": "no"}', "no"),
        (b'{"detail": [{"loc": ["body"], "msg": "no"}]}', '[{"loc": ["body"], "msg": "no"}]'),
        (b'{"object": "error", "message": "no", "code": 404}', "no"),
        (
            b'{"error": {"message": "Provider returned error", "metadata": {"raw": "no"}}}',
            "Provider returned error: no",
        ),
        (
            b"<html><head><style>b{}</style><title>502</title></head><body><h1>Bad Gateway</h1></body>",
            "502 Bad Gateway",
        ),
        (b"", ""),
        (b"\xff\x00", "\ufffd\x00"),
    ],
)
def test_L10_the_body_of_an_error_is_read_whatever_it_is(body: bytes, message: str) -> None:
    assert error_body(body)["message"] == message


@pytest.mark.parametrize("usage", [{"cost": 10**400}, {"cost_in_usd_ticks": 10**400}, {"cost": float("inf")}])
def test_L23_a_cost_that_nothing_can_have_is_none(usage: dict[str, Any]) -> None:
    counts = read_event(json.dumps({"choices": [], "usage": {"prompt_tokens": 1, **usage}}).encode()).counts
    assert counts == TokenCounts(input_tokens=1, output_tokens=0)


@pytest.mark.parametrize(("byok", "cost"), [(True, 0.26), (False, 0.01), ("yes", 0.01)])
def test_openrouter_with_ones_own_key_costs_what_the_provider_asks_too(byok: object, cost: float) -> None:
    """Without one's own key the first figure is all, and the second says what is in it."""
    told = {"cost": 0.01, "is_byok": byok, "cost_details": {"upstream_inference_cost": 0.25}}
    counts = read_event(json.dumps({"choices": [], "usage": {"prompt_tokens": 1, **told}}).encode()).counts
    assert counts is not None
    assert counts.cost == pytest.approx(cost)
