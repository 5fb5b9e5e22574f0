"""The question before code runs: only a deliberate key answers it, and with what was shown."""

import pytest
from textual.events import Key, Paste
from textual.widgets import Input

from oi_tui.app.engine.core.events import ConversationCleared, DecisionMade, OutputAdded, TurnEnded, TurnStarted
from oi_tui.app.engine.core.outcomes import Verdict
from oi_tui.app.engine.core.outputs import StreamOutput
from oi_tui.app.engine.core.values import GrantScope
from oi_tui.app.engine.core.verbs import Decide, Interrupt
from oi_tui.widgets.approval import ApprovalPanel
from oi_tui.widgets.approval_keys import LETTERS
from oi_tui.widgets.approval_view import changed_lines
from oi_tui.widgets.composer import Composer
from oi_tui.widgets.editor import SourceEditor, indent_below
from oi_tui.widgets.keyrow import KeyRow
from oi_tui.widgets.stray_keys import NOT_BY_ENTER, TOO_EARLY, WRITTEN_ON, KeyFate, StrayKeys
from oi_tui.widgets.timeline.source_view import SourceView
from support.stage import Play, Stage

SOURCE = "total = 1 + 1\nprint(total)\n"
LONG = "".join(f"print({line})\n" for line in range(60))


def panel(stage: Stage) -> ApprovalPanel:
    return stage.app.chat.query_one(ApprovalPanel)


async def test_L4_each_key_sends_its_verdict_with_exactly_the_source_that_was_shown(play: Play) -> None:
    keys: list[tuple[str, Verdict]] = [("y", "run"), ("a1", "always"), ("n\r", "skip"), ("s", "stop")]
    async with play() as stage:
        for number, (key, verdict) in enumerate(keys, 1):
            source = f"{SOURCE}# {number}\n"
            await stage.propose(source, number=number)
            await stage.arm()
            if number == 1:  # a short chat stands next to the question, not at the other end of the screen
                pane, rows = stage.app.chat.parts.pane.region, stage.app.chat.parts.timeline.region
                assert rows.height < pane.height
                assert rows.bottom == pane.bottom == panel(stage).region.y
            await stage.pilot.press(*(one.replace("\r", "enter") for one in key))
            decided = (await stage.engine.heard(number))[number - 1 :]
            assert decided == [Decide(request_id=f"d{number}", verdict=verdict, source=source)]
            assert stage.app.chat.query_one(Composer).display
            stage.engine.say(DecisionMade(block_id=f"c{number}", verdict="skip", decider="person", source=""))
            stage.engine.say(TurnEnded(reason="refused"))
            await stage.settle()


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_L4_of_two_questions_with_as_many_lines_the_second_shows_its_own_source(
    play: Play, size: tuple[int, int]
) -> None:
    """Hidden, it has no width to wrap at, and of the same size it was not painted anew: it showed the first one."""
    async with play(size=size) as stage:
        for number, word in enumerate(("earlier", "later", "latest"), 1):
            await stage.propose(f"{word} = 1\n{word}_again = 2", number=number)
            screen = stage.app.export_screenshot(simplify=True)
            assert f"{word}_again" in screen[screen.index("Run") :]
            assert screen.count("_again") == 1
            await stage.arm()
            await stage.pilot.press("s")
            stage.engine.say(DecisionMade(block_id=f"c{number}", verdict="skip", decider="person", source=""))
            stage.engine.say(TurnEnded(reason="refused"), ConversationCleared())
            await stage.settle()


async def test_R14_a_key_gives_one_run_another_time_limit(play: Play) -> None:
    async with play() as stage:
        await stage.propose(SOURCE)
        await stage.arm()
        await stage.pilot.press("ctrl+t", "ctrl+t")
        assert "ctrl+t: time limit 10 minutes" in stage.seen
        await stage.pilot.press("y")
        (decided,) = await stage.engine.heard(1)
        assert decided == Decide(request_id="d1", verdict="run", source=SOURCE, time_limit=600.0)


