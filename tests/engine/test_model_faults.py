"""Every way in which a request to a model fails, against a server that fails in that way."""

import logging
import socket
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from oi_tui.app.engine.core.chat_model import AnswerUsage, Delta, Retrying, TextDelta
from oi_tui.app.engine.core.errors import ModelError
from oi_tui.app.engine.models.served_model import ServedModel
from support.kinds import narrow
from support.openai_server import OpenAIServer, Turn

Build = Callable[..., ServedModel]
TOO_LONG = {"message": "This model's maximum context length is 8192 tokens.", "code": "context_length_exceeded"}


async def test_L10_a_429_waits_as_long_as_the_server_asks_and_then_goes_on(
    openai_server: OpenAIServer, model: Build, answer: Any
) -> None:
    openai_server.script(Turn(status=429, retry_after="0.02"), Turn(text="Hi"))
    deltas = await answer(model())
    assert deltas[:2] == [Retrying(delay=0.02, why="rate limit", attempt=1, attempts=1), TextDelta(text="Hi")]


async def test_L10_a_429_that_asks_for_too_long_a_wait_is_an_error_that_says_how_long(
    openai_server: OpenAIServer, model: Build, answer: Any
) -> None:
    later = datetime.now(UTC) + timedelta(hours=1)
    openai_server.script(Turn(status=429, retry_after="100"), Turn(status=429, retry_after=format_datetime(later)))
    with pytest.raises(ModelError) as caught:
        await answer(model())
    assert (caught.value.kind, caught.value.hint) == ("rate_limited", "Retry in 100 s.")
    with pytest.raises(ModelError):
        await answer(model())
    assert len(openai_server.requests) == 2


@pytest.mark.parametrize("status", [500, 502, 503, 529])
async def test_L10_a_server_failure_is_tried_again_and_then_reported(
    openai_server: OpenAIServer, model: Build, answer: Any, status: int
) -> None:
    openai_server.script(Turn(status=status))
    deltas: list[Delta] = []
    with pytest.raises(ModelError) as caught:
        await answer(model(retries=2), into=deltas)
    assert deltas == [
        Retrying(delay=attempt / 1000, why=f"server error {status}", attempt=attempt, attempts=2) for attempt in (1, 2)
    ]
    assert caught.value.kind == "server"
    assert len(openai_server.requests) == 3


@pytest.mark.parametrize("how", ["reset", "close", "end"])
async def test_L10_a_stream_cut_in_the_middle_keeps_what_came_and_is_not_asked_again(
    openai_server: OpenAIServer, model: Build, answer: Any, how: Any
) -> None:
    openai_server.script(Turn(text="Hello there", cut_after=2, cut=how))
    deltas: list[Delta] = []
    with pytest.raises(ModelError) as caught:
        await answer(model(), into=deltas)
    text, usage = deltas
    assert text == TextDelta(text="Hell")
    assert narrow(usage, AnswerUsage).estimated, "what came is paid for"
    assert caught.value.kind == "cut"
    assert len(openai_server.requests) == 1


async def test_L10_a_connection_that_breaks_before_anything_came_is_tried_again(
    openai_server: OpenAIServer, model: Build, answer: Any
) -> None:
    openai_server.script(Turn(text="x", cut_after=0), Turn(text="Hi"))
    deltas = await answer(model())
    assert deltas[:2] == [Retrying(delay=0.001, why="connection lost", attempt=1, attempts=1), TextDelta(text="Hi")]


async def test_L10_a_refused_connection_is_tried_again_and_names_the_address(model: Build, answer: Any) -> None:
    with socket.socket() as taken:  # bound but not listening: refuses, and nobody else can have the port
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        deltas: list[Delta] = []
        with pytest.raises(ModelError) as caught:
            await answer(model(api_base=url), into=deltas)
    assert deltas == [Retrying(delay=0.001, why="server unreachable", attempt=1, attempts=1)]
    assert (caught.value.kind, caught.value.title) == ("unreachable", f"{url} cannot be reached.")
    assert caught.value.hint == "Start the server, or check the address."


@pytest.mark.parametrize("after", [0, 2])
async def test_L10_a_malformed_stream_is_a_bad_reply(
    openai_server: OpenAIServer, model: Build, answer: Any, after: int
) -> None:
    openai_server.script(Turn(text="Hello there", garbage_after=after))
    with pytest.raises(ModelError) as caught:
        await answer(model())
    assert caught.value.kind == "bad_reply"


async def test_an_empty_stream_without_an_end_is_a_bad_reply(
    openai_server: OpenAIServer, model: Build, answer: Any
) -> None:
    openai_server.script(Turn(cut_after=0, cut="end"))
    with pytest.raises(ModelError) as caught:
        await answer(model())
    assert caught.value.kind == "bad_reply"


