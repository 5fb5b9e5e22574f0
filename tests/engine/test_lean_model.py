"""What only our own client does: reading all that has arrived at once, and servers that are careless or hostile."""

import asyncio
import gc
import gzip
import json
import subprocess
import sys
import time
import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import pytest

from oi_tui.app.engine.core.chat_model import (
    AnswerEnded,
    AnswerUsage,
    ChatMessage,
    ChatRequest,
    Delta,
    SealDelta,
    TextDelta,
    ToolCall,
    ToolDelta,
)
from oi_tui.app.engine.core.errors import ModelError
from oi_tui.app.engine.core.settings import ModelSection
from oi_tui.app.engine.models import lean_model
from oi_tui.app.engine.models.connections import Connections
from oi_tui.app.engine.models.lean_model import LeanModel
from oi_tui.app.engine.models.providers import find_lean
from oi_tui.app.engine.models.served_model import CallNumbers, ServedModel
from oi_tui.app.engine.tools.execute import execute_spec
from support.kinds import of
from support.openai_server import Call, OpenAIServer, Turn, read_request
from support.raw_server import answer_chunk, raw_server, sends

Build = Callable[..., ServedModel]
FINISH = b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\n'
DONE = b"data: [DONE]\n\n"
HI = [TextDelta(text="Hi")]


@pytest.fixture
def client() -> str:
    """Our own."""
    return "lean"


async def test_what_has_arrived_together_is_told_as_one_delta(model: Build) -> None:
    pieces = [answer_chunk(f"{number} ") for number in range(500)]
    async with raw_server(sends(b"".join(pieces), FINISH, DONE)) as server:
        request = ChatRequest(messages=(ChatMessage(role="user", text="count"),))
        texts = of(TextDelta, [delta async for delta in model(api_base=server.url).stream(request)])
    assert "".join(delta.text for delta in texts) == "".join(f"{number} " for number in range(500))
    assert len(texts) < 10


@pytest.mark.parametrize(
    ("kind", "indent"),
    [("application/json", None), ("application/json", 1), ("text/event-stream", None), ("text/plain", None)],
)
async def test_a_server_that_does_not_stream_is_understood(
    model: Build, answer: Any, kind: str, indent: int | None
) -> None:
    whole = {
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1},
    }
    async with raw_server(sends(json.dumps(whole, indent=indent).encode()), kind=kind) as server:
        deltas = await answer(model(api_base=server.url))
    assert [*of(TextDelta, deltas), deltas[-1]] == [*HI, AnswerEnded()]
    assert [usage.input_tokens for usage in of(AnswerUsage, deltas)] == [3]


@pytest.mark.parametrize(
    "body",
    [
        answer_chunk("Hi") + FINISH,
        answer_chunk("Hi") + FINISH.removesuffix(b"\n\n"),
        (answer_chunk("Hi") + FINISH + DONE).replace(b"\n", b"\r\n"),
        b": comment\n\nevent: x\n" + answer_chunk("Hi") + FINISH + DONE + b"data: oops\n\n",
        b'data: {"choices": [],\ndata: "usage": null}\n\n' + answer_chunk("Hi") + FINISH,
    ],
)
async def test_a_careless_stream_is_whole_when_it_says_why_it_ends(model: Build, answer: Any, body: bytes) -> None:
    async with raw_server(sends(body)) as server:
        deltas = await answer(model(api_base=server.url))
    assert [*of(TextDelta, deltas), deltas[-1]] == [*HI, AnswerEnded()]
    assert all(usage.estimated for usage in of(AnswerUsage, deltas))


@pytest.mark.parametrize("client", ["lean", "litellm"])
@pytest.mark.parametrize(
    "kind", ["application/json", "application/json; charset=utf-8", "text/html", "text/plain", "application/x-ndjson"]
)
async def test_a_stream_is_read_whatever_it_is_labelled(model: Build, answer: Any, kind: str) -> None:
    async with raw_server(sends(b"\n", b": ping\n\n", answer_chunk("Hi"), FINISH, DONE), kind=kind) as server:
        deltas = await answer(model(api_base=server.url))
    assert [*of(TextDelta, deltas), deltas[-1]] == [*HI, AnswerEnded()]


