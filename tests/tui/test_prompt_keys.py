"""The keys that everybody tries at a prompt: stop, clear, quit, new line, complete, search."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from textual import events

from oi_tui.app.commands.registry import APPROVAL_HELP
from oi_tui.app.engine.core.events import (
    CodeFinished,
    CodeStarted,
    ExecutionFinished,
    ExecutionStarted,
    NoticeAdded,
    ProseFinished,
    ProseGrew,
    ProseStarted,
    SettingsChanged,
    TurnEnded,
    TurnStarted,
)
from oi_tui.app.engine.core.kernel_choice import KernelChoice
from oi_tui.app.engine.core.kernel_looks import CompleteCode, NamesFound
from oi_tui.app.engine.core.protocol import KernelsFound, ModelOffer, ModelsFound
from oi_tui.app.engine.core.settings import SandboxSection, Settings
from oi_tui.app.engine.core.values import ApprovalMode
from oi_tui.app.engine.core.variable import CodeName
from oi_tui.app.engine.core.verbs import Interrupt, Run, SetApproval, Submit, TellUsage, UseKernel, UseModel
from oi_tui.app.screens.confirm import ConfirmScreen
from oi_tui.app.screens.stop_keys import SECOND_QUIT
from oi_tui.widgets.approval import ApprovalPanel
from oi_tui.widgets.completion import CompletionList
from oi_tui.widgets.composer import Composer
from oi_tui.widgets.editor import SourceEditor
from oi_tui.widgets.lettering import Words
from oi_tui.widgets.search_bar import SearchBar
from support.kinds import narrow
from support.stage import Play, Stage


def note(stage: Stage) -> str:
    """What stands above the prompt."""
    return stage.app.chat.query_one(Composer).note


def offered(stage: Stage) -> list[str]:
    """Labels of the list, the chosen one first in its place."""
    shown = stage.prompt.completion.open_list
    return [choice.label for choice in shown.offer.choices] if shown is not None else []


async def press(stage: Stage, *keys: str) -> None:
    await stage.pilot.press(*keys)
    await stage.settle()


async def test_V12_ctrl_c_and_ctrl_d_do_in_each_state_what_hands_expect(play: Play) -> None:
    async with play() as stage:
        # A selection is copied, and stays.
        await press(stage, "h", "i", "shift+home", "ctrl+c")
        assert (stage.app.clipboard, stage.prompt.text, note(stage)) == ("hi", "hi", "Copied 2 characters.")
        # A text is cleared, which can be undone; ctrl+d deletes in it.
        await press(stage, "end", "ctrl+c")
        assert (stage.prompt.text, note(stage)) == ("", "Cleared. ctrl+_ brings it back.")
        await press(stage, "ctrl+underscore", "home", "ctrl+d")
        assert stage.prompt.text == "i"
        await press(stage, "ctrl+c")
        # A model that thinks is stopped; so is a cell, whatever stands in the prompt; twice it is the turn.
        stage.engine.say(TurnStarted(block_id="u", text="go"), ProseStarted(block_id="p"))
        await press(stage, "x", "ctrl+c")
        assert note(stage) == "Stopping the turn."
        stage.engine.say(ExecutionStarted(block_id="c", generation=1))
        stage.clock.now += 5.0
        await press(stage, "ctrl+c")
        assert note(stage) == "Interrupting the cell. Again stops the turn."
        await press(stage, "ctrl+c")
        assert await stage.engine.heard(3) == [Interrupt(), Interrupt(), Interrupt(turn=True)]
        assert stage.prompt.text == "x"
        # Ctrl+D with work under way asks, as quitting always does.
        await press(stage, "backspace", "ctrl+d")
        await stage.screen(ConfirmScreen)
        await press(stage, "n")
        # Nothing runs, nothing is written: once says what twice does.
        stage.engine.say(TurnEnded(reason="interrupted"))
        await press(stage, "ctrl+c")
        assert note(stage) == "ctrl+c again to quit"
        stage.clock.now += SECOND_QUIT + 1
        await press(stage, "ctrl+c")
        assert not stage.engine.closed
        await press(stage, "ctrl+c")
        await stage.until(lambda: stage.engine.closed)


async def test_V12_at_a_question_ctrl_c_and_ctrl_d_decide_nothing_and_the_mode_changes_none_of_it(play: Play) -> None:
    async with play() as stage:
        await stage.propose("x = 1")
        await stage.arm()
        await press(stage, "ctrl+d", "ctrl+c")
        said = stage.app.chat.query_one("#approval-said", Words)
        assert str(said.render()) == "Again stops the turn; the question stays open."
        modes: tuple[ApprovalMode, ...] = ("auto", "plan", "never", "ask")
        for mode in modes:
            await press(stage, "shift+tab")
            assert stage.engine.asked[-1] == SetApproval(mode=mode)
            stage.engine.say(SettingsChanged(model="m", approval=mode))
            await stage.settle()
            assert stage.app.chat.query_one(ApprovalPanel).display
            assert str(said.render()) == f"{APPROVAL_HELP[mode]}."
        assert not stage.app._notifications  # nothing lies over what is asked about
        assert not [verb for verb in stage.engine.asked if not isinstance(verb, SetApproval | Interrupt)]


async def test_what_is_said_stands_where_one_writes_and_another_mode_says_what_it_means(play: Play) -> None:
    async with play() as stage:
        await press(stage, *"/approve auto", "enter")
        assert note(stage) == "Code runs without asking, except destructive code."
        stage.app.notify("Something in passing.", severity="warning")
        assert note(stage) == "Something in passing."
        assert not stage.app._notifications


async def test_the_cycle_of_modes_never_runs_code_unasked_without_a_sandbox(play: Play) -> None:
    open_doors = Settings(sandbox=SandboxSection(mode="danger-full-access"))
    async with play(settings=open_doors) as stage:
        await press(stage, "shift+tab")
        assert await stage.engine.heard(1) == [SetApproval(mode="plan")]


async def test_new_lines_and_what_the_hint_says(play: Play) -> None:
    async with play() as stage:
        composer = stage.app.chat.query_one(Composer)
        await press(stage, "a", "alt+enter", "b", "backslash", "enter", "c")
        assert (stage.prompt.text, composer.hint) == ("a\nb\nc", "ctrl+j new line")
        await press(stage, "ctrl+c", *"!ls", "backslash", "enter", *"-l")
        assert stage.prompt.text == "!ls\\\n-l"
        # A cell of another language has its lines below the first.
        await press(stage, "ctrl+c", *"%%bash", "enter")
        assert (stage.prompt.text, note(stage)[:6]) == ("%%bash\n", "%%bash")
        await press(stage, *"ls", "enter")
        assert await stage.engine.heard(1) == [Run(language="python", source="%%bash\nls")]
        # `exit` alone offers to leave, and is still there for who stays.
        await press(stage, *"exit", "enter")
        await stage.screen(ConfirmScreen)
        await press(stage, "n")
        assert stage.prompt.text == "exit"


async def test_commands_and_their_values_complete_and_a_slip_stays_in_the_prompt(play: Play) -> None:
    async with play() as stage:
        await press(stage, "slash")
        assert offered(stage)[:2] == ["/help", "/model [NAME]"]
        await press(stage, "a", "tab")
        assert (stage.prompt.text, offered(stage)) == ("/approve ", ["ask", "auto", "never", "plan"])
        await press(stage, "down", "enter")
        assert await stage.engine.heard(1) == [SetApproval(mode="auto")]
        await press(stage, *"/mo", "escape")
        assert (stage.prompt.text, offered(stage)) == ("/mo", [])
        await press(stage, *"dle", "enter")
        assert (stage.prompt.text, note(stage)) == ("/modle", "No command /modle. Did you mean /model?")
        await press(stage, "x")
        assert note(stage) == ""
        # What was begun is run by Enter, as it always was; a click takes a row.
        await press(stage, "ctrl+c", *"/us", "enter")
        assert (await stage.engine.heard(2))[1:] == [TellUsage()]
        await press(stage, "slash")
        await stage.pilot.click(CompletionList, offset=(3, 2))
        await stage.settle()
        assert (stage.prompt.text, stage.prompt.has_focus) == ("/approve ", True)


async def test_files_complete_within_their_folder(play: Play) -> None:
    async with play() as stage:
        (stage.cwd / "my data").mkdir()
        (stage.cwd / "my data" / "sales.csv").write_text("a")
        (stage.cwd / "notes.md").write_text("a")
        await stage.pilot.press(*"read @")
        await stage.until(lambda: offered(stage) == ["my data/", "notes.md", "my data/sales.csv"])
        await press(stage, "tab")
        assert (stage.prompt.text, offered(stage)) == ('read @"my data/', ["my data/", "my data/sales.csv"])
        await press(stage, *"sl", "enter")
        assert (stage.prompt.text, offered(stage)) == ('read @"my data/sales.csv" ', [])
        await press(stage, *"@no", "enter", "enter")
        assert await stage.engine.heard(1) == [
            Submit(text='read @"my data/sales.csv" @notes.md ', files=("my data/sales.csv", "notes.md"))
        ]
        # Tab leaves an empty prompt only, and a paste opens no list.
        stage.prompt.post_message(events.Paste("@no"))
        await press(stage, "escape", "tab")
        assert stage.prompt.has_focus
        await press(stage, "escape", "ctrl+c", "tab")
        assert not stage.prompt.has_focus


async def test_values_of_model_and_kernel_complete_from_what_was_found_and_others_are_sent_as_typed(
    play: Play,
) -> None:
    async with play() as stage:
        await press(stage, *"/model ")
        assert offered(stage) == []
        await press(stage, "ctrl+c")
        here, download = ModelOffer(id="gpt-5", kind="key", title="x"), ModelOffer(id="big", kind="embedded", title="x")
        elsewhere = ModelOffer(id="far", kind="server", title="x", api_base="http://127.0.0.1:1/v1")
        stage.app.chat.parts.choices.note(
            ModelsFound(offers=(here, replace(here, id="gpt-5-mini"), replace(download, download_bytes=9), elsewhere))
        )
        spec = KernelChoice(name=".venv", kind="environment", title="Python 3.12 in .venv")
        broken, costly = replace(spec, name="old", obstacle="No."), replace(spec, name="theirs", costs="It stops.")
        stage.app.chat.parts.choices.note(KernelsFound(choices=(spec, broken, costly)))
        await press(stage, *"/model ")
        assert offered(stage) == ["gpt-5", "gpt-5-mini"]
        # What is typed is a name as it is; a row is taken by who goes to it.
        await press(stage, *"5", "enter")
        assert await stage.engine.heard(1) == [UseModel(name="5")]
        await press(stage, *"/model mini", "down", "enter")
        assert (await stage.engine.heard(2))[1:] == [UseModel(name="gpt-5-mini")]
        await press(stage, *"/kernel ve", "tab", "enter")
        assert (await stage.engine.heard(3))[2:] == [UseKernel(name=".venv")]


async def test_paths_outside_of_the_folder_complete_one_folder_at_a_time(
    play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / "my data").mkdir(parents=True)
    (home / "my data" / "sales.csv").write_text("a")
    (home / ".secret").write_text("a")
    (home / "notes.md").write_text("a")
    monkeypatch.setenv("HOME", str(home))
    async with play() as stage:
        await stage.pilot.press(*"@~/")
        await stage.until(lambda: offered(stage) == ["~/my data/", "~/notes.md"])
        await press(stage, "tab")
        assert stage.prompt.text == '@"~/my data/'
        await stage.until(lambda: offered(stage) == ["~/my data/sales.csv"])
        await press(stage, "tab")
        assert stage.prompt.text == '@"~/my data/sales.csv" '
        await press(stage, "ctrl+c")
        stage.prompt.insert(f"@{home}/.s")
        await stage.until(lambda: offered(stage) == [f"{home}/.secret"])
        (stage.cwd.parent / "quokka.txt").write_text("a")
        await press(stage, "ctrl+c", *"@../quok")
        await stage.until(lambda: offered(stage) == ["../quokka.txt"])
        await press(stage, "tab", "enter")
        assert await stage.engine.heard(1) == [Submit(text="@../quokka.txt ", files=("../quokka.txt",))]


async def test_a_click_in_the_timeline_leaves_the_keys_at_the_prompt_and_ctrl_f_searches(play: Play) -> None:
    async with play() as stage:
        stage.engine.say(TurnStarted(block_id="u", text="Redo it"), TurnEnded(reason="done"))
        await stage.settle()
        await stage.pilot.click("#timeline", offset=(5, 1))
        await press(stage, *"Redo")
        assert (stage.prompt.text, stage.app.screen) == ("Redo", stage.app.chat)
        await press(stage, "ctrl+f", *"Redo")
        bar = stage.app.chat.query_one(SearchBar)
        assert bar.display
        assert "n next" not in str(bar.query_one("#search-count", Words).render())
        await press(stage, "enter")
        assert stage.app.chat.parts.timeline.has_focus
        assert "n next" in str(bar.query_one("#search-count", Words).render())


async def test_the_answer_to_a_command_is_seen_from_further_up_and_another_view_keeps_the_place(play: Play) -> None:
    async with play() as stage:
        stage.engine.say(*(NoticeAdded(block_id=f"n{at}", level="info", title=f"note {at}") for at in range(40)))
        await stage.until(lambda: "note 39" in stage.seen)
        await stage.pilot.press("tab", "home", "tab")
        await stage.until(lambda: "note 0" in stage.seen)
        for typed in ("/context", "/budget"):
            assert "note 39" not in stage.seen
            await stage.pilot.press(*typed, "enter")
            await stage.settle()
        await stage.until(lambda: "note 39" in stage.seen)


async def test_the_hint_names_the_keys_for_the_block_at_the_cursor_and_cuts_no_words(play: Play) -> None:
    async with play() as stage:
        stage.engine.say(
            TurnStarted(block_id="u", text="Do it"),
            CodeStarted(block_id="c", language="python"),
            CodeFinished(block_id="c", language="python", source="x = 1"),
            ExecutionStarted(block_id="c", generation=1),
            ExecutionFinished(block_id="c", status="ok", duration=0.1),
            ProseStarted(block_id="p"),
            ProseGrew(block_id="p", text="Done."),
            ProseFinished(block_id="p"),
            TurnEnded(reason="done"),
        )
        await press(stage, "tab")
        composer = stage.app.chat.query_one(Composer)
        assert ("R ask again" in composer.hint, "r run again" in composer.hint) == (True, False)
        assert stage.prompt.placeholder == "Ask"
        await press(stage, "up")
        assert "r run again" in composer.hint
        await press(stage, "tab")
        assert "@file" in str(stage.prompt.placeholder)


async def test_a_prompt_of_the_command_line_has_its_files_or_waits(play: Play, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a")
    async with play(prompt=f"read @{tmp_path}/a.csv") as stage:
        assert await stage.engine.heard(1) == [Submit(text=f"read @{tmp_path}/a.csv", files=(f"{tmp_path}/a.csv",))]
    async with play(prompt=f"read @{tmp_path}/b.csv") as stage:
        await stage.until(lambda: stage.prompt.text)
        assert (stage.engine.asked, note(stage)[:12]) == ([], "No such file")


async def test_names_of_the_kernel_complete_python_code_and_late_answers_are_dropped(play: Play) -> None:
    def asked() -> CompleteCode:
        return narrow(stage.engine.asked[-1], CompleteCode)

    async with play() as stage:
        await press(stage, *"%x = sh", "tab")
        assert (asked().source, asked().place) == ("x = sh", 6)
        names = (CodeName(name="shop", kind="Shop"), CodeName(name="shore", kind="int"))
        stage.engine.reply(NamesFound(request_id=asked().request_id, start=4, names=names))
        await stage.until(lambda: offered(stage) == ["shop", "shore"])
        await press(stage, "o", "r")
        assert offered(stage) == ["shore"]
        await press(stage, "tab")
        assert (stage.prompt.text, offered(stage)) == ("%x = shore", [])
        # Typed on meanwhile: the answer is for another text. Else the only name there is, is typed.
        for keys, text in ((("tab", "."), "%x = shore."), (("tab",), "%x = shore.real")):
            await press(stage, *keys)
            only = (CodeName(name="real"),)
            stage.engine.reply(NamesFound(request_id=asked().request_id, start=asked().place, names=only))
            await stage.settle()
            assert stage.prompt.text == text
        await press(stage, "tab")
        stage.engine.reply(NamesFound(request_id=asked().request_id, telling="busy"))
        await stage.until(lambda: note(stage) == "No names while the Python kernel runs something.")
        # In the editor of a question Tab asks behind a name, and indents elsewhere.
        await stage.propose("shop")
        await stage.arm()
        await press(stage, "e", "tab", "end", ".", "tab")
        assert (asked().source, asked().place) == ("    shop.", 9)
        stage.engine.reply(NamesFound(request_id=asked().request_id, start=9, names=names))
        await stage.until(lambda: stage.app.screen.query_one(CompletionList).is_open)
        await press(stage, "escape")
        assert not stage.app.screen.query_one(CompletionList).is_open
        assert stage.app.screen.query_one(SourceEditor).text == "    shop."
