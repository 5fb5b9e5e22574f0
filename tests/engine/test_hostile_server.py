"""A server that sends without end, too much at once, or us elsewhere: bounded, named, and interrupted at once."""

import asyncio
import gzip
import json
import logging
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from oi_tui.app.engine.core.chat_model import AnswerEnded, AnswerUsage, Delta, TextDelta
from oi_tui.app.engine.core.errors import ModelError
from oi_tui.app.engine.models.served_model import ServedModel
from support.kinds import of
from support.openai_server import OpenAIServer, Turn
from support.raw_server import answer_chunk, raw_server, sends

Build = Callable[..., ServedModel]
MB = 1_000_000


async def failed(answer: Any, model: ServedModel, into: list[Delta] | None = None) -> ModelError:
    async with asyncio.timeout(60):
        with pytest.raises(ModelError) as caught:
            await answer(model, into=into)
    return caught.value


@pytest.mark.parametrize("packed", [False, True])
async def test_L22_the_body_of_an_error_is_cut_before_anything_looks_at_it(
    model: Build, answer: Any, packed: bool
) -> None:
    body = json.dumps({"error": {"message": "model is not, " * (20 * MB // 14)}}).encode()
    sent = 0

    async def counted() -> AsyncIterator[bytes]:
        nonlocal sent
        whole = gzip.compress(body) if packed else body
        for start in range(0, len(whole), 65_536):
            yield whole[start : start + 65_536]
            sent += len(whole[start : start + 65_536])

    head = "Content-Encoding: gzip\r\n" if packed else ""
    async with raw_server(counted, status=400, kind="application/json", head=head) as server:
        error = await failed(answer, model(api_base=server.url, retries=0))
    assert "model is not, model is not" in error.details
    assert len(error.details) < 3_000
    assert sent < 10 * MB  # the rest is in nobody's memory


@pytest.mark.parametrize(
    "piece",
    [b"<script ", b"<style></script ", b"<script></script\n\n", b"<a ", b"model ", b"tool not ", b"AError: ", b"Error"],
)
async def test_L22_no_body_of_an_error_takes_long_to_read(model: Build, answer: Any, piece: bytes) -> None:
    async with raw_server(sends(piece * (64_000 // len(piece))), status=500, kind="text/html") as server:
        asked = model(api_base=server.url, retries=0)
        await asked.preload()
        before = time.thread_time()
        error = await failed(answer, asked)
    assert time.thread_time() - before < 0.5
    assert error.kind == "server"


async def test_L22_scripts_and_tags_of_a_page_are_no_words_of_an_error(model: Build, answer: Any) -> None:
    page = b"<html><STYLE>p {}</style ><h1>Bad <b>Gateway</b></h1><script>alert('<p>')</script>now<script>x"
    async with raw_server(sends(page), status=502, kind="text/html") as server:
        error = await failed(answer, model(api_base=server.url, retries=0))
    assert error.details == "Bad Gateway now"


@pytest.mark.parametrize("key", ["error", "\\u0065rror"])
async def test_L22_a_huge_error_within_the_stream_is_looked_at_by_nobody(model: Build, answer: Any, key: str) -> None:
    said = json.dumps({"KEY": {"message": "model is not, " * 60_000, "code": 400}}).replace("KEY", key)
    async with raw_server(sends(answer_chunk("Hi"), b"data: %b\n\n" % said.encode())) as server:
        error = await failed(answer, model(api_base=server.url, retries=0))
    assert error.title == f"{server.url} ended the answer with an error of huge size."


async def test_L22_an_error_within_the_stream_is_told_as_far_as_is_of_use(model: Build, answer: Any) -> None:
    said = json.dumps({"error": {"message": "model is not, " * 4_000, "code": 400}})
    async with raw_server(sends(answer_chunk("Hi"), b"data: %b\n\n" % said.encode())) as server:
        error = await failed(answer, model(api_base=server.url, retries=0))
    assert "model is not, model is not" in error.details
    assert len(error.details) < 3_000


async def test_L22_comments_are_no_part_of_an_answer(model: Build, answer: Any) -> None:
    async def alive() -> AsyncIterator[bytes]:
        yield answer_chunk("Hel")
        yield answer_chunk("lo")
        while True:
            yield b": still there\n\n"
            await asyncio.sleep(0.01)

    deltas: list[Delta] = []
    async with raw_server(alive) as server:
        error = await failed(answer, model(api_base=server.url, content_timeout=0.3), deltas)
    assert [delta for delta in deltas if not isinstance(delta, AnswerUsage)] == [TextDelta(text="Hello")]
    assert (error.kind, error.title) == ("timeout", f"{server.url} sent nothing of an answer for 0.3 s.")
    assert "model.content_timeout" in error.hint


async def test_L22_nor_is_silence_before_the_first_word_longer_than_that(model: Build, answer: Any) -> None:
    async def never() -> AsyncIterator[bytes]:
        await asyncio.sleep(30)
        yield b""

    async with raw_server(never) as server:
        error = await failed(answer, model(api_base=server.url, content_timeout=0.3, retries=0))
    assert error.kind == "timeout"


async def test_L22_an_answer_that_goes_on_and_on_is_ended_where_the_person_set_a_limit(
    model: Build, answer: Any
) -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield answer_chunk("x")
            await asyncio.sleep(0.01)

    async with raw_server(endless) as server:
        error = await failed(answer, model(api_base=server.url, answer_timeout=0.5))
    assert error.title == f"{server.url} did not come to an end within 0.5 s."


@pytest.mark.parametrize(
    ("pieces", "then", "most"),
    [
        ([b"data: "], b"x" * 65_536, "1 MB"),
        ([], b"data: x\n", "1,000 lines"),
        ([], b'data: {"choices":\n', "1,000 lines"),
        ([], b":\n", "1,000 lines"),
        ([b'data: {"choices": [{"delta": {"content": "'], b"a" * 65_536, "1 MB"),
    ],
)
async def test_L22_what_has_no_end_is_not_gathered(
    model: Build, answer: Any, pieces: list[bytes], then: bytes, most: str
) -> None:
    async with raw_server(sends(answer_chunk("Hi"), *pieces, then=then * (65_536 // len(then)))) as server:
        error = await failed(answer, model(api_base=server.url))
    assert (error.kind, error.title) == ("bad_reply", f"{server.url} sent more than {most} without an end.")


@pytest.mark.parametrize("client", ["litellm"])
async def test_L22_litellm_is_not_sent_what_it_would_gather_as_one_event(model: Build, answer: Any) -> None:
    async with raw_server(sends(answer_chunk("Hi"), then=b"data: {}\n" * 7_000)) as server:
        error = await failed(answer, model(api_base=server.url))
    assert (error.kind, error.title) == ("bad_reply", f"{server.url} sent more than 1,000 lines without an end.")


@pytest.mark.parametrize("client", ["lean"])
async def test_L22_events_that_say_nothing_are_no_part_of_an_answer(model: Build, answer: Any) -> None:
    async with raw_server(sends(answer_chunk("Hi"), then=b"data: {}\n" * 700)) as server:
        error = await failed(answer, model(api_base=server.url, content_timeout=0.2))
    assert (error.kind, error.title) == ("timeout", f"{server.url} sent nothing of an answer for 0.2 s.")


async def test_L22_a_piece_of_fifty_megabytes_is_refused(model: Build, answer: Any) -> None:
    async with raw_server(sends(answer_chunk("a" * 50 * MB), answer_chunk("b"))) as server:
        error = await failed(answer, model(api_base=server.url))
    assert error.title == f"{server.url} sent more than 1 MB without an end."


async def test_L22_a_long_answer_of_many_pieces_arrives(model: Build, answer: Any) -> None:
    done = b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
    async with raw_server(sends(*[answer_chunk("a" * 400_000)] * 20, done)) as server:
        deltas = await answer(model(api_base=server.url))
    assert sum(len(delta.text) for delta in of(TextDelta, deltas)) == 8 * MB


async def test_L23_a_redirect_to_another_origin_is_refused_and_named(model: Build, answer: Any) -> None:
    async with raw_server(sends(b"")) as there:
        head = f"Location: {there.url}/chat/completions\r\n"
        async with raw_server(sends(b""), status=307, head=head) as server:
            error = await failed(answer, model(api_base=server.url))
        assert (len(server.requests), there.requests) == (1, [])
    origin = there.url.removesuffix("/v1")
    assert error.title == f"{server.url} sends requests on to another one, {origin}: that was refused."
    assert "/model or --api-base" in error.hint


@pytest.mark.parametrize("client", ["lean"])
async def test_L23_a_redirect_within_the_server_is_not_followed_and_named(model: Build, answer: Any) -> None:
    async with raw_server(sends(b""), status=307, head="Location: /v1/again\r\n") as server:
        error = await failed(answer, model(api_base=server.url))
    assert len(server.requests) == 1
    assert error.title == f"{server.url} sends requests on to /v1/again: that was not followed."


@pytest.mark.parametrize("client", ["litellm"])
async def test_L23_litellm_follows_a_redirect_within_the_server(model: Build, answer: Any) -> None:
    async with raw_server(sends(b""), status=307, head="Location: /v1/again\r\n") as server:
        await failed(answer, model(api_base=server.url, retries=0))
    assert b"POST /v1/again" in server.requests[1]


@pytest.mark.parametrize("count", [-1_000_000, 10**30])
async def test_L23_impossible_usage_is_ignored_and_told_in_the_log(
    openai_server: OpenAIServer, model: Build, answer: Any, caplog: pytest.LogCaptureFixture, count: int
) -> None:
    openai_server.script(Turn(text="Hi", usage_details={"prompt_tokens": count, "completion_tokens": 5}))
    with caplog.at_level(logging.WARNING):
        deltas = await answer(model())
    told = of(AnswerUsage, deltas)
    assert all(0 <= usage.input_tokens < 1000 for usage in told)  # LiteLLM counts by itself where a count is below 0
    assert told or "impossible usage" in caplog.text


@pytest.mark.parametrize("usage", [{"cost": 10**400}, {"prompt_tokens": 10**4_299}, {"completion_tokens": -(10**400)}])
async def test_L23_a_number_that_no_arithmetic_takes_spoils_no_answer(
    openai_server: OpenAIServer, model: Build, answer: Any, usage: dict[str, int]
) -> None:
    openai_server.script(Turn(text="Hi", usage_details=usage))
    deltas = await answer(model())
    assert (deltas[0], deltas[-1]) == (TextDelta(text="Hi"), AnswerEnded())
    assert all(told.cost is None and told.input_tokens < 1000 for told in of(AnswerUsage, deltas))


@pytest.mark.parametrize("code", [10**4_200, -1, "9" * 5_000, [], {"a": 1}, float("inf")])
async def test_L10_a_code_that_is_none_hides_no_error(
    openai_server: OpenAIServer, model: Build, answer: Any, code: Any
) -> None:
    openai_server.script(Turn(status=400, error={"message": "bad field", "code": code}))
    error = await failed(answer, model())
    assert (error.kind, error.details[:9]) == ("bad_request", "bad field")
    assert len(error.details) < 200
