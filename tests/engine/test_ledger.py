"""What requests to models cost, over all sessions."""

import time
from contextlib import aclosing, suppress
from datetime import datetime
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from oi_tui.app.cli import program
from oi_tui.app.data_files import ledger_file
from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.blocks import NoticeBlock
from oi_tui.app.engine.core.chat_model import AnswerEnded, AnswerUsage, ChatMessage, ChatRequest, Model, TextDelta
from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.errors import ModelError, SettingsError, StoreError
from oi_tui.app.engine.core.events import StepStarted, TurnEnded
from oi_tui.app.engine.core.model_request import RequestRecord, Spending, TurnRecord, UsageRow
from oi_tui.app.engine.core.settings import LoopSection, Settings
from oi_tui.app.engine.log.ledger import Ledger, read_rows
from oi_tui.app.engine.log.metered_model import MeteredModel
from oi_tui.app.engine.session.accounting import Accounting
from oi_tui.app.engine.testing import FakeKernels, FakeModel
from oi_tui.app.engine.text.usage_table import usage_chart, usage_table

REQUEST = ChatRequest(messages=(ChatMessage(role="user", text="Hello"),))
USAGE = AnswerUsage(input_tokens=100, output_tokens=20, cost=0.5, thought_tokens=5, cached_tokens=60)


def at(day: str) -> float:
    return datetime.fromisoformat(day).astimezone().timestamp()


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "usage.db")


async def ask(model: FakeModel, ledger: Ledger, *, parts: int = 99) -> None:
    """Ask, and stop after so many parts of the answer."""
    metered = MeteredModel(model, ledger.note, RequestRecord(at=0.0, session_id="s", folder="/data", profile="p"))
    with suppress(ModelError):
        async with aclosing(metered.stream(REQUEST)) as deltas:
            async for _ in deltas:
                if not (parts := parts - 1):
                    break


async def test_L33_each_request_is_counted_however_it_ends(ledger: Ledger) -> None:
    await ask(FakeModel([TextDelta(text="Hi"), USAGE, AnswerEnded()], name="groq/x"), ledger)
    await ask(FakeModel([TextDelta(text="H"), TextDelta(text="i")], name="groq/x"), ledger, parts=1)
    await ask(FakeModel([ModelError("rate_limited", "Too many.")], name="groq/x"), ledger)

    (row,) = ledger.rows("provider")
    assert row.key == "groq"
    assert (row.requests, row.failures, row.unpriced) == (3, 1, 1)
    assert (row.input_tokens, row.cached_tokens, row.output_tokens, row.thought_tokens) == (100, 60, 20, 5)
    assert row.cost == 0.5
    assert row.seconds is not None
    assert row.first_token_seconds is not None
    assert [row.key for row in ledger.rows("ending")] == ["rate_limited", "stop", "stopped"]
    assert [(row.key, row.requests) for row in ledger.rows("profile")] == [("p", 3)]


def test_L33_what_was_spent_since_a_moment_is_known_by_provider_and_profile(ledger: Ledger) -> None:
    for day, provider, profile, cost in (
        ("2026-10-31", "openai", "", 4.0),
        ("2026-11-01", "openai", "", 1.0),
        ("2026-11-02", "groq", "careful", 2.0),
        ("2026-11-02", "groq", "", None),
    ):
        ledger.note(RequestRecord(at=at(day), provider=provider, profile=profile, cost=cost, input_tokens=10))
    assert ledger.spending(at("2026-11-01")) == Spending(3.0, 3, 30)
    assert ledger.spending(0, provider="openai") == Spending(5.0, 2, 20)
    assert ledger.spending(0, profile="careful") == Spending(2.0, 1, 10)
    assert [(row.key, row.cost) for row in ledger.rows("day", at("2026-11-01"))] == [
        ("2026-11-01", 1.0),
        ("2026-11-02", 2.0),
    ]
    assert [(row.key, row.cost) for row in ledger.rows("month")] == [("2026-10", 4.0), ("2026-11", 3.0)]


def test_L33_two_programs_count_in_one_file_that_only_the_user_can_read(tmp_path: Path) -> None:
    path = tmp_path / "usage.db"
    one, other = Ledger(path), Ledger(path)
    one.note(RequestRecord(at=time.time(), cost=1.0))
    other.note(RequestRecord(at=time.time(), cost=2.0))
    assert one.spending(0).cost == other.spending(0).cost == 3.0
    assert path.stat().st_mode & 0o777 == 0o600


async def test_L33_an_answer_is_not_lost_because_it_cannot_be_counted(tmp_path: Path) -> None:
    path = tmp_path / "usage.db"
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreError, match="cannot be kept"):
        Ledger(path).note(RequestRecord(at=0.0))
    session = Session(kernels=FakeKernels(), settings=LoopSection())
    accounting = Accounting(session, Configure(settings=Settings(), cwd="/"), Ledger(path), "s")
    session.choices.use_model(accounting.meter(FakeModel("Hello.")))
    session.emitter.observers = (accounting.follow,)
    await session.run("Hi")
    assert not session.transcript.turn_open
    assert read_rows(tmp_path / "none.db", "day") == []


