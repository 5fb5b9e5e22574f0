"""Each wire under each fault, through the client that the app has for it, against a server that speaks it.

One file, so that one process pays for the import of LiteLLM. What our own clients do beyond this: test_model_faults.py.
"""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import msgspec
import pytest

from oi_tui.app.engine.core.chat_model import (
    AnswerEnded,
    AnswerUsage,
    ChatMessage,
    ChatRequest,
    Delta,
    Retrying,
    SealDelta,
    TextDelta,
    ThoughtDelta,
    ToolCall,
    ToolDelta,
)
from oi_tui.app.engine.core.errors import ModelError
from oi_tui.app.engine.core.settings import ModelExtra, ModelSection
from oi_tui.app.engine.models.connections import Connections
from oi_tui.app.engine.models.hosted import HOSTED
from oi_tui.app.engine.models.lean_model import LeanModel
from oi_tui.app.engine.models.litellm_model import LiteLLMModel, close_connections
from oi_tui.app.engine.models.ollama_model import OllamaModel
from oi_tui.app.engine.models.providers import CHAT_PROVIDERS, find_lean
from oi_tui.app.engine.models.served_model import ServedModel
from oi_tui.app.engine.structured.answer_schema import AnswerSchema
from oi_tui.app.engine.structured.asking import AskedValue, ask_for_value
from oi_tui.app.engine.tools.execute import execute_spec
from support.kinds import of
from support.openai_server import Call, OpenAIServer, Turn
from support.raw_server import raw_server, sends
from support.wires_server import WIRE_MODELS, api_base_of, wires_server

Build = Callable[..., ServedModel]
KEY = "sk-very-secret-1234"
CODE = json.dumps({"language": "python", "code": "1+1"})


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAIServer]:
    """One for all of these tests: each writes its own script."""
    with wires_server() as running:
        yield running


@pytest.fixture(params=list(WIRE_MODELS))
def wire(request: pytest.FixtureRequest) -> str:
    """Its name in wires_server.py."""
    return str(request.param)


@pytest.fixture
async def asked(server: OpenAIServer, wire: str) -> AsyncIterator[Build]:
    """A factory of models on this wire, with settings as keywords, that retry at once."""
    connections = Connections({})
    server.exchanges.clear()

    def build(**settings: Any) -> ServedModel:
        defaults = ModelSection(
            name=WIRE_MODELS[wire],
            api_base=api_base_of(server, wire),
            tools="on",
            retries=1,
            timeout=10,
            context_window=8192,
        )
        section = msgspec.structs.replace(defaults, **settings)
        choice = find_lean(section.name, section.api_base)
        if choice is None:
            return LiteLLMModel(section, environ={}, api_key=KEY, backoff=0.001)
        kind = OllamaModel if wire == "ollama" else LeanModel
        return kind(choice, connections, section, environ={}, api_key=KEY, backoff=0.001)

    yield build
    await connections.close()
    await close_connections()


async def outcome(answer: Any, model: ServedModel) -> tuple[str, str, ModelError | None]:
    """Which retries there were, the text that came, and the error."""
    deltas: list[Delta] = []
    error = None
    try:
        async with asyncio.timeout(20):
            await answer(model, into=deltas)
    except ModelError as caught:
        error = caught
    return " ".join(delta.why for delta in of(Retrying, deltas)), "".join(d.text for d in of(TextDelta, deltas)), error


def hello(**fields: Any) -> Turn:
    return Turn(text="Hello there", **fields)


PASSING = {
    "rate limit": (hello(status=429, retry_after="0.02"), "rate limit"),
    "overloaded": (hello(status=529), "server error 529"),
    "unavailable": (hello(status=503), "server error 503"),
    "reset before anything": (hello(cut_after=0), "connection lost"),
    "error before anything": (hello(error_after=1, error="it fell over"), "server error"),
}


@pytest.mark.parametrize("fault", PASSING)
async def test_L10_what_may_pass_is_tried_again(
    server: OpenAIServer, asked: Build, answer: Any, wire: str, fault: str
) -> None:
    turn, why = PASSING[fault]
    server.script(turn, hello())
    retries, text, error = await outcome(answer, asked())
    assert retries.startswith(why)
    assert (text, error, len(server.requests)) == ("Hello there", None, 2)


