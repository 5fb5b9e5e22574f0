"""Hidden characters made visible: what a person approves must be what the kernel is given.

Elsewhere text is cleaned for the screen by dropping what does not show. Where a decision hangs on it nothing may
be dropped: control characters, bidirectional overrides, zero-width and odd spaces appear as `<U+202E>`.
"""

import re
from typing import NamedTuple

_HIDDEN = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 but tab and newline, DEL, C1
    "\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f"  # spaces, fillers, joiners that do not show
    "\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164"
    "\ud800-\udfff\ue000-\uf8ff"  # lone surrogates, private use
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff\U000f0000-\U0010ffff"  # invisible marks, tags, private use
    "]"
)

MARK = re.compile(r"<U\+[0-9A-F]{4,6}>")
"""What a hidden character looks like once shown."""


class Visible(NamedTuple):
    """A text in which everything can be seen."""

    text: str
    hidden: int
    """How many characters had to be made visible."""


def visible_text(text: str) -> Visible:
    """The text with each hidden character written out; tabs and newlines stay."""
    shown, hidden = _HIDDEN.subn(_name, text)
    return Visible(shown, hidden)


def without_hidden(text: str) -> str:
    """The text without its hidden characters; for what a person is going to edit or has pasted."""
    return _HIDDEN.sub("", text.replace("\r\n", "\n").replace("\u00a0", " "))


def _name(match: re.Match[str]) -> str:
    return f"<U+{ord(match.group()):04X}>"