async def test_V2_enter_never_approves(play: Play) -> None:
    async with play() as stage:
        await stage.propose(SOURCE)
        await stage.arm()
        await stage.pilot.press("enter", "enter", "shift+enter", "ctrl+j", "space")
        await stage.settle()
        assert stage.engine.asked == []
        assert panel(stage).display
        await stage.pilot.press("enter")
        assert "Enter never approves: y runs it." in stage.seen


async def test_V2_keys_typed_before_and_as_the_question_appears_never_approve(play: Play) -> None:
    async with play() as stage:
        await stage.pilot.press(*"yes")
        await stage.propose(SOURCE)
        await stage.pilot.press("y", "enter", "a", "y")
        await stage.settle()
        assert stage.engine.asked == []
        assert stage.prompt.text == "yesyay", "the sentence goes on where it began"
        await stage.pilot.press("backspace")
        assert stage.prompt.text == "yesya"
        assert "What you type goes to the prompt." in stage.seen
        await stage.arm()
        stage.app.post_message(Paste("more\r\nlines"))
        await stage.settle()
        assert stage.prompt.text == "yesyamore\nlines"
        assert stage.engine.asked == []


async def test_V2_a_letter_that_means_nothing_here_puts_off_the_arming(play: Play) -> None:
    async with play() as stage:
        await stage.propose(SOURCE)
        await stage.arm()
        await stage.pilot.press(*"task")  # the next prompt of somebody who did not look
        await stage.settle()
        assert stage.engine.asked == []
        assert stage.prompt.text == "task"
        await stage.arm()
        await stage.pilot.press("y")
        assert len(await stage.engine.heard(1)) == 1


async def test_V2_a_pause_in_typing_is_needed_besides_the_delay(play: Play) -> None:
    async with play() as stage:
        await stage.pilot.press("h")
        await stage.propose(SOURCE)
        for _ in range(4):
            stage.wait(0.5, panel(stage).show_arming)  # beyond the delay, but each key puts the arming off
            await stage.pilot.press("y")
        await stage.settle()
        assert stage.engine.asked == []
        await stage.arm()
        await stage.pilot.press("y")
        assert len(await stage.engine.heard(1)) == 1


@pytest.mark.parametrize("keys", [("h",), ("tab", "y"), ()], ids=["composer", "timeline", "none"])
async def test_V2_a_key_meant_for_something_else_puts_off_the_arming(play: Play, keys: tuple[str, ...]) -> None:
    async with play() as stage:
        stage.engine.say(TurnStarted(block_id="u0", text="x"))
        await stage.settle()
        stage.clock.now += 5
        await stage.pilot.press(*keys)
        await stage.propose(SOURCE)
        stage.wait(0.7, panel(stage).show_arming)  # longer than the delay, shorter than the pause
        await stage.pilot.press("y")
        if keys:
            await stage.settle()
            assert stage.engine.asked == []
        else:
            assert len(await stage.engine.heard(1)) == 1


@pytest.mark.parametrize(("opens", "closes"), [(("f1",), "escape"), (("ctrl+p",), "escape"), (("ctrl+q",), "n")])
async def test_V2_a_question_that_came_under_another_screen_is_armed_when_it_is_seen(
    play: Play, opens: tuple[str, ...], closes: str
) -> None:
    async with play() as stage:
        stage.engine.say(TurnStarted(block_id="u0", text="x"))
        await stage.settle()
        await stage.pilot.press(*opens)
        assert stage.app.screen is not stage.app.chat
        await stage.propose(SOURCE)
        await stage.arm()
        await stage.pilot.press(closes, "y")
        stage.wait(0.5, panel(stage).show_arming)
        await stage.pilot.press("y")
        await stage.settle()
        assert stage.app.screen is stage.app.chat
        assert stage.engine.asked == []
        await stage.arm()
        await stage.pilot.press("y")
        assert len(await stage.engine.heard(1)) == 1


