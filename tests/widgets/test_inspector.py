"""The panel of variables: what it shows, what its keys and clicks do, what it asks for."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widgets import Input, OptionList, Static

from oi_tui.app.engine.core.kernel_looks import VariableSeen, VariablesFound
from oi_tui.app.engine.core.variable import Telling, Variable
from oi_tui.app.engine.text.words import short_size
from oi_tui.themes.loader import load_palette, textual_theme
from oi_tui.widgets.inspector import Inspector
from oi_tui.widgets.inspector_view import VariableEntry, name_width, row_line, type_and_size
from oi_tui.widgets.keyrow import KeyRow
from support.snapshot import Snap

VARIABLES = (
    Variable(name="n", type="int", size=28, peek="42"),
    Variable(name="frame", type="DataFrame", shape="1000000×5", size=33_000_148, peek="date, shop, score"),
    Variable(name="title", type="str", shape="5", size=54, peek="'Oslo.'"),
    Variable(name="monthly", type="Series", shape="12", size=228),
)
FOUND = VariablesFound(language="python", variables=VARIABLES, added=("monthly",), changed=("frame",), removed=("tmp",))


class Stage:
    """The panel alone on a screen, and what it asked for."""

    def __init__(self, pilot: Pilot[None], panel: Inspector, asked: list[str]) -> None:
        self.pilot = pilot
        self.panel = panel
        self.asked = asked

    async def show(self, *replies: VariablesFound | VariableSeen) -> None:
        for reply in replies:
            if isinstance(reply, VariablesFound):
                self.panel.show(reply)
            else:
                self.panel.show_detail(reply)
        await self.pilot.pause()

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    @property
    def rows(self) -> list[str]:
        listed = self.panel.query_one(OptionList)
        return [str(listed.get_option_at_index(index).prompt) for index in range(listed.option_count)]

    def text(self, part: str) -> str:
        widget = self.panel.query_one(f"#inspector-{part}", Static)
        return str(widget.render()) if widget.display else ""

    @property
    def peek(self) -> str:
        peek = self.panel.query_one("#inspector-peek")
        return str(peek.query_one(Static).render()) if peek.display else ""

    @property
    def highlighted(self) -> str:
        return next((row for row in self.rows if row.startswith("▸")), "")


class Stand(App[None]):
    def __init__(self, theme: str) -> None:
        super().__init__()
        self.asked: list[str] = []
        chosen = textual_theme(load_palette(theme))
        self.register_theme(chosen)
        self.theme = chosen.name

    def compose(self) -> ComposeResult:
        yield Inspector()

    def on_mount(self) -> None:
        self.query_one(Inspector).styles.width = "1fr"
        self.query_one(Inspector).focus_filter()

    def on_inspector_peek_requested(self, message: Inspector.PeekRequested) -> None:
        self.asked.append(message.name)

    def on_inspector_close_requested(self) -> None:
        self.asked.append("closed")


Play = Callable[..., AbstractAsyncContextManager[Stage]]


@pytest.fixture
def play() -> Play:
    @asynccontextmanager
    async def playing(width: int = 36, height: int = 24, theme: str = "harbour") -> AsyncIterator[Stage]:
        app = Stand(theme)
        async with app.run_test(size=(width, height)) as pilot:
            await pilot.pause()
            yield Stage(pilot, app.query_one(Inspector), app.asked)

    return playing


# -- what is shown


async def test_what_the_last_run_did_comes_first_each_with_its_mark(play: Play) -> None:
    async with play(38) as stage:
        await stage.show(FOUND)
        assert [row.rstrip() for row in stage.rows] == [
            "▸+ monthly Series 12",
            " ~ frame   DataFrame 1M×5       33\u00a0MB",
            " - tmp     removed",
            "   n       int 42",
            "   title   str 'Oslo.'",
        ]
        assert stage.text("title") == "Variables  python · 4 +1 ~1 -1"


@pytest.mark.parametrize(
    ("telling", "words"),
    [
        ("cold", "No Python has run yet. What its runs leave behind is listed here."),
        ("dead", "Python has ended, and its variables with it."),
        ("busy", "Python is busy. It is asked when it is done."),
        ("silent", "This Python kernel does not tell its variables."),
        ("told", "No variables yet."),
    ],
)
async def test_where_there_is_nothing_to_list_words_say_why(play: Play, telling: Telling, words: str) -> None:
    async with play() as stage:
        await stage.show(VariablesFound(language="python", telling=telling))
        assert (stage.text("empty"), stage.rows) == (words, [])
        await stage.press("enter", "down", "up")
        assert stage.asked == []


async def test_what_was_listed_stays_while_the_kernel_is_busy_and_is_said_to_be_old(play: Play) -> None:
    async with play() as stage:
        await stage.show(FOUND, VariablesFound(language="python", telling="busy"))
        assert len(stage.rows) == 5
        assert stage.text("note") == "Python is busy. It is asked when it is done."
        assert "not up to date" in str(stage.panel.query_one("#inspector-title", Static).content)
        await stage.show(FOUND)
        assert stage.text("note") == ""


@pytest.mark.parametrize(
    "reply",
    [
        VariablesFound(language="python", telling="dead"),
        VariablesFound(language="r", telling="silent"),
        VariablesFound(language="python"),
    ],
)
async def test_what_is_no_more_is_not_shown_any_more(play: Play, reply: VariablesFound) -> None:
    async with play() as stage:
        await stage.show(FOUND, reply)
        assert stage.rows == []
        assert stage.text("summary") == ""


async def test_a_cut_listing_says_that_there_are_more(play: Play) -> None:
    async with play() as stage:
        await stage.show(VariablesFound(language="python", variables=VARIABLES, cut=True))
        assert stage.text("note") == "The newest are listed; there are more."
        assert stage.text("title").endswith("4+")


async def test_hostile_text_neither_commands_the_terminal_nor_becomes_markup(play: Play) -> None:
    evil = "\x1b]0;owned\x07[bold red]x[/]\n\u202ey"
    variable = Variable(name="x", type=evil, shape="", peek=evil)
    async with play(60) as stage:
        await stage.show(VariablesFound(language=evil, variables=(variable,), removed=(evil,)))
        await stage.press("down", "enter")
        await stage.show(VariableSeen(language="python", name="x", text=f"a\tb{evil}"))
        shown = "\n".join([*stage.rows, stage.text("title"), stage.text("summary"), stage.peek])
        assert "[bold red]" in shown
        assert not {"\x1b", "\x07", "\u202e", "\t"} & set(shown)
        assert stage.peek == "a   b[bold red]x[/]\ny"


async def test_two_hundred_rows_keep_the_cursor_on_the_same_name_when_they_change(play: Play) -> None:
    many = tuple(Variable(name=f"v{number:03}", type="int", peek=str(number)) for number in range(200))
    async with play() as stage:
        await stage.show(VariablesFound(language="python", variables=many))
        await stage.press(*["down"] * 50)
        assert stage.highlighted.split()[1] == "v050"
        await stage.show(VariablesFound(language="python", variables=many[10:], changed=("v199",)))
        assert stage.highlighted.split()[1] == "v050"
        await stage.press("down")
        assert stage.highlighted.split()[1] == "v051"


async def test_a_click_on_a_row_that_is_gone_by_then_does_nothing(play: Play) -> None:
    many = tuple(Variable(name=f"v{number}", type="int") for number in range(20))
    async with play() as stage:
        await stage.show(VariablesFound(language="python", variables=many))
        listed = stage.panel.query_one(OptionList)
        listed.post_message(OptionList.OptionSelected(listed, listed.get_option_at_index(19), 19))
        await stage.show(VariablesFound(language="python", variables=many[:2]))
        await stage.pilot.pause()
        assert stage.asked == []


# -- keys and mouse


async def test_typing_filters_by_name_and_by_type_and_escape_takes_it_back(play: Play) -> None:
    async with play() as stage:
        await stage.show(FOUND)
        await stage.press(*"FRAME")
        assert [row.split()[1] for row in stage.rows] == ["frame"]
        await stage.press("escape", *"seri")
        assert "monthly" in stage.rows[0]
        await stage.press("z")
        assert stage.text("empty") == "No name or type contains “seriz”."
        await stage.press("escape")
        assert (len(stage.rows), stage.asked) == (5, [])
        await stage.press("escape")
        assert stage.asked == ["closed"]


async def test_arrows_move_the_cursor_and_what_is_known_stands_below(play: Play) -> None:
    async with play() as stage:
        await stage.show(FOUND)
        await stage.press("down")
        assert stage.text("summary").split("\n") == ["frame DataFrame · 1000000×5 · 33\u00a0MB", "date, shop, score"]
        await stage.press("down")
        assert stage.text("summary") == "tmp was removed by the last run"
        await stage.press("up", "up")
        assert "monthly" in stage.highlighted
        await stage.press("pagedown")
        assert "title" in stage.highlighted


async def test_enter_asks_for_a_longer_look_and_escape_closes_it(play: Play) -> None:
    async with play() as stage:
        await stage.show(FOUND)
        await stage.press("down", "enter")
        assert (stage.asked, stage.peek) == (["frame"], "…")
        await stage.show(VariableSeen(language="python", name="n", text="not asked for"))
        assert stage.peek == "…"
        await stage.show(VariableSeen(language="python", name="frame", text="   a\n0  1"))
        assert stage.peek == "   a\n0  1"
        await stage.press("escape")
        assert (stage.peek, stage.asked) == ("", ["frame"])


async def test_another_row_ends_the_longer_look(play: Play) -> None:
    async with play() as stage:
        await stage.show(FOUND)
        await stage.press("enter", "down")
        assert stage.peek == ""
        await stage.show(VariableSeen(language="python", name="monthly", text="late"))
        assert stage.peek == ""


async def test_what_is_removed_cannot_be_looked_at(play: Play) -> None:
    async with play() as stage:
        await stage.show(FOUND)
        await stage.press("down", "down", "enter")
        assert (stage.asked, stage.peek) == ([], "")


async def test_a_longer_look_is_asked_for_again_after_a_run_and_goes_with_its_variable(play: Play) -> None:
    async with play() as stage:
        await stage.show(FOUND)
        await stage.press("enter")
        await stage.show(FOUND)
        assert stage.asked == ["monthly", "monthly"]
        await stage.show(VariablesFound(language="python", telling="busy"))
        assert stage.asked == ["monthly", "monthly"]
        await stage.show(VariablesFound(language="python", variables=VARIABLES[:1], removed=("monthly",)))
        assert (stage.peek, stage.asked) == ("", ["monthly", "monthly"])


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (VariableSeen(language="python", name="monthly"), "print it in a cell"),
        (VariableSeen(language="python", name="monthly", telling="busy"), "Press enter again"),
        (VariableSeen(language="python", name="monthly", telling="gone"), "not there any more"),
        (VariableSeen(language="python", name="monthly", telling="silent"), "does not tell"),
    ],
)
async def test_a_longer_look_that_shows_nothing_says_why(play: Play, seen: VariableSeen, words: str) -> None:
    async with play() as stage:
        await stage.show(FOUND)
        await stage.press("enter")
        await stage.show(seen)
        assert words in stage.peek


async def test_a_wide_longer_look_is_scrolled_after_tab_and_escape_leads_back_to_the_filter(play: Play) -> None:
    async with play() as stage:
        await stage.show(FOUND)
        await stage.press("enter")
        await stage.show(VariableSeen(language="python", name="monthly", text="x" * 100 + "\n1\n2"))
        await stage.press("tab", "right", "right")
        peek = stage.panel.query_one("#inspector-peek")
        assert peek.has_focus
        assert peek.scroll_target_x > 0
        await stage.press("escape")
        assert stage.panel.query_one(Input).has_focus
        assert stage.peek == ""


async def test_a_click_on_a_row_looks_closer_and_a_click_on_a_key_is_that_key(play: Play) -> None:
    async with play() as stage:
        await stage.show(FOUND)
        await stage.pilot.click(OptionList, offset=(5, 3))
        await stage.pilot.pause()
        assert stage.asked == ["n"]
        assert "n " in stage.highlighted
        await stage.press("escape")
        await stage.pilot.click(KeyRow, offset=(22, 0))
        await stage.pilot.pause()
        assert stage.asked == ["n", "closed"]


# -- rows


@pytest.mark.parametrize("width", [10, 20, 28, 34, 40, 80])
def test_a_row_is_exactly_as_wide_as_there_is_room(width: int) -> None:
    entries = [VariableEntry(variable, "+") for variable in VARIABLES]
    entries += [
        VariableEntry(Variable(name="名前" * 20, type="T" * 90, shape="1×2", size=10**12)),
        VariableEntry(VARIABLES[0], "-"),
    ]
    names = name_width(entries, width)
    assert {row_line(entry, width, names, highlighted=False).cell_length for entry in entries} == {width}


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (None, ""),
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (33_000_148, "33 MB"),
        (999_999, "1.0 MB"),
        (2**62, "4611686 TB"),
    ],
)
def test_a_size_is_told_in_the_unit_that_fits(size: int | None, text: str) -> None:
    assert short_size(size).replace("\u00a0", " ") == text


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ("1000000×5", "1M×5"),
        ("9999", "9999"),
        ("12345", "12.3k"),
        ("123456×1234567", "123k×1.2M"),
        ("9" * 30, "9" * 30),
    ],
)
def test_a_long_measure_is_shortened_in_a_row(shape: str, text: str) -> None:
    assert type_and_size(Variable(name="x", type="T", shape=shape)) == f"T {text}"


# -- pictures


async def test_how_it_looks_with_a_longer_look(play: Play, snap: Snap) -> None:
    async with play() as stage:
        await stage.show(FOUND)
        await stage.press("down", "enter")
        text = "         date    shop\n 0 2026-01-01    Oslo\n 1 2026-01-03  Bergen\n… 1000000 rows × 5 columns"
        await stage.show(VariableSeen(language="python", name="frame", text=text))
        await snap(stage.pilot, "longer-look")


async def test_how_it_looks_on_thirty_light_columns(play: Play, snap: Snap) -> None:
    async with play(30, 16, "harbour-light") as stage:
        await stage.show(FOUND, VariablesFound(language="python", telling="busy"))
        await snap(stage.pilot, "narrow-light")