async def test_L10_a_wrong_key_says_what_to_do_and_shows_no_key(
    openai_server: OpenAIServer, model: Build, answer: Any
) -> None:
    key = "sk-very-secret-1234"
    openai_server.script(Turn(status=401, error=f"Incorrect API key provided: {key}"))
    with pytest.raises(ModelError) as caught:
        await answer(model(api_key=key))
    assert caught.value.kind == "wrong_key"
    assert "--api-key" in caught.value.hint
    assert "Incorrect API key provided" in caught.value.details
    assert key not in caught.value.details + caught.value.title + caught.value.hint


@pytest.mark.parametrize(
    ("turn", "kind"),
    [
        (Turn(status=400), "bad_request"),
        (Turn(status=422), "bad_request"),
        (Turn(status=400, error="API key not valid. Please pass a valid API key."), "wrong_key"),
        (Turn(status=403), "wrong_key"),
        (Turn(status=402), "rate_limited"),
        (Turn(status=429, error={"message": "No more.", "code": "insufficient_quota"}), "rate_limited"),
        (Turn(status=404, error="The model `x` does not exist"), "unknown_model"),
        (Turn(status=400, error="model 'x' not found"), "unknown_model"),
        (Turn(status=400, error=TOO_LONG), "context_too_long"),
        (Turn(status=413), "context_too_long"),
        (Turn(status=500, error="the request exceeds the available context size"), "context_too_long"),
        (Turn(text="Hello", error_after=1, error="the request exceeds the available context size"), "context_too_long"),
        (Turn(status=408), "timeout"),
        (Turn(status=418), "other"),
        (Turn(text="Hello there", error_after=2, error="it fell over"), "server"),
        (Turn(text="Hello there", finish_reason="content_filter"), "other"),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{value.status}-{value.text}",
)
async def test_a_fault_that_will_not_pass_is_reported_at_once(
    openai_server: OpenAIServer, model: Build, answer: Any, turn: Turn, kind: str
) -> None:
    openai_server.script(turn)
    deltas: list[Delta] = []
    with pytest.raises(ModelError) as caught:
        await answer(model(), into=deltas)
    assert caught.value.kind == kind
    assert caught.value.title.endswith(".")
    assert caught.value.hint.endswith(".")
    assert not any(isinstance(delta, Retrying) for delta in deltas)


async def test_an_error_at_the_head_of_the_stream_is_tried_again(
    openai_server: OpenAIServer, model: Build, answer: Any
) -> None:
    busy = {"message": "overloaded", "code": 529}
    openai_server.script(Turn(error_after=0, error=busy), Turn(text="Hi"))
    deltas = await answer(model())
    assert deltas[:2] == [Retrying(delay=0.001, why="server error 529", attempt=1, attempts=1), TextDelta(text="Hi")]


@pytest.mark.parametrize("turn", [Turn(hold=True), Turn(text="Hello there", pause_after=2)])
async def test_a_silent_server_is_given_up_after_the_timeout(
    openai_server: OpenAIServer, model: Build, answer: Any, turn: Turn
) -> None:
    openai_server.script(turn)
    with pytest.raises(ModelError) as caught:
        await answer(model(timeout=0.2))
    assert (caught.value.kind, caught.value.title) == ("timeout", f"{openai_server.url} sent nothing for 0.2 s.")


@pytest.mark.parametrize(
    ("client", "name", "variable"),
    [
        ("lean", "gpt-5", "OPENAI_API_KEY"),
        ("lean", "openai/gpt-5", "OPENAI_API_KEY"),
        ("lean", "groq/whatever", "GROQ_API_KEY"),
        ("lean", "deepseek/whatever", "DEEPSEEK_API_KEY"),
        ("litellm", "gpt-5", "OPENAI_API_KEY"),
        ("litellm", "anthropic/claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
        ("litellm", "gemini/gemini-2.5-pro", "GEMINI_API_KEY"),
    ],
)
async def test_a_missing_key_names_its_variable_without_a_request(
    model: Build, answer: Any, name: str, variable: str
) -> None:
    with pytest.raises(ModelError) as caught:
        await answer(model(name=name, api_base=""))
    assert caught.value.kind == "no_key"
    assert variable in caught.value.hint


@pytest.mark.parametrize("client", ["litellm"])
async def test_a_name_without_a_provider_or_a_server_is_an_unknown_model(model: Build, answer: Any) -> None:
    asked = model(name="no-such-thing", api_base="")
    await asked.preload()
    with pytest.raises(ModelError) as caught:
        await answer(asked)
    assert caught.value.kind == "unknown_model"
    assert "/model or --api-base" in caught.value.hint


async def test_nothing_is_printed_and_nothing_logged_to_the_terminal_on_errors(
    openai_server: OpenAIServer, model: Build, answer: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    openai_server.script(Turn(status=500), Turn(status=401), Turn(text="Hello there", cut_after=2))
    faulty = [model(retries=0), model(retries=0), model(retries=0), model(name="openai/no-key", api_base="")]
    for each in faulty:
        with pytest.raises(ModelError):
            await answer(each)
    assert capfd.readouterr() == ("", "")
    assert not any(type(handler) is logging.StreamHandler for handler in logging.getLogger("LiteLLM").handlers)