async def test_V2_a_click_that_closes_another_screen_arms_the_question_anew(play: Play) -> None:
    async with play() as stage:
        stage.engine.say(TurnStarted(block_id="u0", text="x"))
        await stage.settle()
        await stage.pilot.press("ctrl+q")
        await stage.propose(SOURCE)
        await stage.arm()
        await stage.pilot.click("#confirm-keys", offset=(13, 0))
        await stage.settle()
        assert stage.app.screen is stage.app.chat
        await stage.pilot.press("y")
        await stage.settle()
        assert stage.engine.asked == []


async def test_V2_a_click_beside_a_label_or_before_the_arming_never_approves(play: Play) -> None:
    async with play() as stage:
        await stage.propose(SOURCE)
        await stage.pilot.click(KeyRow, offset=(1, 0))
        await stage.arm()
        await stage.pilot.click(SourceView)
        await stage.pilot.click("#approval-title")
        await stage.settle()
        assert stage.engine.asked == []
        await stage.pilot.click("#approval-keys", offset=(1, 0))
        assert await stage.engine.heard(1) == [Decide(request_id="d1", verdict="run", source=SOURCE)]


async def test_V2_coming_back_to_the_window_has_to_be_armed_anew(play: Play) -> None:
    async with play() as stage:
        await stage.propose(SOURCE)
        await stage.arm()
        stage.app.app_focus = False
        await stage.settle()
        stage.app.app_focus = True
        await stage.settle()
        await stage.pilot.click("#approval-keys", offset=(1, 0))
        await stage.pilot.press("y")
        await stage.settle()
        assert stage.engine.asked == []


async def test_U4_a_source_longer_than_the_panel_cannot_be_approved_before_its_end_was_shown(play: Play) -> None:
    async with play() as stage:
        await stage.propose(LONG)
        await stage.arm()
        await stage.pilot.press("y", "a")
        await stage.settle()
        assert stage.engine.asked == []
        assert stage.told("Look at the end first: end shows it.")
        assert "more lines" in str(stage.app.chat.query_one("#approval-more").render())
        for _ in range(12):
            await stage.pilot.press("pagedown")
        await stage.pilot.press("y")
        assert await stage.engine.heard(1) == [Decide(request_id="d1", verdict="run", source=LONG)]


async def test_U4_rows_that_a_small_screen_cuts_off_do_not_count_as_shown(play: Play) -> None:
    source = "a = 1\nb = 2\nc = 3\nd = 4\nevil()\n"
    async with play((40, 10)) as stage:
        await stage.propose(source)
        await stage.arm()
        await stage.pilot.press("y")
        await stage.settle()
        assert stage.engine.asked == []
        await stage.pilot.press("down", "down", "down", "down")
        await stage.settle()
        await stage.pilot.press("y")
        assert await stage.engine.heard(1) == [Decide(request_id="d1", verdict="run", source=source)]


async def test_the_end_of_a_long_source_is_one_key_away(play: Play) -> None:
    async with play() as stage:
        await stage.propose(LONG)
        await stage.arm()
        await stage.pilot.press("end")
        await stage.settle()
        await stage.arm()
        await stage.pilot.press("y")
        assert len(await stage.engine.heard(1)) == 1


async def test_a_long_source_can_be_refused_without_reading_it(play: Play) -> None:
    async with play() as stage:
        await stage.propose(LONG)
        await stage.arm()
        await stage.pilot.press("n", "enter")
        assert await stage.engine.heard(1) == [Decide(request_id="d1", verdict="skip", source=LONG)]


async def test_U5_hidden_characters_are_written_out_and_counted(play: Play) -> None:
    async with play() as stage:
        await stage.propose("ok = True\u202e # \x1b]52;c;x\x07\n")
        shown = "".join(segment.text for segment in stage.app.chat.query_one(SourceView).render_line(0))
        assert "<U+202E>" in shown
        assert "<U+001B>]52;c;x<U+0007>" in shown
        assert "3 hidden characters" in str(stage.app.chat.query_one("#approval-note").render())


