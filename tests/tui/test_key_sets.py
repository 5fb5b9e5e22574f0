"""Sequences of keys, and the sets of keys: Vim's with its modes in the prompt, Emacs's with ctrl+x."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest
from textual._xterm_parser import XTermParser
from textual.events import Key
from tui.test_typing_order import in_timeline

from oi_tui.app import commands
from oi_tui.app.commands.registry import COMMANDS
from oi_tui.app.engine.core.settings import ScreenSection, Settings
from oi_tui.app.engine.core.verbs import Decide, Interrupt
from oi_tui.app.screens.bound_keys import keys_in
from oi_tui.app.screens.key_check import check_keys
from oi_tui.app.screens.key_places import declared_keys
from oi_tui.app.screens.key_sets import KEY_SETS, check_in_set, key_set
from oi_tui.app.screens.palette_screen import PaletteScreen
from oi_tui.app.terminal.alt_keys import tell_alt_keys
from oi_tui.app.terminal.key_sequences import SequenceState, sequences_of
from oi_tui.widgets.approval import ApprovalPanel
from oi_tui.widgets.composer import Composer
from oi_tui.widgets.keyrow import KeyRow
from oi_tui.widgets.status import StatusBar
from oi_tui.widgets.timeline.view import Timeline
from support.stage import Play, Stage

VIM = Settings(screen=ScreenSection(keys="vim"))
EMACS = Settings(screen=ScreenSection(keys="emacs"))


@dataclass
class Pressed:
    key: str


@pytest.mark.parametrize(
    ("pressed", "handed"),
    [
        ("a", "a"),
        ("g g", "[g g]"),
        ("g j", "g j"),
        ("g g g", "[g g]"),
        ("g z a", "g [z a]"),
        ("ctrl+x 4 f", "[ctrl+x 4 f]"),
        ("ctrl+x 4 x", "ctrl+x 4 x"),
        ("ctrl+x g g", "ctrl+x [g g]"),
    ],
)  # fmt: skip
def test_C16_a_sequence_is_one_key_and_none_is_lost(pressed: str, handed: str) -> None:
    state: SequenceState[Pressed] = SequenceState(lambda name: Pressed(f"[{name}]"))
    out: list[Pressed] = []
    for key in pressed.split():
        out += state.press(Pressed(key), sequences_of(["home,g g", "z a", "ctrl+x 4 f"]))
    assert " ".join(one.key for one in out) == handed
    waiting = [one.key for one in state.release()]
    assert waiting == (["g"] if pressed == "g g g" else [])
    assert state.pending == []


@pytest.mark.parametrize("name", KEY_SETS)
def test_C16_in_each_set_nothing_is_in_conflict_and_everything_can_be_reached(name: str) -> None:
    keymap = key_set(name).keymap
    if file := KEY_SETS[name]:
        read = tomllib.loads(Path(commands.__path__[0], file).read_text(encoding="utf-8"))
        assert check_keys(read["keys"]) == (keymap, ())
    for row in COMMANDS:
        assert keys_in(keymap.get(row.id, row.key)) or row.slash, row.id
    same = {"composer.find": "find", "composer.delete_line_end": "composer.kill_line"}
    same |= {"editor.delete_line_end": "editor.kill_line", "editor.paste": "editor.insert_copied"}
    for one in declared_keys():
        chosen = keys_in(keymap.get(one.id, ",".join(one.keys)))
        if one.id and one.keys and not chosen:
            assert keys_in(keymap[same[one.id]]), one.id


@pytest.mark.parametrize("name", KEY_SETS)
def test_C4_no_set_answers_a_question_about_code_by_other_keys(name: str) -> None:
    assert [
        one for one in key_set(name).keymap if one.startswith(("approval.", "again.", "rebuild.run", "folder."))
    ] == []


def test_C16_own_keys_are_over_those_of_the_set() -> None:
    assert check_in_set({"timeline.start": "home"}, "vim").keymap["timeline.start"] == "home"
    assert check_in_set({"timeline.pin": "ctrl+f"}, "default").faults == (
        "timeline.pin: ctrl+f is the key of find (Search), the main screen",
    )
    assert check_in_set({"timeline.pin": "g"}, "vim").faults == (
        "timeline.pin: g clashes with g g, the key of timeline.start (Start), the timeline",
    )


def read_keys(sent: str) -> list[str]:
    return [event.key for event in XTermParser().feed(sent) if isinstance(event, Key)]


def test_C16_alt_and_a_character_are_keys_where_they_are_bound() -> None:
    tell_alt_keys(True)
    try:
        assert [read_keys(f"\x1b{one}") for one in "bf$0<"] == [
            ["alt+b"], ["alt+f"], ["alt+dollar_sign"], ["alt+0"], ["alt+less_than_sign"],
        ]  # fmt: skip
        assert read_keys("\x1b[A\x1bOB") == ["up", "down"]
    finally:
        tell_alt_keys(False)
    assert read_keys("\x1bb") == ["ctrl+left"]


def status_keys(stage: Stage) -> str:
    return stage.app.chat.query_one(StatusBar).keys


async def test_C16_sequences_work_are_shown_while_they_wait_and_lose_no_key(play: Play) -> None:
    async with play(settings=VIM) as stage:
        await stage.until(lambda: stage.app.keymap)
        await in_timeline(stage)
        timeline = stage.app.chat.query_one(Timeline)
        assert timeline.cursor == 1
        await stage.pilot.press("g")
        assert status_keys(stage) == "insert g …"
        await stage.pilot.press("g")
        await stage.settle()
        assert (timeline.cursor, status_keys(stage)) == (0, "insert")
        await stage.pilot.press("g", "j")  # no sequence: j does what it does
        await stage.settle()
        assert (timeline.cursor, status_keys(stage)) == (1, "insert")
        await stage.pilot.press("g")
        stage.prompt.focus()  # what began elsewhere is nothing here
        await stage.settle()
        await stage.pilot.press("g", "g")
        await stage.settle()
        assert stage.prompt.text == "gg"


async def test_C16_vims_modes_in_the_prompt(play: Play) -> None:
    async with play(settings=VIM, size=(100, 30)) as stage:
        await stage.until(lambda: stage.app.keymap)
        composer, area = stage.app.chat.query_one(Composer), stage.prompt
        await stage.pilot.press(*"one two three")
        assert status_keys(stage) == "insert"
        await stage.pilot.press("escape", "b", "d", "w")
        await stage.settle()
        assert (area.text, composer.mode, status_keys(stage)) == ("one two ", "normal", "normal")
        await stage.pilot.press("u", "0", "2")
        assert (area.text, status_keys(stage)) == ("one two three", "normal 2")
        await stage.pilot.press("x", "ctrl+r")
        assert area.text == "e two three"
        await stage.pilot.press("w", "v", "e")
        assert (area.selected_text, composer.mode) == ("two", "visual")
        await stage.pilot.press("c", *"yes", "escape")
        assert area.text == "e yes three"
        await stage.pilot.press("q", "y", "s", "z")
        assert area.text == "e yes three", "what is no command types nothing"
        await stage.pilot.press("A", *" end", "alt+k", "alt+0", "alt+x")  # escape and a letter, quickly
        assert (area.text, composer.mode) == (" yes three end", "normal")
        await stage.pilot.press("colon")
        await stage.settle()
        await stage.screen(PaletteScreen)
        await stage.pilot.press("escape", "escape")
        await stage.settle()
        await stage.pilot.press("enter")
        await stage.until(lambda: not area.text)
        assert (composer.mode, status_keys(stage)) == ("insert", "insert")


async def test_C16_escape_leaves_insert_mode_before_it_interrupts(play: Play) -> None:
    async with play(settings=VIM) as stage:
        await stage.until(lambda: stage.app.keymap)
        await stage.propose("print(1)")
        stage.prompt.focus()
        await stage.settle()
        await stage.pilot.press("a", "escape")
        await stage.settle()
        assert not [verb for verb in stage.engine.verbs if isinstance(verb, Interrupt)]
        stage.clock.now += 60.0
        await stage.pilot.press("y", "y", "p", "enter")
        await stage.settle()
        assert not [verb for verb in stage.engine.verbs if isinstance(verb, Decide)], "the question has not the keys"
        await stage.pilot.press("escape", "escape")
        await stage.until(lambda: any(isinstance(verb, Interrupt) for verb in stage.engine.verbs))


async def test_C16_emacs_keys_in_the_prompt(play: Play) -> None:
    async with play(settings=EMACS) as stage:
        await stage.until(lambda: stage.app.keymap)
        area = stage.prompt
        await stage.pilot.press(*"one two", "ctrl+a", "alt+f", "ctrl+k", "ctrl+e", "ctrl+y", "ctrl+y")
        assert area.text == "one two two"
        await stage.pilot.press("ctrl+a", "ctrl+space", "alt+f", "ctrl+w")
        assert area.text == " two two"
        await stage.pilot.press("ctrl+x", "u")
        assert area.text == "one two two"
        await stage.pilot.press("ctrl+b", "ctrl+t", "ctrl+x")
        assert status_keys(stage) == "ctrl+x …"
        await stage.pilot.press("q")  # no sequence: it is typed
        await stage.settle()
        assert "q" in area.text
        assert status_keys(stage) == ""
        await stage.pilot.press("alt+x")
        await stage.settle()
        await stage.screen(PaletteScreen)


async def test_C4_no_sequence_begins_at_a_question(play: Play) -> None:
    keys = {"timeline.start": "y y", "quit": "ctrl+q,ctrl+x y", "composer.drop": "f9", "editor.cut": "f9"}
    async with play(settings=Settings(keys={**keys, "timeline.copy": "c"})) as stage:
        await stage.until(lambda: stage.app.keymap)
        await stage.propose("print(1)")
        panel = stage.app.chat.query_one(ApprovalPanel)
        stage.clock.now += 60.0
        panel.arming.look()
        await stage.pilot.press("ctrl+x")
        assert status_keys(stage) == "", "it is a key of its own"
        assert panel.request is not None
        assert stage.app.chat.query_one("#approval-keys", KeyRow).labels[0].key == "y"
