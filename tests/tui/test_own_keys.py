"""The person's own keys: what can be bound, what is refused, and that every place shows them."""

import importlib
import pkgutil

import pytest
from textual.binding import Binding
from textual.widget import Widget

from oi_tui.app import screens
from oi_tui.app.commands.registry import COMMANDS
from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.engine.core.verbs import Decide, FindModels
from oi_tui.app.screens.guide import GuideScreen
from oi_tui.app.screens.key_check import check_keys
from oi_tui.app.screens.key_help import keys_of_place, usual_tasks
from oi_tui.app.screens.key_places import KEY_PLACES
from oi_tui.app.screens.palette_screen import PaletteScreen
from oi_tui.widgets.approval import ApprovalPanel
from oi_tui.widgets.approval_keys import LETTERS, answer_letters
from oi_tui.widgets.composer import Composer
from oi_tui.widgets.keyrow import KeyRow
from oi_tui.widgets.lettering import Options
from support.stage import Play


@pytest.mark.parametrize(
    ("wished", "bound"),
    [
        ({"sessions": "f9"}, {"sessions": "f9"}),
        ({"sessions": " F9 , Ctrl+Alt+O "}, {"sessions": "f9,alt+ctrl+o"}),
        ({"sessions": "none"}, {"sessions": "none"}),
        ({"sessions": "ctrl+o", "composer.paste": "none"}, {"sessions": "ctrl+o", "composer.paste": "none"}),
        ({"sessions": "f2", "variables": "f3"}, {"sessions": "f2", "variables": "f3"}),
        ({"model": "alt+x"}, {"model": "alt+x"}),
        ({"composer.queue": "f9", "editor": "alt+q"}, {"composer.queue": "f9", "editor": "alt+q"}),
        ({"approval.run": "r"}, {"approval.run": "r"}),
        ({"approval.run": "f9"}, {"approval.run": "f9"}),
        ({"approval.why": "!"}, {"approval.why": "exclamation_mark"}),
        ({"timeline.start": "g g"}, {"timeline.start": "g g"}),
        ({"timeline.start": "end, z  g", "timeline.end": "G", "timeline.zoom": "z z"},
         {"timeline.start": "end,z g", "timeline.end": "G", "timeline.zoom": "z z"}),
        ({"quit": "ctrl+x ctrl+c", "composer.drop": "alt+x", "editor.cut": "alt+x"},
         {"quit": "ctrl+x ctrl+c", "composer.drop": "alt+x", "editor.cut": "alt+x"}),
        ({"viewer.back": "backspace"}, {"viewer.back": "backspace,escape"}),
    ],
)  # fmt: skip
def test_C3_keys_are_bound_by_the_id_of_a_command(wished: dict[str, str], bound: dict[str, str]) -> None:
    assert check_keys(wished) == (bound, ())