async def test_U5_a_hidden_character_stands_out_wherever_it_stands(play: Play) -> None:
    async with play() as stage:
        await stage.propose("p\u0430y(\u200b1, 'a\u202e\u2066b')  # \u00ad\n")
        view = stage.app.chat.query_one(SourceView)
        shown = [segment for segment in view.render_line(0) if segment.style and segment.style.bold]
        hidden = [segment.text for segment in shown if segment.text.strip()]
        assert "".join(hidden) == "<U+0430><U+200B><U+202E><U+2066><U+00AD>"


async def test_U4_code_far_to_the_right_is_wrapped_into_view(play: Play) -> None:
    async with play() as stage:
        await stage.propose("x = 1" + " " * 300 + "; evil()\n")
        view = stage.app.chat.query_one(SourceView)
        shown = ["".join(segment.text for segment in view.render_line(row)) for row in range(view.size.height)]
        assert any("evil()" in row for row in shown)


async def test_L15_a_refusal_with_a_reason_carries_the_words(play: Play) -> None:
    async with play() as stage:
        await stage.propose(SOURCE)
        await stage.arm()
        await stage.pilot.press("n", "n", "o", "t", "space", "y", "enter")
        assert await stage.engine.heard(1) == [
            Decide(request_id="d1", verdict="skip", source=SOURCE, reason="not y"),
        ]


async def test_L15_escape_takes_a_refusal_back_and_the_next_key_counts_at_once(play: Play) -> None:
    async with play() as stage:
        await stage.propose(SOURCE)
        await stage.arm()
        await stage.pilot.press("n", "x", "escape")
        await stage.settle()
        assert stage.engine.asked == []
        assert panel(stage).stage == "question"
        assert not stage.app.chat.query_one("#approval-reason", Input).display
        await stage.pilot.press("y")
        assert await stage.engine.heard(1) == [Decide(request_id="d1", verdict="run", source=SOURCE)]


@pytest.mark.parametrize("done", ["ctrl+s", "f5", "ctrl+enter"])
async def test_L16_what_is_sent_after_an_edit_is_what_the_question_shows_then(play: Play, done: str) -> None:
    async with play() as stage:
        await stage.propose(SOURCE)
        await stage.arm()
        await stage.pilot.press("e", "#", done)
        await stage.settle()
        assert "edited by you" in str(stage.app.chat.query_one("#approval-note").render())
        assert "✎" in stage.app.chat.query_one(SourceView).render_line(0).text
        await stage.pilot.press("y")
        assert await stage.engine.heard(1) == [Decide(request_id="d1", verdict="edit", source="#" + SOURCE)]


async def test_L16_escape_asks_before_it_discards_an_edit(play: Play) -> None:
    async with play() as stage:
        await stage.propose(SOURCE)
        await stage.arm()
        await stage.pilot.press("e", "#", "escape")
        assert "again discards your changes" in stage.seen
        await stage.pilot.press("#", "escape")
        assert panel(stage).stage == "editing", "another key keeps on editing"
        await stage.pilot.press("escape", "y")
        assert await stage.engine.heard(1) == [Decide(request_id="d1", verdict="run", source=SOURCE)]


async def test_U5_hidden_characters_are_written_out_in_the_editor_and_do_not_come_in_by_a_paste(play: Play) -> None:
    async with play() as stage:
        await stage.propose("a = 1\u202e\x1b[2J\n")
        await stage.arm()
        await stage.pilot.press("e")
        editor = stage.app.chat.query_one(SourceEditor)
        assert editor.text == "a = 1<U+202E><U+001B>[2J\n"
        assert "2 hidden characters are written as" in str(stage.app.chat.query_one("#approval-note").render())
        stage.app.copy_to_clipboard("\x1b]52;c;aGk=\x07\u202eb = 2 # \u26a0\ufe0f")  # as from an output
        await stage.pilot.press("ctrl+v")
        assert editor.text == "]52;c;aGk=b = 2 # \u26a0\ufe0fa = 1<U+202E><U+001B>[2J\n"


