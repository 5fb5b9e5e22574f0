"""Every row of what must hold has a test that is named after it, `test_U12_...`, and no test names a row that is none.

    S  the sandbox, and the network       L  the message language and the loop
    U  approval, rules, data to models    R  kernels as the person meets them
    T  the terminal                       V  the screen
    K  kernels that misbehave

A name can hold several rows, `test_k18_k19_...`, in either case and with leading zeros.
"""

import re
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parent

ROWS = {"S": 24, "U": 19, "T": 7, "K": 37, "L": 21, "R": 12, "V": 9}
"""How many there are of each letter."""

BEYOND = {"U27"}
"""Rows behind those, ahead of the ones between."""

WITHOUT = {
    "U16": "tools of MCP servers that change after they were approved: there is no MCP here, so nothing is owed",
    "L18": "old turns that are left out where the context window is full: not built; the refusal is told in words",
}
"""Rows without a test, and why."""

TEST = re.compile(rf"^\s*(?:async )?def test_((?:[{''.join(ROWS)}]\d+_)+)", re.MULTILINE | re.IGNORECASE)


def test_every_row_has_a_test_that_is_named_after_it() -> None:
    expected = {f"{letter}{number}" for letter, count in ROWS.items() for number in range(1, count + 1)} | BEYOND
    found = Counter(
        f"{row[0].upper()}{int(row[1:])}"
        for path in TESTS.rglob("test_*.py")
        for names in TEST.findall(path.read_text())
        for row in names.rstrip("_").split("_")
    )
    assert sorted(expected - set(found)) == sorted(WITHOUT), "rows without a test"
    assert sorted(set(found) - expected) == [], "tests named after a row that there is not"
