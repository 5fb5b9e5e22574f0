"""What is shown of a run that is over at once, and of one that lasts."""

from collections.abc import Callable, Sequence

import pytest

from oi_tui.app.engine.core.blocks import Block, CodeBlock, NoticeBlock
from oi_tui.app.engine.core.events import (
    CodeFinished,
    CodeStarted,
    DecisionRequested,
    ExecutionStarted,
    InputRequested,
    KernelChanged,
)
from oi_tui.app.engine.core.outputs import StreamOutput
from oi_tui.app.engine.core.protocol import ViewReply
from oi_tui.app.screens import brief_runs
from oi_tui.app.screens.brief_runs import BRIEF, BriefRuns
from oi_tui.widgets.composer import Composer
from oi_tui.widgets.status import Activity, Status
from support.stage import Play

BEGUN = CodeBlock(id="c", language="python", source="1+1", state="running")
PRINTED = CodeBlock(
    id="c", language="python", source="1+1", state="running", outputs=(StreamOutput(name="stdout", text="2"),)
)
ENDED = CodeBlock(id="c", language="python", source="1+1", state="ok", outputs=PRINTED.outputs)
NOTICE = NoticeBlock(id="n", level="info", title="Something else.")
REST, RUNS = Status(), Status(activity=Activity(word="running"))


class SeenView:
    """A view that keeps what it was told, in order."""

    def __init__(self) -> None:
        self.seen: list[object] = []

    def reset(self, blocks: Sequence[Block]) -> None:
        self.seen.append(tuple(blocks))

    def put(self, index: int, block: Block) -> None:
        self.seen.append((index, block))

    def show_status(self, status: Status, queued: int) -> None:
        self.seen.append((status.activity.word, queued))

    def ask(self, decision: DecisionRequested | None, question: InputRequested | None) -> None:
        if decision is not None or question is not None:
            self.seen.append("asked")

    def show(self, reply: ViewReply) -> None:
        self.seen.append(reply)


class Late:
    """What is to be done later, done when the test says that so much time has passed."""

    def __init__(self) -> None:
        self.work: list[Callable[[], None]] = []

    def __call__(self, seconds: float, work: Callable[[], None]) -> None:
        assert seconds == BRIEF
        self.work.append(work)

    def pass_by(self) -> None:
        for work in (waiting := self.work[:]):
            work()
        del self.work[: len(waiting)]


@pytest.fixture
def late() -> Late:
    return Late()


@pytest.fixture
def view() -> SeenView:
    return SeenView()


@pytest.fixture
def runs(view: SeenView, late: Late) -> BriefRuns:
    runs = BriefRuns(view, late)
    runs.show_status(REST, 0)
    view.seen.clear()
    return runs


def begin(runs: BriefRuns) -> None:
    runs.put(0, BEGUN)
    runs.show_status(RUNS, 0)


def test_a_run_that_is_over_at_once_is_shown_once_with_its_result(runs: BriefRuns, view: SeenView, late: Late) -> None:
    begin(runs)
    runs.put(0, ENDED)
    runs.show_status(REST, 0)
    late.pass_by()
    assert view.seen == [(0, ENDED), ("", 0)]
    assert not runs.is_waiting


def test_a_run_that_lasts_is_shown_to_run_and_its_next_changes_at_once(
    runs: BriefRuns, view: SeenView, late: Late
) -> None:
    begin(runs)
    assert view.seen == []
    late.pass_by()
    runs.put(0, BEGUN)
    runs.show_status(RUNS, 0)
    assert view.seen == [(0, BEGUN), ("running", 0), (0, BEGUN), ("running", 0)]


def test_output_is_shown_at_once_and_that_the_run_goes_on_when_it_lasts(
    runs: BriefRuns, view: SeenView, late: Late
) -> None:
    begin(runs)
    runs.put(0, PRINTED)
    runs.show_status(RUNS, 0)
    assert view.seen == [(0, PRINTED)]
    late.pass_by()
    assert view.seen == [(0, PRINTED), ("running", 0)]


def test_output_that_is_cleared_goes_at_once(runs: BriefRuns, view: SeenView) -> None:
    begin(runs)
    runs.put(0, PRINTED)
    runs.put(0, BEGUN)
    assert view.seen == [(0, PRINTED), (0, BEGUN)]


def test_what_comes_behind_a_run_is_shown_behind_it(runs: BriefRuns, view: SeenView) -> None:
    begin(runs)
    runs.put(1, NOTICE)
    assert view.seen == [(0, BEGUN), (1, NOTICE)]


def test_a_question_of_a_run_is_asked_when_the_run_is_seen(runs: BriefRuns, view: SeenView) -> None:
    begin(runs)
    runs.ask(None, InputRequested(request_id="r", block_id="c", prompt="?", password=False))
    assert view.seen == [(0, BEGUN), "asked"]


def test_a_kernel_that_is_busy_for_a_moment_is_not_shown_either(runs: BriefRuns, view: SeenView, late: Late) -> None:
    runs.show_status(Status(kernels=(("python", "busy"),)), 0)
    assert view.seen == []
    assert runs.holds_run
    runs.show_status(Status(kernels=(("python", "idle"),)), 0)
    late.pass_by()
    assert view.seen == [("", 0)]
    assert not runs.holds_run


def test_a_prompt_that_waits_is_counted_at_once(runs: BriefRuns, view: SeenView) -> None:
    begin(runs)
    runs.show_status(RUNS, 1)
    assert view.seen == [("running", 1)]


def test_of_a_session_that_was_left_nothing_comes_later(runs: BriefRuns, view: SeenView, late: Late) -> None:
    begin(runs)
    runs.reset([NOTICE])
    runs.show_status(REST, 0)
    late.pass_by()
    assert view.seen == [(NOTICE,), ("", 0)]


RUN = (
    CodeStarted(block_id="c", language="python", author="user"),
    CodeFinished(block_id="c", language="python", source="1+1"),
    KernelChanged(language="python", state="busy", generation=1),
    ExecutionStarted(block_id="c", generation=1),
)


async def test_the_keys_beside_the_prompt_do_not_change_for_a_run_that_is_over_at_once(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(brief_runs, "BRIEF", 3600.0)  # however slow this machine is
    async with play() as stage:
        composer = stage.app.chat.query_one(Composer)
        before = composer.hint
        stage.engine.say(*RUN)
        await stage.until(lambda: stage.app.chat.bridge.running == {"c"})
        stage.app.chat.show_keys()
        assert composer.hint == before


async def test_they_change_for_one_that_lasts(play: Play) -> None:
    async with play() as stage:
        stage.engine.say(*RUN)
        composer = stage.app.chat.query_one(Composer)
        await stage.until(lambda: composer.hint == "enter steers · esc stops")
