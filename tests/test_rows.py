"""Every row of tests/ROWS.md has a test that is named after it, `test_U12_...`, and no test names a row that is none.

A name can hold several rows, `test_k18_k19_...`, in either case and with leading zeros.
"""

import re
from pathlib import Path

TESTS = Path(__file__).parent

ROW = re.compile(r"^\| ([A-Z])(\d+) \| (.+?) \|(.*)\|$", re.MULTILINE)
ROWS = ROW.findall((TESTS / "ROWS.md").read_text(encoding="utf-8"))
LETTERS = "".join(dict.fromkeys(letter for letter, *_ in ROWS))
TEST = re.compile(rf"^\s*(?:async )?def test_((?:[{LETTERS}]\d+_)+)", re.MULTILINE | re.IGNORECASE)
WITHOUT = {f"{letter}{number}": note.strip() for letter, number, _, note in ROWS if note.strip()}
"""Rows without a test, and why; `owed` if one will come."""


def _tested() -> set[str]:
    return {
        f"{row[0].upper()}{int(row[1:])}"
        for path in TESTS.rglob("test_*.py")
        for names in TEST.findall(path.read_text(encoding="utf-8"))
        for row in names.rstrip("_").split("_")
    }


def test_every_row_has_a_test_that_is_named_after_it_or_a_note_that_says_why_not() -> None:
    rows, tested = {f"{letter}{number}" for letter, number, _, _ in ROWS}, _tested()
    assert sorted(rows - tested - set(WITHOUT)) == [], "rows without a test and without a note in ROWS.md"
    assert sorted(set(WITHOUT) & tested) == [], "rows whose note in ROWS.md is no longer true: they have a test"
    assert sorted(tested - rows) == [], "tests named after a row that ROWS.md does not have"


def test_rows_are_numbered_without_gaps_under_their_letter() -> None:
    numbered = [(letter, int(number)) for letter, number, _, _ in ROWS]
    counts = {letter: sum(row[0] == letter for row in numbered) for letter in LETTERS}
    assert numbered == [(letter, number) for letter in LETTERS for number in range(1, counts[letter] + 1)]
