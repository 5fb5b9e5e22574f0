"""Choosing the runs that are repeated, so that a fresh kernel knows its variables again."""

from collections.abc import Sequence

from textual.events import Key
from textual.widgets import OptionList

from oi_tui.app.engine.core.events import (
    AnyEvent,
    CodeFinished,
    CodeStarted,
    ExecutionFinished,
    ExecutionStarted,
    KernelChanged,
    OutputAdded,
    RerunFinished,
    RerunStarted,
    RunTraced,
    TurnEnded,
    TurnStarted,
)
from oi_tui.app.engine.core.outcomes import ExecutionStatus, RerunOutcome
from oi_tui.app.engine.core.outputs import ErrorOutput, RunInput, StreamOutput
from oi_tui.app.engine.core.verbs import Rebuild
from oi_tui.app.screens.rebuild import RebuildScreen
from oi_tui.widgets.keyrow import KeyRow
from oi_tui.widgets.timeline.source_view import SourceView
from support.kinds import narrow
from support.snapshot import Snap
from support.stage import Play, Stage

Ran = tuple[str, str, ExecutionStatus]
"""Language, source, and how it ended."""

SOURCES: Sequence[Ran] = (
    ("python", "import pandas as pd\n\ndf = pd.read_csv('data.csv', parse_dates=['date'])", "ok"),
    ("shell", "ls -l /data | head", "ok"),
    ("python", "df.groupby('shop').scroe.mean()", "error"),
    ("python", "monthly = df.groupby(df.date.dt.month).score.mean()\nmonthly", "ok"),
)


async def past(stage: Stage, sources: Sequence[Ran] = SOURCES, generation: int = 1, place: str = "") -> None:
    """A resumed session in which these ran."""
    events: list[AnyEvent] = [stage.opened(), TurnStarted(block_id="u", text="go")]
    for number, (language, source, status) in enumerate(sources):
        block_id = f"c{number}"
        events += [
            CodeStarted(block_id=block_id, language=language),
            CodeFinished(block_id=block_id, language=language, source=source),
            ExecutionStarted(block_id=block_id, generation=generation, place=place),
        ]
        if status == "error":
            events.append(OutputAdded(block_id=block_id, output=ErrorOutput(name="AttributeError", value="scroe")))
        else:
            events.append(OutputAdded(block_id=block_id, output=StreamOutput(name="stdout", text=f"out {number}\n")))
        events.append(ExecutionFinished(block_id=block_id, status=status, duration=0.1))
    stage.engine.say(*events, TurnEnded(reason="done"), replay=True)
    stage.engine.say(stage.opened(resumed=True))
    await stage.settle()


async def ask(stage: Stage) -> None:
    await stage.pilot.press(*"/rebuild", "enter")
    await stage.settle()
    if isinstance(stage.app.screen, RebuildScreen):
        stage.wait(5.0, stage.app.screen.show_arming)
    await stage.settle()


async def test_U2_an_enter_that_was_typed_before_it_was_seen_runs_nothing(play: Play) -> None:
    async with play(size=(100, 30)) as stage:
        await past(stage)
        await stage.pilot.press(*"/rebuild", "enter", "enter", "a", "space", "enter")
        await stage.settle()
        screen = narrow(stage.app.screen, RebuildScreen)
        assert not any(label.enabled for label in screen.query_one(KeyRow).labels[:3])
        stage.wait(0.9, screen.show_arming)  # the keyboard was not quiet for long enough
        await stage.pilot.press("enter")
        assert stage.app.screen is screen
        stage.wait(5.0, screen.show_arming)
        assert all(label.enabled for label in screen.query_one(KeyRow).labels[:3])
        await stage.pilot.press("enter")
        assert await stage.engine.heard(1) == [Rebuild(block_ids=("c0", "c1", "c3"))]


async def test_U2_an_enter_is_judged_by_when_it_came_and_counts_for_nothing_where_the_program_stood_still(
    play: Play,
) -> None:
    async with play(size=(100, 30)) as stage:
        await past(stage)
        await ask(stage)
        screen = narrow(stage.app.screen, RebuildScreen)
        early = Key("enter", "\r")
        early.time -= 60.0
        stage.app.post_message(early)
        await stage.settle()
        assert stage.app.screen is screen
        stage.wait(5.0, screen.show_arming)
        stage.clock.now += 60.0
        await stage.pilot.press("enter")
        await stage.settle()
        assert stage.app.screen is screen
        assert stage.engine.asked == []


async def test_an_installation_that_ran_in_no_kernel_is_not_chosen_beforehand(play: Play) -> None:
    async with play(size=(100, 30)) as stage:
        await past(stage)
        stage.engine.say(
            CodeStarted(block_id="c9", language="shell", author="user"),
            CodeFinished(block_id="c9", language="shell", source="pip install ipykernel"),
            ExecutionStarted(block_id="c9", generation=1, apart="/work/.venv"),
            ExecutionFinished(block_id="c9", status="ok", duration=1.0),
        )
        await stage.settle()
        await ask(stage)
        await stage.pilot.press("enter")
        assert await stage.engine.heard(1) == [Rebuild(block_ids=("c0", "c1", "c3"))]


async def test_those_that_went_well_are_chosen_and_enter_runs_them_in_order(play: Play) -> None:
    async with play(size=(100, 30)) as stage:
        await past(stage)
        await ask(stage)
        await stage.pilot.press("enter")
        assert await stage.engine.heard(1) == [Rebuild(block_ids=("c0", "c1", "c3"))]