@pytest.mark.parametrize("kind", ["text/html", "text/event-stream", "application/json"])
async def test_L22_a_web_page_is_refused_at_its_first_bytes(model: Build, answer: Any, kind: str) -> None:
    async with raw_server(
        sends(b"\xef\xbb\xbf\n", b"<!DOCTYPE html>", then=b"<p>Log in</p>" * 5_000), kind=kind
    ) as server:
        with pytest.raises(ModelError) as caught:
            await answer(model(api_base=server.url))
    assert (caught.value.kind, caught.value.details) == ("bad_reply", "a web page")


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\nevent: message\n", b"\n\n"])
async def test_L22_events_are_counted_apart_though_the_empty_line_behind_them_was_forgotten(
    model: Build, answer: Any, end: bytes
) -> None:
    """Else a long answer of such a server would be one event without an end."""
    event = answer_chunk("abcd").rstrip() + end

    async def slow() -> AsyncIterator[bytes]:
        for _ in range(3):
            yield event * 500
            await asyncio.sleep(0.05)
        yield FINISH + DONE

    async with raw_server(slow) as server:
        deltas = await answer(model(api_base=server.url))
    assert of(TextDelta, deltas) == [TextDelta(text="abcd" * 1_500)]


async def test_an_end_without_a_reason_is_a_broken_answer(model: Build, answer: Any) -> None:
    async with raw_server(sends(answer_chunk("Hi"), DONE)) as server:
        with pytest.raises(ModelError) as caught:
            await answer(model(api_base=server.url))
    assert caught.value.kind == "cut"


async def test_a_server_that_hangs_behind_the_end_is_not_waited_for_long(model: Build, answer: Any) -> None:
    async def hangs() -> AsyncIterator[bytes]:
        yield answer_chunk("Hi") + FINISH
        await asyncio.sleep(30)

    async with asyncio.timeout(10), raw_server(hangs) as server:
        deltas = await answer(model(api_base=server.url))
    assert deltas[-1] == AnswerEnded()


def marked(content: str) -> bytes:
    """An event that says this, and that the answer ends."""
    choice = {"index": 0, "delta": {"content": content}, "finish_reason": "stop"}
    return b"data: %b\n\n" % json.dumps({"choices": [choice]}).encode()