def test_L33_turns_that_were_done_are_counted_beside_those_that_were_not(ledger: Ledger) -> None:
    ledger.note(RequestRecord(at=at("2026-11-01"), model="m"))
    for ending in ("done", "done", "model_error"):
        ledger.note(TurnRecord(at=at("2026-11-01"), model="m", ending=ending))
    (row,) = ledger.rows("model")
    assert (row.turns, row.turns_done) == (3, 2)
    assert ledger.rows("provider")[0].turns == 0


async def test_L33_a_session_counts_its_requests_and_turns_and_says_what_was_spent(ledger: Ledger) -> None:
    ledger.note(RequestRecord(at=time.time(), session_id="other", model="m", cost=1.0))
    session = Session(kernels=FakeKernels(), settings=LoopSection())
    setup = Configure(settings=Settings(), cwd="/data", profile="p")
    accounting = Accounting(session, setup, ledger, "s")
    session.emitter.observers = (accounting.follow,)
    model = FakeModel([TextDelta(text="Hi."), USAGE, AnswerEnded()], name="m")
    session.choices.use_model(accounting.meter(model))
    await session.run("Hello")
    (row,) = (row for row in ledger.rows("session") if row.key == "s")
    assert (row.requests, row.cost, row.turns, row.turns_done) == (1, 0.5, 1, 1)
    accounting.tell_usage()
    notice = session.transcript.blocks[-1]
    assert isinstance(notice, NoticeBlock)
    assert notice.title == "Spent: $0.50 in this session, $1.50 today, $1.50 this month."
    assert notice.details.splitlines()[1].split()[:2] == ["m", "2"]
    forked = accounting.meter(FakeModel("Hi.")).for_session("fork")
    await drain(forked)
    assert {row.key for row in ledger.rows("session")} == {"other", "s", "fork"}


async def test_L33_a_turn_that_pauses_is_counted_when_it_ends(ledger: Ledger) -> None:
    session = Session(kernels=FakeKernels(), settings=LoopSection())
    accounting = Accounting(session, Configure(settings=Settings(), cwd="/"), ledger, "s")
    ledger.note(RequestRecord(at=time.time(), session_id="s"))
    for reason in ("paused", "done"):
        accounting.follow(StepStarted(number=1))
        accounting.follow(TurnEnded(reason=reason))
    (row,) = ledger.rows("session")
    assert (row.turns, row.turns_done) == (1, 1)


async def drain(model: Model) -> None:
    async for _ in model.stream(REQUEST):
        pass


ROWS = [
    UsageRow("2026-11-01", 2, 1000, 0, 50, 0, 1.5, 0, 0, 2.0, 0.5, 1, 1),
    UsageRow("2026-11-02", 1, 100, 40, 5, 0, 0.003, 1, 1, None, None),
]


def test_L33_usage_is_a_table_with_its_sum_and_a_chart() -> None:
    assert usage_table(ROWS, "day") == [
        "day         requests  input  cached  output      cost  failed  answer  turns done",
        "2026-11-01         2  1,000              50     $1.50           2.0 s      1 of 1",
        "2026-11-02         1    100      40       5  $0.0030+       1",
        "total              3  1,100      40      55    $1.50+       1   2.0 s      1 of 1",
    ]
    assert usage_chart(ROWS) == [f"2026-11-01  {'█' * 30} $1.50", "2026-11-02   $0.0030+"]
    unknown = UsageRow("2026-11-03", 2, 100, 40, 5, 0, 0.0, 1, 1, None, None)
    assert usage_table([unknown], "day")[1].split()[5] == "$?"
    assert usage_table([unknown._replace(requests=3)], "day")[1].split()[5] == "$0.00+", "one of them was free"
    free = [row._replace(cost=0.0) for row in ROWS]
    assert usage_chart(free)[1] == "2026-11-02  ███ 105 tokens"
    assert usage_chart([]) == []


def test_L33_the_command_prints_it_from_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    run = partial(CliRunner().invoke, program)
    assert run(["usage"]).stderr == "No requests in this time.\n"
    Ledger(ledger_file()).note(RequestRecord(at=time.time(), model="m\x1b[2J", cost=1.0))
    assert run(["usage", "--by", "model"]).stdout.splitlines()[1].split() == ["m", "1", "0", "0", "$1.00", "0.00", "s"]
    assert '"cost": 1.0' in run(["usage", "--json"]).stdout
    assert isinstance(run(["usage", "--since", "tomorrow"]).exception, SettingsError)
    assert run(["usage", "--since", "2999-01-01"]).stderr == "No requests in this time.\n"