async def test_U1_a_source_that_was_not_changed_in_the_editor_is_not_edited(play: Play) -> None:
    source = "if user != 'admin\u202e ': # \u26a0\ufe0f <U+202E>\r\n\tp\u0430ss = 'e\u0301\u00a0'\n"
    async with play() as stage:
        await stage.propose(source)
        await stage.arm()
        await stage.pilot.press("e", "ctrl+s")
        await stage.arm()
        assert "edited" not in str(stage.app.chat.query_one("#approval-note").render())
        await stage.pilot.press("y")
        assert await stage.engine.heard(1) == [Decide(request_id="d1", verdict="run", source=source)]


async def test_U1_an_edit_elsewhere_leaves_a_hidden_character_where_it_is_and_the_question_shows_it(play: Play) -> None:
    source = "print('admin\u202e', '\U0001f468\u200d\U0001f469')"
    async with play() as stage:
        await stage.propose(source)
        await stage.arm()
        await stage.pilot.press("e", "#", "ctrl+s")
        await stage.arm()
        assert "admin<U+202E>" in stage.app.chat.query_one(SourceView).render_line(0).text
        assert "hidden character" in str(stage.app.chat.query_one("#approval-note").render())
        await stage.pilot.press("y")
        assert await stage.engine.heard(1) == [Decide(request_id="d1", verdict="edit", source="#" + source)]


async def test_U5_why_it_was_asked_is_said_to_be_of_the_source_before_an_edit(play: Play) -> None:
    async with play() as stage:
        await stage.propose("a = 1\u202e", why="asked because of its hidden or deceiving characters")
        await stage.arm()
        await stage.pilot.press("e")
        stage.app.chat.query_one(SourceEditor).load_text("a = 1")
        await stage.pilot.press("ctrl+s")
        await stage.settle()
        note = str(stage.app.chat.query_one("#approval-note").render())
        assert "before: asked because of its hidden" in note
        assert "1 hidden character" not in note


async def test_the_panel_can_have_the_whole_screen(play: Play) -> None:
    async with play() as stage:
        await stage.propose(LONG)
        await stage.arm()
        before = stage.app.chat.query_one(SourceView).size.height
        await stage.pilot.press("v")
        await stage.settle()
        assert stage.app.chat.query_one(SourceView).size.height > before
        assert not stage.app.chat.query_one("#upper").display
        assert stage.app.chat.query_one("#approval-keys").region.bottom == 23
        await stage.pilot.press("escape")
        await stage.settle()
        assert stage.app.chat.query_one(SourceView).size.height == before
        assert stage.engine.asked == []


@pytest.mark.parametrize("why", [False, True])
async def test_V4_the_keys_stay_on_a_screen_of_40_by_10(play: Play, why: bool) -> None:
    async with play((80, 24)) as stage:
        await stage.propose(LONG, why="The same code ran twice in this turn, with the same result as before.")
        await stage.arm()
        if why:
            await stage.pilot.press("question_mark")
        await stage.pilot.resize_terminal(40, 10)
        await stage.settle()
        keys = stage.app.chat.query_one("#approval-keys")
        assert keys.region.height == 2
        assert keys.region.bottom <= 9
        assert stage.app.chat.query_one(SourceView).region.height >= 1
        await stage.pilot.resize_terminal(80, 24)
        await stage.settle()
        assert keys.region.bottom == 23