async def test_space_takes_one_in_or_out_and_a_takes_all_or_none(play: Play) -> None:
    async with play(size=(100, 30)) as stage:
        await past(stage)
        await ask(stage)
        await stage.pilot.press("space", "down", "down", "space", "enter")
        assert await stage.engine.heard(1) == [Rebuild(block_ids=("c1", "c2", "c3"))]
        await ask(stage)
        await stage.pilot.press("a", "enter")
        assert (await stage.engine.heard(2))[-1] == Rebuild(block_ids=("c0", "c1", "c2", "c3"))


async def test_what_came_in_a_file_is_never_chosen_but_by_hand_and_its_source_is_shown(play: Play) -> None:
    async with play(size=(100, 30)) as stage:
        await past(stage, generation=0)
        await ask(stage)
        await stage.pilot.press("a", "enter")
        assert isinstance(stage.app.screen, RebuildScreen)
        shown = stage.seen
        assert "from a file" in shown
        assert "parse_dates" in shown
        await stage.pilot.press("down", "space", "enter")
        assert await stage.engine.heard(1) == [Rebuild(block_ids=("c1",))]


async def test_without_a_choice_enter_does_nothing_and_escape_leaves(play: Play) -> None:
    async with play(size=(100, 30)) as stage:
        await past(stage)
        await ask(stage)
        await stage.pilot.press("a", "a", "enter")
        narrow(stage.app.screen, RebuildScreen)
        await stage.pilot.press("escape")
        await stage.settle()
        assert not isinstance(stage.app.screen, RebuildScreen)
        assert stage.engine.asked == []


async def test_with_nothing_to_run_again_it_says_so(play: Play) -> None:
    async with play(size=(100, 30)) as stage:
        await ask(stage)
        assert not isinstance(stage.app.screen, RebuildScreen)


async def test_while_something_runs_the_kernels_are_not_made_afresh(play: Play) -> None:
    async with play(size=(100, 30)) as stage:
        await past(stage)
        stage.engine.say(TurnStarted(block_id="u2", text="more"))
        await stage.settle()
        await ask(stage)
        assert not isinstance(stage.app.screen, RebuildScreen)


async def test_hostile_code_cannot_write_on_the_list(play: Play) -> None:
    async with play(size=(100, 30)) as stage:
        await past(stage, (("python", "print('\x1b]0;owned\x07[@click=app.quit]x[/]')", "ok"),))
        await ask(stage)
        assert "[@click=app.quit]x[/]" in stage.seen


async def test_U5_what_hides_in_code_is_written_out_in_the_list_as_in_the_source(play: Play) -> None:
    async with play(size=(100, 30)) as stage:
        await past(stage, (("python", "if user != 'admin\u202e ': # only for guests", "ok"),))
        await ask(stage)
        assert "admin<U+202E> '" in str(stage.app.screen.query_one(OptionList).get_option_at_index(0).prompt)
        assert "admin<U+202E> '" in stage.app.screen.query_one(SourceView).render_line(0).text


async def test_the_choice_at_80_columns(play: Play, snap: Snap) -> None:
    async with play(size=(80, 24)) as stage:
        await past(stage)
        await ask(stage)
        await snap(stage.pilot)


async def test_the_marks_of_a_rebuild_at_120_columns(play: Play, snap: Snap) -> None:
    async with play(size=(120, 40)) as stage:
        await past(stage)
        outcomes: tuple[RerunOutcome, ...] = ("same", "differs")
        for number, outcome in enumerate(outcomes):
            stage.engine.say(
                RerunStarted(block_id=f"c{number}", generation=1),
                RerunFinished(block_id=f"c{number}", outcome=outcome),
            )
        stage.engine.say(RerunStarted(block_id="c3", generation=1))
        await stage.settle()
        await snap(stage.pilot)


async def test_R13_that_it_would_run_somewhere_else_is_seen_before_anything_runs(play: Play) -> None:
    async with play(size=(100, 30)) as stage:
        await past(stage, SOURCES[:1], place="Python 3.11.9 in .venv")
        await ask(stage)
        assert "First run in" not in stage.seen  # nobody said where it would run
        await stage.pilot.press("escape")
        now = KernelChanged(language="python", state="cold", detail="python3 on hub.example.org")
        stage.engine.say(now)
        await stage.settle()
        await ask(stage)
        assert "First run in Python 3.11.9 in .venv; now in python3 on hub.example.org." in stage.seen
        assert stage.engine.asked == []


async def test_R19_a_stale_block_says_why_and_runs_again_with_what_depends_on_it(play: Play, snap: Snap) -> None:
    async with play(size=(80, 24)) as stage:
        await past(stage)
        was = RunInput(name="df", block_id="c0", stale_by="c4")
        then = RunInput(name="monthly", block_id="c3", stale_by="c3")
        for block_id, source in (("c4", "df = df[df.score > 0]"), ("c5", "monthly.plot()")):
            stage.engine.say(
                CodeStarted(block_id=block_id, language="python"),
                CodeFinished(block_id=block_id, language="python", source=source),
                ExecutionStarted(block_id=block_id, generation=1),
                ExecutionFinished(block_id=block_id, status="ok", duration=0.1),
            )
        stage.engine.say(RunTraced(block_id="c3", inputs=(was,)), RunTraced(block_id="c5", inputs=(then,)))
        await stage.settle()
        await snap(stage.pilot)
        await stage.pilot.press("tab", "d")
        await stage.settle()
        screen = narrow(stage.app.screen, RebuildScreen)
        stage.wait(5.0, screen.show_arming)
        await stage.settle()
        await snap(stage.pilot)
        await stage.pilot.press("enter")
        await stage.settle()
        assert (await stage.engine.heard(1))[-1] == Rebuild(block_ids=("c3", "c5"), here=True)
