"""The command palette: every command is found, what can be chosen is a second list, Escape goes back one level."""

import pytest

from oi_tui.app.commands.registry import COMMANDS
from oi_tui.app.engine.core.events import SettingsChanged, TurnEnded, TurnStarted
from oi_tui.app.engine.core.verbs import AddRule, FindModels, SetApproval, Submit
from oi_tui.app.screens.palette_screen import PaletteScreen, match_rank
from oi_tui.widgets.approval import ApprovalPanel
from oi_tui.widgets.composer import Composer
from oi_tui.widgets.lettering import Options, Words
from support.stage import Play, Stage


def rows(stage: Stage) -> list[str]:
    """What the list shows, without the keys at the right edge."""
    options = stage.app.screen.query_one(Options)
    shown = [str(options.get_option_at_index(index).prompt) for index in range(options.option_count)]
    return [line[2:].split("  ")[0].strip() for line in shown]


def title(stage: Stage) -> str:
    return str(stage.app.screen.query_one("#pick-title", Words).visual)


@pytest.mark.parametrize(
    ("words", "first"),
    [("model", "model"), ("theme", "theme"), ("restart", "restart"), ("/app", "approve"), ("auto", "approve"),
     ("kernels", "restart"), ("mous", "mouse"), ("chmod", "model"), ("html", "export"), ("notebook", "export")],
)  # fmt: skip
def test_each_command_is_found_by_its_name_its_help_and_its_choices(words: str, first: str) -> None:
    ranked = [(rank, row.id) for row in COMMANDS if (rank := match_rank(words, row)) is not None]
    assert min(ranked, key=lambda pair: pair[0])[1] == first


async def test_what_is_chosen_in_the_palette_is_done_and_a_question_stays_open_meanwhile(play: Play) -> None:
    async with play() as stage:
        assert len(COMMANDS) > 20
        await stage.pilot.press("ctrl+p")
        await stage.settle()
        assert isinstance(stage.app.screen, PaletteScreen)
        assert len(rows(stage)) == len(COMMANDS) - 1
        await stage.pilot.press(*"model")
        await stage.settle()
        assert rows(stage)[0] == "Choose a model"
        await stage.pilot.press("enter")
        assert (await stage.engine.heard(1))[-1] == FindModels()

        await stage.propose("rm x", "shell")
        panel = stage.app.chat.query_one(ApprovalPanel)
        asked = panel.asked_id
        await stage.pilot.press("ctrl+p", *"approval")
        await stage.settle()

        await stage.pilot.press("enter")
        await stage.settle()

        assert title(stage) == "Approval mode · now: ask"
        assert rows(stage) == ["ask", "auto", "never", "plan"]
        await stage.pilot.press("escape")
        await stage.settle()
        assert rows(stage)[0] == "Approval mode …"  # back where it was found
        await stage.pilot.press("enter", "down", "enter")
        await stage.settle()
        assert (await stage.engine.heard(2))[-1] == SetApproval(mode="auto")
        assert (panel.asked_id, panel.display) == (asked, True)
        stage.engine.say(SettingsChanged(model="m", approval="auto"))
        await stage.settle()
        assert (panel.asked_id, panel.display) == (asked, True)
        assert len(stage.engine.asked) == 2  # nothing was decided


async def test_a_command_that_needs_a_word_shows_what_there_is_and_what_is_typed(play: Play) -> None:
    async with play() as stage:
        await stage.pilot.press(*"/rule", "enter")
        await stage.settle()
        assert rows(stage)[:3] == ["allow …", "ask …", "deny …"]
        await stage.pilot.press("enter", *"Shell(ls)")
        await stage.settle()
        assert rows(stage) == ["rule allow Shell(ls)"]
        await stage.pilot.press("enter")
        assert (await stage.engine.heard(1))[-1] == AddRule(verdict="allow", rule="Shell(ls)")

        await stage.pilot.press(*"/approve", "enter")
        await stage.settle()
        await stage.pilot.press("escape")
        await stage.settle()
        assert stage.prompt.has_focus
        assert len(stage.engine.asked) == 1


async def test_C17_escape_from_any_list_that_a_command_opens_leaves_an_empty_prompt(play: Play) -> None:
    lists = [row.slash for row in COMMANDS if row.slash and row.choices() and row.arguments[0].required]
    assert {"approve", "complete", "rule", "profile", "theme", "export"} <= set(lists)
    async with play() as stage:
        stage.engine.say(TurnStarted(block_id="u1", text="hi"), TurnEnded(reason="done"))
        for name in lists:
            await stage.pilot.press(*f"/{name}", "escape", "enter")
            await stage.until(lambda: stage.app.screen is not stage.app.chat)
            await stage.pilot.press("escape")
            await stage.until(lambda: stage.app.screen is stage.app.chat)
            assert stage.prompt.text == "", name
            await stage.pilot.press("up")
            assert stage.prompt.text == f"/{name}"
            await stage.pilot.press("ctrl+c")
        # A prompt that was being written before the palette was opened is still there after it.
        for begun, left in (("/etc/hosts is broken", "/etc/hosts is broken"), ("/usage", "")):
            stage.prompt.fill(begun)
            await stage.pilot.press("ctrl+p", *"usage", "enter")
            await stage.until(lambda: stage.engine.asked)
            await stage.settle()
            assert stage.prompt.text == left
            await stage.pilot.press("ctrl+c")


async def test_C17_a_word_that_is_no_command_goes_to_the_model_only_when_sent_once_more(play: Play) -> None:
    async with play() as stage:
        sent = 0
        for text, told in (
            ("/profile/instructions", "No command /profile/instructions. Did you mean /profile?"),
            ("/Profile", "Did you mean /profile?"),
            ("/modle gpt-5", "Did you mean /model?"),
            ("/quit!", "Did you mean /quit?"),
            ("/zzz", "No command /zzz."),
            ("/zzz gives 500", "No command /zzz."),
            ("/model x\nand more", "/model takes one line."),
        ):
            stage.prompt.fill(text)
            await stage.pilot.press("enter")
            await stage.settle()
            note = stage.app.chat.query_one(Composer).note
            assert (stage.prompt.text, len(stage.engine.asked)) == (text, sent), text
            assert told in note
            await stage.pilot.press("enter")
            sent += "Enter sends it" in note
            assert len(await stage.engine.heard(sent)) == sent
        assert [verb.text for verb in stage.engine.asked if isinstance(verb, Submit)] == [
            *("/profile/instructions", "/zzz gives 500", "/model x\nand more")
        ]
        # What begins with a path is a prompt, on this machine or in a program; so is a comment.
        for text in ("/etc/hosts is broken", "/tmp is full", "/accounts/users/7 gives 500", "// a\nb", "/^a$/ fails"):
            stage.prompt.fill(text)
            await stage.pilot.press("enter")
            sent += 1
            assert (await stage.engine.heard(sent))[-1] == Submit(text=text)