async def test_an_answered_question_is_not_put_again_by_what_arrives_before_its_answer(play: Play) -> None:
    async with play() as stage:
        await stage.propose(SOURCE)
        await stage.arm()
        await stage.pilot.press("y")
        await stage.engine.heard(1)
        stage.engine.say(OutputAdded(block_id="c1", output=StreamOutput(name="stdout", text="late")))
        await stage.settle()
        assert not panel(stage).display


async def test_a_question_that_was_settled_elsewhere_goes_away(play: Play) -> None:
    async with play() as stage:
        await stage.propose(SOURCE)
        stage.engine.say(
            DecisionMade(block_id="c1", verdict="stop", decider="person", source=SOURCE), TurnEnded(reason="stopped")
        )
        await stage.settle()
        assert not panel(stage).display
        assert stage.app.focused is stage.prompt


async def test_escape_twice_at_the_question_stops_the_turn(play: Play) -> None:
    async with play() as stage:
        await stage.propose(SOURCE)
        await stage.arm()
        await stage.pilot.press("escape", "escape")
        assert await stage.engine.heard(2) == [Interrupt(), Interrupt(turn=True)]


async def test_the_transcript_can_be_scrolled_while_the_question_is_up(play: Play) -> None:
    async with play() as stage:
        await stage.propose(SOURCE)
        await stage.arm()
        await stage.pilot.press("ctrl+up")
        assert stage.app.chat.query_one("#timeline").has_focus
        await stage.pilot.press("tab")
        assert panel(stage).has_focus


async def test_the_keys_of_a_question_stay_with_it_and_say_where_they_are(play: Play) -> None:
    async with play() as stage:
        await stage.propose(SOURCE)
        await stage.arm()
        await stage.pilot.press("v", "tab", "tab")
        assert panel(stage).has_focus, "nothing else can be seen"
        await stage.pilot.press("v", "tab")
        assert stage.app.chat.query_one("#timeline").has_focus
        labels = stage.app.chat.query_one("#approval-keys", KeyRow).labels
        assert [label.key for label in labels if label.enabled] == ["tab"]
        await stage.pilot.press("tab")
        assert stage.app.chat.query_one("#approval-keys", KeyRow).labels[0].key == "y"


async def test_always_names_the_rules_that_it_makes_and_no_rule_of_what_was_edited(play: Play) -> None:
    scopes = (
        GrantScope(kind="commands", rules=("Shell(git status *)",)),
        GrantScope(kind="turn", rules=('Python(*) with sandbox = "verified"',)),
    )
    async with play() as stage:
        await stage.propose("git status", language="shell", scopes=scopes)
        await stage.pilot.press("a")
        assert "Wait a moment: this question has just appeared." in stage.seen
        await stage.arm()
        await stage.pilot.press("a", "enter", "space", "y", "9", "4")
        await stage.settle()
        assert stage.engine.asked == []
        choices = str(stage.app.chat.query_one("#approval-scopes").render())
        assert "2 Shell(git status *)  in this session\n3 Python(*) with" in choices
        await stage.pilot.press("escape", "e", "#", "ctrl+s", "a")
        assert "Shell(" not in str(stage.app.chat.query_one("#approval-scopes").render())
        await stage.pilot.press("escape", "e")
        stage.app.chat.query_one(SourceEditor).load_text("git status")
        await stage.pilot.press("ctrl+s", "a", "2")
        assert await stage.engine.heard(1) == [
            Decide(request_id="d1", verdict="always", source="git status", scope="commands")
        ]


async def test_the_editor_shows_the_code_where_the_question_showed_it_and_indents_new_lines(play: Play) -> None:
    async with play() as stage:
        await stage.propose("for n in x:\n    print(n)\n")
        await stage.arm()
        asked = stage.app.chat.query_one(SourceView).render_line(0).text
        await stage.pilot.press("e")
        assert stage.app.chat.query_one(SourceEditor).render_line(0).text.index("for") == asked.index("for")
        await stage.pilot.press("end", "enter", "a", "enter", "backspace", "b")
        editor = stage.app.chat.query_one(SourceEditor)
        assert editor.text == "for n in x:\n    a\nb\n    print(n)\n"


