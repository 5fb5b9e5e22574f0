"""Texts that name keys: they name those in use, on the main screen, and no other text in the source names one."""

import ast
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


NAMES_A_PLAIN_KEY = re.compile(
    r"(?<![\w/.`'+-])(enter|escape|esc|backspace|pgup|pgdn)(?![\w+(.-])|(?<![\w'])press ([a-z])(?!\w| key| number)",
    re.IGNORECASE,
)

SENDS = "Enter in the prompt always sends"
FIELD = "Enter in a field, which has no id"
LISTS = "Enter in a list or tree of Textual's, which has no id"
NEVER = "what Enter never does"

MAY_NAME_PLAIN_KEYS = {
    "app/commands/registry.py": ("enter", SENDS),
    "app/screens/bottom.py": ("enter", SENDS),
    "app/screens/choose.py": ("enter", LISTS),
    "app/screens/command_desk.py": ("enter", SENDS),
    "app/screens/folder.py": ("enter", LISTS),
    "app/screens/keys_screen.py": ("enter escape esc", "it catches all keys then, and these two lead out"),
    "app/screens/line_ask.py": ("enter", FIELD),
    "app/screens/prompt_desk.py": ("enter", SENDS),
    "app/screens/save_as.py": ("enter", FIELD),
    "widgets/approval.py": ("enter", NEVER),
    "widgets/approval_keys.py": ("enter", FIELD),
    "widgets/inspector.py": ("enter", FIELD),
    "widgets/inspector_view.py": ("enter", FIELD),
    "widgets/plan_steps.py": ("enter", FIELD),
    "widgets/question.py": ("enter", FIELD),
    "widgets/search_bar.py": ("enter", FIELD),
    "widgets/status.py": ("enter", SENDS),
    "widgets/stray_keys.py": ("enter", NEVER),
    "widgets/viewer/json_tree.py": ("enter", LISTS),
    "widgets/welcome.py": ("enter", SENDS),
}
"""Where these keys are named as they are, and why they are never others."""


def plain_keys(source: str) -> set[str]:
    """The keys that its texts and its labels of keys name, all but those of its bindings."""
    texts = [words for _, words in said_in_source(source) if len(words.split()) > 1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "KeyLabel" and node.args:
            texts += [str(node.args[0].value)] if isinstance(node.args[0], ast.Constant) else []
    return {(key or letter).lower() for text in texts for key, letter in NAMES_A_PLAIN_KEY.findall(text)}


def test_C21_no_text_names_enter_or_escape_where_another_key_may_do_that() -> None:
    others = MAY_NAME_KEYS.keys() | {"app/subcommands/secret_prompt.py"}  # it reads a line of the terminal
    found = {}
    for path in sorted([*(ROOT / "widgets").rglob("*.py"), *(ROOT / "app").glob("[cfs]*/*.py")]):
        name = str(path.relative_to(ROOT))
        if name not in others and (keys := plain_keys(path.read_text(encoding="utf-8"))):
            found[name] = keys
    may = {name: set(keys.split()) for name, (keys, _) in MAY_NAME_PLAIN_KEYS.items()}
    assert found == may


def test_C21_a_plain_key_is_found_in_a_text_and_a_label_and_not_in_a_binding() -> None:
    source = (
        'def f():\n    """Enter sends it."""\n'
        'say("esc stops it")\nsay(f"{x}: press y now")\nsay("centre it, press a key")\n'
        'Hint("pgup", "up", "Up")\nKeyLabel("enter", "back")\nKeyLabel("↑↓", "move")\n'
    )
    assert plain_keys(source) == {"esc", "y", "enter"}


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