LASTING = {
    "rate limit for long": (hello(status=429, retry_after="100", error="slow down"), "rate_limited", ""),
    "wrong key": (hello(status=401, error=f"invalid key {KEY}"), "wrong_key", ""),
    "forbidden": (hello(status=403), "wrong_key", ""),
    "bad request": (hello(status=400, error="bad field"), "bad_request", ""),
    "unprocessable": (hello(status=422, error="bad field"), "bad_request", ""),
    "unknown model": (hello(status=404, error="no such model"), "unknown_model", ""),
    "too large": (hello(status=413), "context_too_long", ""),
    "odd status": (hello(status=418), "other", ""),
    "reset in mid-stream": (hello(cut_after=2), "cut", "Hell"),
    "closed in mid-stream": (hello(cut_after=2, cut="close"), "cut", "Hell"),
    "ended in mid-stream": (hello(cut_after=2, cut="end"), "cut", "Hell"),
    "ended behind a call": (
        hello(chunk=40, calls=(Call(arguments=CODE),), cut_after=3, cut="end"),
        "cut",
        "Hello there",
    ),
    "no reason for the end": (hello(finish_reason="none"), "cut", "Hello there"),
    "nothing at all": (hello(cut_after=0, cut="end"), "bad_reply", ""),
    "garbage first": (hello(garbage_after=0), "bad_reply", ""),
    "garbage in mid-stream": (hello(garbage_after=2), "bad_reply", "Hell"),
    "error in mid-stream": (hello(error_after=2, error="it fell over"), "server", "Hell"),
    "content filter": (hello(finish_reason="content_filter"), "other", "Hello there"),
    "content filter at once": (Turn(finish_reason="content_filter"), "other", ""),
    "silence": (hello(hold=True), "timeout", ""),
    "silence in mid-stream": (hello(pause_after=2), "timeout", "Hell"),
}


@pytest.mark.parametrize("fault", LASTING)
async def test_L10_what_will_not_pass_is_told_at_once_and_what_came_is_kept(
    server: OpenAIServer, asked: Build, answer: Any, wire: str, fault: str
) -> None:
    turn, kind, kept = LASTING[fault]
    server.script(turn)
    retries, text, error = await outcome(answer, asked(timeout=0.2 if "silence" in fault else 10))
    assert error is not None
    assert (error.kind, text, retries, len(server.requests)) == (kind, kept, "", 1)
    assert KEY not in f"{error.title}{error.hint}{error.details}"
    assert "litellm" not in f"{error.title}{error.hint}".lower()
    if isinstance(turn.error, str) and turn.error != "scripted error":
        assert error.details.startswith(turn.error.partition(" sk-")[0]), "the server's own words"
    if fault == "silence":
        assert error.title.endswith("sent nothing for 0.2 s.")
    if kind == "bad_reply":
        assert ("/v1" in error.hint) == (not kept and wire in ("openai", "responses"))
        assert ("address" in error.hint) == (not kept), "what could be read in part is at the right address"


TOO_LONG = {
    "openai": "This model's maximum context length is 8192 tokens.",
    "ollama": "the input length exceeds the context length",
    "anthropic": "prompt is too long: 208310 tokens > 200000 maximum",
    "gemini": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "responses": "Your input exceeds the context window of this model. Please adjust your input and try again.",
}


async def test_L10_a_context_too_long_is_told_in_each_providers_words(
    server: OpenAIServer, asked: Build, answer: Any, wire: str
) -> None:
    server.script(hello(status=400, error=TOO_LONG[wire]))
    _, _, error = await outcome(answer, asked())
    assert error is not None
    assert (error.kind, error.details.startswith(TOO_LONG[wire])) == ("context_too_long", True)


async def test_L10_a_refused_connection_names_the_address(asked: Build, answer: Any) -> None:
    with socket.socket() as taken:  # bound but not listening: refuses, and nobody else can have the port
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        retries, _, error = await outcome(answer, asked(api_base=url))
    assert error is not None
    assert (retries, error.kind, error.title) == ("server unreachable", "unreachable", f"{url} cannot be reached.")


@pytest.mark.parametrize(
    ("wire", "name"), [(provider.speaks, f"{provider.name}/scripted") for provider in CHAT_PROVIDERS]
)
async def test_each_provider_that_we_ask_ourselves_answers_on_its_wire(
    server: OpenAIServer, asked: Build, answer: Any, name: str
) -> None:
    server.script(hello())
    assert await outcome(answer, asked(name=name)) == ("", "Hello there", None)
    assert server.requests[0]["model"] == "scripted"


