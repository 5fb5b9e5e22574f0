"""Numbers, sizes, times and foreign text in the words of a line."""

import pytest

from oi_tui.app.engine.text.words import (
    coarse_size,
    duration,
    one_line,
    plural,
    progress_size,
    quantity,
    short_size,
    size_in_words,
)


@pytest.mark.parametrize(
    ("number", "said"),
    [(0, "0 lines"), (1, "1 line"), (2, "2 lines"), (1_234, "1,234 lines"), (1_000_000, "1,000,000 lines")],
)
def test_a_noun_follows_its_number(number: int, said: str) -> None:
    assert quantity(number, "line") == said


def test_a_plural_of_its_own_is_said() -> None:
    assert [quantity(number, "match", "matches") for number in (0, 1, 2)] == ["0 matches", "1 match", "2 matches"]
    assert plural(2, "piece") == "pieces"


@pytest.mark.parametrize(
    ("count", "exact", "short", "coarse", "progress"),
    [
        (0, "0 bytes", "0 B", "0 bytes", "0 MB"),
        (1, "1 byte", "1 B", "1 bytes", "0 MB"),
        (734, "734 bytes", "734 B", "734 bytes", "0 MB"),
        (1_234, "1.2 kB", "1.2 kB", "1,234 bytes", "0 MB"),
        (98_400_000, "98 MB", "98 MB", "98 MB", "98 MB"),
        (1_117_000_000, "1.1 GB", "1.1 GB", "1.1 GB", "1.1 GB"),
        (12_340_000_000, "12 GB", "12 GB", "12 GB", "12.3 GB"),
        (5_000_000_000_000, "5,000 GB", "5.0 TB", "5000 GB", "5000.0 GB"),
    ],
)
def test_bytes_are_said_in_the_unit_that_fits_the_place(
    count: int, exact: str, short: str, coarse: str, progress: str
) -> None:
    assert size_in_words(count) == exact
    assert short_size(count) == short.replace(" ", "\N{NO-BREAK SPACE}")
    assert coarse_size(count) == coarse
    assert progress_size(count) == progress


def test_a_size_that_nobody_knows_is_not_said() -> None:
    assert short_size(None) == ""


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.0, "0.00 s"),
        (0.42, "0.42 s"),
        (0.995, "1.0 s"),
        (9.95, "10 s"),
        (119.4, "119 s"),
        (180, "3 min"),
        (7_200, "2.0 h"),
    ],
)
def test_times_have_as_many_digits_as_matter(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_foreign_text_becomes_one_line_of_what_can_be_seen() -> None:
    assert one_line("  a\tb\r\n\x1b[31mc\u202e  d ") == "a b c d"
