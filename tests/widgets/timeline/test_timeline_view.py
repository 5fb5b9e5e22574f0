"""The timeline as a person meets it: following, scrolling, folding, copying, clicking, selecting."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

import pytest
import textual._time
from textual.app import App, ComposeResult
from textual.events import MouseScrollDown, MouseScrollUp
from textual.geometry import Offset
from textual.pilot import Pilot
from textual.selection import Selection
from textual.widgets import Input

from oi_tui.app.engine.core.blocks import Block, CodeBlock, NoticeBlock, ProseBlock, UserBlock
from oi_tui.app.engine.core.outputs import ErrorOutput, RichOutput, StreamOutput
from oi_tui.themes.loader import load_palette
from oi_tui.widgets.rows.frames import AT_ONCE
from oi_tui.widgets.rows.row import ROW_BITS
from oi_tui.widgets.timeline.view import BlockAction, Timeline


class Clock:
    """Time that passes when a test says so."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


class SlowLine:
    """A driver whose terminal is behind when a test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, screen: "Screen") -> None:
        self._set = partial(monkeypatch.setattr, screen.page._driver, "is_behind", raising=False)
        self.is_behind = False

    def fall_behind(self) -> None:
        self.is_behind = True
        self._set(True)

    def catch_up(self) -> None:
        self.is_behind = False
        self._set(False)


class Page(App[None]):
    """A timeline over an input, noting the messages that it posts."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.wanted: list[tuple[BlockAction, str]] = []
        self.links: list[str] = []

    def compose(self) -> ComposeResult:
        yield Timeline(clock=self.clock)
        yield Input()

    def on_timeline_action_requested(self, message: Timeline.ActionRequested) -> None:
        self.wanted.append((message.wish, message.block.id))

    def on_timeline_link_clicked(self, message: Timeline.LinkClicked) -> None:
        self.links.append(message.href)


class Screen:
    """The timeline under test with what a person can see of it."""

    def __init__(self, pilot: Pilot[None]) -> None:
        assert isinstance(pilot.app, Page)
        self.pilot = pilot
        self.page = pilot.app
        self.timeline = pilot.app.query_one(Timeline)

    def rows(self) -> list[str]:
        """The rows on the screen, as text without the scroll bar."""
        timeline = self.timeline
        return [strip.text[:-1].rstrip() for strip in timeline.render_lines(timeline.size.region)]

    async def until(self, holds: Callable[[], object]) -> None:
        """Wait for frames until something holds."""
        async with asyncio.timeout(5):
            while not holds():
                self.page.clock.now += 1
                await self.pilot.pause()

    async def press(self, *keys: str) -> None:
        """Press keys, and let a frame pass."""
        await self.pilot.press(*keys)
        await self.settle()

    async def settle(self) -> None:
        """Let the frame come that was asked for."""
        await self.until(lambda: not self.timeline._frames.waiting)


@asynccontextmanager
async def shown(blocks: list[Block], size: tuple[int, int] = (40, 13)) -> AsyncIterator[Screen]:
    """The blocks on a screen, the timeline focused."""
    async with Page().run_test(size=size) as pilot:
        screen = Screen(pilot)
        screen.timeline.reset(blocks)
        screen.timeline.focus()
        await pilot.pause()
        await screen.settle()
        yield screen


def paragraphs(count: int) -> list[Block]:
    return [ProseBlock(id=str(number), text=f"Paragraph {number}.", state="complete") for number in range(count)]


async def test_a_new_block_is_seen_at_once_at_the_end() -> None:
    async with shown(paragraphs(20)) as screen:
        screen.timeline.put(20, UserBlock(id="u", text="A question"))
        await screen.until(lambda: any("A question" in row for row in screen.rows()))

        assert screen.timeline.follow
        assert screen.timeline.unseen == 0


async def test_a_key_before_the_first_frame_acts_on_the_last_block() -> None:
    async with shown([]) as screen:
        screen.timeline.reset(paragraphs(3))
        screen.timeline.action_ask("view")
        await screen.until(lambda: screen.page.wanted == [("view", "2")])


