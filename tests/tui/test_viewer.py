"""The viewer: texts of any size, tables and trees on the whole screen, with the keys that all of them share."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input, Static

from oi_tui.app.engine.text.words import size_in_words
from oi_tui.app.screens.confirm import ConfirmScreen
from oi_tui.app.screens.save_as import SaveAsScreen
from oi_tui.app.screens.viewer import JsonContent, TableContent, TextContent, ViewerContent, ViewerScreen
from oi_tui.themes.loader import load_palette, textual_theme
from oi_tui.widgets.search_bar import SearchBar
from oi_tui.widgets.timeline.table_data import TableColumn, TableData, build_table
from oi_tui.widgets.viewer.json_tree import JsonTree
from oi_tui.widgets.viewer.line_index import READ_CHUNK, CannotRead
from oi_tui.widgets.viewer.pane import TextPane
from oi_tui.widgets.viewer.table_pane import TablePane
from support.snapshot import Snap

BOUND = 10.0
SIZES = pytest.mark.parametrize("size", [(80, 24), (120, 40), (40, 10)], ids=["narrow", "wide", "tiny"])

LOG = "".join(
    f"2026-03-{day:02} 12:00:00 \x1b[{32 if day % 5 else 31}m{'INFO' if day % 5 else 'ERROR'}\x1b[0m "
    f"day {day}: read {day * 1234:,} rows from measurements of station Ærøskøbing, mean score {day * 3.7:.2f}, all is "
    f"{'well' if day % 5 else 'lost'} 日本 {'·' * day}\n"
    for day in range(1, 61)
)
TREE = {
    "name": "Ærøskøbing",
    "open": True,
    "nothing": None,
    "readings": [
        {"day": day, "score": day * 3.7, "tags": ["a", "needle" if day == 450 else "b"]} for day in range(500)
    ],
    "text": "two\nlines and [b]no markup[/b]",
    "place": {"lat": 54.89, "lon": 10.41},
}


def table(rows: int = 60) -> TableData:
    columns = [TableColumn("", "int64", True), TableColumn("city", "object"), TableColumn("score", "float64", True)]
    columns += [TableColumn(f"reading {number}", "float64", True) for number in range(12)]
    head = [[n, f"[b]city {n}[/b]", n * 1.5, *(n + number / 10 for number in range(12))] for n in range(min(rows, 50))]
    tail = [[rows - 1, "needle", 9.0, *range(12)]]
    return build_table(columns, head, tail, index=1, total_rows=rows, total_columns=14)


class Bare(App[None]):
    """Nothing but a viewer."""

    def __init__(self, content: ViewerContent, folder: Path, theme: str) -> None:
        super().__init__()
        palette = load_palette(theme)
        self.register_theme(textual_theme(palette))
        self.theme = theme
        self.viewer = ViewerScreen(content, palette, folder)
        self.copies: list[str] = []

    def on_mount(self) -> None:
        self.push_screen(self.viewer)

    def copy_to_clipboard(self, text: str) -> None:
        self.copies.append(text)


class Stage:
    """The app under its pilot."""

    def __init__(self, app: Bare, pilot: Pilot[None]) -> None:
        self.app, self.pilot, self.viewer = app, pilot, app.viewer

    @property
    def screen(self) -> str:
        return self.app.export_screenshot().replace("&#160;", " ")

    @property
    def said(self) -> str:
        """All that was notified."""
        return "\n".join(note.message for note in self.app._notifications)

    @property
    def place(self) -> str:
        return str(self.viewer.query_one("#viewer-place", Static).render())

    @property
    def pane(self) -> TextPane:
        return self.viewer.query_one(TextPane)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def until(self, text: str, where: "Callable[[Stage], str]" = lambda stage: stage.screen) -> None:
        async with asyncio.timeout(BOUND):
            while text not in where(self):
                await self.pilot.pause()

    async def told(self, words: str) -> None:
        await self.until(words, lambda stage: stage.said)

    async def search(self, needle: str) -> None:
        await self.press("slash", *(key if key != " " else "space" for key in needle), "enter")

    async def found(self, place: str) -> None:
        await self.until(place, lambda stage: stage.place)


View = Callable[..., AbstractAsyncContextManager[Stage]]


@pytest.fixture
def view(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> View:
    """`async with view(content) as stage:` shows it. No program of the desktop gets what is copied."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"):
        monkeypatch.delenv(name, raising=False)

    @asynccontextmanager
    async def viewing(
        content: ViewerContent, size: tuple[int, int] = (80, 24), theme: str = "harbour"
    ) -> AsyncIterator[Stage]:
        app = Bare(content, tmp_path, theme)
        async with asyncio.timeout(60), app.run_test(size=size) as pilot:
            stage = Stage(app, pilot)
            await pilot.pause()
            await pilot.pause()
            yield stage

    return viewing


