"""Texts that name keys: they name those in use, on the main screen, and no other text in the source names one."""

import re

import pytest

from oi_tui.app.engine.core.settings import ScreenSection, Settings
from oi_tui.app.engine.core.verbs import Interrupt
from oi_tui.widgets.composer import Composer, PromptArea
from oi_tui.widgets.keyrow import key_hint, key_in_use
from oi_tui.widgets.lettering import Words
from oi_tui.widgets.search_bar import SearchBar
from oi_tui.widgets.timeline.view import Timeline
from support.stage import Play
from support.wording import ROOT, said_in_source

NAMES_A_KEY = re.compile(r"\b(?:ctrl|alt|shift|super)\+|(?<![\w/#])[fF](?:[1-9]|1[0-2])\b", re.IGNORECASE)

MAY_NAME_KEYS = {
    "app/screens/key_check.py": "faults of keys",
    "app/headless/runner.py": "no keys are bound without a screen",
    "app/subcommands/logs.py": "a shell",
    "app/linear": "lines of a terminal, whose keys nobody binds",
    "app/engine/models/tour_script.py": "a script, which begins with the declared keys",
    "app/engine/agent/execution.py": "the signal, not the key",
    "app/screens/key_sets.py": "what a set has",
    "app/subcommands/help.py": "before the screen is there",
    "app/screens/macro_player.py": "a key to be bound",
    "widgets/composer.py": "the first frame, before any key is bound",
    "app/terminal": "what a terminal sends",
}
"""Files and rooms whose texts name keys, and why."""


def test_C21_no_text_in_the_source_names_a_key_that_can_be_bound_to_something_else() -> None:
    found: dict[str, list[str]] = {}
    for room in ("app", "widgets"):
        for path in sorted((ROOT / room).rglob("*.py")):
            name = str(path.relative_to(ROOT))
            if not any(name == file or name.startswith(f"{file}/") for file in MAY_NAME_KEYS):
                said = (words for _, words in said_in_source(path.read_text(encoding="utf-8")))
                if named := [words for words in said if NAMES_A_KEY.search(words)]:
                    found[name] = named
    assert found == {}


def test_C21_a_hint_spells_keys_as_they_are_typed_and_leaves_out_what_is_unbound() -> None:
    area = PromptArea()
    assert key_hint(area, ("composer.newline", "new line"), ("composer.mark", "mark")) == "ctrl+j new line"
    assert key_in_use(area, "composer.undo") == "ctrl+_"
    assert key_in_use(area, "timeline.search", Timeline) == "/"
    with pytest.raises(KeyError):
        key_in_use(area, "composer.undoes")


KEYS = {
    "help": "f12",
    "composer.newline": "f9",
    "composer.undo": "ctrl+x u",
    "stop": "f6",
    "composer.select_line": "none",
    "editor.select_line": "none",
    "approval.limit": "f11",
    "approval.edit": "w",
    "timeline.ask_again": "Q",
    "timeline.next_match": "ctrl+t",
    "mouse": "f10",
}


async def test_C21_the_main_screen_names_the_keys_in_use(play: Play) -> None:
    async with play(settings=Settings(keys=KEYS, screen=ScreenSection(keys="emacs")), size=(120, 40)) as stage:
        await stage.until(lambda: stage.app.keymap)
        await stage.settle()
        chat = stage.app.chat
        composer = chat.query_one(Composer)
        assert composer.hint == "alt+x commands · f12 help"
        await stage.pilot.press("h", "i")
        await stage.settle()
        assert composer.hint == "f9 new line"
        await stage.pilot.press("f6")
        await stage.settle()
        assert "Cleared. ctrl+x u brings it back." in stage.seen
        await stage.pilot.press("f6")
        await stage.settle()
        assert "f6 again to quit" in stage.seen
        await stage.propose("print(1)")
        await stage.arm()
        await stage.pilot.press("question_mark")
        await stage.settle()
        assert "f11  gives this run a time limit" in stage.seen
        assert "w  edits it first" in stage.seen
        await stage.pilot.press("f11")
        await stage.settle()
        assert "f11: time limit 1 minute" in stage.seen
        await stage.pilot.press("tab")
        await stage.settle()
        assert composer.hint == "c copy · v view · Q ask again · / search · tab back" or "r run again" in composer.hint
        assert not [verb for verb in stage.engine.verbs if isinstance(verb, Interrupt)]
        bar = chat.query_one(SearchBar)
        bar.display = True
        await stage.settle()
        bar.matches = "2 matches"
        await stage.settle()
        assert "ctrl+t next · N previous · esc close" in str(bar.query_one("#search-count", Words).render())


async def test_C21_a_lost_engine_is_started_by_the_command_that_the_message_names(play: Play) -> None:
    async with play() as stage:
        stage.engine.die()
        await stage.until(lambda: stage.app.chat.bridge.stopped)
        await stage.settle()
        assert "/engine starts it again" in stage.seen
        stage.prompt.fill("/engine")
        await stage.pilot.press("enter")
        await stage.until(lambda: not stage.app.chat.bridge.stopped)
