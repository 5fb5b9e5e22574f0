"""The title that the model gives a session when nobody is doing anything."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.chat_model import AnswerUsage, Delta, TextDelta
from oi_tui.app.engine.core.errors import ModelError
from oi_tui.app.engine.core.events import AnyEvent, TurnEnded
from oi_tui.app.engine.core.library_replies import SessionEdited
from oi_tui.app.engine.core.settings import LoopSection
from oi_tui.app.engine.core.verbs import Open
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.secrets.redaction import Redactor
from oi_tui.app.engine.session.titles import ASK, LONGEST, PROMPT, Titles, clean_title
from oi_tui.app.engine.testing import FakeKernels, FakeModel
from support.front import engine


async def test_after_the_first_turn_the_model_gives_a_title_and_the_list_is_told(tmp_path: Path) -> None:
    answer: Sequence[Delta] = [
        TextDelta(text="Weather in "),
        TextDelta(text="Oslo"),
        AnswerUsage(input_tokens=30, output_tokens=3),
    ]
    model = FakeModel("It rains.", answer)
    async with engine(tmp_path, model, titles=True) as front:
        await front.client.send(Open())
        await front.turn("how is the weather in Oslo? " + "x" * 5_000)
        context = front.transcript.usage.last_input_tokens
        edited = await front.until(lambda reply: isinstance(reply, SessionEdited))
        assert isinstance(edited, SessionEdited)
        assert edited.session.title == "Weather in Oslo"
        assert front.transcript.usage.last_input_tokens == context
        assert front.transcript.usage.input_tokens >= 30
    assert model.requests[1].messages[0].text == ASK
    assert len(model.requests[1].messages[1].text) < 2_000


TOKEN = "ghp_" + "aB3dE5gH7j" * 4


@pytest.mark.parametrize(
    "before",
    ["- " * ((PROMPT - 10) // 2), "\x1b[31m" * ((2 * PROMPT - 20) // 5)],
    ids=["where-the-prompt-is-cut", "behind-what-is-taken-out-of-it"],
)
async def test_u17_a_secret_leaves_with_no_title_not_even_half_of_it(before: str, tmp_path: Path) -> None:
    model = FakeModel("It rains.", "Weather")
    async with engine(tmp_path, model, titles=True) as front:
        await front.client.send(Open())
        await front.turn(before + TOKEN)
        await front.until(lambda reply: isinstance(reply, SessionEdited))
    assert "secret" in model.requests[1].messages[1].text
    assert TOKEN[:10] not in model.requests[1].messages[1].text


async def test_a_model_that_fails_leaves_the_title_of_the_prompt(tmp_path: Path) -> None:
    model = FakeModel("It rains.", [ModelError("server", "no")])
    async with engine(tmp_path, model, titles=True) as front:
        await front.client.send(Open())
        await front.turn("weather?")
        async with asyncio.timeout(10):
            await model.wait_for_requests(2)
    store = Store(tmp_path / "sessions.db")
    assert [record.title for record in store.sessions()] == ["weather?"]
    store.close()


@pytest.mark.parametrize(
    ("fails", "tells_price", "asked"), [(False, True, True), (True, True, False), (False, False, False)]
)
async def test_a_title_is_asked_only_after_a_turn_that_was_done_and_of_a_model_whose_price_the_budget_knows(
    fails: bool, tells_price: bool, asked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oi_tui.app.engine.session.titles.IDLE", 0.0)
    model = FakeModel([ModelError("wrong_key", "no")] if fails else "It rains.", "Weather")
    session, store = Session(kernels=FakeKernels(), settings=LoopSection(max_cost=1.0)), Store(tmp_path / "s.db")
    session.choices.use_model(model)
    asking = Titles(session, store, Redactor(), lambda: True, lambda _: None)

    def follow(event: AnyEvent) -> None:
        if isinstance(event, TurnEnded):
            model.tells_price = tells_price
        asking.follow(event)

    session.emitter.observers = (follow,)
    await session.run("weather?")
    await asyncio.gather(*asking.close())
    assert any(request.messages[0].text == ASK for request in model.requests) == asked
    store.close()


async def test_what_the_person_does_next_comes_first_and_the_question_is_not_asked_later(tmp_path: Path) -> None:
    model = FakeModel("It rains.", "Still.")
    async with engine(tmp_path, model, titles=True) as front:
        await front.client.send(Open())
        await front.turn("weather?")
        await front.turn("and now?")
    assert len(model.requests) == 2


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ("Monthly mean of score", "Monthly mean of score"),
        ('"Monthly mean."\n\nHope this helps!', "Monthly mean"),
        ("**Title: Plot**", "Plot"),
        ("\x1b]0;owned\x07Clean", "Clean"),
        ("", ""),
        ("```bash\nls\n```", ""),
        ("word " * LONGEST, ""),
    ],
)
def test_a_title_is_the_first_line_without_marks(answer: str, title: str) -> None:
    assert clean_title(answer) == title