async def test_V3_scrolled_up_the_view_does_not_move_and_the_new_is_counted() -> None:
    async with shown(paragraphs(30)) as screen:
        await screen.press("pageup")
        before = screen.rows()

        for length in range(1, 9):
            screen.timeline.put(30, ProseBlock(id="s", text="line\n\n" * length))
            await screen.settle()
        screen.timeline.put(31, UserBlock(id="u", text="more"))
        await screen.settle()

        assert screen.rows()[:-1] == before[:-1]
        assert "↓ 2 new" in screen.rows()[-1]
        assert not screen.timeline.follow

        await screen.press("end")
        await screen.until(lambda: screen.timeline.follow)
        assert screen.timeline.unseen == 0
        assert any("more" in row for row in screen.rows())


async def test_V3_growth_above_the_view_does_not_move_it() -> None:
    async with shown(paragraphs(30)) as screen:
        await screen.press("pageup")
        before = screen.rows()

        screen.timeline.put(0, ProseBlock(id="0", text="taller\n\n" * 50, state="complete"))
        await screen.settle()

        assert screen.rows() == before


async def test_the_wheel_scrolls_and_the_end_is_followed_again() -> None:
    async with shown(paragraphs(30)) as screen:
        end = screen.rows()
        await screen.pilot._post_mouse_events([MouseScrollUp], Timeline, offset=(5, 5))
        await screen.settle()

        assert screen.rows() != end
        assert not screen.timeline.follow

        await screen.press("pagedown", "pagedown")
        assert screen.rows() == end
        assert screen.timeline.follow


async def test_V4_the_end_is_followed_when_what_is_below_grows_and_shrinks() -> None:
    async with shown(paragraphs(30)) as screen:
        below = screen.page.query_one(Input)
        for height in (8, 3, 1, 6, 3):
            below.styles.height = height
            await screen.pilot.pause()
            await screen.settle()
            assert screen.timeline.follow, height
            assert "Paragraph 29." in screen.rows()[-2] + screen.rows()[-1], height

        await screen.press("pageup")
        below.styles.height = 8
        await screen.pilot.pause()
        await screen.settle()
        assert not screen.timeline.follow


