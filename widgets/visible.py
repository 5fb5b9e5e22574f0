"""Hidden characters made visible: what a person approves must be what the kernel is given.

Elsewhere text is cleaned for the screen by dropping what does not show. Where a decision hangs on it nothing may
be dropped: control characters, bidirectional overrides, zero-width and odd spaces appear as `<U+202E>`.
"""

import re
import unicodedata
from typing import NamedTuple

_UNSURE = re.compile(
    "[^\n\t -~\u00a1-\u00ac\u00ae-\u02ff\u03a3-\u052f\u3041-\u3096\u3099-\u30ff\u4e00-\u9fff\uac00-\ud7a3]"
)
"""Everything but the common letters, which need no second look."""

_BLANK = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
    + "".join(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
)
"""Shown as nothing although their category says letter, mark or symbol."""

_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"})

MARK = re.compile(r"<U\+[0-9A-F]{4,6}>")
"""What a hidden character looks like once shown."""


class Visible(NamedTuple):
    """A text in which everything can be seen."""

    text: str
    hidden: int
    """How many characters had to be made visible."""


def visible_text(text: str) -> Visible:
    """The text with each hidden character written out; tabs and newlines stay."""
    shown = _UNSURE.sub(lambda found: _spelled(found.group()) if _is_hidden(found.group()) else found.group(), text)
    return Visible(shown, 0 if shown == text else sum(map(_is_hidden, _UNSURE.findall(text))))


def without_hidden(text: str) -> str:
    """The text without its hidden characters; for what a person is going to edit or has pasted."""
    plain = text.replace("\r\n", "\n").replace("\u00a0", " ")
    return _UNSURE.sub(lambda found: "" if _is_hidden(found.group()) else found.group(), plain)


def _is_hidden(character: str) -> bool:
    return character in _BLANK or unicodedata.category(character) in _HIDDEN_CATEGORIES


def _spelled(character: str) -> str:
    return f"<U+{ord(character):04X}>"
