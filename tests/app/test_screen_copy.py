"""What is written of a frame leaves the terminal as it would be had everything been written."""

import random
from collections.abc import Iterable

import pyte
import pytest
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.geometry import Region, Size
from textual.strip import Strip

from oi_tui.app.terminal.screen_copy import ScreenCopy, is_plain, pieces_of

COLUMNS, ROWS = 30, 12
SIZE = Size(COLUMNS, ROWS)
CONSOLE = Console(color_system="truecolor", force_terminal=True, width=COLUMNS)
STYLES = [
    *(Style.parse(text) for text in ("#d6dce4 on #10141b", "bold #5ccbbb on #10141b", "#465162 on #10141b", "reverse")),
    Style.parse("underline #ff0000 on #222222"),
    Style.null(),
]
WORDS = ["word", "sum", "   ", "a", "────", "▌✗", "x = 1", "naïve", "日本", "e\u0301", "👍", "…", "     "]


class Shown:
    """A terminal that was sent something."""

    def __init__(self) -> None:
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self.screen.reset_mode(7, private=True)  # no wrapping, as the driver has it
        self._stream = pyte.Stream(self.screen)

    def send(self, text: str) -> None:
        self._stream.feed(text)
        self._stream.feed("\x1b[1;1H")

    @property
    def cells(self) -> list[list[pyte.screens.Char]]:
        return [[self.screen.buffer[y][x] for x in range(COLUMNS)] for y in range(ROWS)]


def strip(random: random.Random, width: int) -> Strip:
    """Words in styles, exactly so wide."""
    segments = [Segment(random.choice(WORDS), random.choice(STYLES)) for _ in range(random.randrange(1, 9))]
    return Strip(segments).adjust_cell_length(width, random.choice(STYLES))


def whole(rows: list[Strip]) -> LayoutUpdate:
    return LayoutUpdate([[row] for row in rows], Region(0, 0, COLUMNS, ROWS))


