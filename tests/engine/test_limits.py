"""Budgets over all sessions: of a turn, a day, a month and a provider, and limits for a minute."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.blocks import NoticeBlock
from oi_tui.app.engine.core.chat_model import AnswerEnded, AnswerUsage, Retrying, TextDelta
from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.errors import ModelError
from oi_tui.app.engine.core.events import RetryScheduled, TurnEnded
from oi_tui.app.engine.core.model_request import RequestRecord
from oi_tui.app.engine.core.settings import BudgetSection, LoopSection, ProviderBudget, Settings
from oi_tui.app.engine.log.ledger import Ledger
from oi_tui.app.engine.log.metered_model import MeteredModel
from oi_tui.app.engine.session.accounting import Accounting
from oi_tui.app.engine.session.fallback_model import FallbackModel
from oi_tui.app.engine.testing import FakeKernels, FakeModel

DAY = 24 * 3600


class Place:
    """A session with a budget, in which each answer costs half a dollar."""

    def __init__(
        self, ledger: Ledger | None, budget: BudgetSection, *, profile: str = "", name: str = "groq/m"
    ) -> None:
        self.session = Session(kernels=FakeKernels(), settings=LoopSection())
        setup = Configure(settings=Settings(budget=budget), cwd="/", profile=profile)
        self.accounting = Accounting(self.session, setup, ledger, "s")
        usage = AnswerUsage(input_tokens=10, output_tokens=10, cost=0.5)
        self.model = FakeModel([TextDelta(text="Done."), usage, AnswerEnded()], name=name)
        self.session.choices.use_model(self.accounting.meter(self.model))
        self.ends: list[str] = []
        self.waits: list[float] = []
        self.session.emitter.observers = (self.accounting.follow, self._note)

    def _note(self, event: object) -> None:
        match event:
            case TurnEnded(reason=reason):
                self.ends.append(reason)
            case RetryScheduled(delay=delay):
                self.waits.append(delay)

    @property
    def hints(self) -> list[str]:
        return [block.hint for block in self.session.transcript.blocks if isinstance(block, NoticeBlock)]

    @property
    def notices(self) -> list[str]:
        return [block.title for block in self.session.transcript.blocks if isinstance(block, NoticeBlock)]


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "usage.db")


def spend(ledger: Ledger, cost: float, *, ago: float = 0.0, provider: str = "groq", profile: str = "") -> None:
    ledger.note(RequestRecord(at=time.time() - ago, cost=cost, provider=provider, profile=profile))


async def test_L11_the_budget_of_a_day_counts_all_sessions_and_stops_before_the_next_request(ledger: Ledger) -> None:
    place = Place(ledger, BudgetSection(day=1.0))
    spend(ledger, 5.0, ago=2 * DAY)
    spend(ledger, 0.4)
    for _ in range(3):
        await place.session.run("Hello")
    assert place.ends == ["done", "done", "budget"]
    assert len(place.model.requests) == 2
    assert place.notices == [
        "Today's budget is nearly spent: $0.90 of $1.00.",
        "Stopped before the next request: today's budget is spent, $1.40 of $1.00.",
    ]


async def test_L11_the_budget_of_a_provider_holds_for_it_alone(ledger: Ledger) -> None:
    spend(ledger, 2.0, provider="openai")
    budget = BudgetSection(month=9.0, providers={"openai": ProviderBudget(month=1.0)})
    other, same = Place(ledger, budget), Place(ledger, budget, name="openai/x")
    await other.session.run("Hello")
    await same.session.run("Hello")
    assert (other.ends, same.ends) == (["done"], ["budget"])
    assert "this month's budget for openai is spent, $2.00 of $1.00" in same.notices[0]


async def test_L11_a_budget_can_count_one_profile(ledger: Ledger) -> None:
    spend(ledger, 2.0, profile="other")
    place = Place(ledger, BudgetSection(day=1.0, scope="profile"), profile="mine")
    await place.session.run("Hello")
    assert place.ends == ["done"]


async def test_L11_the_budget_of_a_turn_is_of_this_turn(ledger: Ledger) -> None:
    place = Place(ledger, BudgetSection(turn=0.5))
    await place.session.run("Hello")
    await place.session.run("Hello")
    assert place.ends == ["done", "done"]
    assert place.accounting.obstacle() is not None  # were the turn to go on


async def test_L11_a_budget_can_warn_and_let_continue(ledger: Ledger) -> None:
    place = Place(ledger, BudgetSection(day=0.5, at_limit="warn"))
    await place.session.run("Hello")
    await place.session.run("Hello")
    assert place.ends == ["done", "done"]
    assert place.notices == ["Today's budget is spent: $0.50 of $0.50."]


async def test_L11_a_budget_can_lead_to_a_cheaper_model(ledger: Ledger) -> None:
    place = Place(ledger, BudgetSection(day=0.5, at_limit="switch", cheaper_model="ollama/small"))
    assert place.accounting.cheaper_model() == ""
    spend(ledger, 1.0)
    assert place.accounting.cheaper_model() == "ollama/small"
    assert place.notices == ["Today's budget is spent: $1.00 of $0.50."]
    place.session.choices.use_model(FakeModel("Hi.", name="ollama/small"))
    assert place.accounting.cheaper_model() == ""


async def test_L11_a_budget_that_nobody_can_count_stops_all(tmp_path: Path) -> None:
    path = tmp_path / "usage.db"
    path.write_bytes(b"no database" * 100)
    for ledger in (Ledger(path), None):
        place = Place(ledger, BudgetSection(day=1.0))
        await place.session.run("Hello")
        assert place.ends == ["budget"]
        assert place.model.requests == []
        warned = Place(ledger, BudgetSection(day=1.0, at_limit="warn"))
        await warned.session.run("Hello")
        assert warned.ends == ["done"]


async def test_L11_a_budget_holds_while_what_was_spent_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "usage.db"
    ledger = Ledger(path)
    spend(ledger, 0.0)
    ledger.close()
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TRIGGER full BEFORE INSERT ON requests BEGIN SELECT raise(ABORT, 'disk full'); END")
    place = Place(Ledger(path), BudgetSection(day=1.0))
    await place.session.run("Hello")
    await place.session.run("Hello")
    assert place.ends == ["done", "budget"]
    assert "disk full" in place.notices[0]
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DROP TRIGGER full")
    for _ in range(2):
        await place.session.run("Hello")
    assert place.ends == ["done", "budget", "done", "budget"]
    assert "$1.00 of $1.00" in place.notices[-1]  # the first answer is counted, too


async def test_L11_a_model_that_continues_for_another_has_its_own_price_and_budget(ledger: Ledger) -> None:
    spend(ledger, 2.0, provider="openai")
    budget = BudgetSection(month=9.0, providers={"openai": ProviderBudget(month=1.0)})
    for name, told, why in (("openai/x", True, "budget for openai"), ("groq/y", False, "the price of groq/y")):
        place = Place(ledger, budget)
        other = FakeModel("Hi.", name=name)
        other.tells_price = told
        metered = place.accounting.meter(other)

        async def open_model(_: str, metered: MeteredModel = metered) -> MeteredModel:
            return metered

        broken = FakeModel([ModelError("unreachable", "Nobody answers.")], name="groq/m")
        first = place.accounting.meter(broken)
        place.session.choices.use_model(FallbackModel(first, [name], open_model, lambda title, hint: None))
        await place.session.run("Hello")
        assert other.requests == []
        assert why in place.notices[-1]


async def test_L11_a_model_without_a_price_is_not_asked_under_a_budget_of_the_settings(ledger: Ledger) -> None:
    place = Place(ledger, BudgetSection(month=1.0))
    place.model.tells_price = False
    await place.session.run("Hello")
    assert place.ends == ["budget"]
    assert "so a budget of the settings does not allow it" in place.notices[0]
    assert "/budget off" not in place.hints[0]  # it is about the session's own


def test_L11_a_request_waits_until_the_last_minute_has_room(ledger: Ledger) -> None:
    now = time.time()
    for ago, tokens in ((70, 1000), (50, 100), (10, 300)):
        ledger.note(RequestRecord(at=now - ago, input_tokens=tokens))
    assert ledger.seconds_until_below(requests=3, tokens=0) == 0.0
    assert ledger.seconds_until_below(requests=2, tokens=500) == pytest.approx(10, abs=2)
    assert ledger.seconds_until_below(requests=1, tokens=0) == pytest.approx(50, abs=2)
    assert ledger.seconds_until_below(requests=0, tokens=300) == pytest.approx(50, abs=2)
    assert ledger.seconds_until_below(requests=0, tokens=401) == 0.0


async def test_L11_waiting_for_ones_own_limit_is_shown(ledger: Ledger) -> None:
    ledger.note(RequestRecord(at=time.time() - 59.9))
    place = Place(ledger, BudgetSection(requests_per_minute=1))
    await place.session.run("Hello")
    assert place.ends == ["done"]
    assert len(place.waits) == 1
    assert 0 < place.waits[0] < 1
    assert not any(isinstance(delta, Retrying) for delta in place.model.answers[0])