def test_the_guide_promises_no_simulated_server_that_there_is_not() -> None:
    """Its table is made from the same rows; each has a wire here, and with it all tests of this file."""
    ours = {provider.name for provider in CHAT_PROVIDERS}
    assert {provider.speaks for provider in CHAT_PROVIDERS} <= WIRE_MODELS.keys()
    assert {hosted.name for hosted in HOSTED} - ours <= WIRE_MODELS.keys()


@pytest.mark.parametrize("wire", ["gemini"])
async def test_L10_gemini_says_in_the_body_how_long_to_wait(server: OpenAIServer, asked: Build, answer: Any) -> None:
    delay = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.02s"}]
    said = {"message": "You exceeded your current quota, please check your plan.", "details": delay}
    server.script(hello(status=429, error=said), hello())
    assert await outcome(answer, asked()) == ("rate limit", "Hello there", None)


@pytest.mark.parametrize("wire", ["gemini"])
async def test_L10_a_prompt_that_gemini_blocks_is_told(server: OpenAIServer, asked: Build, answer: Any) -> None:
    blocked = b'data: {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 3}}\n\n'
    async with raw_server(sends(blocked)) as there:
        _, _, error = await outcome(answer, asked(api_base=there.url))
    assert error is not None
    assert error.title == "The provider's content filter stopped the answer."


@pytest.mark.parametrize("wire", ["anthropic"])
async def test_L10_an_account_without_credit_is_no_bad_request(server: OpenAIServer, asked: Build, answer: Any) -> None:
    server.script(hello(status=400, error="Your credit balance is too low to access the Anthropic API."))
    _, _, error = await outcome(answer, asked())
    assert error is not None
    assert "has no credit left" in error.title


@pytest.mark.parametrize("wire", ["responses"])
async def test_L10_a_response_that_failed_is_told_in_its_words(asked: Build, answer: Any) -> None:
    failed = {"type": "response.failed", "response": {"error": {"code": "server_error", "message": "it fell over"}}}
    async with raw_server(sends(b"event: response.failed\ndata: %b\n\n" % json.dumps(failed).encode())) as there:
        _, _, error = await outcome(answer, asked(api_base=there.url, retries=0))
    assert error is not None
    assert (error.kind, error.details) == ("server", "it fell over (server_error)")