@pytest.mark.parametrize(
    ("wished", "fault"),
    [
        ({"sesions": "f9"}, "sesions: there is no such command, did you mean sessions?"),
        ({"sessions": "contrl+o"}, "sessions: there is no key 'contrl+o'"),
        ({"sessions": "g g"}, "sessions: g is typed into the text: use ctrl, alt or a function key"),
        ({"sessions": "x"}, "sessions: x is typed into the text: use ctrl, alt or a function key"),
        ({"sessions": "space"}, "sessions: space is typed into the text: use ctrl, alt or a function key"),
        ({"sessions": "escape s"}, "sessions: no sequence can begin with escape: it works at once"),
        ({"sessions": "f9, f9 a"}, "sessions: f9 a clashes with f9"),
        ({"sessions": "f9 a b c d"}, "sessions: a sequence has at most 4 keys"),
        ({"sessions": "f9 contrl+o"}, "sessions: there is no key 'contrl+o'"),
        (
            {"timeline.fork": "g g"},
            "timeline.fork: g g clashes with g, the key of timeline.start (Start), the timeline",
        ),
        (
            {"sessions": "f2 s"},
            "sessions: f2 s clashes with f2, the key of variables (Variables), the main screen",
        ),
        ({"sessions": "f2"}, "sessions: f2 is the key of variables (Variables), the main screen"),
        (
            {"sessions": "ctrl+o"},
            "sessions: ctrl+o is the key of composer.paste (Open the paste at the cursor), the prompt",
        ),
        ({"sessions": "ctrl+y"}, "sessions: ctrl+y is the key of timeline.row_up (A row up), the timeline"),
        (
            {"approval.run": "n"},
            "approval.run: n is the key of approval.refuse (Refuse, and say why), when code wants to run",
        ),
        ({"approval.run": "escape"}, "approval.run: escape moves or leads out: it cannot let code run"),
        ({"composer.send": "f9"}, "composer.send: enter always sends"),
        ({"approval.scope_1": "f9"}, "approval.scope_1: its key is the number of the choice"),
    ],
)  # fmt: skip
def test_C3_what_is_unknown_or_in_conflict_is_named_and_keeps_its_keys(wished: dict[str, str], fault: str) -> None:
    assert check_keys({**wished, "help": "f12"}) == ({"help": "f12"}, (fault,))


SMALL = {
    *("BrowserAskScreen", "ChooseScreen", "ColumnsScreen", "ConfirmScreen", "LineAskScreen", "SaveAsScreen"),
    *("PlanSteps", "QuestionPanel", "UndoScreen"),
}
"""Questions and small lists whose keys are all on the screen."""


def test_C3_every_key_of_every_place_has_an_id_and_a_line_of_help() -> None:
    for module in pkgutil.iter_modules(screens.__path__, "oi_tui.app.screens."):
        importlib.import_module(module.name)
    places = {owner for place in KEY_PLACES for owner in place.owners}
    kinds, waiting = set[type](), [Widget]
    while waiting:
        waiting += waiting.pop().__subclasses__()
        kinds |= set(waiting)
    ours = {kind for kind in kinds if kind.__module__.startswith("oi_tui.") and vars(kind).get("BINDINGS")}
    assert {kind.__name__ for kind in ours - places} == SMALL | {"ChatScreen"}
    told: dict[str, set[str]] = {}
    for kind in ours & places:
        for item in vars(kind)["BINDINGS"]:
            assert isinstance(item, Binding)
            assert item.id, item
            assert item.description, item
            told.setdefault(item.id, set()).add(item.key)
    names = {row.id for row in COMMANDS}
    assert not names & told.keys()
    assert {name: keys for name, keys in told.items() if len(keys) > 1 and name != "pick.back"} == {}


def test_C3_a_wish_that_falls_away_frees_nothing_for_others() -> None:
    """`sessions` would be free of f3 only if its own wish were granted."""
    keymap, faults = check_keys({"sessions": "ctrl+p", "variables": "f3"})
    assert keymap == {}
    assert [fault.partition(":")[0] for fault in faults] == ["sessions", "variables"]


@pytest.mark.parametrize("name", ["approval.run", "approval.always", "approval.install", "again.run"])
@pytest.mark.parametrize(
    "key",
    [
        "enter",
        "space",
        "tab",
        "backspace",
        "ctrl+m",
        "ctrl+j",
        "ctrl+i",
        "ctrl+enter",
        "alt+space",
        "y y",
        " ",
        "r,enter",
        "left",
        "shift+end",
        "pagedown",
        "escape",
        "ctrl+[",
        "ctrl+@",
        "return",
    ],
)
def test_C4_a_decision_is_never_made_by_a_key_that_sends_types_or_moves(name: str, key: str) -> None:
    keymap, faults = check_keys({name: key})
    assert keymap.get(name) in (None, "none")
    assert key == " " or len(faults) == 1


