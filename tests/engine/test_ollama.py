"""Models of an Ollama server, by its own language."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from oi_tui.app.engine.core.chat_model import (
    AnswerEnded,
    AnswerUsage,
    ChatMessage,
    ChatRequest,
    TextDelta,
    ThoughtDelta,
    ToolCall,
    ToolDelta,
)
from oi_tui.app.engine.core.errors import ModelError
from oi_tui.app.engine.core.settings import ModelSection
from oi_tui.app.engine.models.connections import Connections
from oi_tui.app.engine.models.ollama_model import OllamaModel
from oi_tui.app.engine.models.providers import find_lean
from oi_tui.app.engine.tools.execute import execute_spec
from support.kinds import of
from support.ollama_server import ended, ollama_server, spoken
from support.raw_server import raw_server, sends

Build = Callable[..., OllamaModel]
ABLE = {"capabilities": ["completion", "tools", "vision"], "model_info": {"llama.context_length": 131_072}}
PLAIN = {"capabilities": ["completion"], "model_info": {"llama.context_length": 8192}}


@pytest.fixture
async def ollama() -> AsyncIterator[Build]:
    """A factory of models, with settings as keywords."""
    connections = Connections({})

    def build(
        name: str = "ollama/m:8b", *, environ: dict[str, str] | None = None, api_key: str | None = None, **settings: Any
    ) -> OllamaModel:
        section = ModelSection(name=name, retries=0, **settings)
        choice = find_lean(name, section.api_base)
        assert choice is not None
        return OllamaModel(choice, connections, section, api_key=api_key, environ=environ or {})

    yield build
    await connections.close()


@pytest.mark.parametrize("name", ["ollama/m:8b", "ollama_chat/m:8b"])
async def test_an_answer_streams_as_text_then_usage_then_its_end(ollama: Build, answer: Any, name: str) -> None:
    lines = (spoken("Hel"), spoken("lo"), ended(prompt_eval_count=7, eval_count=2))
    async with ollama_server(*lines, card=PLAIN) as server:
        deltas = await answer(ollama(name, api_base=server.url))
    usage = AnswerUsage(input_tokens=7, output_tokens=2, cost=0.0)
    assert deltas == [TextDelta(text="Hello"), usage, AnswerEnded()]
    assert server.chats[0]["model"] == "m:8b"
    assert "tools" not in server.chats[0]
    assert "authorization" not in server.headers[-1]


@pytest.mark.parametrize(
    ("card", "settings", "environ", "context"),
    [
        (ABLE, {}, {}, 16_384),
        (PLAIN, {}, {}, 8192),
        (ABLE | {"parameters": "temperature 0.7\nnum_ctx                        4096"}, {}, {}, 4096),
        (ABLE | {"parameters": "num_ctx " + "9" * 5_000}, {}, {}, 16_384),
        (ABLE | {"parameters": "num_ctx 0"}, {}, {}, 16_384),
        (ABLE | {"model_info": {"llama.context_length": 10**400}}, {}, {}, 16_384),
        (ABLE, {"context_window": 65_536}, {}, 65_536),
        (ABLE, {}, {"OLLAMA_CONTEXT_LENGTH": "32768"}, 32_768),
        (ABLE, {}, {"OLLAMA_CONTEXT_LENGTH": "9" * 5_000}, 16_384),
        (None, {}, {}, 16_384),
    ],
)
async def test_the_server_is_told_how_long_a_conversation_may_be(
    ollama: Build,
    answer: Any,
    card: dict[str, Any] | None,
    settings: dict[str, Any],
    environ: dict[str, str],
    context: int,
) -> None:
    async with ollama_server(spoken("Hi"), ended(), card=card) as server:
        asked = ollama(api_base=server.url, environ=environ, max_output_tokens=5, temperature=0.0, **settings)
        await answer(asked)
    assert asked.context_window == context
    assert server.chats[0]["options"] == {"num_ctx": context, "temperature": 0.0, "num_predict": 5}


async def test_L9_parallel_calls_without_ids_arrive_in_order_and_their_results_go_back(
    ollama: Build, answer: Any
) -> None:
    calls = [{"function": {"name": "execute", "arguments": {"code": str(number)}}} for number in range(2)]
    lines = (spoken(tool_calls=calls[:1]), spoken(tool_calls=calls[1:]), ended())
    async with ollama_server(*lines, card=ABLE) as server:
        asked = ollama(api_base=server.url)
        deltas = await answer(asked)
        made = of(ToolDelta, deltas)
        past = (
            ChatMessage(
                role="assistant", calls=(ToolCall(id=made[0].id, name="execute", arguments=made[0].arguments),)
            ),
            ChatMessage(role="tool", text="2", call_id=made[0].id),
        )
        async for _ in asked.stream(ChatRequest(messages=past, tools=(execute_spec(("python",)),))):
            pass
    assert [(call.index, call.name, json.loads(call.arguments)) for call in made] == [
        (0, "execute", {"code": "0"}),
        (1, "execute", {"code": "1"}),
    ]
    assert made[0].id != made[1].id
    assert deltas[-1] == AnswerEnded(reason="tool_calls")
    first, second = server.chats[1]["messages"]
    assert first["tool_calls"][0]["function"] == {"name": "execute", "arguments": {"code": "0"}}
    assert second == {"role": "tool", "content": "2", "tool_call_id": made[0].id, "tool_name": "execute"}


async def test_pictures_go_as_base64_and_only_to_a_model_that_sees(ollama: Build) -> None:
    request = ChatRequest(messages=(ChatMessage(role="user", text="what?", images=("data:image/png;base64,AAAA",)),))
    for card, images in ((ABLE, ["AAAA"]), (PLAIN, None)):
        async with ollama_server(spoken("A dot."), ended(), card=card) as server:
            async for _ in ollama(api_base=server.url).stream(request):
                pass
        message = server.chats[0]["messages"][0]
        assert (message["content"], message.get("images")) == ("what?", images)


@pytest.mark.parametrize(
    ("lines", "status", "kind"),
    [
        ((spoken("Hi"),), 200, "cut"),
        ((), 200, "bad_reply"),
        ((spoken("Hi"), {"error": "out of memory"}), 200, "server"),
        ((b"oops",), 200, "bad_reply"),
        ((), 404, "unknown_model"),
        ((), 400, "unknown_model"),
        ((), 500, "server"),
    ],
)
async def test_L10_faults_are_told_in_words(
    ollama: Build, answer: Any, lines: tuple[Any, ...], status: int, kind: str
) -> None:
    async with ollama_server(*lines, status=status) as server:
        with pytest.raises(ModelError) as caught:
            await answer(ollama(api_base=server.url))
    assert caught.value.kind == kind
    if kind == "unknown_model":
        assert "ollama pull m:8b" in caught.value.hint


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "application/x-ndjson"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\n\n"])
async def test_lines_are_read_whatever_they_are_labelled(ollama: Build, answer: Any, kind: str, end: bytes) -> None:
    lines = (spoken("Hel"), spoken("lo"), ended())
    body = end.join(json.dumps(line).encode() for line in lines)
    async with raw_server(sends(body[:20], body[20:]), kind=kind) as server:
        deltas = await answer(ollama(api_base=server.url))
    assert [deltas[0], deltas[-1]] == [TextDelta(text="Hello"), AnswerEnded()]


async def test_an_answer_that_was_cut_by_its_limit_ends_with_length(ollama: Build, answer: Any) -> None:
    async with ollama_server(spoken(thinking="Hm"), spoken("and then"), ended("length"), card=PLAIN) as server:
        deltas = await answer(ollama(api_base=server.url))
    assert [delta for delta in deltas if not isinstance(delta, AnswerUsage)] == [
        ThoughtDelta(text="Hm"),
        TextDelta(text="and then"),
        AnswerEnded(reason="length"),
    ]
    assert of(AnswerUsage, deltas)[0].estimated


@pytest.mark.parametrize("form", ["{}", "{}/", "{}/v1", "{}/api/chat"])
async def test_the_address_may_be_written_as_people_write_it(ollama: Build, answer: Any, form: str) -> None:
    async with ollama_server(spoken("Hi"), ended(), card=PLAIN) as server:
        await answer(ollama(api_base=form.format(server.url)))
        await answer(
            ollama(environ={"OLLAMA_HOST": server.url.removeprefix("http://"), "OLLAMA_API_KEY": "secret-key"})
        )
    assert len(server.chats) == 2
    assert "secret-key" not in json.dumps(server.headers)