@pytest.mark.parametrize("client", ["lean", "litellm"])
@pytest.mark.parametrize("first", ["", "Hi "])
async def test_an_end_that_more_text_follows_is_none_however_late_that_comes(
    model: Build, answer: Any, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    monkeypatch.setattr(lean_model, "LAST_WORDS", 0.02)

    async def paused() -> AsyncIterator[bytes]:
        yield marked(first)
        for _ in range(3):
            await asyncio.sleep(0.1)
            yield marked("word ")
        yield DONE

    async with raw_server(paused) as server:
        deltas = await answer(model(api_base=server.url))
    assert [*of(TextDelta, deltas), deltas[-1]] == [TextDelta(text=f"{first}word word word "), AnswerEnded()]


@pytest.mark.parametrize(
    ("events", "kind"),
    [
        (marked("Hi"), ""),
        (answer_chunk("Hi") + FINISH, ""),
        (answer_chunk("H") + FINISH + answer_chunk("i"), "timeout"),
        (marked("H") + marked("i"), "timeout"),
    ],
    ids=["with text", "behind text", "before text", "with each text"],
)
async def test_of_an_answer_that_gave_its_end_only_the_terminator_may_be_missing(
    model: Build, answer: Any, monkeypatch: pytest.MonkeyPatch, events: bytes, kind: str
) -> None:
    monkeypatch.setattr(lean_model, "LAST_WORDS", 0.02)

    async def hangs() -> AsyncIterator[bytes]:
        yield events
        await asyncio.sleep(30)

    deltas: list[Delta] = []
    async with asyncio.timeout(10), raw_server(hangs) as server:
        asked = model(api_base=server.url, timeout=0.2)
        if kind:
            with pytest.raises(ModelError) as caught:
                await answer(asked, into=deltas)
            assert caught.value.kind == kind
        else:
            assert (await answer(asked, into=deltas))[-1] == AnswerEnded()
    assert of(TextDelta, deltas) == HI


@pytest.mark.parametrize("end", [FINISH + DONE, DONE])
async def test_text_behind_the_reason_for_the_end_belongs_to_the_answer(model: Build, answer: Any, end: bytes) -> None:
    async with raw_server(sends(answer_chunk("H") + FINISH + answer_chunk("i") + end)) as server:
        deltas = await answer(model(api_base=server.url))
    assert [*of(TextDelta, deltas), deltas[-1]] == [*HI, AnswerEnded()]


async def test_an_answer_that_stops_behind_such_text_is_broken(model: Build, answer: Any) -> None:
    async with raw_server(sends(answer_chunk("H") + FINISH + answer_chunk("i"))) as server:
        with pytest.raises(ModelError) as caught:
            await answer(model(api_base=server.url))
    assert caught.value.kind == "cut"


@pytest.mark.parametrize(
    ("status", "kind", "body", "expected"),
    [
        (200, "text/html", b"<html>Log in</html>", "bad_reply"),
        (200, "application/json", b'{"choices": ', "bad_reply"),
        (200, "application/json", b"{}", "bad_reply"),
        (200, "application/json", b'{"error": {"message": "it fell over"}}', "server"),
        (200, "text/event-stream", b"<html>\nnothing\n", "bad_reply"),
        (200, "text/event-stream", b'{"error": {"message": "no such model", "code": "404"}}\n', "unknown_model"),
        (204, "text/plain", b"", "other"),
        (302, "text/html", b"", "bad_reply"),
        (422, "application/json", b'{"detail": [{"msg": "field required"}]}', "bad_request"),
        (502, "text/html", b"<html><h1>Bad Gateway</h1></html>", "server"),
    ],
)
async def test_L10_what_is_no_answer_is_told_in_words(
    model: Build, answer: Any, status: int, kind: str, body: bytes, expected: str
) -> None:
    async with raw_server(sends(body), status=status, kind=kind) as server:
        with pytest.raises(ModelError) as caught:
            await answer(model(api_base=server.url, retries=0))
    assert caught.value.kind == expected
    assert "<" not in caught.value.title + caught.value.details


async def test_L22_a_packed_answer_is_not_unpacked_beyond_its_bounds(model: Build, answer: Any) -> None:
    bomb = gzip.compress(b'data: {"choices": [{"delta": {"content": "' + b"a" * 200_000_000)
    async with raw_server(sends(bomb), head="Content-Encoding: gzip\r\n") as server:
        with pytest.raises(ModelError) as caught:
            await answer(model(api_base=server.url))
    assert "without an end" in caught.value.title


async def test_a_packed_answer_is_read(model: Build, answer: Any) -> None:
    packed = gzip.compress(answer_chunk("Hi") + FINISH + DONE)
    async with raw_server(sends(packed), head="Content-Encoding: gzip\r\n") as server:
        assert (await answer(model(api_base=server.url)))[0] == HI[0]


async def test_a_key_with_a_line_end_in_it_is_refused_unsent_and_unseen(
    openai_server: OpenAIServer, model: Build, answer: Any
) -> None:
    with pytest.raises(ModelError) as caught:
        await answer(model(api_key="sk-one\r\nX-Evil: sk-two"))
    told = caught.value
    assert told.kind == "wrong_key"
    assert "sk-" not in told.title + told.hint + told.details
    await answer(model(api_key=" sk-copied\n"))
    assert [exchange.headers["authorization"] for exchange in openai_server.exchanges] == ["Bearer sk-copied"]


async def test_a_key_of_one_provider_goes_to_no_other_server(
    openai_server: OpenAIServer, model: Build, answer: Any
) -> None:
    keys = {"GROQ_API_KEY": "gsk-of-the-environment", "OPENAI_API_KEY": "sk-of-the-environment"}
    for name in ("groq/llama", "deepseek/x", "openai/x", "x"):
        await answer(model(name=name, environ=keys))
    assert "of-the-environment" not in json.dumps([exchange.headers for exchange in openai_server.exchanges])


async def test_the_address_may_be_in_the_environment(openai_server: OpenAIServer, model: Build, answer: Any) -> None:
    await answer(
        model(name="groq/llama", api_base="", environ={"GROQ_API_BASE": openai_server.url, "GROQ_API_KEY": "gsk-1"})
    )
    assert openai_server.exchanges[0].headers["authorization"] == "Bearer gsk-1"


async def test_the_thoughts_that_led_to_a_call_go_back_to_who_wants_them(
    openai_server: OpenAIServer, model: Build, answer: Any
) -> None:
    openai_server.script(Turn(reasoning="I should look.", calls=(Call(arguments="{}", id="c1"),)), "Done.")
    asked = model(name="deepseek/deepseek-chat", api_key="sk-1", tools="on")
    (sealed,) = (delta.thoughts for delta in await answer(asked) if isinstance(delta, SealDelta))
    call = ToolCall(id="c1", name="execute", arguments="{}")
    spoken = ChatMessage(role="assistant", calls=(call,), sealed=sealed)
    past = (spoken, ChatMessage(role="tool", text="2", call_id="c1"))
    async for _ in asked.stream(ChatRequest(messages=past, tools=(execute_spec(("python",)),))):
        pass
    assert openai_server.requests[1]["messages"][0]["reasoning_content"] == "I should look."


@pytest.mark.parametrize("address", ["nonsense", "ftp://127.0.0.1/v1", "http://", "http://127.0.0.1:99999/v1"])
async def test_an_address_that_is_none_is_told(model: Build, answer: Any, address: str) -> None:
    with pytest.raises(ModelError) as caught:
        await answer(model(api_base=address))
    assert caught.value.kind == "unreachable"


def model_of(server: asyncio.Server, connections: Connections) -> LeanModel:
    """The model that this server has."""
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    choice = find_lean("m", url)
    assert choice is not None
    return LeanModel(choice, connections, ModelSection(name="m", api_base=url, retries=0), environ={})


async def test_nothing_is_left_open_where_a_session_ends_with_an_answer_whose_last_bytes_never_come() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        said = answer_chunk("Hi") + FINISH + DONE
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        writer.write(b"%x\r\n%b\r\n" % (len(said), said))
        await reader.read()  # until the other side goes
        writer.close()

    connections = Connections({})
    async with asyncio.timeout(20), await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        asked = model_of(server, connections)
        said = [delta async for delta in asked.stream(ChatRequest(messages=(ChatMessage(role="user", text="hi"),)))]
        assert of(TextDelta, said) == HI
        assert connections._reading_on
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            await connections.close()
            gc.collect()
        assert [str(warning.message) for warning in warned] == []


@pytest.mark.parametrize("left", [[b"0\r\n\r\n"], [b"4\r\n: hi\r\n", b"0\r\n\r\n"]])
async def test_a_connection_is_used_again_though_its_last_bytes_come_a_moment_later(left: list[bytes]) -> None:
    begun = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal begun
        begun += 1
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                await read_request(reader)
                said = answer_chunk("Hi") + FINISH + DONE
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
                )
                writer.write(b"%x\r\n%b\r\n" % (len(said), said))
                for piece in left:
                    await writer.drain()
                    await asyncio.sleep(0.02)
                    writer.write(piece)
        writer.close()

    connections = Connections({})
    async with asyncio.timeout(20), await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        asked = model_of(server, connections)
        for _ in range(3):
            said = [delta async for delta in asked.stream(ChatRequest(messages=(ChatMessage(role="user", text="hi"),)))]
            assert of(TextDelta, said) == HI
            await asyncio.gather(*connections._reading_on)
        await connections.close()
    assert begun == 1