@pytest.mark.parametrize(
    ("above", "indent"),
    [
        *(("", ""), ("x = 1", ""), ("    x", "    "), ("if x:", "    "), ("  f(", "      "), ("\tif x:  # y", "\t\t")),
        *(("    return x", ""), ("        break", "    "), ("returned = 1", ""), ("  pass", "  ")),
    ],
)
def test_a_new_line_is_indented_as_the_one_above_asks_for(above: str, indent: str) -> None:
    assert indent_below(above) == indent


def test_V2_a_key_that_no_question_may_take_goes_on_in_the_prompt_or_is_dropped_with_a_word() -> None:
    stray = StrayKeys()
    stray.begin(LETTERS, writing=False)
    assert stray.judge("y", "y", armed=False) == KeyFate("wait", why=TOO_EARLY)
    assert stray.judge("space", " ", armed=False) == KeyFate("write", "y ", WRITTEN_ON), "no letter is lost"
    assert stray.judge("s", "s", armed=False) == KeyFate("write", "s", WRITTEN_ON)
    assert stray.judge("y", "y", armed=True) == KeyFate("act"), "after a pause it is an answer"
    assert stray.judge("enter", None, armed=True).why == NOT_BY_ENTER
    assert stray.judge("h", "h", armed=True) == KeyFate("write", "h", WRITTEN_ON)
    stray.begin(LETTERS, writing=True)
    assert stray.judge("y", "y", armed=False) == KeyFate("write", "y", WRITTEN_ON)
    assert stray.judge("enter", None, armed=False).does == "wait"


def test_changed_lines_are_found_between_what_is_the_same() -> None:
    assert changed_lines("a\nb\nc", "a\nx\nc") == {1}
    assert changed_lines("a\na", "a\na\na") == {2}
    assert changed_lines("a\nb", "b") == frozenset()
    assert changed_lines("", "a\nb") == {0, 1}


def test_changes_at_both_ends_of_a_long_source_are_found() -> None:
    same = ["x = 1"] * 3_000
    assert {0, 3_001} <= changed_lines("\n".join(["first", *same, "last"]), "\n".join(["FIRST", *same, "LAST"]))


def typed(key: str, ago: float) -> Key:
    """A key that was read from the terminal so many seconds ago."""
    event = Key(key, key)
    event.time -= ago
    return event


async def test_V2_a_key_is_judged_by_when_it_came_and_not_by_when_there_was_time_for_it(play: Play) -> None:
    async with play() as stage:
        await stage.propose(SOURCE)
        await stage.arm()
        stage.app.post_message(typed("y", 60.0))  # before the question
        await stage.settle()
        assert stage.engine.asked == []
        await stage.pilot.press("y")
        await stage.settle()
        assert stage.engine.asked == []  # and it was no pause
        await stage.arm()
        stage.app.post_message(typed("y", 1.0))
        assert len(await stage.engine.heard(1)) == 1


async def test_V2_a_program_that_stood_still_takes_no_key_that_was_typed_meanwhile(play: Play) -> None:
    """Stopped by a signal, it reads late, and nothing tells when it was typed."""
    async with play() as stage:
        await stage.propose(SOURCE)
        stage.wait(0.2, panel(stage).show_arming)
        stage.clock.now += 1.3
        await stage.pilot.press("y")
        await stage.settle()
        assert stage.engine.asked == []
        await stage.arm()
        stage.clock.now += 60.0
        await stage.pilot.press("y")
        await stage.settle()
        assert stage.engine.asked == []
        stage.clock.now += 60.0
        await stage.pilot.click("#approval-keys", offset=(1, 0))
        await stage.settle()
        assert stage.engine.asked == []
        await stage.arm()
        await stage.pilot.press("y")
        assert len(await stage.engine.heard(1)) == 1