def test_C4_letters_that_answer_are_those_that_are_bound() -> None:
    assert answer_letters({}) == LETTERS
    assert answer_letters({"sessions": "f9"}) == LETTERS
    assert answer_letters({"approval.run": "r"}) == LETTERS - {"y"} | {"r"}
    assert answer_letters({"approval.run": "f9", "approval.stop": "none"}) == LETTERS - {"y", "s"}


def test_C3_hints_and_help_name_the_keys_that_are_bound() -> None:
    rows = {
        row.help: (row.keys, row.slash)
        for row in usual_tasks({"quit": "none", "sessions": "f9", "model": "alt+x"}).rows
    }
    assert rows["Quit"] == ("", "/quit")
    assert rows["Past sessions"] == ("f9", "")
    assert rows["Choose a model"] == ("alt+x", "")
    assert {row.id for row in COMMANDS} >= {"quit", "sessions", "model"}


async def test_C3_own_keys_work_and_every_place_shows_them(play: Play) -> None:
    keys = {"palette": "f9", "model": "alt+x", "sessions": "none", "help": "f12", "quit": "ctrl+p", "nothing": "f8"}
    async with play(settings=Settings(keys=keys), size=(100, 30)) as stage:
        await stage.until(lambda: stage.app.keymap)
        await stage.settle()
        assert stage.told("nothing: there is no such command")
        composer = stage.app.chat.query_one(Composer)
        assert composer.hint == "f9 commands · f12 help"
        await stage.pilot.press("ctrl+b", "f3")  # unbound
        await stage.settle()
        assert not stage.app.chat.parts.sessions.display
        await stage.pilot.press("f9")
        await stage.settle()
        await stage.screen(PaletteScreen)
        options = stage.app.screen.query_one(Options)
        lines = [str(options.get_option_at_index(index).prompt) for index in range(options.option_count)]
        assert any("Choose a model" in line and line.rstrip().endswith("/model  alt+x") for line in lines)
        assert any("Past sessions" in line or line.rstrip().endswith("/sessions") for line in lines)
        await stage.pilot.press("escape", "alt+x")
        assert (await stage.engine.heard(1))[-1] == FindModels()
        await stage.pilot.press("escape")
        await stage.settle()
        await stage.pilot.press("f12")
        await stage.settle()
        await stage.screen(GuideScreen)


async def test_C4_an_approval_by_an_own_key_is_as_guarded_as_y(play: Play) -> None:
    async with play(settings=Settings(keys={"approval.run": "r", "approval.stop": "none"})) as stage:
        await stage.until(lambda: stage.app.keymap)
        await stage.propose("print(1)")
        panel = stage.app.chat.query_one(ApprovalPanel)
        labels = [label.key for label in stage.app.chat.query_one("#approval-keys", KeyRow).labels]
        assert (labels[0], "s" in labels) == ("r", False)
        assert any(row.keys == "r" for section in keys_of_place(stage.app.screen) for row in section.rows)
        await stage.pilot.press("r")  # too early
        await stage.settle()
        assert panel.asked_id
        assert not [verb for verb in stage.engine.verbs if isinstance(verb, Decide)]
        stage.clock.now += 60.0
        await stage.pilot.press("enter")
        await stage.settle()
        assert stage.told("Enter never approves: r runs it.")
        await stage.pilot.press("y")
        await stage.settle()
        assert not [verb for verb in stage.engine.verbs if isinstance(verb, Decide)]


@pytest.mark.parametrize(("bound", "said"), [("f9", "f9 shows them"), ("none", "look at the end before")])
async def test_C3_a_long_question_names_the_key_that_shows_its_end_as_it_is_bound(
    play: Play, bound: str, said: str
) -> None:
    async with play(settings=Settings(keys={"approval.end": bound})) as stage:
        await stage.until(lambda: stage.app.keymap)
        await stage.propose("x = 1\n" * 100)
        assert said in str(stage.app.chat.query_one("#approval-more").render())
