"""Further parameters of each request: `[model.extra]`, marks for the cache, and what is refused."""

import asyncio
import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from oi_tui.app.engine.core.chat_model import ChatMessage, ChatRequest, ToolCall, ToolSpec
from oi_tui.app.engine.core.errors import ModelError, SettingsError
from oi_tui.app.engine.core.settings import ModelExtra, ModelSection
from oi_tui.app.engine.files.settings_file import load_layers
from oi_tui.app.engine.models.facts import section_for
from oi_tui.app.engine.models.messages import mark_for_cache
from oi_tui.app.engine.models.model_source import Models
from support.ollama_server import ended, ollama_server, spoken
from support.openai_server import OpenAIServer, read_request, write_json

SETTINGS = """
[model.extra]
reasoning_effort = "high"
top_p = 0.9
seed = 7
headers = { X-Org = "acme", X-Gateway-Token = "$GATEWAY_TOKEN" }
body = { top_k = 40, options = { top_k = 3, num_ctx = 5 } }
"""
TOKEN = "of-the-gateway-0123456789"
HELLO = ChatRequest(messages=(ChatMessage(role="user", text="hi"),))


def extra() -> ModelExtra:
    """As the settings file says it."""
    values = tomllib.loads(SETTINGS)["model"]["extra"]
    return ModelExtra(**values)


async def ask(section: ModelSection, request: ChatRequest = HELLO, **environ: str) -> None:
    """One request, whatever comes of it."""
    models = Models(section, environ=environ)
    try:
        model = await models.open(section.name, section.api_base)
        async for _ in model.stream(request):
            pass
    finally:
        await models.close()


async def test_m4_further_parameters_are_in_each_request_to_the_server_of_the_settings() -> None:
    with OpenAIServer() as server:
        section = ModelSection(name="scripted", api_base=server.url, extra=extra())
        await ask(section, GATEWAY_TOKEN=TOKEN)
        (exchange,) = server.exchanges
    sent = {name: exchange.body[name] for name in ("reasoning_effort", "top_p", "seed", "top_k", "model", "stream")}
    assert sent == {
        "reasoning_effort": "high", "top_p": 0.9, "seed": 7, "top_k": 40, "model": "scripted", "stream": True,
    }  # fmt: skip
    assert (exchange.headers["x-org"], exchange.headers["x-gateway-token"]) == ("acme", TOKEN)


async def test_m4_ollama_gets_them_among_its_options_and_its_context_is_ours() -> None:
    async with ollama_server(spoken("Hi"), ended(), card=None) as server:
        section = ModelSection(name="ollama/m", api_base=server.url, context_window=4096, extra=extra())
        await ask(section, GATEWAY_TOKEN=TOKEN)
        (body,) = server.chats
    assert body["options"] == {"top_k": 3, "num_ctx": 4096, "top_p": 0.9, "seed": 7}
    assert (body["think"], body["top_k"]) == ("high", 40)


