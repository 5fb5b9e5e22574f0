"""Every row of tests/ROWS.md has a test that is named after it, `test_U12_...`, and no test names a row that is none.

A name can hold several rows, `test_k18_k19_...`, in either case and with leading zeros.
"""

import re
from pathlib import Path

from support.thorough import LEFT_OUT

TESTS = Path(__file__).parent

ROW = re.compile(r"^\| ([A-Z])(\d+) \| (.+?) \|(.*)\|$", re.MULTILINE)
ROWS = ROW.findall((TESTS / "ROWS.md").read_text(encoding="utf-8"))
LETTERS = "".join(dict.fromkeys(letter for letter, *_ in ROWS))
TEST = re.compile(rf"^\s*(?:async )?def (test_((?:[{LETTERS}]\d+_)+)\w+)", re.MULTILINE | re.IGNORECASE)
WITHOUT = {f"{letter}{number}": note.strip() for letter, number, _, note in ROWS if note.strip()}
"""Rows without a test, and why; `owed` if one will come."""


def _tested(*, check: bool = False) -> set[str]:
    """Rows that tests are named after; of the `check`, without tests that it leaves to `make check-all`."""
    left_out = {(file, name) for file, names in LEFT_OUT.items() for name in names} if check else set()
    sources = {path: path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py")}
    return {
        f"{row[0].upper()}{int(row[1:])}"
        for path, source in sources.items()
        if not (check and "\npytestmark = pytest.mark.thorough" in source)
        for name, names in TEST.findall(source)
        if (path.relative_to(TESTS).as_posix(), name) not in left_out
        for row in names.rstrip("_").split("_")
    }


def test_every_row_has_a_test_that_is_named_after_it_or_a_note_that_says_why_not() -> None:
    rows, tested = {f"{letter}{number}" for letter, number, _, _ in ROWS}, _tested()
    assert sorted(rows - tested - set(WITHOUT)) == [], "rows without a test and without a note in ROWS.md"
    assert sorted(set(WITHOUT) & tested) == [], "rows whose note in ROWS.md is no longer true: they have a test"
    assert sorted(tested - rows) == [], "tests named after a row that ROWS.md does not have"


def test_every_row_is_tried_in_the_check_and_not_by_what_is_left_to_the_thorough_one_alone() -> None:
    assert sorted(_tested() - _tested(check=True)) == []


def test_rows_are_numbered_without_gaps_under_their_letter() -> None:
    numbered = [(letter, int(number)) for letter, number, _, _ in ROWS]
    counts = {letter: sum(row[0] == letter for row in numbered) for letter in LETTERS}
    assert numbered == [(letter, number) for letter in LETTERS for number in range(1, counts[letter] + 1)]
