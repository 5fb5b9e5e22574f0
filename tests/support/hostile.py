"""Text that tries to command a terminal, for everywhere that text can come from, and what is looked for afterwards."""

import unicodedata
from itertools import pairwise

from support.grammar import violations
from support.terminal import Terminal

STRINGS = (
    "\x1b]52;c;UFdORUQ=\x07\x1b]0;PWNED\x07\x1b]2;PWNED\x1b\\\x1b]8;;http:evil.test\x1b\\li\x1b]8;;\x1b\\\x1b]9;PWNED\x07"
    "\x1b]777;notify;PWNED;x\x07\x1b]1337;File=inline=1:UFdO\x07\x1bP$qm\x1b\\\x1b_Gi=31;PWNED\x1b\\\x1b^PWNED\x1b\\\x1bXPWNED\x1b\\"
)
CONTROLS = (
    "\x1b[2J\x1b[3J\x1b[500;1H\x1b[6n\x1b[5n\x1b[>c\x1b[?47h\x1b[?5h\x1b[?1005h\x1b[20t\x1b[5m\x1b[8m\x1b[4i\x1bc\x1b(0\x1b#8"
    "\x05\x0e\x0f\x08\x7f\x0b\x0c\x9b2J\x9d0;PWNED\x9c\x90q\x9c\x9fPWNED\x9c\x85\u202e\u2066\u200b\U000e0041\ufeff"
)
MARKUP = "[bold]b[/bold] [/b] [@click=app.quit]q[/] a[0] [$primary]"
HOSTILE = f"{STRINGS}{CONTROLS}{MARKUP}\x1b]0;open"
"""Ends within a sequence that has no end."""


OBEYED_PIECES = (
    *("\x1b", "\x1b[", "\x1b]52;c;", "\x1b]0;", "\x07", "\x1b\\", "\x1bP", "\x1b_G", "\x1b^", "\x1b[31m", "m", "[3"),
    *("\x1b[2J", "\x1bc", "\x1b(0", "\x9b", "\x9d", "\x9c", "\x90", "\0", "\x7f", "\r", "\b", "\n", "\t", "\u202e"),
    *("\u2066", "\u2028", "\u200b", "\u200d", "\ufe0f", "\U000e0041", "👩", "💻", "❤", "1", "\u20e3", "\ud800", "\x18"),
    *("\x1b[6n", "1;2", "\\", " ", "(", "0" * 300, "\u0301" * 20, "👩\u200d" * 9, "🏽", "\u1161" * 20),
)
"""Beginnings and ends of what a terminal obeys, and characters that join, hide or pile up."""


def unseen(text: str) -> str:
    """The characters of a text that a terminal obeys or that nobody sees, apart from what holds emoji together."""
    plain = text.replace("\u200d", "").replace("\ufe0f", "")
    bad = ("Cc", "Cf", "Cs", "Cn", "Zl", "Zp")
    return "".join(sign for sign in plain if sign not in "\n\t" and unicodedata.category(sign) in bad)


def piled(text: str) -> int:
    """The most characters in a row that have no cell of their own."""
    longest = row = 0
    for before, character in pairwise(f" {text}"):
        alone = not (
            unicodedata.category(character)[0] == "M"
            or character in "\u200d🏻🏼🏽🏾🏿"
            or before == "\u200d"
            or "\u1160" < character < "\u1200"
        )
        row = 0 if alone else row + 1
        longest = max(longest, row)
    return longest


def hostile(name: str) -> str:
    """Two lines: a mark, hostile text, and in the next line a mark that must be seen all the same."""
    return f"in-{name} {HOSTILE}\nafter-{name}"


def hostile_line(name: str) -> str:
    """One line, for a name or a title; `seen_line` of it is left on a screen."""
    return f"in-{name} {STRINGS}{CONTROLS}[b]x[/b] after-{name}"


def seen_line(name: str) -> str:
    """The visible form of `hostile_line`: the text of the link, and the markup verbatim."""
    return f"in-{name} li[b]x[/b] after-{name}"


def hostile_name(name: str) -> str:
    """A name of a file or folder: as much of it as there is room for. `in-NAME [b] after-NAME` is left."""
    return f"in-{name} \x1b]0;PWNED\x07{CONTROLS}[b] after-{name}"


def assert_clean(shown: Terminal) -> None:
    """The program said nothing to the terminal that is not in its grammar."""
    assert violations(bytes(shown.raw), shown.columns, shown.rows) == []


def leave(shown: Terminal) -> None:
    """Quit, and read the whole output."""
    shown.send("\x11")
    shown.wait_exit()
    assert_clean(shown)
    raw = bytes(shown.raw)
    assert (raw.count(b"\x1b[?1049h"), raw.count(b"\x1b[?1049l")) == (1, 1)
