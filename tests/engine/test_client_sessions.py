"""What a session makes of the answers of a model over HTTP: the same, whether our own client asks or LiteLLM."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.blocks import CodeBlock, NoticeBlock, ProseBlock
from oi_tui.app.engine.core.chat_model import AnswerUsage
from oi_tui.app.engine.core.settings import LoopSection
from oi_tui.app.engine.core.verbs import SetBudget
from oi_tui.app.engine.formats.lmc import LmcWriter, fold_chunks
from oi_tui.app.engine.models.served_model import ServedModel
from oi_tui.app.engine.testing import FakeKernels
from support.kinds import of
from support.openai_server import Call, OpenAIServer, Turn
from support.turns import end_of, play

Build = Callable[..., ServedModel]
COUNTS = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
PRICE = 1000 * 2.5e-6 + 100 * 10e-6
"""US dollars of these at gpt-4o's prices."""


async def make(model: ServedModel, **settings: Any) -> Session:
    await model.preload()
    section = LoopSection(**{"approve": "auto", **settings})
    return Session(kernels=FakeKernels(), settings=section, model=model)


def steps(count: int, **fields: Any) -> list[Turn]:
    """Answers that each have other code."""
    texts = (f"Next.\n\n```python\nprint({number})\n```\n" for number in range(count))
    return [Turn(text=text, usage_details=COUNTS | fields) for text in texts]


def notices(session: Session) -> list[str]:
    return [block.title for block in of(NoticeBlock, session.transcript.blocks)]


def told(session: Session) -> list[tuple[str, str]]:
    """Prose and code of the model, in order."""
    return [
        ("", block.text) if isinstance(block, ProseBlock) else (block.language, block.source)
        for block in session.transcript.blocks
        if isinstance(block, ProseBlock | CodeBlock)
    ]


HELPERS = "I define:\n<helpers>\ndef f():\n    return 1\n</helpers>\nThen.\n"
FENCED = "```\npython\nprint('''\n```\n''')\n```\n"
CALL_IN_TEXT = '\n```json\n{"language": "python", "code": "a = 1\\nprint(a)"}\n```\n'


@pytest.mark.parametrize("chunk", [1, 7, 1000])
async def test_L1_L2_an_answer_arrives_as_the_same_blocks(
    openai_server: OpenAIServer, model: Build, chunk: int
) -> None:
    openai_server.script(Turn(text=HELPERS + FENCED + CALL_IN_TEXT, chunk=chunk), "Done.")
    session = await make(model())
    events = await play(session, session.run("go"))
    sources = ["def f():\n    return 1", "print('''\n```\n''')", "a = 1\nprint(a)"]
    first, second, third = (("python", source) for source in sources)
    assert told(session) == [("", "I define:"), first, ("", "Then."), second, third, ("", "Done.")]
    writer = LmcWriter()
    messages = fold_chunks(chunk for event in events for chunk in writer.chunks(event))
    spoken = [message for message in messages if message["role"] == "assistant"]
    assert [(message["type"], message.get("format"), message["content"]) for message in spoken] == [
        ("message", None, "I define:"),
        ("code", "python", sources[0]),
        ("message", None, "Then."),
        ("code", "python", sources[1]),
        ("code", "python", sources[2]),
        ("message", None, "Done."),
    ]


async def test_L1_L2_native_calls_arrive_as_the_same_blocks(openai_server: OpenAIServer, model: Build) -> None:
    plain = json.dumps({"language": "python", "code": "1+1"})
    nested = json.dumps({"language": "python", "code": json.dumps({"language": "python", "code": "2+2"})})
    calls = (Call(arguments=plain), Call(arguments=nested))
    openai_server.script(Turn(text="Both:", calls=calls, chunk=5), "Done.")
    session = await make(model(tools="on"))
    await play(session, session.run("go"))
    assert told(session) == [("", "Both:"), ("python", "1+1"), ("python", "2+2"), ("", "Done.")]
    results = [message for message in openai_server.requests[1]["messages"] if message["role"] == "tool"]
    assert [message["tool_call_id"] for message in results] == ["call_0", "call_1"]


async def test_L11_a_budget_stops_before_the_next_request_says_why_and_can_be_raised(
    openai_server: OpenAIServer, model: Build
) -> None:
    openai_server.script(*steps(2), "Done.")
    session = await make(model(name="openai/gpt-4o"), max_cost=1e-6)
    assert end_of(await play(session, session.run("go"))).reason == "budget"
    assert len(openai_server.requests) == 1
    assert session.transcript.usage.cost == pytest.approx(PRICE)
    assert notices(session) == ["Stopped before the next request: this session has spent $0.0035 of its $0.000001."]
    session.choices.set_budget(SetBudget(max_cost=1.0))
    assert end_of(await play(session, session.go_on())).reason == "done"
    assert len(openai_server.requests) == 3


@pytest.mark.parametrize("usage", [True, False])
async def test_L11_tokens_have_a_cap_whoever_counted_them(
    openai_server: OpenAIServer, model: Build, usage: bool
) -> None:
    openai_server.script(Turn(text="Next.\n\n```python\nprint(1)\n```\n", usage=usage, usage_details=COUNTS))
    session = await make(model(), max_tokens=1)
    assert end_of(await play(session, session.run("go"))).reason == "budget"
    assert len(openai_server.requests) == 1
    spent = session.transcript.usage
    assert (spent.estimated, spent.input_tokens == 1000, spent.input_tokens > 0) == (not usage, usage, True)


@pytest.mark.parametrize(
    ("settings", "prices"),
    [({}, {}), ({"name": "openai/gpt-4o"}, {"cost": 0.25}), ({"input_price": 1.0, "output_price": 2.0}, {})],
    ids=["unknown", "told", "set"],
)
async def test_L11_a_price_must_be_known_before_anything_is_sent_while_money_is_limited(
    openai_server: OpenAIServer, model: Build, settings: dict[str, Any], prices: dict[str, float]
) -> None:
    openai_server.script(*steps(1, **prices), "Done.")
    session = await make(model(**settings), max_cost=0.0001)
    assert end_of(await play(session, session.run("go"))).reason == "budget"
    if settings:
        assert len(openai_server.requests) == 1
        assert session.transcript.usage.cost == pytest.approx(prices.get("cost", 0.0012))
        return
    assert openai_server.requests == []
    assert notices(session) == [
        "No request was sent: the price of scripted is not known, so the budget of $0.0001 does not allow it."
    ]


CACHED: Sequence[tuple[dict[str, Any], float]] = [
    ({"prompt_tokens_details": {"cached_tokens": 800}}, 200 * 2.5e-6 + 800 * 1.25e-6 + 100 * 10e-6),
    ({"prompt_tokens_details": {"cached_tokens": 0}}, PRICE),
    ({"prompt_tokens_details": None}, PRICE),
]


@pytest.mark.parametrize(("details", "cost"), CACHED)
async def test_L11_tokens_that_the_provider_had_in_its_cache_cost_what_its_list_says(
    openai_server: OpenAIServer, model: Build, answer: Any, details: dict[str, Any], cost: float
) -> None:
    openai_server.script(Turn(text="Done.", usage_details=COUNTS | details))
    (usage,) = of(AnswerUsage, await answer(model(name="openai/gpt-4o")))
    cached = (details["prompt_tokens_details"] or {}).get("cached_tokens", 0)
    assert (usage.input_tokens, usage.cached_tokens) == (1000, cached)
    assert usage.cost == pytest.approx(cost)