# --- text


async def test_a_text_is_moved_in_by_lines_pages_and_to_its_ends(view: View) -> None:
    async with view(TextContent("log", LOG)) as stage:
        assert stage.place.startswith("line 1 ")
        await stage.press("down", "j", "up")
        assert stage.place.startswith("line 2 ")
        await stage.press("pagedown")
        assert stage.place.startswith("line 23 ")
        await stage.press("G")
        assert stage.place == "line 39 · 100%"
        await stage.press("pagedown", "down")
        assert stage.place == "line 39 · 100%"
        await stage.press("g", "up")
        assert stage.place.startswith("line 1 ")


async def test_long_lines_are_moved_sideways_or_wrapped(view: View) -> None:
    async with view(TextContent("log", "x" * 100 + "END\nshort\n")) as stage:
        assert "END" not in stage.screen
        await stage.press("right")
        assert "END" in stage.screen
        await stage.press("left")
        assert "END" not in stage.screen
        await stage.press("w")
        assert "END" in stage.screen
        assert "↪" in stage.screen


async def test_line_numbers_come_and_go(view: View) -> None:
    async with view(TextContent("log", LOG)) as stage:
        await stage.press("number_sign", "G")
        assert stage.viewer.query_one(TextPane).render_line(21).text.startswith("   60 2026-03-60")
        await stage.press("number_sign")
        assert stage.viewer.query_one(TextPane).render_line(21).text.startswith("  2026-03-60")


async def test_a_wrapped_text_keeps_its_place_and_reaches_its_end(view: View) -> None:
    async with view(TextContent("log", LOG)) as stage:
        await stage.press(*["down"] * 10, "w")
        assert stage.place.startswith("line 11 ")
        await stage.press("G")
        assert stage.place.endswith("100%")
        assert stage.pane._shown.rows[-1].item == 59
        await stage.press("g")
        assert stage.place.startswith("line 1 ")


async def test_control_sequences_and_hidden_characters_do_not_reach_the_screen(view: View) -> None:
    async with view(TextContent("evil\x1b]0;title\x07", "a\x1b[2Jb\u202ec\x1b]52;c;aGk=\x07[b]d[/b]\n")) as stage:
        assert "abc[b]d[/b]" in stage.screen
        assert "\u202e" not in stage.screen


async def test_a_search_marks_goes_on_and_around_and_back(view: View) -> None:
    async with view(
        TextContent("log", "".join(f"line {n} {'Needle' if n % 30 == 7 else ''}\n" for n in range(100)))
    ) as stage:
        await stage.search("needle")
        await stage.until("line 7 ")
        assert stage.pane._here == 7
        for key, line in (("n", 37), ("n", 67), ("n", 97), ("n", 7), ("N", 97)):
            await stage.press(key)
            await stage.until(str(line), lambda stage: str(stage.pane._here))
        await stage.press("escape")
        assert stage.app.screen is stage.viewer
        assert stage.pane._search is None
        await stage.press("escape")
        assert stage.app.screen is not stage.viewer


async def test_what_is_not_there_is_said(view: View) -> None:
    async with view(TextContent("log", LOG)) as stage:
        await stage.search("nowhere")
        await stage.until("not here")


async def test_enter_looks_again_for_what_was_looked_for_before(view: View) -> None:
    async with view(TextContent("log", "".join(f"line {number}\n" for number in range(100)))) as stage:
        await stage.search("line 50")
        await stage.until("50", lambda stage: str(stage.pane._here))
        await stage.press("escape", "slash", "enter")
        await stage.until("50", lambda stage: str(stage.pane._here))
        assert stage.pane.has_focus


async def test_two_clicks_select_nothing(view: View) -> None:
    async with view(TextContent("log", "some words\n" * 100)) as stage:
        await stage.pilot.click(TextPane, offset=(5, 5), times=2)
        await stage.pilot.pause()
        assert stage.app.screen.get_selected_text() is None


