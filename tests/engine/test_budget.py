"""Budgets and forced completion: when a session sends no further request, and when it insists on one."""

from collections.abc import Sequence
from typing import Any

import pytest

from oi_tui.app.engine.agent import completion
from oi_tui.app.engine.agent.budget import Budget, dollars
from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.blocks import NoticeBlock
from oi_tui.app.engine.core.chat_model import AnswerEnded, AnswerUsage, Delta, TextDelta
from oi_tui.app.engine.core.events import SettingsChanged, TurnEnded
from oi_tui.app.engine.core.settings import LoopSection
from oi_tui.app.engine.core.usage import Usage
from oi_tui.app.engine.core.verbs import SetBudget
from oi_tui.app.engine.testing import FakeKernels, FakeModel
from oi_tui.app.engine.transcript.transcript import Transcript
from support.recording_observer import RecordingObserver
from support.turns import end_of, play

CODE = "Next.\n\n```python\nprint({})\n```\n"


def answer(text: str, tokens: int = 50, cost: float | None = 0.01, *, estimated: bool = False) -> Sequence[Delta]:
    usage = AnswerUsage(input_tokens=tokens, output_tokens=tokens, cost=cost, estimated=estimated)
    return [TextDelta(text=text), usage, AnswerEnded()]


def steps(count: int, **usage: Any) -> list[Sequence[Delta]]:
    """Answers that each have other code."""
    return [answer(CODE.format(number), **usage) for number in range(count)]


def make(model: FakeModel, transcript: Transcript | None = None, **settings: Any) -> Session:
    section = LoopSection(**{"approve": "auto", **settings})
    return Session(kernels=FakeKernels(), settings=section, model=model, transcript=transcript)


def notices(session: Session) -> list[str]:
    return [block.title for block in session.transcript.blocks if isinstance(block, NoticeBlock)]


async def test_l11_the_smallest_budget_stops_before_the_next_request_and_says_why() -> None:
    model = FakeModel(*steps(5))
    session = make(model, max_cost=1e-6)
    events = await play(session, session.run("go"))
    assert len(model.requests) == 1
    assert end_of(events).reason == "budget"
    assert notices(session) == ["Stopped before the next request: this session has spent $0.01 of its $0.000001."]
    hint = next(block.hint for block in session.transcript.blocks if isinstance(block, NoticeBlock))
    assert "/budget 0.02" in hint
    assert "--max-cost" in hint


async def test_l11_a_model_of_unknown_price_is_not_asked_while_money_is_limited() -> None:
    model = FakeModel(*steps(1), answer("Done.", cost=None))
    model.tells_price = False
    session = make(model, max_cost=1.0)
    assert end_of(await play(session, session.run("go"))).reason == "budget"
    assert model.requests == []
    assert notices(session) == [
        "No request was sent: the price of fake/model is not known, so the budget of $1.00 does not allow it."
    ]
    session.choices.set_budget(SetBudget(max_cost=0.0))
    assert end_of(await play(session, session.go_on())).reason == "done"


async def test_l11_a_budget_is_the_sessions_not_the_turns_and_can_be_raised() -> None:
    model = FakeModel(*steps(2), answer("Half."), *steps(1), answer("All."))
    session = make(model, max_cost=0.03)
    assert end_of(await play(session, session.run("go"))).reason == "done"
    assert end_of(await play(session, session.run("and on"))).reason == "budget"
    assert len(model.requests) == 3
    observer = RecordingObserver()
    session.emitter.observers = (observer,)
    session.choices.set_budget(SetBudget(max_cost=1.0))
    (changed,) = observer.events
    assert isinstance(changed, SettingsChanged)
    assert (changed.max_cost, changed.max_tokens) == (1.0, 0)
    assert session.transcript.max_cost == 1.0
    told = session.budget.describe(session.transcript.usage)
    assert told == "The budget of this session is $1.00; $0.03 and 300 tokens are spent."
    assert end_of(await play(session, session.go_on())).reason == "done"
    assert len(model.requests) == 5


async def test_l11_tokens_have_a_cap_and_estimated_ones_count() -> None:
    model = FakeModel(*steps(9, tokens=100, cost=None, estimated=True))
    session = make(model, max_tokens=500)
    events = await play(session, session.run("go"))
    assert len(model.requests) == 3
    assert end_of(events).reason == "budget"
    assert notices(session) == [
        "The budget of this session is nearly spent: 400 of 500 tokens.",
        "Stopped before the next request: this session has spent 600 of its 500 tokens.",
    ]


async def test_l11_at_four_fifths_the_person_is_told_once() -> None:
    model = FakeModel(*steps(3), answer("Done."))
    session = make(model, max_cost=0.0375)
    await play(session, session.run("go"))
    assert [title for title in notices(session) if "nearly" in title] == [
        "The budget of this session is nearly spent: $0.03 of $0.0375."
    ]


