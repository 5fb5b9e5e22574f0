"""What was typed before is not lost: the draft that was not sent, and every prompt of other days."""

from msgspec.structs import replace
from textual.widgets import OptionList

from oi_tui.app.engine.core.library_replies import PromptsFound
from oi_tui.app.engine.core.library_verbs import FindPrompts
from oi_tui.app.engine.core.protocol import DraftKept
from oi_tui.app.engine.core.session_records import PastPrompt
from oi_tui.app.engine.core.verbs import KeepDraft
from oi_tui.app.screens.history import HistoryScreen
from support.snapshot import Snap
from support.stage import Play, Stage

PAST = (
    PastPrompt(text="Plot the monthly mean of score", at=1_000.0, session_id="s2", cwd="/home/me/data", place=9),
    PastPrompt(text="!ls -la\nsecond line", at=900.0, session_id="s1", cwd="/home/me/src", place=4),
)


async def found(stage: Stage, query: str = "", prompts: tuple[PastPrompt, ...] = PAST) -> None:
    stage.engine.reply(PromptsFound(query=query, prompts=prompts))
    await stage.settle()


async def test_ctrl_r_looks_for_what_is_typed_so_far_and_enter_puts_the_prompt_in_place(play: Play) -> None:
    async with play(size=(100, 30)) as stage:
        await stage.pilot.press(*"plot", "ctrl+r")
        await stage.until(lambda: FindPrompts(query="plot") in stage.engine.verbs)
        await found(stage, "plot", PAST[:1])
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.prompt.text == "Plot the monthly mean of score")
        assert stage.prompt.has_focus
        assert [verb for verb in stage.engine.asked if not isinstance(verb, FindPrompts)] == []


async def test_what_is_typed_there_narrows_it_and_an_answer_that_comes_late_is_not_shown(play: Play) -> None:
    async with play(size=(100, 30)) as stage:
        await stage.pilot.press("ctrl+r", *"mean")
        await stage.until(lambda: FindPrompts(query="mean") in stage.engine.verbs)
        await found(stage, "mean", PAST[:1])
        await found(stage, "me", PAST)
        screen = stage.app.screen
        assert isinstance(screen, HistoryScreen)
        assert screen.query_one("#pick-list", OptionList).option_count == 1


async def test_arrows_choose_and_code_of_another_day_is_only_a_text_until_its_sign_is_typed(play: Play) -> None:
    async with play(size=(100, 30)) as stage:
        await stage.pilot.press("ctrl+r")
        await stage.until(lambda: stage.engine.asked == [FindPrompts(query="")])
        await found(stage)
        await stage.pilot.press("ctrl+r", "enter")
        await stage.until(lambda: "ls -la" in stage.prompt.text)
        assert stage.prompt.text == " !ls -la\nsecond line"


async def test_escape_leaves_the_prompt_as_it_was(play: Play) -> None:
    async with play(size=(100, 30)) as stage:
        await stage.pilot.press(*"half a", "ctrl+r")
        await found(stage, "half a", ())
        await stage.pilot.press("escape")
        await stage.settle()
        assert stage.prompt.text == "half a"


async def test_a_draft_is_written_down_when_the_typing_pauses_and_once(play: Play) -> None:
    async with play(size=(100, 30)) as stage:
        await stage.pilot.press(*"draft")
        await stage.until(lambda: KeepDraft(text="draft") in stage.engine.verbs)
        assert stage.engine.verbs.count(KeepDraft(text="draft")) == 1


async def test_a_draft_of_the_last_time_is_there_again_unless_something_is_typed(play: Play) -> None:
    async with play(size=(100, 30)) as stage:
        stage.engine.reply(DraftKept(text="of yesterday"))
        await stage.settle()
        assert stage.prompt.text == "of yesterday"
    async with play(size=(100, 30)) as stage:
        await stage.pilot.press(*"new")
        stage.engine.reply(DraftKept(text="of yesterday"))
        await stage.settle()
        assert stage.prompt.text == "new"


async def test_leaving_writes_the_draft_down(play: Play) -> None:
    async with play(size=(100, 30)) as stage:
        await stage.pilot.press(*"unsent", "ctrl+q")
        await stage.until(lambda: KeepDraft(text="unsent") in stage.engine.verbs)


async def test_hostile_text_in_a_prompt_is_shown_as_text(play: Play) -> None:
    hostile = PastPrompt(text="\x1b]0;x\x07[@click=app.quit]y[/]", at=0, session_id="s", cwd="/\x1b[2J", place=1)
    async with play(size=(100, 30)) as stage:
        await stage.pilot.press("ctrl+r")
        await found(stage, "", (hostile,))
        shown = stage.seen
        assert "[@click=app.quit]y[/]" in shown
        assert "\x1b" not in shown


async def test_the_list_of_earlier_prompts_at_80_columns(play: Play, snap: Snap) -> None:
    async with play(size=(80, 24)) as stage:
        stage.prompt.fill("mean")
        await stage.pilot.press("ctrl+r")
        just_now = tuple(replace(prompt, at=4e12) for prompt in PAST)
        await found(stage, "mean", just_now)
        await snap(stage.pilot)
