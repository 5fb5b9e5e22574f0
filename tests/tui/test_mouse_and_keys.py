"""What the mouse does has a key; what a key does in the main screen has a way for the mouse, or a reason why not."""

import ast
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest
from textual.binding import Binding
from textual.dom import DOMNode

from oi_tui.app.commands.registry import COMMANDS
from oi_tui.app.engine.core.events import (
    CodeFinished,
    CodeStarted,
    ExecutionFinished,
    ExecutionStarted,
    OutputAdded,
    TurnEnded,
)
from oi_tui.app.engine.core.outputs import StreamOutput
from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.screens.choose import ChooseScreen
from oi_tui.app.screens.key_places import KEY_PLACES, declared_keys
from oi_tui.app.screens.palette_screen import PaletteScreen
from oi_tui.app.screens.viewer import ViewerScreen
from oi_tui.widgets.keyrow import Hint
from oi_tui.widgets.timeline.view import Timeline
from support.stage import Play

ROOT = Path(__file__).parents[2]

OF_THE_MOUSE: dict[str, tuple[str, ...] | str] = {
    "app/screens/folder.py::Choices.on_click": ("folder.up", "folder.down"),
    "app/screens/timeline_pane.py::TimelinePane.on_click": ("focus",),
    "widgets/completion.py::CompletionList.on_click": "tab or enter takes what is chosen in the list: keys of the text",
    "widgets/composer.py::Composer.on_click": ("palette",),
    "widgets/keyrow.py::KeyRow.on_click": "each label is a key",
    "widgets/question.py::ChoiceList.on_click": "up, down and numbers choose as well",
    "widgets/rows/scroll_bar.py::ScrollBar.pull": ("timeline.page_up", "timeline.page_down", "viewer.page_down"),
    "widgets/sessions/session_rows.py::SessionRows.on_click": ("sessions.down", "sessions.open"),
    "widgets/text_box.py::TextBox._close_completion": "closes a list, as escape does",
    "widgets/timeline/view.py::Timeline._pull": ("timeline.page_up", "timeline.page_down"),
    "widgets/timeline/view.py::Timeline.on_click": (
        *("timeline.down", "timeline.unfold", "timeline.end", "timeline.widgets", "timeline.view", "timeline.copy"),
    ),
    "widgets/viewer/pane.py::TextPane._pull": ("viewer.page_up", "viewer.page_down"),
    "widgets/viewer/pane.py::TextPane.on_click": "it does nothing: two clicks would select a gigabyte",
    "widgets/viewer/pane.py::TextPane.on_mouse_scroll_down": ("viewer.down",),
    "widgets/viewer/pane.py::TextPane.on_mouse_scroll_up": ("viewer.up",),
    "widgets/viewer/table_pane.py::TablePane._pull": ("viewer.page_up", "table.page_down"),
    "widgets/viewer/table_pane.py::TablePane._roll": ("viewer.up", "viewer.down"),
    "widgets/viewer/table_pane.py::TablePane.on_click": ("table.left", "table.sort"),
}
"""Whatever takes a click or a wheel -> the ids of keys that do the same, or why it needs none."""

WITHOUT_THE_MOUSE: dict[str, str] = {
    "composer.*": "the text is written by keys; the mouse places the cursor and selects, commands are in the palette",
    "approval.limit": "its label in the row of keys changes with the question",
    "approval.scope_*": "their labels are in the row of keys while they are asked for",
    "approval.*": "scrolled by the wheel",
    "search.close": "its words are typed; the timeline takes the click that leaves it",
    "inspector.*": "scrolled by the wheel, chosen by a click",
    "sessions.*": "scrolled by the wheel, chosen by a click; the filter is typed, the rest is in the row",
    "timeline.left": "a wide result is opened from the menu of its block, where the wheel moves it",
    "timeline.right": "the same",
    "timeline.numbers": "the same: the whole block has them",
    "timeline.raised": "a click is on the line",
    "timeline.fold": "two clicks show more and less",
    "timeline.unfold": "two clicks",
    "timeline.search": "the command find, in the palette",
    "timeline.*match*": "its words are typed",
    "timeline.*": "the wheel, the scroll bar, a click",
}
"""Ids of keys that are no labels to click on -> why, or what the mouse does instead. The first that fits is meant."""

