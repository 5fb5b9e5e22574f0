"""Writing a prompt: lines, history, pastes, commands, files, and the person's own editor."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual import events

from oi_tui.app.engine.core.events import ProseFinished, ProseStarted, RetryScheduled, TurnEnded, TurnStarted
from oi_tui.app.engine.core.library_replies import PromptsFound
from oi_tui.app.engine.core.protocol import DraftKept, PromptsQueued
from oi_tui.app.engine.core.session_records import PastPrompt
from oi_tui.app.engine.core.settings import ScreenSection, Settings
from oi_tui.app.engine.core.verbs import (
    Clear,
    FindModels,
    KeepDraft,
    Pause,
    Restart,
    Retry,
    Run,
    SetApproval,
    SetBudget,
    SetComplete,
    Submit,
    TellUsage,
    UseModel,
    Withdraw,
)
from oi_tui.widgets.composer import Composer, as_prompt
from support.stage import Play, Stage


async def paste(stage: Stage, text: str) -> None:
    stage.prompt.post_message(events.Paste(text))
    await stage.settle()


async def test_enter_sends_and_other_keys_make_lines(play: Play) -> None:
    async with play() as stage:
        await stage.pilot.press("a", "shift+enter", "b", "ctrl+j", "c", "enter")
        assert await stage.engine.heard(1) == [Submit(text="a\nb\nc")]
        assert stage.prompt.text == ""


async def test_ctrl_underscore_undoes_since_ctrl_z_suspends(play: Play) -> None:
    async with play() as stage:
        await stage.pilot.press("a", "b", "ctrl+z")
        assert stage.prompt.text == "ab"
        await stage.pilot.press("ctrl+underscore")
        assert stage.prompt.text == ""


async def test_nothing_is_sent_for_blank_text(play: Play) -> None:
    async with play() as stage:
        await stage.pilot.press("space", "enter")
        await stage.settle()
        assert stage.engine.asked == []


async def test_V1_a_paste_of_three_lines_is_one_message(play: Play) -> None:
    async with play() as stage:
        await paste(stage, "one\r\ntwo\rthree\n")
        await stage.pilot.press("enter")
        assert await stage.engine.heard(1) == [Submit(text="one\ntwo\nthree\n")]


async def test_V1_a_paste_of_a_megabyte_is_a_token_that_is_sent_in_full(play: Play) -> None:
    text = "0123456789abcde\n" * 65_536
    async with play() as stage:
        await stage.pilot.press("s", "space")
        await paste(stage, text)
        assert stage.prompt.text == "s [paste #1: 65,537 lines]"
        await stage.pilot.press("enter")
        assert await stage.engine.heard(1) == [Submit(text="s " + text)]


async def test_V1_a_token_opens_into_its_text(play: Play) -> None:
    text = "".join(f"line {number}\n" for number in range(30))
    async with play() as stage:
        await paste(stage, text)
        await paste(stage, "x" * 3000)
        assert stage.prompt.text == "[paste #1: 31 lines][paste #2: 1 line]"
        await stage.pilot.press("home", "ctrl+o")
        assert stage.prompt.text == text + "[paste #2: 1 line]"


async def test_a_pasted_escape_sequence_does_not_reach_the_screen(play: Play) -> None:
    async with play() as stage:
        await paste(stage, "a\x1b]52;c;aGk=\x07b\u202e")
        assert stage.prompt.text == "ab"


HIDDEN = "\x1b[6n\x1b]52;c;aGk=\x07\u202e!rm -rf ~\x9b2J"
"""Cleaned, it would begin with a sign."""


async def from_a_draft(stage: Stage) -> None:
    stage.engine.reply(DraftKept(text=as_prompt(HIDDEN)))


async def from_the_history(stage: Stage) -> None:
    stage.engine.say(stage.opened(), TurnStarted(block_id="u", text=HIDDEN), TurnEnded(reason="done"), replay=True)
    await stage.settle()
    await stage.pilot.press("up")


async def from_our_own_clipboard(stage: Stage) -> None:
    stage.app.copy_to_clipboard(HIDDEN)
    await stage.pilot.press("ctrl+v")


async def from_earlier_prompts(stage: Stage) -> None:
    await stage.pilot.press("ctrl+r")
    past = PastPrompt(text=HIDDEN, at=0, session_id="s", cwd="/", place=1)
    await stage.settle()
    stage.engine.reply(PromptsFound(query="", prompts=(past,)))
    await stage.settle()
    await stage.pilot.press("enter")


async def from_a_block(stage: Stage) -> None:
    await from_the_history(stage)
    await stage.pilot.press("down", "tab", "home", "U")


@pytest.mark.parametrize(
    "bring", [from_a_draft, from_the_history, from_our_own_clipboard, from_earlier_prompts, from_a_block]
)
async def test_T1_what_was_not_typed_commands_no_terminal_and_is_no_code_wherever_it_comes_from(
    play: Play, bring: Callable[[Stage], Awaitable[None]]
) -> None:
    async with play(session_id="s1") as stage:
        await bring(stage)
        await stage.settle()
        assert stage.prompt.text == " !rm -rf ~"
        await stage.pilot.press("enter")
        names = [verb.__class__.__name__ for verb in stage.engine.asked]
        assert [name for name in names if name != "FindPrompts"] == ["Submit"]


async def test_T1_a_large_paste_that_was_kept_as_a_draft_is_clean_when_it_comes_back(play: Play) -> None:
    async with play() as stage:
        await paste(stage, "\x1b[6n!rm\n" * 30)
        await stage.pilot.press("ctrl+q")
        await stage.until(lambda: any(isinstance(verb, KeepDraft) for verb in stage.engine.verbs))
        kept = next(verb.text for verb in stage.engine.verbs if isinstance(verb, KeepDraft))
    async with play() as stage:
        stage.engine.reply(DraftKept(text=kept))
        await stage.settle()
        assert stage.prompt.text == " " + "!rm\n" * 30


async def test_a_pasted_text_that_looks_like_code_to_run_is_a_prompt(play: Play) -> None:
    texts = [start + "[logo](x)\n" * lines for start in ("!", "%", "\n %") for lines in (1, 3, 30)]
    async with play() as stage:
        for count, text in enumerate(texts, 1):
            await paste(stage, text)
            await stage.pilot.press("enter")
            submit = (await stage.engine.heard(count))[-1]
            assert isinstance(submit, Submit)
            assert submit.text.strip() == text.strip()
        assert len(stage.engine.asked) == len(texts)


async def test_neither_opening_recalling_nor_editing_a_paste_makes_code_of_it(play: Play) -> None:
    async with play(settings=Settings(screen=ScreenSection(editor="true"))) as stage:
        await paste(stage, "!evil\n" * 30)
        await stage.pilot.press("ctrl+g", "enter", "up", "enter")
        await paste(stage, "!evil\n" * 30)
        await stage.pilot.press("ctrl+o", "enter")
        assert [type(verb) for verb in await stage.engine.heard(3)] == [Submit, Submit, Submit]


async def test_a_prompt_of_a_resumed_session_that_begins_like_code_stays_a_prompt(play: Play) -> None:
    async with play(session_id="s1") as stage:
        stage.engine.say(stage.opened(), TurnStarted(block_id="u", text="!ls"), TurnEnded(reason="done"), replay=True)
        await stage.settle()
        await stage.pilot.press("up", "enter")
        assert isinstance((await stage.engine.heard(1))[0], Submit)


async def test_a_paste_after_a_typed_sign_is_run(play: Play) -> None:
    async with play() as stage:
        await stage.pilot.press("%")
        await paste(stage, "x = 1\n" * 30)
        await stage.pilot.press("enter")
        assert await stage.engine.heard(1) == [Run(language="python", source=("x = 1\n" * 30).strip())]


async def test_history_is_walked_at_the_edges_and_the_draft_comes_back(play: Play) -> None:
    async with play() as stage:
        await stage.pilot.press("a", "enter", "b", "enter", "d", "up")
        assert stage.prompt.text == "b"
        await stage.pilot.press("up", "up")
        assert stage.prompt.text == "a"
        await stage.pilot.press("down", "down")
        assert stage.prompt.text == "d"


async def test_history_holds_the_prompts_of_a_resumed_session(play: Play) -> None:
    async with play(session_id="s1") as stage:
        stage.engine.say(
            stage.opened(), TurnStarted(block_id="u", text="earlier"), TurnEnded(reason="done"), replay=True
        )
        await stage.settle()
        await stage.pilot.press("up")
        assert stage.prompt.text == "earlier"


async def test_prompts_that_wait_are_seen_changed_and_dropped(play: Play) -> None:
    async with play() as stage:
        composer = stage.app.chat.query_one(Composer)
        stage.engine.say(TurnStarted(block_id="u1", text="first"), ProseStarted(block_id="p1"))
        await stage.settle()
        await stage.pilot.press("n", "alt+q")
        assert await stage.engine.heard(1) == [Submit(text="n")]
        stage.engine.reply(PromptsQueued(prompts=("!one\x1b[2J\ntwo", "n")))
        await stage.settle()
        assert composer.hint == "2 queued · ↑ edit · ctrl+x drop"
        assert all(words in stage.seen for words in ("queued  !one two", "queued  n"))
        # To be changed, it comes back into the prompt; not as code, and only when the engine had not begun it.
        await stage.pilot.press("up")
        assert (await stage.engine.heard(2))[-1] == Withdraw(text="n")
        stage.engine.reply(PromptsQueued(prompts=("!one",), withdrawn="n"))
        await stage.settle()
        assert (stage.prompt.text, composer.hint) == ("n", "enter steer · alt+q queue")
        await stage.pilot.press("ctrl+x", "backspace", "ctrl+x")
        assert (await stage.engine.heard(3))[-1] == Withdraw(text="!one")
        stage.engine.reply(PromptsQueued(withdrawn="!one"))
        await stage.settle()
        assert (stage.prompt.text, composer.queued) == ("", ())
        # Whatever waited is gone with the engine.
        stage.engine.reply(PromptsQueued(prompts=("x",)))
        await stage.settle()
        stage.engine.die()
        await stage.until(lambda: stage.app.chat.bridge.stopped)
        assert composer.queued == ()


async def test_L29_enter_steers_the_turn_that_runs_and_what_waits_says_which_it_is(play: Play) -> None:
    async with play() as stage:
        composer = stage.app.chat.query_one(Composer)
        stage.engine.say(TurnStarted(block_id="u1", text="first"), ProseStarted(block_id="p1"))
        await stage.settle()
        assert composer.hint == "enter steers · esc stops"
        await stage.pilot.press("n", "enter", "enter")
        assert await stage.engine.heard(1) == [Submit(text="n", steer=True)]
        stage.engine.reply(PromptsQueued(prompts=("later", "n"), steers=(False, True)))
        await stage.settle()
        assert all(words in stage.seen for words in ("queued  later", "steer   n"))


async def test_L37_enter_on_an_empty_prompt_ends_the_wait_before_a_retry(play: Play) -> None:
    async with play() as stage:
        stage.engine.say(TurnStarted(block_id="u1", text="first"), RetryScheduled(delay=30.0, why="rate limit"))
        await stage.settle()
        assert "The model waits before its next attempt. enter tries now." in stage.seen
        stage.clock.now += 0.6
        await stage.pilot.press("enter")
        assert await stage.engine.heard(1) == [Retry(now=True)]


async def test_L30_a_turn_that_pauses_says_so_and_enter_continues_it(play: Play) -> None:
    async with play() as stage:
        stage.engine.say(TurnStarted(block_id="u1", text="first"))
        await stage.settle()
        await stage.pilot.press(*"/pause", "enter")
        assert await stage.engine.heard(1) == [Pause()]
        stage.engine.say(TurnEnded(reason="paused"))
        stage.engine.reply(PromptsQueued(prompts=("and then",), steers=(True,)))
        await stage.settle()
        assert PAUSED in stage.seen
        stage.clock.now += 0.6
        await stage.pilot.press("enter")
        assert (await stage.engine.heard(2))[-1] == Retry()


async def test_L39_enter_on_an_empty_prompt_starts_only_what_the_line_above_it_says(play: Play) -> None:
    async with play() as stage:
        # Keys that were under way when the session was opened start nothing, and neither does a turn that was cut.
        past = (TurnStarted(block_id="u1", text="first"), TurnEnded(reason="engine_lost"))
        stage.engine.say(stage.opened(resumed=True), *past, replay=True)
        await stage.settle()
        stage.clock.now += 5.0
        await stage.pilot.press("enter")
        assert stage.engine.asked == []
        assert "enter continues" not in stage.seen
        stage.engine.say(TurnStarted(block_id="u2", text="second"), TurnEnded(reason="paused"), replay=True)
        await stage.settle()
        assert PAUSED in stage.seen
        stage.clock.now += 0.4
        await stage.pilot.press("enter")
        stage.clock.now += 0.2
        await stage.pilot.press("alt+q", "x")
        await stage.settle()
        assert "enter continues" not in stage.seen
        await stage.pilot.press("backspace")
        await stage.settle()
        await stage.pilot.press("enter")
        assert stage.engine.asked == []
        assert PAUSED in stage.seen
        stage.clock.now += 0.6
        await stage.pilot.press("enter")
        assert await stage.engine.heard(1) == [Retry()]


PAUSED = "⏸ The turn is paused. enter continues it, or type a prompt."

LINES = [
    ("!ls -la", Run(language="shell", source="ls -la")),
    ("%python x = 1", Run(language="python", source="x = 1")),
    ("% x = 1", Run(language="python", source="x = 1")),
    ("%print(1)", Run(language="python", source="print(1)")),
    ("%%bash\nls\n", Run(language="python", source="%%bash\nls")),
    ("/model gpt-5", UseModel(name="gpt-5")),
    ("/approve auto", SetApproval(mode="auto")),
    ("/complete on", SetComplete(on=True)),
    ("/budget", SetBudget()),
    ("/budget $0.50", SetBudget(max_cost=0.5)),
    ("/budget 50k tokens", SetBudget(max_tokens=50_000)),
    ("/budget off", SetBudget(max_cost=0.0, max_tokens=0)),
    ("/restart", Restart()),
    ("/restart python", Restart(language="python")),
    ("/clear", Clear()),
    ("/usa", TellUsage()),
    ("/etc/passwd is what?", Submit(text="/etc/passwd is what?")),
    ("/model", FindModels()),
]


async def test_the_first_character_says_what_a_line_is(play: Play) -> None:
    async with play() as stage:
        for count, (typed, verb) in enumerate(LINES, 1):
            stage.prompt.fill(typed)
            await stage.pilot.press("enter")
            assert (await stage.engine.heard(count))[count - 1 :] == [verb], typed


async def test_a_command_that_cannot_be_followed_is_explained_and_not_sent(play: Play) -> None:
    wrong = ["/nonsense", "/approve maybe", "/budget much", "/budget 0", "/theme nowhere", "/r"]
    async with play() as stage:
        for typed in wrong:
            stage.prompt.fill(typed)
            await stage.pilot.press("enter")
            await stage.settle()
            assert stage.engine.asked == [], typed
            assert stage.prompt.text == typed
            assert stage.app.chat.query_one(Composer).note, typed


async def test_another_theme_is_worn_at_once(play: Play) -> None:
    async with play() as stage:
        stage.prompt.fill("/theme harbour-light")
        await stage.pilot.press("enter")
        await stage.settle()
        assert stage.app.theme == "harbour-light"


async def test_existing_files_named_with_at_are_given_along(play: Play) -> None:
    async with play() as stage:
        (stage.cwd / "data.csv").write_text("a\n")
        (stage.cwd / "two words.txt").write_text("a\n")
        stage.prompt.fill(
            '@~nosuchperson/x see @data.csv and @nothing.csv and @data.csv and @"two words.txt" or mail me@data.csv'
        )
        text = stage.prompt.text
        await stage.pilot.press("enter")
        assert stage.app.chat.query_one(Composer).note.startswith("No such file: @~nosuchperson/x and @nothing.csv.")
        assert (stage.engine.asked, stage.prompt.text) == ([], text)
        await stage.pilot.press("enter")
        (submit,) = await stage.engine.heard(1)
        assert isinstance(submit, Submit)
        assert submit.files == ("data.csv", "two words.txt")


async def test_L21_the_editor_may_have_arguments(play: Play, tmp_path: Path) -> None:
    script = tmp_path / "my editor.sh"
    script.write_text(
        '#!/bin/sh\n[ "$1" = "--flag" ] || exit 3\n'
        'printf "edited: " > "$2.new"; cat "$2" >> "$2.new"; mv "$2.new" "$2"\n'
    )
    script.chmod(0o700)
    settings = Settings(screen=ScreenSection(editor=f"'{script}' --flag"))
    async with play(settings=settings) as stage:
        await stage.pilot.press("h", "i", "ctrl+g")
        await stage.settle()
        assert stage.prompt.text == "edited: hi"


@pytest.mark.parametrize("editor", ["/nowhere/editor", "false", "'unclosed", " ", "rm"])
async def test_L21_an_editor_that_fails_leaves_the_text_and_says_so(play: Play, editor: str) -> None:
    async with play(settings=Settings(screen=ScreenSection(editor=editor))) as stage:
        await stage.pilot.press("h", "i", "ctrl+g")
        await stage.settle()
        assert stage.prompt.text == "hi"
        assert stage.app.chat.query_one(Composer).note


async def test_a_key_is_echoed_while_events_pour_in(play: Play) -> None:
    async with play() as stage:
        stage.engine.say(TurnStarted(block_id="u1", text="x"), ProseStarted(block_id="p1"))
        for _ in range(200):
            stage.engine.say(ProseFinished(block_id="p1"))
        async with asyncio.timeout(10):
            await stage.pilot.press("k")
        assert stage.prompt.text == "k"
