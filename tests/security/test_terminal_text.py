"""Nothing that a terminal obeys or that cannot be seen gets through `safe_text`."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oi_tui.app.engine.text.safe import MOST_MARKS, SPELLED_OUT, SafeStream, safe_text, visible_text, without_hidden
from support.fuzzing import examples
from support.hostile import OBEYED_PIECES, piled, unseen

PIECES = st.one_of(
    st.text(max_size=6), st.characters(codec=None, exclude_categories=()), st.sampled_from(OBEYED_PIECES)
)
HOSTILE = st.lists(PIECES, max_size=25).map("".join)
THOROUGHLY = examples(400)
CUTS = st.lists(st.integers(0, 400), max_size=8).map(sorted)


def in_pieces(text: str, cuts: list[int]) -> str:
    """What a stream tells of a text that is cut there."""
    stream = SafeStream()
    ends = [min(cut, len(text)) for cut in cuts]
    return "".join(stream.feed(text[a:b]) for a, b in pairwise([0, *ends, len(text)])) + stream.finish()


@THOROUGHLY
@given(HOSTILE)
def test_T1_no_control_or_unseen_character_survives(text: str) -> None:
    assert unseen(safe_text(text)) == ""


@THOROUGHLY
@given(HOSTILE)
def test_cleaning_twice_changes_nothing(text: str) -> None:
    assert safe_text(safe_text(text)) == safe_text(text)


@THOROUGHLY
@given(HOSTILE, CUTS)
@example("\x1b]0;\x9b12x\x07y", [7])
@example("\x1b\x1b]0;t\x07[31m", [10])
@example("❤\ufe0f\ufe0f\u200d💻", [2, 3])
def test_T2_a_text_is_the_same_wherever_it_is_cut(text: str, cuts: list[int]) -> None:
    assert in_pieces(text, cuts) == safe_text(text)
    assert in_pieces(text, list(range(len(text)))) == safe_text(text)


def test_T2_a_sequence_without_an_end_keeps_nothing_back_for_long() -> None:
    stream = SafeStream()
    for piece in ("\x1b]52;c;", "\x1bP", "\x9d", "\x1b["):
        stream.feed(piece)
        assert sum(len(stream.feed("0" * 1_000)) for _ in range(1_000)) in (0, 1_000_000)
        assert stream.feed("0\nseen\n").endswith("\nseen\n")


@THOROUGHLY
@given(HOSTILE)
def test_T5_no_letter_carries_more_marks_than_a_screen_can_show(text: str) -> None:
    assert max(piled(safe_text(text)), piled(visible_text(text).text), piled(without_hidden(text))) <= MOST_MARKS


def test_T5_what_is_left_out_of_a_pile_is_written_out_where_a_decision_hangs_on_it() -> None:
    source = "x" + "\u0301" * 200
    assert safe_text(source) == source[: MOST_MARKS + 1]
    assert visible_text(source) == (source[: MOST_MARKS + 1] + "<U+0301>" * 170, 170)
    assert safe_text("👩\u200d" * 100_000).count("\u200d\u200d") == 0
    assert safe_text("👩🏽\u200d💻 한국어 ක්‍රී") == "👩🏽\u200d💻 한국어 ක්රී"


@THOROUGHLY
@given(HOSTILE)
def test_T1_what_is_shown_for_a_decision_is_safe_and_complete(text: str) -> None:
    shown, hidden = visible_text(text)
    assert safe_text(shown) == shown
    assert visible_text(shown) == (shown, 0)
    assert hidden == len(SPELLED_OUT.findall(shown)) - len(SPELLED_OUT.findall(text))


@pytest.mark.parametrize(
    "piece",
    [
        "\x1b",
        "\x1b[",
        "\x1b]0;",
        "\x1b     ",
        "\x9b0",
        "\x1b[0000",
        "👩\u200d",
        "a\u0301",
        "\u0301",
        "#\ufe0f",
        "\ufe0f\u200d",
    ],
)
def test_T5_a_long_row_of_half_a_sequence_is_read_in_one_go(piece: str) -> None:
    hostile = piece * (30_000 // len(piece))  # what takes the square of that never ends within the limit of a test
    for text in (safe_text(hostile), visible_text(hostile).text, without_hidden(hostile), in_pieces(hostile, [9])):
        assert "\x1b" not in text


@given(HOSTILE)
def test_T2_lines_are_cleaned_each_on_its_own(text: str) -> None:
    assert safe_text(text) == "\n".join(safe_text(line) for line in text.split("\n"))


@given(st.text(alphabet=st.characters(codec="ascii", exclude_categories=["Cc"])))
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert safe_text(text) == text


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("a\x1b]52;c;aGk=\x07b", "ab"),
        ("a\x1b]52;c;aGk=\x1b\\b", "ab"),
        ("\x1b[2J\x1b[6nrest", "rest"),
        ("\x9b31mred\x9d0;title\x9c!", "red!"),
        ("open \x1b]0;never closed\nnext", "open \nnext"),
        ("\x1bPq...\x1b\\x\x1b_Gdata\x1b\\y\x1bc\x1b(0z", "xyz"),
        ("user\u202etxt.exe", "usertxt.exe"),
        ("pay\u200bpal \U000e0041", "paypal "),
        ("a\ud800b", "a\ufffdb"),
        ("a\r\nb\rc", "a\nbc"),
        ("👩\u200d💻 ❤\ufe0f 1\ufe0f\u20e3", "👩\u200d💻 ❤\ufe0f 1\ufe0f\u20e3"),
        ("a\u200db x\ufe0f", "ab x"),
        ("žluťoučký 日本語 한국어 עברית", "žluťoučký 日本語 한국어 עברית"),
    ],
)
def test_T1_known_tricks_leave_only_what_is_seen(hostile: str, shown: str) -> None:
    assert safe_text(hostile) == shown