async def test_l11_an_unknown_price_is_said_once_and_known_ones_still_count() -> None:
    model = FakeModel(answer(CODE.format("a"), cost=None), answer(CODE.format("b"), cost=None), *steps(9))
    session = make(model, max_cost=0.015)
    events = await play(session, session.run("go"))
    assert [title for title in notices(session) if "price" in title] == [
        "The price of some answers is not known: the budget of $0.015 does not count them."
    ]
    assert end_of(events).reason == "budget"
    assert len(model.requests) == 4


async def test_l11_what_was_spent_before_a_session_was_resumed_counts() -> None:
    first = make(FakeModel(answer("Hello.")))
    events = await play(first, first.run("hi"))
    again = Transcript()
    for event in events:
        again.apply(event)
    model = FakeModel("Hello.")
    assert end_of(await play(session := make(model, again, max_cost=0.01), session.run("go on"))).reason == "budget"
    assert model.requests == []


async def test_l11_without_a_budget_nothing_is_counted_against_it() -> None:
    session = make(FakeModel(*steps(3, cost=900.0), answer("Done.")))
    assert end_of(await play(session, session.run("go"))).reason == "done"
    assert notices(session) == []
    session.choices.set_budget(SetBudget())
    told = session.budget.describe(session.transcript.usage)
    assert told == "This session has no budget; $2700.01 and 400 tokens are spent."


def test_a_budget_says_what_it_is_and_off_is_off() -> None:
    budget = Budget(1.0, 1000)
    usage = Usage(input_tokens=2000, priced=2.0, cost=2.0, estimated=True)
    assert budget.describe(usage) == (
        "The budget of this session is $1.00 and 1,000 tokens; about $2.00 and 2,000 tokens are spent."
    )
    assert budget.check_limits(usage) is not None
    budget.change(0.0, 0)
    assert budget.check_limits(usage) is None


@pytest.mark.parametrize(
    ("amount", "text"), [(0, "$0.00"), (12.5, "$12.50"), (0.12, "$0.12"), (0.0034, "$0.0034"), (1e-6, "$0.000001")]
)
def test_small_amounts_keep_their_digits(amount: float, text: str) -> None:
    assert dollars(amount) == text


async def test_l13_a_model_that_never_says_it_is_done_ends_at_the_cap() -> None:
    model = FakeModel("I am thinking about it.")
    session = make(model, complete=True, max_steps=6)
    events = await play(session, session.run("go"))
    assert len(model.requests) == 6
    assert end_of(events).reason == "step_cap"
    last = model.requests[-1].messages
    assert [message.role for message in last] == ["system", "user", *["assistant", "user"] * 5]
    assert {message.text for message in last[3::2]} == {completion.INSIST}


@pytest.mark.parametrize(
    ("phrase", "detail"),
    [
        ("It is 2. The task is done.", ""),
        ("There is no such file, so the task is impossible.", "The model says that the task is impossible."),
        ("I need input: which file?", "The model needs something from you."),
    ],
)
async def test_l13_done_impossible_or_a_need_for_input_ends_it_earlier(phrase: str, detail: str) -> None:
    model = FakeModel(CODE.format(1), "Well.", CODE.format(2), phrase)
    session = make(model, complete=True)
    events = await play(session, session.run("go"))
    assert len(model.requests) == 4
    assert end_of(events) == TurnEnded(reason="done", detail=detail)
    assert model.requests[2].messages[-1].text == completion.INSIST


async def test_l13_off_an_answer_without_code_is_the_end_as_always() -> None:
    model = FakeModel("I am thinking about it.")
    assert end_of(await play(session := make(model), session.run("go"))).reason == "done"
    assert len(model.requests) == 1


async def test_l13_an_empty_answer_ends_it_too() -> None:
    model = FakeModel([AnswerEnded()])
    assert end_of(await play(session := make(model, complete=True), session.run("go"))).reason == "done"
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("**The task is done.**", "done"),
        ("OK, the task has been completed", "done"),
        ("The task is not done.", None),
        ("I will tell you once the task is done.", None),
        ("If the task is done, write: The task is done.", "done"),
        ("The task isn’t done yet", None),
        ("Sorting this is impossible without more memory; the task is impossible.", "impossible"),
        ("I need more information about the columns.", "input"),
        ("I don't need input.", None),
        ("I need to look at the data first.", None),
        ("Let me go on.", None),
    ],
)
def test_l13_the_words_count_where_they_are_meant(text: str, found: str | None) -> None:
    assert completion.outcome(text) == found