def test_m4_they_do_not_go_to_another_server_or_provider() -> None:
    section = ModelSection(name="a", api_base="https://gateway.test/v1", extra=extra())
    assert section_for(section, "b", "https://gateway.test/v1/").extra == extra()
    assert section_for(section, "b", "https://other.test/v1").extra == ModelExtra()
    assert section_for(section, "anthropic/b", "").extra == ModelExtra()
    of_provider = ModelSection(name="openrouter/a", extra=extra())
    assert section_for(of_provider, "openrouter/b", "").extra == extra()
    assert section_for(of_provider, "groq/b", "").extra == ModelExtra()
    assert section_for(of_provider, "openrouter/b", "https://other.test").extra == ModelExtra()
    unnamed = section_for(ModelSection(extra=extra()), "groq/b", "").extra
    assert (unnamed.top_p, unnamed.headers) == (0.9, {}), "whose headers they are is not said"


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("body = { messages = [] }", "body.messages cannot be set"),
        ("body = { temperature = 1 }", "body.temperature cannot be set"),
        ("headers = { Authorization = 'x' }", "headers.Authorization cannot be set: oi-tui sets it"),
        ("headers = { X-A = 'a\\nb' }", "headers: a name or value has characters"),
        ("headers = { 'X A' = 'b' }", "headers: a name or value has characters"),
        ("top_p = 3", "model.extra.top_p"),
        ("unknown = 3", "unknown key `unknown`"),
    ],
)
def test_m4_names_that_we_set_are_refused_when_the_settings_are_read(table: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(f"[model.extra]\n{table}\n".replace("'a\\nb'", '"a\\nb"'))
    with pytest.raises(SettingsError) as failed:
        load_layers(tmp_path, environ={})
    assert said in failed.value.title


@pytest.mark.parametrize(
    ("section", "said"),
    [
        (
            ModelSection(name="groq/a", extra=ModelExtra(thinking_budget=9)),
            "Groq takes no model.extra.thinking_budget.",
        ),
        (
            ModelSection(name="groq/a", extra=ModelExtra(headers={"X-A": "$GONE"})),
            "$GONE of model.extra.headers is not",
        ),
    ],
)
async def test_m4_what_cannot_be_sent_is_an_error_and_is_not_left_out(section: ModelSection, said: str) -> None:
    with pytest.raises(ModelError) as failed:
        await ask(section, GROQ_API_KEY="k")
    assert said in failed.value.title


@asynccontextmanager
async def refusing_server() -> AsyncIterator[tuple[str, list[tuple[dict[str, str], dict[str, Any]]]]]:
    """Records headers and bodies, and refuses everything."""
    asked: list[tuple[dict[str, str], dict[str, Any]]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, _, headers, body = await read_request(reader)
        asked.append((headers, body))
        write_json(writer, 400, {"error": {"message": "no"}})
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}", asked


async def test_m4_anthropic_gets_them_and_marks_for_its_cache() -> None:
    call = ToolCall(id="c1", name="execute", arguments='{"code": "1"}')
    longer = ChatRequest(
        messages=(
            ChatMessage(role="system", text="rules"),
            ChatMessage(role="user", text="hi"),
            ChatMessage(role="assistant", text="a", calls=(call,)),
            ChatMessage(role="tool", call_id="c1", text="1"),
        ),
        tools=(ToolSpec(name="execute", description="Runs code.", schema={"type": "object", "properties": {}}),),
    )
    further = ModelExtra(thinking_budget=2000, headers={"X-Org": "acme"}, body={"further_field": "auto"})
    async with refusing_server() as (url, asked):
        section = ModelSection(
            name="anthropic/claude-sonnet-4-5", api_base=url, extra=further, max_output_tokens=4000, tools="on"
        )
        for request in (HELLO, longer):
            with pytest.raises(ModelError):
                await ask(section, request, ANTHROPIC_API_KEY="k")
        taken = ModelSection(name=section.name, api_base=url, extra=ModelExtra(body={"mock_response": "x"}))
        with pytest.raises(ModelError, match="mock_response cannot be set"):
            await ask(taken, ANTHROPIC_API_KEY="k")
    (headers, first), (_, second) = asked
    marked = {"type": "ephemeral"}
    assert headers["x-org"] == "acme"
    assert first["thinking"] == {"type": "enabled", "budget_tokens": 2000}
    assert first["further_field"] == "auto"
    assert first["messages"][-1]["content"][-1]["cache_control"] == marked
    assert second["system"][0]["cache_control"] == marked
    assert second["messages"][-1]["content"][-1]["cache_control"] == marked
    assert "thinking" not in second, "behind a call it would want the thoughts back, signed"


def test_m4_pictures_and_empty_messages_can_be_marked() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
    spoken_messages: list[dict[str, Any]] = [
        {"role": "system", "content": " "},
        {"role": "user", "content": [{"type": "text", "text": "see"}, picture]},
    ]
    mark_for_cache(spoken_messages)
    assert spoken_messages[0] == {"role": "system", "content": " "}, "an empty text takes no mark"
    assert spoken_messages[1]["content"][1] == {**picture, "cache_control": {"type": "ephemeral"}}
    mark_for_cache([])