PLACES = ("The prompt", "When code wants to run", "The timeline", "The search line", "The variables", "The sessions")


def takers() -> Iterator[str]:
    """Every method that takes the mouse."""
    for room in ("app", "widgets"):
        for path in sorted((ROOT / room).rglob("*.py")):
            for owner in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if not isinstance(owner, ast.ClassDef):
                    continue
                for item in owner.body:
                    if not isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef):
                        continue
                    named = item.name.lstrip("_").startswith(("on_click", "on_mouse"))
                    said = " ".join(ast.unparse(one) for one in (*item.decorator_list, *item.args.args))
                    if named or "Mouse" in said or "Click)" in said:
                        yield f"{path.relative_to(ROOT).as_posix()}::{owner.name}.{item.name}"


def bindings(owner: type[DOMNode]) -> Iterator[Binding]:
    for item in vars(owner).get("BINDINGS", ()):
        yield item if isinstance(item, Binding) else Binding(*item)


def test_V24_what_the_mouse_does_has_a_key() -> None:
    assert sorted(set(takers())) == sorted(OF_THE_MOUSE)
    known = {one.id for one in declared_keys()} | {row.id for row in COMMANDS}
    named = {name for ids in OF_THE_MOUSE.values() if isinstance(ids, tuple) for name in ids}
    assert named - known == set()


def test_V24_what_a_key_does_in_the_main_screen_has_a_way_for_the_mouse_or_a_reason() -> None:
    places = [place for place in KEY_PLACES if place.title in PLACES]
    assert len(places) == len(PLACES)
    by_key = [one for place in places for owner in place.owners for one in bindings(owner)]
    in_menu = {one.id for one in by_key if one.action.startswith("ask(")}
    left = [
        one.id
        for one in by_key
        if one.id and not isinstance(one, Hint) and one.id not in in_menu
        if not any(fnmatch(one.id, pattern) for pattern in WITHOUT_THE_MOUSE)
    ]
    assert left == []
    unused = [pattern for pattern in WITHOUT_THE_MOUSE if not any(fnmatch(one.id or "", pattern) for one in by_key)]
    assert unused == []


async def test_V24_the_other_button_opens_all_that_can_be_done_with_a_block(play: Play) -> None:
    async with play(size=(80, 24)) as stage:
        stage.engine.say(
            CodeStarted(block_id="c1", language="python", author="user"),
            CodeFinished(block_id="c1", language="python", source="print(1)"),
            ExecutionStarted(block_id="c1", generation=1),
            ExecutionFinished(block_id="c1", status="ok", duration=0.2),
            TurnEnded(reason="done"),
        )
        await stage.settle()
        timeline = stage.app.chat.query_one(Timeline)
        await stage.until(lambda: timeline._shown.rows)
        row = next(number for number, row in enumerate(timeline._shown.rows) if row.item == 0)
        await stage.pilot.click(timeline, offset=(5, row), button=3)
        menu = await stage.screen(ChooseScreen)
        assert "View the whole" in stage.seen
        place = next(number for number, choice in enumerate(menu._choices) if "View the whole" in choice)
        menu.dismiss(place)
        await stage.screen(ViewerScreen)


async def test_V24_a_click_on_the_hint_opens_the_palette_with_every_command(play: Play) -> None:
    async with play(size=(100, 30)) as stage:
        await stage.until(lambda: "commands" in stage.seen)
        await stage.pilot.click("#composer-hint")
        await stage.screen(PaletteScreen)


@pytest.mark.parametrize(("keys", "shown"), [("f9", "f9 to show"), ("none", "more lines")])
async def test_C21_rows_of_blocks_name_the_key_that_shows_more(play: Play, keys: str, shown: str) -> None:
    async with play(size=(80, 24), settings=Settings(keys={"timeline.unfold": keys})) as stage:
        stage.engine.say(
            CodeStarted(block_id="c1", language="python", author="user"),
            CodeFinished(block_id="c1", language="python", source="rows()"),
            ExecutionStarted(block_id="c1", generation=1),
            OutputAdded(block_id="c1", output=StreamOutput(name="stdout", text="row\n" * 100)),
            ExecutionFinished(block_id="c1", status="ok", duration=0.2),
        )
        await stage.until(lambda: shown in stage.seen)
        await stage.until(lambda: "enter to show" not in stage.seen)