async def test_an_empty_answer_is_an_answer_and_nothing_is_printed(
    server: OpenAIServer, asked: Build, answer: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    server.script(Turn(), hello(finish_reason="length"), hello(status=401))
    assert (await answer(asked()))[-1] == AnswerEnded(reason="stop")
    assert (await answer(asked()))[-1] == AnswerEnded(reason="length")
    await outcome(answer, asked())
    assert capfd.readouterr() == ("", "")


async def test_L22_an_event_without_an_end_is_not_gathered(asked: Build, answer: Any, wire: str) -> None:
    begun = b'{"message": {"content": "' if wire == "ollama" else b'data: {"a": "'
    kind = "application/x-ndjson" if wire == "ollama" else "text/event-stream"
    async with raw_server(sends(begun, then=b"a" * 65_536), kind=kind) as there:
        _, _, error = await outcome(answer, asked(api_base=there.url))
    assert error is not None
    assert error.title.endswith("sent more than 1 MB without an end.")


@pytest.mark.parametrize("wire", ["anthropic"])
async def test_L22_pings_are_no_part_of_an_answer(asked: Build, answer: Any) -> None:
    async def alive() -> AsyncIterator[bytes]:
        while True:
            yield b'event: ping\ndata: {"type": "ping"}\n\n'
            await asyncio.sleep(0.01)

    async with raw_server(alive) as there:
        _, _, error = await outcome(answer, asked(api_base=there.url, content_timeout=0.2))
    assert error is not None
    assert (error.kind, error.title) == ("timeout", f"{there.url} sent nothing of an answer for 0.2 s.")


async def test_L23_impossible_usage_is_ignored(server: OpenAIServer, asked: Build, answer: Any) -> None:
    server.script(hello(usage_details={"prompt_tokens": -1_000_000}), hello(usage_details={"prompt_tokens": 10**30}))
    for _ in range(2):
        told = of(AnswerUsage, await answer(asked()))
        assert all(0 <= usage.input_tokens < 1000 for usage in told)


async def test_m9_what_an_answer_cost_that_broke_is_told_about(server: OpenAIServer, asked: Build, answer: Any) -> None:
    server.script(hello(cut_after=2))
    deltas: list[Delta] = []
    with pytest.raises(ModelError):
        await answer(asked(input_price=1.0, output_price=1.0), into=deltas)
    (usage,) = of(AnswerUsage, deltas)
    assert usage.estimated
    assert usage.cost == pytest.approx((usage.input_tokens + usage.output_tokens) / 1e6)
    server.script(hello(cut_after=0), hello(cut_after=0))
    deltas.clear()
    with pytest.raises(ModelError):
        await answer(asked(), into=deltas)
    assert of(AnswerUsage, deltas) == [], "nothing came"


@pytest.mark.parametrize("wire", [wire for wire in WIRE_MODELS if wire != "ollama"])
async def test_tokens_that_the_provider_had_in_its_cache_are_counted(
    server: OpenAIServer, asked: Build, answer: Any
) -> None:
    server.script(hello(usage_details={"prompt_tokens": 1000, "prompt_tokens_details": {"cached_tokens": 800}}))
    (usage,) = of(AnswerUsage, await answer(asked()))
    assert (usage.input_tokens, usage.cached_tokens) == (1000, 800)


async def test_L23_a_redirect_to_another_origin_is_refused_and_named(asked: Build, answer: Any) -> None:
    async with raw_server(sends(b"")) as elsewhere:
        async with raw_server(sends(b""), status=307, head=f"Location: {elsewhere.url}/x\r\n") as there:
            _, _, error = await outcome(answer, asked(api_base=there.url))
        assert (len(there.requests) <= 2, elsewhere.requests) == (True, [])  # Ollama is asked for the model's card too
    assert error is not None
    assert "sends requests on to another one" in error.title


async def test_L9_L25_thoughts_two_calls_and_usage_arrive(server: OpenAIServer, asked: Build, answer: Any) -> None:
    server.script(Turn(text="Both:", reasoning="Let me see", signature="c2ln", calls=(Call(arguments=CODE),) * 2))
    deltas = await answer(asked())
    assert "".join(delta.text for delta in of(ThoughtDelta, deltas)) == "Let me see"
    assert "".join(delta.text for delta in of(TextDelta, deltas)) == "Both:"
    calls = of(ToolDelta, deltas)
    for index in (0, 1):
        arguments = "".join(call.arguments for call in calls if call.index == index)
        assert json.loads(arguments) == json.loads(CODE)
    assert len({call.id for call in calls if call.id}) == 2
    (usage,) = of(AnswerUsage, deltas)
    assert usage.input_tokens > 0
    assert usage.output_tokens > 20
    assert not usage.estimated
    assert deltas[-1] == AnswerEnded(reason="tool_calls")


async def call_and_result(
    server: OpenAIServer, model: ServedModel, answer: Any, *, then: ServedModel | None = None, **fields: Any
) -> dict[str, Any]:
    """The request that follows a call, to the same model or another one: its body."""
    said = {"text": "I add.", "reasoning": "Let me see", "signature": "c2ln", **fields}
    turn = Turn(**said, calls=(Call(arguments=CODE),))
    server.script(turn, hello())
    first = await answer(model)
    calls = [delta for delta in of(ToolDelta, first) if delta.id]
    sealed = next((delta.thoughts for delta in of(SealDelta, first)), None)
    made = ToolCall(id=calls[0].id, name="execute", arguments=CODE)
    past = (
        ChatMessage(role="user", text="add"),
        ChatMessage(role="assistant", text="I add.", calls=(made,), sealed=sealed),
        ChatMessage(role="tool", text="2", call_id=made.id),
    )
    async for _ in (then or model).stream(ChatRequest(messages=past, tools=(execute_spec(("python",)),))):
        pass
    return server.requests[-1]


@pytest.mark.parametrize("wire", ["anthropic"])
async def test_L25_anthropic_gets_its_signed_thoughts_back(server: OpenAIServer, asked: Build, answer: Any) -> None:
    thinks = asked(extra=ModelExtra(thinking_budget=2000), max_output_tokens=4000)
    said = (await call_and_result(server, thinks, answer))["messages"][1]["content"]
    assert [block["type"] for block in said] == ["thinking", "text", "tool_use"]
    assert (said[0]["thinking"], said[0]["signature"]) == ("Let me see", "c2ln")


@pytest.mark.parametrize("wire", ["gemini"])
async def test_L25_gemini_gets_the_signature_of_a_call_back(server: OpenAIServer, asked: Build, answer: Any) -> None:
    parts = (await call_and_result(server, asked(), answer))["contents"][1]["parts"]
    assert [part.get("thoughtSignature") for part in parts] == [None, "c2ln"]


@pytest.mark.parametrize("wire", ["openai"])
async def test_L25_deepseek_gets_its_thoughts_back_and_openai_none(
    server: OpenAIServer, asked: Build, answer: Any
) -> None:
    for name, thought in (("deepseek/deepseek-reasoner", "Let me see"), ("openai/gpt-4o", None)):
        message = (await call_and_result(server, asked(name=name), answer))["messages"][1]
        assert message.get("reasoning_content") == thought


THINKS = {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0}
PIECES = ({**THINKS, "text": "Let "}, {**THINKS, "text": "me"}, {**THINKS, "signature": "c2ln"})


@pytest.mark.parametrize("wire", ["openai"])
async def test_L25_openrouter_gets_its_reasoning_back_whole_and_nobody_else_does(
    server: OpenAIServer, asked: Build, answer: Any
) -> None:
    """The signature, which comes last, is for all of the text."""
    claude, other = asked(name="openrouter/anthropic/claude-x"), asked(name="openrouter/google/gemini-x")
    for then, back in ((claude, [{**THINKS, "text": "Let me", "signature": "c2ln"}]), (other, None)):
        body = await call_and_result(server, claude, answer, then=then, reasoning="", details=PIECES)
        assert body["messages"][1].get("reasoning_details") == back
    server.script(Turn(text="Hi", details=PIECES))
    deltas = await answer(claude)
    assert "".join(delta.text for delta in of(ThoughtDelta, deltas)) == "Let me"
    assert of(SealDelta, deltas) == [], "without a call nobody wants them back"


@pytest.mark.parametrize("wire", ["openai"])
async def test_L25_encrypted_reasoning_is_not_shown_and_goes_back(
    server: OpenAIServer, asked: Build, answer: Any
) -> None:
    secret = {"type": "reasoning.encrypted", "data": "gAAA", "id": "rs_1", "format": "openai-responses-v1", "index": 0}
    model = asked(name="openrouter/openai/gpt-x")
    body = await call_and_result(server, model, answer, reasoning="", details=(secret,))
    assert body["messages"][1]["reasoning_details"] == [secret]
    server.script(Turn(details=(secret,), calls=(Call(arguments=CODE),)))
    assert of(ThoughtDelta, await answer(model)) == []


@pytest.mark.parametrize("wire", ["responses"])
async def test_L25_openai_gets_its_encrypted_reasoning_back_and_stores_none(
    server: OpenAIServer, asked: Build, answer: Any
) -> None:
    body = await call_and_result(server, asked(), answer)
    assert (body["store"], body["include"]) == (False, ["reasoning.encrypted_content"])
    thought, call = (item for item in body["input"] if item.get("type") in ("reasoning", "function_call"))
    assert (thought["type"], thought["encrypted_content"], call["type"]) == ("reasoning", "c2ln", "function_call")
    body = await call_and_result(server, asked(), answer, then=asked(name="openai/responses/gpt-5-mini"))
    assert "reasoning" not in [item.get("type") for item in body["input"]]


@pytest.mark.parametrize("wire", ["openai"])
async def test_L25_a_call_that_gemini_signed_is_taken_by_others(server: OpenAIServer, asked: Build) -> None:
    """The signature is in the id of the call, and OpenAI takes ids of 40 characters at most."""
    made = ToolCall(id=f"call_1__thought__{'c2ln' * 100}", name="execute", arguments=CODE)
    past = (
        ChatMessage(role="assistant", calls=(made,)),
        ChatMessage(role="tool", text="2", call_id=made.id),
    )
    server.script(hello())
    async for _ in asked().stream(ChatRequest(messages=past, tools=(execute_spec(("python",)),))):
        pass
    call, result = server.requests[-1]["messages"]
    assert call["tool_calls"][0]["id"] == result["tool_call_id"]
    assert len(result["tool_call_id"]) <= 40


NUMBER = AnswerSchema({
    "type": "object",
    "properties": {"n": {"type": "integer"}, "note": {"type": "string"}},
    "required": ["n"],
})  # fmt: skip
NO_SCHEMA = Turn(status=400, error="json_schema: this model takes no response format")


async def value_of(model: ServedModel, *, tries: int = 1) -> AskedValue:
    """What a model gives that is asked for `NUMBER`, once it is known what it takes."""
    await model.preload()
    messages = (ChatMessage(role="system", text="Read."), ChatMessage(role="user", text="seven"))
    return await ask_for_value(model, messages, NUMBER, tries=tries)


def sent_schema(wire: str, body: dict[str, Any]) -> Any:
    """Of a request: where this wire has the schema that its server holds the answer to."""
    match wire:
        case "openai":
            return body.get("response_format", {}).get("json_schema", {}).get("schema")
        case "responses":
            return body.get("text", {}).get("format", {}).get("schema")
        case "anthropic":
            return body.get("output_format", {}).get("schema")
        case "gemini":
            return body.get("generationConfig", {}).get("response_json_schema")
        case _:
            return body.get("format")


def sent_tools(wire: str, body: dict[str, Any]) -> list[str]:
    """Names of the tools of a request."""
    tools = body.get("tools", [])
    if wire == "gemini":
        tools = [one for tool in tools for one in tool["function_declarations"]]
    return [tool.get("function", tool)["name"] for tool in tools]


async def test_E17_the_schema_goes_with_the_request_on_each_wire(server: OpenAIServer, asked: Build, wire: str) -> None:
    server.script('{"n": "7", "note": null}')
    told = await value_of(asked())
    assert (told.value, told.requests) == ({"n": 7}, 1), "what is null and may be left out is left out"
    (body,) = server.requests
    assert sent_schema(wire, body)["properties"]["n"] == {"type": "integer"}
    assert sent_tools(wire, body) == []


async def test_E17_where_the_schema_is_refused_a_call_is_the_answer_on_each_wire(
    server: OpenAIServer, asked: Build, wire: str
) -> None:
    model = asked()
    call = Turn(text="Here:", calls=(Call(name="answer", arguments='{"n": "7"}'),))
    server.script(NO_SCHEMA, call, call)
    for _ in range(2):
        assert (await value_of(model)).value == {"n": 7}
    assert [sent_schema(wire, body) is not None for body in server.requests] == [True, False, False]
    assert [sent_tools(wire, body) for body in server.requests] == [[], ["answer"], ["answer"]]


async def test_E17_in_words_what_does_not_fit_goes_back_on_each_wire(
    server: OpenAIServer, asked: Build, wire: str
) -> None:
    server.script(NO_SCHEMA, 'It is {"n": "many"}', '```json\n{"n": "7"}\n```')
    told = await value_of(asked(tools="off"))
    assert (told.value, told.requests) == ({"n": 7}, 3)
    first, _, last = server.requests
    assert sent_schema(wire, first) is not None
    assert (sent_schema(wire, last), sent_tools(wire, last)) == (None, [])
    assert "'many' is not of type 'integer'" in json.dumps(last)


@pytest.mark.thorough
@pytest.mark.parametrize("turn", [Turn(text='{"n": "many"}'), Turn(text='{"n": 7', finish_reason="length"), Turn()])
async def test_E17_what_never_fits_is_the_last_attempt_on_each_wire(
    server: OpenAIServer, asked: Build, turn: Turn
) -> None:
    server.script(*[turn] * 3)
    told = await value_of(asked(), tries=2)
    assert (told.value, told.requests, told.last) == (None, 3, turn.text)
    assert told.problems


@pytest.mark.parametrize("wire", ["anthropic"])
async def test_E17_an_older_model_of_anthropic_gives_it_by_a_call(server: OpenAIServer, asked: Build) -> None:
    server.script(Turn(calls=(Call(name="json_tool_call", arguments='{"n": "7"}'),)))
    assert (await value_of(asked(name="anthropic/claude-3-haiku-20240307"))).value == {"n": 7}
    (body,) = server.requests
    assert body["tools"][0]["input_schema"]["properties"]["n"] == {"type": "integer"}