ONE_ANSWER = """
import asyncio, sys
from oi_tui.app.engine.core.chat_model import ChatMessage, ChatRequest, TextDelta
from oi_tui.app.engine.core.settings import ModelSection
from oi_tui.app.engine.models.model_source import Models

async def ask():
    models = Models(ModelSection(), environ={})
    model = await models.open("openai/gpt-4o", sys.argv[1])
    request = ChatRequest(messages=(ChatMessage(role="user", text="hi"),))
    print("".join([delta.text async for delta in model.stream(request) if isinstance(delta, TextDelta)]))
    await models.close()

asyncio.run(ask())
print([name for name in ("litellm", "openai", "httpx", "pydantic", "tiktoken") if name in sys.modules])
"""


def test_an_answer_needs_none_of_the_heavy_libraries(openai_server: OpenAIServer) -> None:
    command = [sys.executable, "-c", ONE_ANSWER, openai_server.url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("Hello.\n[]\n", "")


async def test_L9_calls_with_the_same_number_and_no_id_are_told_apart(model: Build, answer: Any) -> None:
    """As Gemini's server that speaks OpenAI's language sends them; others repeat the name with each piece."""

    def piece(name: str | None, arguments: str) -> bytes:
        call = {"index": 0, "id": "", "function": {"name": name, "arguments": arguments}}
        return b"data: %b\n\n" % json.dumps({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}).encode()

    whole = piece("execute", '{"code": "1"}') + piece("execute", '{"code": "2"}')
    pieces = piece("execute", '{"code": ') + piece("execute", '"3"}')
    end = json.dumps({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}).encode()
    finished = b"data: %b\n\ndata: [DONE]\n\n" % end
    async with raw_server(sends(whole + pieces + finished)) as there:
        deltas = of(ToolDelta, await answer(model(api_base=there.url, tools="on")))
    calls = dict.fromkeys(delta.index for delta in deltas)
    said = ["".join(delta.arguments for delta in deltas if delta.index == index) for index in calls]
    assert said == ['{"code": "1"}', '{"code": "2"}', '{"code": "3"}']


@pytest.mark.parametrize("code", ["1", "{", "}", '"}', "\\", '\\"}', "\\\\", '{"a": "}"}', "é\n"])
def test_L9_a_call_without_an_id_is_over_with_its_last_brace_wherever_it_is_cut(code: str) -> None:
    arguments = json.dumps({"code": code, "more": {"a": [{}]}})
    for cut in range(len(arguments)):
        calls = CallNumbers()
        pieces = (arguments[:cut], arguments[cut:], arguments)
        deltas = [calls.read(0, "", "execute", piece) for piece in pieces]
        assert [delta.index for delta in deltas] == [0, 0, 1]


def test_L9_L22_a_name_with_each_piece_of_a_long_call_takes_linear_time() -> None:
    calls = CallNumbers()
    before = time.thread_time()
    for piece in ('{"code": "', *["{} = {}[1]}"] * 40_000, '"}'):
        assert calls.read(0, "", "execute", piece).index == 0
    assert time.thread_time() - before < 1
    assert calls.read(0, "", "execute", "{").index == 1