class Frames:
    """Frames as an app makes them: all of it, a region, single spans, rows that move up and down."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.rows = [self._strip(COLUMNS) for _ in range(ROWS)]
        """What stands on the screen."""

    def _strip(self, width: int) -> Strip:
        return strip(self._random, width)

    def _lay(self, y: int, x: int, piece: Strip) -> None:
        end = x + piece.cell_length
        self.rows[y] = Strip.join([self.rows[y].crop(0, x), piece, self.rows[y].crop(end, COLUMNS)])

    def change(self) -> CompositorUpdate:
        """Another frame: what an app would have written."""
        pick, rows = self._random.randrange, self.rows
        match pick(5):
            case 0:
                width, height = pick(1, COLUMNS), pick(1, ROWS)
                place = Region(pick(COLUMNS - width + 1), pick(ROWS - height + 1), width, height)
                lines: list[Iterable[Strip]] = [[self._strip(width)] for _ in range(height)]
                for y, (line,) in enumerate(lines, place.y):
                    self._lay(y, place.x, line)
                return LayoutUpdate(lines, place)
            case 1:
                cut = pick(1, COLUMNS)
                chops = [{0: self._strip(cut), cut: self._strip(COLUMNS - cut)} for _ in range(ROWS)]
                spans = sorted((y, 0, pick(1, COLUMNS + 1)) for y in self._random.sample(range(ROWS), 3))
                update = ChopsUpdate(chops, spans, [[cut, COLUMNS]] * ROWS)
                for piece in pieces_of(update):
                    self._lay(*piece)
                return update
            case 2:
                up, still = pick(1, 4), pick(4)
                self.rows = [*rows[:still], *rows[still + up :], *(self._strip(COLUMNS) for _ in range(up))]
            case 3:
                down, still = pick(1, 4), pick(4)
                fresh = [self._strip(COLUMNS) for _ in range(down)]
                self.rows = [*fresh, *rows[: ROWS - still - down], *rows[ROWS - still :]]
            case _:
                rows[pick(ROWS)] = self._strip(COLUMNS)
        return whole(self.rows)


@pytest.mark.parametrize("seed", range(20))
def test_every_frame_looks_as_if_all_of_it_had_been_written(seed: int) -> None:
    copy, seen, frames = ScreenCopy(), Shown(), Frames(seed)
    seen.send(copy.write(whole(frames.rows), CONSOLE, SIZE))
    for number in range(20):
        seen.send(copy.write(frames.change(), CONSOLE, SIZE))
        expected = Shown()
        expected.send(whole(frames.rows).render_segments(CONSOLE))
        assert seen.screen.display == expected.screen.display, number
        assert seen.cells == expected.cells, number


def plain(text: str) -> Strip:
    return Strip([Segment(text.ljust(COLUMNS), STYLES[0])])


def test_what_did_not_change_is_not_written() -> None:
    copy = ScreenCopy()
    rows = [plain(f"row {number}") for number in range(ROWS)]
    copy.write(whole(rows), CONSOLE, SIZE)
    assert copy.write(whole(rows), CONSOLE, SIZE) == ""
    sent = copy.write(whole([*rows[:-1], plain("row 11 and more")]), CONSOLE, SIZE)
    assert sent == "\x1b[12;8H\x1b[0;38;2;214;220;228;48;2;16;20;27mand more\x1b[0m"


def test_rows_that_move_up_are_moved_by_the_terminal() -> None:
    copy = ScreenCopy()
    rows = [plain(f"some words of row {number}") for number in range(ROWS + 1)]
    copy.write(whole(rows[:ROWS]), CONSOLE, SIZE)
    sent = copy.write(whole(rows[1:]), CONSOLE, SIZE)
    assert "row 12" in sent
    assert "row 11" not in sent
    assert len(sent) < 120


def test_what_is_forgotten_is_written_again() -> None:
    copy = ScreenCopy()
    rows = whole([plain(f"row {number}") for number in range(ROWS)])
    first = copy.write(rows, CONSOLE, SIZE)
    copy.forget()
    assert copy.write(rows, CONSOLE, SIZE) == first


def test_a_terminal_of_another_size_shows_nothing_that_is_known() -> None:
    copy = ScreenCopy()
    rows = [plain(f"row {number}") for number in range(ROWS)]
    copy.write(whole(rows), CONSOLE, Size(COLUMNS, ROWS + 1))
    assert "row 3" in copy.write(whole(rows), CONSOLE, SIZE)


def test_control_sequences_go_through_as_they_are() -> None:
    copy = ScreenCopy()
    rows = [plain(f"row {number}") for number in range(ROWS)]
    copy.write(whole(rows), CONSOLE, SIZE)
    picture = LayoutUpdate([[Strip([Segment("\x1bPq#0\x1b\\", None)])]], Region(0, 3, COLUMNS, 1))
    assert copy.write(picture, CONSOLE, SIZE) == picture.render_segments(CONSOLE)
    assert "row 3" in copy.write(whole(rows), CONSOLE, SIZE)  # what it did is not known


def test_links_are_opened_and_closed() -> None:
    copy = ScreenCopy()
    linked = Strip([Segment("see ", STYLES[0]), Segment("here", Style(link="https://example.org/"))])
    rest = Segment(" " * (COLUMNS - 8), STYLES[0])
    sent = copy.write(LayoutUpdate([[Strip([*linked, rest])]], Region(0, 0, COLUMNS, 1)), CONSOLE, SIZE)
    before, _, after = sent.partition("here")
    assert "https://example.org/\x1b\\" in before.rpartition("see ")[2]
    assert after.startswith("\x1b]8;;\x1b\\")


@pytest.mark.parametrize(
    ("text", "yes"), [("a b", True), ("──▌ü…", True), ("日", False), ("e\u0301", False), ("✓", False)]
)
def test_only_what_is_one_cell_wide_everywhere_is_compared_by_cell(text: str, yes: bool) -> None:
    assert is_plain(text) is yes
