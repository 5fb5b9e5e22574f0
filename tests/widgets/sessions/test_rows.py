"""The list on a screen: what is drawn, what is drawn again, where the cursor goes."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime

import pytest
from textual.app import App, ComposeResult
from textual.content import Content
from textual.pilot import Pilot

from oi_tui.app.engine.core.session_records import SessionRecord
from oi_tui.themes.loader import load_palette, textual_theme
from oi_tui.widgets.sessions.listing import ListEntry, list_sessions
from oi_tui.widgets.sessions.row_view import Cursor, RowRenderer
from oi_tui.widgets.sessions.session_rows import SessionRows

NOW = datetime(2026, 6, 17, 12, 0).timestamp()  # noqa: DTZ001 # the list is in local time


def records(count: int) -> list[SessionRecord]:
    """One an hour, in three folders."""
    return [
        SessionRecord(
            id=f"s{number}",
            created=0.0,
            active=NOW - 3600 * number,
            cwd=f"/{number % 3}",
            title=f"title {number}",
            turns=1,
        )
        for number in range(count)
    ]


class CountingPen(RowRenderer):
    """Counts the entries that it draws."""

    drawn = 0

    def lines(self, entry: ListEntry, cursor: Cursor, *, first: bool = False) -> list[Content]:
        self.drawn += 1
        return super().lines(entry, cursor, first=first)


class Stand(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []
        chosen = textual_theme(load_palette("harbour"))
        self.register_theme(chosen)
        self.theme = chosen.name

    def compose(self) -> ComposeResult:
        yield SessionRows()

    def on_session_rows_action_requested(self, event: SessionRows.ActionRequested) -> None:
        self.said.append(event.wish)


class Stage:
    def __init__(self, pilot: Pilot[None], rows: SessionRows, said: list[str]) -> None:
        self.pilot = pilot
        self.rows = rows
        self.said = said
        self.pen: CountingPen

    async def show(self, sessions: list[SessionRecord], *, keep: str = "") -> None:
        def pens(width: int) -> RowRenderer:
            self.pen = CountingPen(width, now=NOW, home="", here="/1", current="")
            return self.pen

        entries = list_sessions(sessions, now=NOW, here="/1")
        self.rows.show(entries, pens, keep=(keep, "", "") if keep else None)
        self.rows.set_active(True)
        self.rows.focus()
        await self.pilot.pause()

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    @property
    def here(self) -> str:
        return self.rows.key[0] if self.rows.key else ""

    @property
    def screen(self) -> list[str]:
        return [self.rows.render_line(y).text.rstrip() for y in range(self.rows.size.height)]


Play = Callable[..., AbstractAsyncContextManager[Stage]]


@pytest.fixture
def play() -> Play:
    @asynccontextmanager
    async def playing(width: int = 34, height: int = 20) -> AsyncIterator[Stage]:
        app = Stand()
        async with app.run_test(size=(width, height)) as pilot:
            await pilot.pause()
            yield Stage(pilot, app.query_one(SessionRows), app.said)

    return playing


async def test_of_ten_thousand_sessions_only_those_on_the_screen_are_drawn(play: Play) -> None:
    async with play() as stage:
        await stage.show(records(10_000))
        assert stage.pen.drawn <= 12
        await stage.press("end")
        assert "title" in stage.screen[-2]
        assert stage.pen.drawn <= 26
        assert len(list(stage.rows.children)) == 0


async def test_a_step_draws_two_entries_again_and_no_other(play: Play) -> None:
    async with play() as stage:
        await stage.show(records(10_000))
        before = stage.pen.drawn
        await stage.press("down")
        assert stage.pen.drawn - before == 2


async def test_another_width_and_another_theme_draw_what_is_on_the_screen_anew(play: Play) -> None:
    async with play() as stage:
        await stage.show(records(10_000))
        await stage.pilot.resize_terminal(50, 20)
        await stage.pilot.pause()
        assert {len(stage.rows.render_line(y).text) for y in range(20)} == {49}
        assert stage.pen.drawn <= 24


async def test_the_cursor_moves_over_sessions_and_stays_in_view(play: Play) -> None:
    async with play(height=12) as stage:
        await stage.show(records(40))
        assert stage.here == "s1"  # of the folder that one is in
        await stage.press("j", "down", "k")
        assert stage.here == "s4"
        await stage.press("G")
        last = stage.here
        assert any(line.startswith("▌") for line in stage.screen)
        await stage.press("pageup")
        assert stage.here != last
        assert any(line.startswith("▌") for line in stage.screen)
        await stage.press("home")
        assert stage.screen[0].split()[0] == "Today"


async def test_above_the_first_one_the_list_is_left(play: Play) -> None:
    async with play() as stage:
        await stage.show(records(3))
        await stage.press("up")
        assert stage.said == ["filter"]


async def test_the_cursor_stays_with_its_session_when_the_list_is_made_anew(play: Play) -> None:
    async with play(height=12) as stage:
        sessions = records(60)
        await stage.show(sessions)
        await stage.press(*["down"] * 9)
        kept = stage.here
        await stage.show([*records(3), *sessions[3:]], keep=kept)
        assert stage.here == kept
        gone = [session for session in sessions if session.id != kept]
        await stage.show(gone, keep=kept)
        assert stage.here not in ("", kept)
        assert any(line.startswith("▌") for line in stage.screen)


async def test_an_empty_list_bears_every_key(play: Play) -> None:
    async with play() as stage:
        await stage.show([])
        await stage.press("down", "pagedown", "end", "home", "enter", "d")
        assert (stage.here, stage.said) == ("", ["filter", "open", "delete"])


@pytest.mark.parametrize(
    ("key", "wish"),
    [
        ("enter", "open"), ("space", "look"), ("right", "look"), ("f", "fork"), ("r", "rename"), ("#", "tag"),
        ("a", "archive"), ("A", "archived"), ("d", "delete"), ("u", "undo"), ("e", "export"), ("s", "export"),
        ("n", "new"), ("/", "filter"),
    ],
)  # fmt: skip
async def test_each_key_is_a_wish(play: Play, key: str, wish: str) -> None:
    async with play() as stage:
        await stage.show(records(3))
        await stage.press({"#": "number_sign", "/": "slash"}.get(key, key))
        assert stage.said == [wish]


async def test_a_click_puts_the_cursor_there_and_a_double_click_opens(play: Play) -> None:
    async with play() as stage:
        await stage.show(records(9))
        await stage.pilot.click(SessionRows, offset=(5, 3))
        assert (stage.here, stage.said) == ("s4", [])
        await stage.pilot.click(SessionRows, offset=(5, 0))  # a heading
        assert stage.here == "s4"
        await stage.pilot.click(SessionRows, offset=(5, 5), times=2)
        await stage.pilot.pause()
        assert (stage.here, stage.said) == ("s7", ["open"])


async def test_the_wheel_scrolls_and_leaves_the_cursor(play: Play) -> None:
    async with play() as stage:
        await stage.show(records(100))
        stage.rows.scroll_relative(y=30, animate=False)
        await stage.pilot.pause()
        assert stage.rows.scroll_offset.y == 30
        assert stage.here == "s1"