async def test_a_big_file_is_seen_at_once_counted_later_and_searched_to_its_end(view: View, tmp_path: Path) -> None:
    path = tmp_path / "big.log"
    with path.open("w") as file:
        for number in range(40):
            file.write(f"line of block {number}\n" * (READ_CHUNK // 4))
        file.write("the needle\n")
    async with view(TextContent("big.log", path)) as stage:
        assert "line of block 0" in stage.screen
        await stage.press("G")
        await stage.until("the needle")
        await stage.press("g")
        await stage.search("the needle")
        await stage.found("100%")
        assert "the needle" in stage.screen


async def test_escape_stops_a_search_and_only_that(view: View) -> None:
    async with view(TextContent("log", "some hay\n" * (20 * READ_CHUNK))) as stage:
        await stage.press("slash", *"needle")
        stage.viewer.action_find(1)
        await asyncio.sleep(0)
        stage.viewer.action_step_back()
        assert stage.viewer.has_class("-searching")
        await stage.pilot.pause()
        assert stage.viewer.query_one(SearchBar).matches == ""


async def test_y_copies_all_of_a_short_text_without_colours(view: View) -> None:
    async with view(TextContent("log", "a \x1b[31mred\x1b[0m\nline\n")) as stage:
        await stage.press("y")
        assert stage.app.copies == ["a red\nline"]


async def test_y_copies_the_line_of_a_match(view: View) -> None:
    async with view(TextContent("log", LOG)) as stage:
        await stage.search("day 7:")
        await stage.until("6", lambda stage: str(stage.pane._here))
        await stage.press("y")
        assert stage.app.copies[0].startswith("2026-03-07 12:00:00 INFO day 7: read 8,638")


async def test_too_much_is_not_copied_but_said(view: View) -> None:
    async with view(TextContent("log", "x" * 80 + "\n" + "y\n" * 600_000)) as stage:
        await stage.press("y")
        assert stage.app.copies == []
        await stage.told("too much for the clipboard")


async def test_the_mouse_selects_text_without_numbers_or_breaks(view: View) -> None:
    async with view(TextContent("log", "x" * 100 + "\nsecond\nthird\n")) as stage:
        await stage.press("w", "number_sign")
        await stage.pilot.mouse_down(TextPane, offset=(8, 1))
        await stage.pilot.hover(TextPane, offset=(9, 2))
        await stage.pilot.mouse_up(TextPane, offset=(9, 2))
        await stage.pilot.pause()
        await stage.press("y")
        assert len(stage.app.copies) == 1
        head, tail = stage.app.copies[0].split("\n")
        assert set(head) == {"x"}
        assert "second".startswith(tail)
        assert tail


async def test_the_wheel_and_the_scroll_bar_move_the_text(view: View) -> None:
    async with view(TextContent("log", LOG)) as stage:
        await stage.pilot.mouse_down(TextPane, offset=(79, 20))
        await stage.pilot.mouse_up(TextPane, offset=(79, 20))
        await stage.pilot.pause()
        assert stage.place.endswith("100%")


async def test_a_file_that_is_not_there_cannot_be_viewed(tmp_path: Path) -> None:
    with pytest.raises(CannotRead, match=r"none\.txt cannot be read"):
        ViewerScreen(TextContent("x", tmp_path / "none.txt"), load_palette(), tmp_path)


async def test_an_empty_text_has_nothing_to_move_in(view: View) -> None:
    async with view(TextContent("nothing", "")) as stage:
        await stage.press("down", "G", "g", "pagedown", "right", "w", "y", "end")
        assert "0 bytes" in stage.screen


# --- a table


async def test_a_table_says_where_one_is_and_copies_the_cell(view: View) -> None:
    async with view(TableContent("df", table(1000))) as stage:
        await stage.press("down", "y")
        assert stage.place == "row 2 of 1,000 · city"
        assert stage.app.copies == ["[b]city 1[/b]"]


async def test_rows_that_are_not_here_are_a_gap(view: View) -> None:
    async with view(TableContent("df", table(1000))) as stage:
        await stage.press("G")
        assert stage.place.startswith("row 1,000 of 1,000")
        await stage.press("up")
        assert stage.place == "949 rows are not here"
        await stage.press("y")
        assert stage.app.copies == []


async def test_a_table_is_searched_cell_by_cell(view: View) -> None:
    async with view(TableContent("df", table(1000))) as stage:
        await stage.search("needle")
        await stage.found("row 1,000 of 1,000 · city")
        await stage.search("city 49")
        await stage.found("row 50 of 1,000 · city")


async def test_an_empty_table_is_shown(view: View) -> None:
    async with view(TableContent("df", build_table([TableColumn("a")], []))) as stage:
        await stage.press("down", "G", "y", "right")
        await stage.search("x")
        await stage.until("not here")


async def test_o_sorts_by_the_column_of_the_cursor_and_so_does_a_click_on_its_name(view: View) -> None:
    async with view(TableContent("df", table(60))) as stage:
        await stage.press("right", "o", "o")
        await stage.until("score ▼")
        await stage.press("g", "y")
        assert stage.app.copies == ["73.5"]
        await stage.pilot.click(TablePane, offset=(10, 0))
        await stage.until("city ▲")
        assert stage.place == "row 1 of 51 (60 in all) · city"


async def test_f_shows_only_rows_of_which_something_holds_and_says_what_is_wrong(view: View) -> None:
    async with view(TableContent("df", table(1000))) as stage:
        await stage.press("f", *"score > ", "enter")
        await stage.until("Type a value after the sign.")
        await stage.press(*"70", "enter")
        await stage.found("row 1 of 3 (1,000 in all) · city")
        await stage.press("f", *" and price = 1", "enter")
        await stage.told("There is no column price.")
        assert stage.place == "row 1 of 3 (1,000 in all) · city"
        stage.viewer.query_one(TablePane).filter(())
        await stage.found("row 1 of 1,000 · city")


async def test_cells_are_selected_and_copied_as_csv(view: View) -> None:
    async with view(TableContent("df", table(50))) as stage:
        await stage.press("down", "shift+down", "shift+right", "y")
        assert stage.app.copies[-1] == "city,score\n[b]city 1[/b],1.5\n[b]city 2[/b],3.0\n"
        await stage.press("space", "g", "Y")
        assert stage.app.copies[-1].splitlines()[1].startswith("0,[b]city 0[/b],0.0")
        await stage.press("ctrl+a", "y")
        assert len(stage.app.copies[-1].splitlines()) == 52


async def test_columns_are_hidden_and_chosen_and_a_row_is_gone_to(view: View) -> None:
    async with view(TableContent("df", table(50))) as stage:
        await stage.press("x", "C")
        await stage.until("✓ score")
        await stage.press(*"city", "enter", "escape")
        await stage.until("city")
        await stage.press("colon", *"99", "enter")
        await stage.until("There is no row 99")
        await stage.press("backspace", "backspace", *"40", "enter")
        assert stage.place.startswith("row 40 of 51")


async def test_i_tells_figures_about_the_column(view: View) -> None:
    async with view(TableContent("df", table(50))) as stage:
        await stage.press("right", "i")
        await stage.until("score · figures", lambda stage: str(stage.app.screen.query_one("#viewer-title").render()))


# --- JSON


async def test_json_grows_where_it_is_opened_and_says_the_way(view: View) -> None:
    async with view(JsonContent("reply", TREE)) as stage:
        await stage.press("down", "down", "down", "down", "right", "right", "right", "right")
        assert stage.place == '["readings"][0]["day"]'
        tree = stage.viewer.query_one(JsonTree)
        assert len(tree.root.children[3].children) == 201
        await stage.press("left", "left", "left")
        assert stage.place == '["readings"]'


async def test_more_branches_come_when_asked_for(view: View) -> None:
    async with view(JsonContent("reply", list(range(450)))) as stage:
        tree = stage.viewer.query_one(JsonTree)
        await stage.press("G")
        assert "250 more" in stage.screen
        await stage.press("enter")
        assert len(tree.root.children) == 401
        await stage.press("G", "enter")
        assert len(tree.root.children) == 450


async def test_a_search_opens_the_way_to_what_it_finds(view: View) -> None:
    async with view(JsonContent("reply", TREE)) as stage:
        await stage.search("needle")
        await stage.found('["readings"][450]["tags"][1]')
        await stage.press("y")
        assert stage.app.copies == ["needle"]
        await stage.search("lat")
        await stage.found('["place"]["lat"]')
        await stage.press("N")
        await stage.found('["place"]["lat"]')


async def test_y_copies_a_branch_as_json(view: View) -> None:
    async with view(JsonContent("reply", {"a": {"b": [1, None]}})) as stage:
        await stage.press("down", "y")
        assert json.loads(stage.app.copies[0]) == {"b": [1, None]}


@pytest.mark.parametrize("value", [None, 1, "x\ny", [], {}, {"": ""}, {"a": float("inf")}])
async def test_any_value_of_json_is_shown(view: View, value: object) -> None:
    async with view(JsonContent("reply", value)) as stage:
        await stage.press("down", "right", "left", "G", "y")
        assert stage.app.copies


async def test_deep_nesting_is_no_danger(view: View) -> None:
    value: list[object] = []
    for _ in range(400):
        value = [value]
    async with view(JsonContent("deep", value)) as stage:
        await stage.press("right", "right", "right")
        await stage.search("nowhere")
        await stage.until("not here")
        await stage.press("escape", "y")


# --- saving and the editor


async def test_a_text_is_saved_where_one_says(view: View, tmp_path: Path) -> None:
    async with view(TextContent("the log", "a\nb\n")) as stage:
        await stage.press("s")
        assert isinstance(stage.app.screen, SaveAsScreen)
        assert stage.app.screen.query_one(Input).value == "the-log.txt"
        await stage.press("enter")
        await stage.told("Saved:")
        assert (tmp_path / "the-log.txt").read_text() == "a\nb\n"
        await stage.press("s", "enter")
        assert isinstance(stage.app.screen, ConfirmScreen)


async def test_a_table_is_saved_as_csv_and_says_what_is_missing(view: View, tmp_path: Path) -> None:
    async with view(TableContent("df", table(1000))) as stage:
        await stage.press("s", "enter")
        await stage.told("949 rows")
        lines = (tmp_path / "df.csv").read_text().splitlines()
        assert lines[0].startswith(",city,score,reading 0")
        assert lines[2].startswith("1,[b]city 1[/b],1.5")


async def test_the_editor_gets_a_copy_with_the_right_ending(
    view: View, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "editor.sh"
    script.write_text(f'#!/bin/sh\ncp "$2" {tmp_path}/seen; echo "$1 $2" > {tmp_path}/words\n')
    script.chmod(0o700)
    monkeypatch.setenv("VISUAL", f"{script} --wait")
    async with view(JsonContent("reply", {"a": 1})) as stage:
        await stage.press("e")
        assert json.loads((tmp_path / "seen").read_text()) == {"a": 1}
        option, path = (tmp_path / "words").read_text().split()
        assert (option, Path(path).suffix, Path(path).exists()) == ("--wait", ".json", False)


def test_sizes_have_as_many_digits_as_matter() -> None:
    sizes = [1, 999, 1000, 9_940, 12_345, 999_600, 200_000_000, 1_300_000_000, 5_000_000_000_000]
    assert [size_in_words(size) for size in sizes] == [
        *("1 byte", "999 bytes", "1.0 kB", "9.9 kB", "12 kB", "1.0 MB", "200 MB", "1.3 GB", "5,000 GB"),
    ]


# --- pictures


async def still(stage: Stage) -> None:
    for line in stage.app.screen.query(Input):
        line.cursor_blink = False
    await stage.pilot.pause()


@SIZES
async def test_a_text_in_the_viewer_looks_like_its_picture(view: View, snap: Snap, size: tuple[int, int]) -> None:
    async with view(TextContent("Output of the third run", LOG), size) as stage:
        await stage.press("number_sign")
        await stage.search("day 1")
        await stage.until("0", lambda stage: str(stage.pane._here))
        await still(stage)
        await snap(stage.pilot)


@SIZES
async def test_a_table_in_the_viewer_looks_like_its_picture(view: View, snap: Snap, size: tuple[int, int]) -> None:
    async with view(TableContent("df", table(12345)), size) as stage:
        await stage.press("right", "right", "down", "down")
        await snap(stage.pilot)


@SIZES
async def test_a_tree_in_the_viewer_looks_like_its_picture(view: View, snap: Snap, size: tuple[int, int]) -> None:
    async with view(JsonContent("Reply of the server", TREE), size) as stage:
        await stage.press("down", "down", "down", "down", "right", "down", "right")
        await snap(stage.pilot)


async def test_the_viewer_is_readable_in_a_light_theme(view: View, snap: Snap) -> None:
    async with view(TextContent("Output of the third run", LOG), theme="harbour-light") as stage:
        await stage.press("w")
        await snap(stage.pilot)


async def test_the_question_where_to_save_looks_like_its_picture(view: View, snap: Snap) -> None:
    async with view(TextContent("Output of the third run", LOG)) as stage:
        await stage.press("s")
        stage.app.screen.query_one("#save-text", Static).update("in ~/work")
        await still(stage)
        await snap(stage.pilot)