async def test_V4_the_end_is_followed_though_a_slow_terminal_holds_up_the_frame_after_a_resize(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The order on a busy machine: the timeline gets more rows, a frame of the old height is drawn before it learns of
    that, the terminal takes its time, something new comes, and the screen is laid out once more."""
    async with shown(paragraphs(30)) as screen:
        timeline, below = screen.timeline, screen.page.query_one(Input)
        below.styles.height = 8
        await screen.pilot.pause()
        await screen.settle()
        line = SlowLine(monkeypatch, screen)

        def draw_before_the_resize(_: object) -> None:
            if timeline.size.height > timeline._view.height and not line.is_behind:
                timeline._frames.draw()
                line.fall_behind()

        screen.page.screen.screen_layout_refresh_signal.subscribe(timeline, draw_before_the_resize, immediate=True)
        below.styles.height = 1
        await screen.pilot.pause()
        assert line.is_behind, "the order that this is about did not happen"
        timeline.put(30, UserBlock(id="u", text="A question"))
        screen.page.screen.refresh(layout=True)
        await screen.pilot.pause()
        line.catch_up()
        await screen.settle()

        assert timeline.follow
        assert any("A question" in row for row in screen.rows())


async def test_V4_it_is_drawn_though_textual_sends_no_resize_to_what_became_visible_after_another_view_scrolled() -> (
    None
):
    async with Page().run_test(size=(40, 13)) as pilot:
        screen = Screen(pilot)
        timeline, compositor = screen.timeline, screen.page.screen._compositor
        timeline.display = False
        await pilot.pause()
        timeline._view.resize(39, 0)
        timeline.reset(paragraphs(30))
        timeline.display = True
        compositor._full_map_invalidated = True  # as when a list scrolls
        assert timeline in compositor.full_map
        await screen.until(lambda: any("Paragraph 29." in row for row in screen.rows()))


@pytest.mark.parametrize("key", ["down", "pagedown", "up", "wheel"])
async def test_V4_a_key_between_what_came_and_its_frame_does_not_leave_the_end(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with shown(paragraphs(30)) as screen:
        timeline = screen.timeline
        line = SlowLine(monkeypatch, screen)
        line.fall_behind()
        timeline.put(30, ProseBlock(id="p", text="line\n\n" * 5, state="complete"))
        if key == "wheel":
            timeline.post_message(MouseScrollDown(timeline, 5, 5, 0, 1, 0, False, False, False))
            await screen.pilot.pause()
        else:
            await screen.pilot.press(key)
        line.catch_up()
        await screen.settle()

        assert timeline.follow is (key != "up"), key


async def test_focus_after_a_new_prompt_is_on_what_came_of_it() -> None:
    async with shown(paragraphs(3)) as screen:
        timeline = screen.timeline
        screen.page.query_one(Input).focus()
        await screen.pilot.pause()
        timeline.cursor = None
        timeline.follow = True
        timeline.put(3, UserBlock(id="u", text="A question"))
        await screen.settle()

        timeline.focus()
        await screen.pilot.pause()

        assert timeline.cursor == 3


async def test_the_pill_leads_to_the_end() -> None:
    async with shown(paragraphs(30)) as screen:
        await screen.press("home")
        screen.timeline.put(30, UserBlock(id="u", text="more"))
        await screen.settle()

        await screen.pilot.click(Timeline, offset=(34, screen.timeline.size.height - 1))
        await screen.settle()

        assert screen.timeline.follow


async def test_the_focus_brings_the_cursor_to_a_block_on_the_screen() -> None:
    async with shown(paragraphs(3)) as screen:
        screen.page.query_one(Input).focus()
        await screen.pilot.pause()  # the focus moves a moment later
        for number in range(3, 40):
            screen.timeline.put(number, paragraphs(40)[number])
        await screen.settle()
        screen.timeline.focus()
        await screen.until(lambda: screen.timeline.cursor == 39)
        assert "▌  Paragraph 39." in screen.rows()


async def test_the_cursor_moves_by_block_and_is_seen_in_the_gutter() -> None:
    async with shown(paragraphs(3)) as screen:
        assert screen.timeline.cursor == 2
        assert screen.rows()[:5] == ["   Paragraph 0.", "", "   Paragraph 1.", "", "▌  Paragraph 2."]

        await screen.press("up", "k")
        assert screen.timeline.cursor == 0
        assert screen.rows()[0].startswith("▌  Paragraph 0.")

        await screen.press("j", "down", "down")
        assert screen.timeline.cursor == 2


async def test_what_keys_act_on_is_never_off_the_screen() -> None:
    async with shown(paragraphs(30)) as screen:
        for number in range(30, 60):
            screen.timeline.put(number, ProseBlock(id=str(number), text=f"New {number}.", state="complete"))
        await screen.settle()
        assert any(row.startswith("▌") for row in screen.rows())

        for _ in range(5):
            await screen.pilot._post_mouse_events([MouseScrollUp], Timeline, offset=(5, 5))
        await screen.settle()
        assert any(row.startswith("▌") for row in screen.rows())


async def test_two_clicks_show_more_of_a_block_and_select_nothing() -> None:
    output = StreamOutput(name="stdout", text="".join(f"line {number}\n" for number in range(50)))
    block = CodeBlock(id="c", language="python", source="go()", state="ok", outputs=(output,))
    async with shown([block], (40, 70)) as screen:
        await screen.pilot.click(Timeline, offset=(5, 1), times=2)
        await screen.until(lambda: any("line 25" in row for row in screen.rows()))
        await screen.pilot.pause()
        assert screen.page.screen.get_selected_text() is None


async def test_the_cursor_is_gone_without_focus() -> None:
    async with shown(paragraphs(3)) as screen:
        screen.page.query_one(Input).focus()
        await screen.pilot.pause()

        assert not any(row.startswith("▌") for row in screen.rows())


async def test_a_block_higher_than_the_screen_is_read_to_its_end_before_the_next() -> None:
    tall = ProseBlock(id="t", text="\n\n".join(f"row {number}" for number in range(20)), state="complete")
    async with shown([tall, *paragraphs(2)]) as screen:
        await screen.press("home")
        seen = set(screen.rows())
        for _ in range(12):
            if screen.timeline.cursor != 0:
                break
            await screen.press("down")
            seen |= set(screen.rows())

        assert screen.timeline.cursor == 1
        assert all(any(f"row {number}" in row for row in seen) for number in range(20))


async def test_down_at_the_end_of_a_last_block_that_is_higher_than_the_screen_stays_there() -> None:
    async with shown([*paragraphs(2), ProseBlock(id="long", text="line\n\n" * 30, state="complete")]) as screen:
        end = screen.rows()
        await screen.press("down")
        assert screen.rows() == end
        assert screen.timeline.follow


async def test_enter_shows_what_is_hidden_and_space_folds() -> None:
    output = StreamOutput(name="stdout", text="".join(f"line {number}\n" for number in range(50)))
    block = CodeBlock(id="c", language="python", source="go()", state="ok", outputs=(output,))
    async with shown([block], (40, 70)) as screen:
        assert any("30 more lines" in row for row in screen.rows())

        await screen.press("enter")
        assert any("line 25" in row for row in screen.rows())

        await screen.press("enter")
        assert not any("line 25" in row for row in screen.rows())

        await screen.press("space")
        assert [row for row in screen.rows() if row] == ["▌✓ python · 1 line · output 50 lines"]


async def test_what_is_wanted_is_said_of_the_block_under_the_cursor() -> None:
    code = CodeBlock(id="c", language="python", source="a = 1", state="ok")
    async with shown([*paragraphs(1), code]) as screen:
        await screen.press("y", "c", "C", "r", "up", "m")
        await screen.until(lambda: len(screen.page.wanted) == 5)

        assert screen.page.wanted == [
            ("copy", "c"),
            ("copy", "c"),
            ("copy_output", "c"),
            ("rerun", "c"),
            ("copy_markdown", "0"),
        ]


async def test_T4_a_click_on_a_link_asks_and_opens_nothing() -> None:
    async with shown([ProseBlock(id="p", text="see [here](https://example.org/a)", state="complete")]) as screen:
        await screen.pilot.click(Timeline, offset=(8, 0))
        await screen.pilot.pause()

        assert screen.page.links == ["https://example.org/a"]


async def test_a_selection_is_text_without_gutters() -> None:
    async with shown(paragraphs(3)) as screen:
        await screen.pilot.mouse_down(Timeline, offset=(3, 0))
        await screen.pilot.hover(Timeline, offset=(12, 2))
        await screen.pilot.mouse_up(Timeline, offset=(12, 2))
        await screen.pilot.pause()

        assert screen.page.screen.get_selected_text() == "Paragraph 0.\n\nParagraph "


async def test_V4_a_resize_keeps_what_is_read_in_place() -> None:
    async with shown(paragraphs(60)) as screen:
        await screen.press("pageup", "pageup")
        first = next(row.strip("▌ ") for row in screen.rows() if "Paragraph" in row)

        await screen.pilot.resize_terminal(24, 8)
        await screen.settle()
        assert any(first in row for row in screen.rows())
        assert all(len(row) <= 24 for row in screen.rows())

        await screen.pilot.resize_terminal(40, 13)
        await screen.settle()
        assert any(first in row for row in screen.rows())


@pytest.mark.parametrize("size", [(1, 1), (3, 2), (5, 40), (200, 3)])
async def test_V4_any_size_is_survived(size: tuple[int, int]) -> None:
    output = StreamOutput(name="stderr", text="日本 " * 30)
    table = "| a | b |\n|---|---|\n| 1 | 2 |"
    blocks: list[Block] = [
        UserBlock(id="u", text="why " * 30),
        ProseBlock(id="p", text=f"{table}\n\n- a\n  - b\n    > c", state="complete"),
        CodeBlock(id="c", language="python", source="x = 1", state="running", outputs=(output,)),
    ]
    async with shown(blocks) as screen:
        await screen.pilot.resize_terminal(*size)
        await screen.settle()
        await screen.press("home", "end", "pageup")

        assert len(screen.rows()) == screen.timeline.size.height


async def test_a_running_block_turns_a_spinner_and_counts_seconds() -> None:
    block = CodeBlock(id="c", language="python", source="sleep(9)", state="running")
    async with shown([block]) as screen:
        first = screen.rows()[0]
        await screen.until(lambda: screen.rows()[0][1] != first[1] and " s" in screen.rows()[0])

        screen.timeline.put(0, CodeBlock(id="c", language="python", source="sleep(9)", state="ok", duration=9.0))
        await screen.until(lambda: screen.rows()[0] == "▌✓ python · 1 line · 9.0 s")


async def test_nothing_is_drawn_again_while_nothing_changes() -> None:
    async with shown(paragraphs(10)) as screen:
        before = [row.strip for row in screen.timeline._shown.rows]
        screen.timeline.put(9, ProseBlock(id="9", text="Paragraph 9. And more", state="complete"))
        await screen.until(lambda: any("And more" in row for row in screen.rows()))

        after = [row.strip for row in screen.timeline._shown.rows]
        assert sum(one is not other for one, other in zip(before, after, strict=True)) == 1


async def test_only_what_is_near_the_screen_is_ever_drawn() -> None:
    async with shown(paragraphs(20_000)) as screen:
        await screen.press("pageup", "pageup", "home", "end")

        assert len(screen.timeline._view._cells) < 100


async def test_another_palette_recolours_all_rows() -> None:
    async with shown(paragraphs(3)) as screen:
        light = load_palette("harbour-light")
        screen.timeline.set_look(palette=light)
        await screen.settle()

        style = next(iter(screen.timeline.render_lines(screen.timeline.size.region)[0])).style
        assert style is not None
        assert style.bgcolor is not None
        assert style.bgcolor.name == light.surfaces.background


async def test_a_reset_starts_over_at_the_end() -> None:
    async with shown(paragraphs(30)) as screen:
        await screen.press("home")
        screen.timeline.reset([UserBlock(id="n", text="Only this")])
        await screen.settle()

        assert screen.rows()[0].strip("▌ ") == "› Only this"
        assert screen.timeline.follow


async def test_T1_nothing_but_text_and_colours_reaches_the_terminal() -> None:
    hostile = "l\n\ta\x1b]52;c;aGk=\x07\x1b[2J\x9b6n\u202eb"
    blocks: list[Block] = [
        UserBlock(id="u", text=hostile, files=(hostile,)),
        ProseBlock(id="p", text=f"{hostile}\n\n```{hostile}\n{hostile}\n```\n[{hostile}](http://x/{hostile})"),
        CodeBlock(
            id="c",
            language=hostile,
            source=hostile,
            state="refused",
            refusal=hostile,
            outputs=(StreamOutput(name="stdout", text=hostile),),
        ),
    ]
    async with shown(blocks, (80, 40)) as screen:
        assert not any(character in row for row in screen.rows() for character in "\x1b\x07\x9b\u202e\n\t")


def code_block(number: int, **fields: object) -> CodeBlock:
    return CodeBlock(id=f"c{number}", language="python", source="x = 1", **({"state": "ok"} | fields))  # type: ignore[arg-type]  # fields of the block


async def test_one_jumps_between_prompts_errors_and_pictures() -> None:
    picture = RichOutput(data={"image/png": ""})
    blocks: list[Block] = [
        UserBlock(id="u1", text="one"),
        code_block(1, state="error"),
        UserBlock(id="u2", text="two"),
        code_block(2, outputs=(picture,)),
        NoticeBlock(id="n", level="error", title="Lost"),
        *paragraphs(30),
    ]
    async with shown(blocks) as screen:
        seen = []
        for key in ("[", "[", "]", "x", "X", "i", "I", "X"):
            await screen.press({"[": "left_square_bracket", "]": "right_square_bracket"}.get(key, key))
            seen.append(screen.timeline.cursor)

        # u2, u1, u2, error before it, the notice, the picture before that; none after it; the notice again
        assert seen == [2, 0, 2, 1, 4, 3, 3, 4]
        assert any("Lost" in row for row in screen.rows())


async def test_what_is_too_wide_is_moved_sideways_and_no_farther_than_it_reaches() -> None:
    table = "name " + " ".join(f"column{number}" for number in range(9))
    async with shown([code_block(1, outputs=(RichOutput(data={"text/plain": table}),))]) as screen:
        assert not any("column8" in row for row in screen.rows())

        await screen.press(*["right"] * 9)
        assert any("column8" in row for row in screen.rows())
        far = screen.rows()
        await screen.press("l")
        assert screen.rows() == far

        await screen.press(*["h"] * 9)
        assert any("name" in row for row in screen.rows())


async def test_a_search_marks_all_matches_and_n_goes_from_one_to_the_next() -> None:
    blocks = paragraphs(200)
    for number in (20, 70, 120):
        blocks[number] = ProseBlock(id=str(number), text=f"Here is a needle, number {number}.", state="complete")
    async with shown(blocks) as screen:
        screen.timeline.search("Needle".lower())
        await screen.until(lambda: screen.timeline.matches == "3 matches")

        found = []
        for key in ("N", "N", "n", "n", "n"):
            await screen.press(key)
            await screen.until(lambda: any("needle" in row for row in screen.rows()))
            found.append(screen.timeline.cursor)
        assert found == [120, 70, 120, 20, 70]

        y = next(y for y, row in enumerate(screen.rows()) if "needle" in row)
        marked = [segment.text for segment in screen.timeline.render_lines(screen.timeline.size.region)[y]]
        assert "needle" in marked

        screen.timeline.search("")
        await screen.settle()
        assert screen.timeline.matches == ""
        strip = screen.timeline.render_lines(screen.timeline.size.region)[y]
        assert "needle" not in [segment.text for segment in strip]


async def test_a_match_that_is_hidden_is_opened() -> None:
    text = "".join(f"line {number}\n" for number in range(60))
    block = code_block(1, outputs=(StreamOutput(name="stdout", text=text),))
    async with shown([block]) as screen:
        screen.timeline.search("line 33")
        await screen.press("n")
        await screen.until(lambda: any("line 33" in row for row in screen.rows()))


async def test_a_match_deep_in_a_long_output_is_opened_and_shown() -> None:
    text = "".join(f"line {number}\n" for number in range(4_900))
    block = CodeBlock(
        id="c", language="python", source="go()", state="ok", outputs=(StreamOutput(name="stdout", text=text),)
    )
    async with shown([block, *paragraphs(20)]) as screen:
        for needle in ("line 3333", "line 777"):
            screen.timeline.search(needle)
            await screen.press("N")
            await screen.until(partial(lambda needle: any(needle in row for row in screen.rows()), needle))


async def test_a_match_over_a_soft_break_is_marked_in_both_rows() -> None:
    async with shown([ProseBlock(id="p", text="word " * 6 + "split apart " + "word " * 6, state="complete")]) as screen:
        screen.timeline.search("split apart")
        await screen.settle()
        rows = screen.timeline.render_lines(screen.timeline.size.region)
        first = next(y for y, row in enumerate(screen.rows()) if "split" in row)
        assert "split" in [segment.text for segment in rows[first]]
        assert "apart" in [segment.text for segment in rows[first + 1]]


async def test_matches_are_counted_on_while_blocks_come() -> None:
    async with shown(paragraphs(3)) as screen:
        screen.timeline.search("more")
        await screen.until(lambda: screen.timeline.matches == "0 matches")
        screen.timeline.put(3, ProseBlock(id="3", text="more and more", state="complete"))
        await screen.until(lambda: screen.timeline.matches == "2 matches")
        screen.timeline.put(3, ProseBlock(id="3", text="more", state="complete"))
        await screen.until(lambda: screen.timeline.matches == "1 match")


async def test_what_comes_and_changes_during_a_long_count_is_counted() -> None:
    blocks: list[Block] = [ProseBlock(id=str(number), text="word " * 400, state="complete") for number in range(5_000)]
    async with shown(blocks) as screen:
        screen.timeline.search("needle")
        assert "so far" in screen.timeline.matches
        screen.timeline.put(0, ProseBlock(id="0", text="a needle", state="complete"))
        screen.timeline.put(5_000, ProseBlock(id="new", text="a needle", state="complete"))
        await screen.until(lambda: screen.timeline.matches == "2 matches")


async def test_however_often_a_search_is_begun_anew_one_timer_waits_for_its_work() -> None:
    blocks: list[Block] = [ProseBlock(id=str(number), text="word " * 400, state="complete") for number in range(5_000)]
    async with shown(blocks) as screen:
        for end in range(1, 7):
            screen.timeline.search("nowhere"[:end] + "#")
            screen.timeline.action_find(1)
        assert "so far" in screen.timeline.matches
        scheduled: list[asyncio.TimerHandle] = vars(asyncio.get_running_loop())["_scheduled"]
        waiting = [handle for handle in scheduled if "call_after" in repr(handle) and not handle.cancelled()]
        assert len(waiting) == 1


async def test_a_step_right_after_the_search_begins_with_what_is_on_the_screen() -> None:
    blocks = paragraphs(200)
    for number in (20, 70, 120):
        blocks[number] = ProseBlock(id=str(number), text=f"Here is a needle, number {number}.", state="complete")
    async with shown(blocks) as screen:
        screen.timeline.show_block(screen.timeline._view.blocks[100].id)
        await screen.settle()
        screen.timeline.search("needle")
        await screen.press("N")
        assert screen.timeline.cursor == 70


async def test_a_search_in_no_blocks_finds_nothing() -> None:
    async with shown([]) as screen:
        screen.timeline.search("needle")
        await screen.press("n", "N")
        assert screen.timeline.matches == "0 matches"


async def test_a_selection_over_soft_breaks_and_blocks_is_the_text_as_it_was_written() -> None:
    source = "value = compute(argument, another_argument, yet_another=1)"
    text = "One long paragraph of words that has to be broken into several rows here."
    code = CodeBlock(id="c", language="python", source=source, state="ok")
    async with shown([ProseBlock(id="p", text=text, state="complete"), code]) as screen:
        await screen.pilot.mouse_down(Timeline, offset=(0, 0))
        await screen.pilot.hover(Timeline, offset=(39, 9))
        await screen.pilot.mouse_up(Timeline, offset=(39, 9))
        await screen.pilot.pause()

        assert screen.page.screen.get_selected_text() == f"{text}\n\npython · 1 line\n{source}"


async def test_what_was_selected_is_not_when_other_blocks_come() -> None:
    async with shown(paragraphs(20)) as screen:
        screen.page.screen.selections = {screen.timeline: Selection(Offset(3, 1 << ROW_BITS), Offset(8, 3 << ROW_BITS))}
        assert screen.page.screen.get_selected_text()
        screen.timeline.reset(paragraphs(10))
        await screen.settle()
        assert not screen.page.screen.get_selected_text()


async def test_after_a_resize_the_scroll_bar_learns_of_the_heights_while_nothing_else_happens() -> None:
    blocks: list[Block] = [ProseBlock(id=str(n), text="word " * 60, state="complete") for n in range(3_000)]
    async with shown(blocks, (80, 13)) as screen:
        wide = screen.timeline._view.total
        await screen.pilot.resize_terminal(40, 13)
        await screen.until(lambda: screen.timeline._view.total > 1.4 * wide)


async def test_nothing_is_drawn_when_the_terminal_window_loses_and_gets_the_focus() -> None:
    async with shown(paragraphs(30)) as screen:
        screen.page.query_one(Input).focus()
        await screen.settle()
        before = [row.strip for row in screen.timeline._shown.rows]
        screen.page.app_focus = False
        await screen.pilot.pause()
        screen.page.app_focus = True
        await screen.pilot.pause()

        assert not screen.timeline._frames.waiting
        assert all(one is row.strip for one, row in zip(before, screen.timeline._shown.rows, strict=True))


async def test_a_frame_comes_also_when_the_machine_stood_still_at_the_moment_it_was_wanted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with shown(paragraphs(3)) as screen:
        screen.page.clock.now += 1  # the last frame is old: the next one is due in a millisecond
        late = itertools.count(time.monotonic(), 0.002)
        monkeypatch.setattr(textual._time, "get_time", late.__next__)  # which Textual's timers ask twice
        screen.timeline.put(3, UserBlock(id="u", text="later"))
        await screen.settle()
        assert any("later" in row for row in screen.rows())


async def test_the_first_frames_after_a_rest_come_at_once_and_then_no_more_than_the_eye_sees() -> None:
    async with shown(paragraphs(3)) as screen:
        screen.page.clock.now += 1
        for number in range(3, 3 + AT_ONCE):
            screen.timeline.put(number, UserBlock(id=f"u{number}", text=f"at once {number}"))
            async with asyncio.timeout(5):
                while screen.timeline._frames.waiting:
                    await screen.pilot.pause()
        assert any(f"at once {2 + AT_ONCE}" in row for row in screen.rows())

        screen.timeline.put(3 + AT_ONCE, UserBlock(id="u", text="a moment later"))
        await screen.pilot.pause()
        assert screen.timeline._frames.waiting
        await screen.settle()
        assert any("a moment later" in row for row in screen.rows())


async def test_no_frame_is_drawn_while_the_terminal_still_takes_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(paragraphs(3)) as screen:
        line = SlowLine(monkeypatch, screen)
        line.fall_behind()
        screen.timeline.put(3, UserBlock(id="u", text="later"))
        for _ in range(10):
            screen.page.clock.now += 1
            await screen.pilot.pause(0.02)
        assert not any("later" in row for row in screen.rows())

        line.catch_up()
        await screen.until(lambda: any("later" in row for row in screen.rows()))


async def test_the_timeline_scrolls_by_rows_and_half_pages() -> None:
    async with shown(paragraphs(30)) as screen:
        view = screen.timeline._view
        end = view.y
        seen = []
        for key in ("ctrl+y", "ctrl+e", "ctrl+u", "ctrl+d"):
            await screen.press(key)
            seen.append(view.y - end)
        assert seen == [-1, 0, -(view.height // 2), 0]


async def test_t_leads_to_the_line_that_raised_the_error() -> None:
    source = "\n".join(f"x{number} = {number}" for number in range(40)) + "\nraise ValueError"
    trace = ("-----", "ValueError  Traceback", "Cell In[1], line 41\n----> 41 raise ValueError", "ValueError: ")
    error = ErrorOutput(name="ValueError", value="", traceback=trace)
    block = CodeBlock(id="c", language="python", source=source, state="error", outputs=(error,))
    async with shown([block, *paragraphs(1)]) as screen:
        await screen.press("home", "t")
        assert any("raise ValueError" in row and "✗" in row for row in screen.rows())
        assert not any("x0 = 0" in row for row in screen.rows())


async def test_a_selection_that_ends_on_a_link_is_no_click_on_it() -> None:
    async with shown([ProseBlock(id="p", text="see [here](https://example.org/a)", state="complete")]) as screen:
        await screen.pilot.mouse_down(Timeline, offset=(3, 0))
        await screen.pilot.hover(Timeline, offset=(9, 0))
        await screen.pilot.mouse_up(Timeline, offset=(9, 0))
        await screen.pilot.pause()

        assert screen.page.links == []
