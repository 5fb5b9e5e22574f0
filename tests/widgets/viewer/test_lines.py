"""A text of any size as lines: counted in slices, read where it is looked at, searched without being held."""

import os
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oi_tui.widgets.timeline.search import Search
from oi_tui.widgets.viewer.line_index import LINES_AT_ONCE, READ_CHUNK, SEARCHED, CannotRead, LineIndex

TEXTS = st.lists(
    st.tuples(
        st.sampled_from(["a", "日本", "needle", "\n", "a\n", ""]), st.sampled_from([1, 3, READ_CHUNK // 3, READ_CHUNK])
    ),
    max_size=6,
).map(lambda parts: "".join(part * count for part, count in parts))


def counted(text: str) -> LineIndex:
    lines = LineIndex.of(text)
    while not lines.advance():
        pass
    return lines


def found(lines: LineIndex, needle: str, start: int = 0, step: int = 1) -> list[int]:
    return [at.line for at in lines.find(Search(needle), start, step) if at.line is not None]


def test_lines_are_those_between_newlines_and_an_empty_end_is_none() -> None:
    for text, expected in (("", []), ("a", ["a"]), ("a\n", ["a"]), ("\n", [""]), ("a\n\nb", ["a", "", "b"])):
        lines = counted(text)
        assert [lines.raw_line(number) for number in range(lines.count)] == expected


@settings(max_examples=60, deadline=None)
@given(TEXTS)
@example("日本" * READ_CHUNK)
@example("x" * READ_CHUNK + "\n" + "x" * READ_CHUNK)
def test_no_character_is_lost_or_cut_at_any_length_of_line(text: str) -> None:
    lines = counted(text)
    parts = [
        ("\n" if number and lines.number(number) is not None else "") + lines.raw_line(number)
        for number in range(lines.count)
    ]
    assert "".join(parts) == text.removesuffix("\n")


@settings(max_examples=60, deadline=None)
@given(TEXTS)
def test_numbers_count_the_lines_that_a_person_sees(text: str) -> None:
    lines = counted(text)
    numbers = [number for line in range(lines.count) if (number := lines.number(line)) is not None]
    assert numbers == list(range(1, len(text.removesuffix("\n").split("\n")) + 1 if text else 1))


@settings(max_examples=60, deadline=None)
@given(TEXTS, st.integers(0, 10 * READ_CHUNK))
def test_a_byte_lies_in_the_line_that_starts_before_it(text: str, offset: int) -> None:
    lines = counted(text)
    if not lines.count:
        return
    line = lines.at(offset)
    assert lines.start(line) <= offset
    assert line == lines.count - 1 or lines.start(line + 1) > offset


def test_a_long_text_is_counted_a_little_at_a_time() -> None:
    lines = LineIndex.of("x\n" * (READ_CHUNK * LINES_AT_ONCE))
    assert not lines.complete
    assert not lines.advance()
    assert lines.count == READ_CHUNK * LINES_AT_ONCE // 2
    assert 0 < lines.share < 1
    assert lines.reach(READ_CHUNK * LINES_AT_ONCE - 1)
    assert not lines.reach(READ_CHUNK * LINES_AT_ONCE)
    assert lines.complete


def test_only_what_is_looked_at_is_read(tmp_path: Path) -> None:
    reads: list[int] = []
    data = b"0123456789\n" * (20 * READ_CHUNK)

    def read(offset: int, count: int) -> bytes:
        reads.append(count)
        return data[offset : offset + count]

    lines = LineIndex(read, len(data))
    lines.reach(50)
    assert [lines.raw_line(number) for number in range(50)] == ["0123456789"] * 50
    assert sum(reads) <= LINES_AT_ONCE * READ_CHUNK + READ_CHUNK + 50 * 20


def test_a_line_is_shown_as_a_terminal_shows_it() -> None:
    lines = counted("10 %\r\x1b[31m99 %\x1b[0m\nplain\u202e\x07\n")
    (piece,) = lines.styled_line(0)
    assert (piece[0], piece[1].foreground) == ("99 %", 1)
    assert [text for text, _ in lines.styled_line(1)] == ["plain"]


def test_bytes_that_are_no_text_are_replaced() -> None:
    lines = LineIndex(lambda offset, count: b"a\xff\xfeb\n"[offset : offset + count], 5)
    lines.reach(0)
    assert lines.raw_line(0) == "a\ufffd\ufffdb"


def test_a_search_finds_the_lines_from_a_place_on_and_around() -> None:
    lines = LineIndex.of("x\n-\nX x\n-\nx")
    assert found(lines, "x", 1) == [2, 4, 0]
    assert found(lines, "x", 1, -1) == [0, 4, 2]
    assert found(lines, "x", 4) == [4, 0, 2]
    assert found(lines, "X", 0) == [2]
    assert found(lines, "x", 5) == [0, 2, 4]
    assert found(LineIndex.of(""), "x") == []


def test_a_search_sees_what_is_shown_and_not_what_was_written() -> None:
    lines = LineIndex.of("nee\x1b[1mdle\nneedle\rovers!\nnee\u200bdle\n")
    assert found(lines, "needle") == [0, 2]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(["needle", "hay", "日" * 5000, "hay" * READ_CHUNK, "needle" + "x" * READ_CHUNK]), max_size=40
    ),
    st.data(),
)
def test_every_line_with_a_match_is_found_once_wherever_it_starts(words: list[str], data: st.DataObject) -> None:
    lines = counted("\n".join(words))
    start = data.draw(st.integers(0, max(0, lines.count - 1)))
    step = data.draw(st.sampled_from([1, -1]))
    expected = [line for line in range(lines.count) if "needle" in lines.raw_line(line)]
    ahead = [line for line in expected if (line >= start if step > 0 else line <= start)]
    behind = [line for line in expected if line not in ahead]
    assert found(lines, "needle", start, step) == [*ahead[::step], *behind[::step]]


def test_a_search_through_much_text_goes_in_small_steps_and_tells_how_far_it_is() -> None:
    lines = LineIndex.of("some hay\n" * (20 * SEARCHED * READ_CHUNK // 9))
    steps = list(lines.find(Search("needle"), 0, 1))
    assert len(steps) >= 20
    shares = [step.share for step in steps]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_what_is_not_a_file_is_told_in_words(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, words in (("none.txt", "No such file"), (".", "not a regular file"), ("pipe", "not a regular file")):
        with pytest.raises(CannotRead, match=words):
            LineIndex.open(tmp_path / name)
    with pytest.raises(CannotRead, match="no file can have this name"):
        LineIndex.open(Path("a\0b"))


def test_a_file_that_is_cut_short_or_closed_shows_nothing_more(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text("line of text\n" * (3 * READ_CHUNK))
    lines = LineIndex.open(path)
    assert lines.reach(READ_CHUNK)
    os.truncate(path, 10)
    assert lines.raw_line(READ_CHUNK) == ""
    assert not lines.reach(4 * READ_CHUNK)
    assert lines.raw_line(lines.count - 1) == ""
    lines.close()
    assert lines.raw_line(0) == ""
