"""What our program may say to a terminal: every sequence by name, and nothing that is not here.

Written from the outside, as a firewall: text and the sequences below. A sequence that a model, a kernel or a file
brought along is not among them, or has parameters that ours never have.
"""

import re
import unicodedata
from collections.abc import Iterator

from textual.css.constants import VALID_POINTER

_MODES = "1000|1003|1004|1006|1015|1016|1049|2004|2026|2031|2048|25|7"
"""Mouse, focus, alternate screen, bracketed paste, whole frames, reports of dark or light, sizes, cursor, wrap."""

_SHAPES = "|".join(sorted(VALID_POINTER))

_BELL = "\x07\x1b[22;2t\x1b]2;oi-tui: "
"""It rings only together with a call, here in the title of the window."""

_CALLS = "approval needed|input needed|done|stopped with an error"
"""All that is ever said in a title or a notification."""

_COLOUR = r"[34]8;2;\d{1,3};\d{1,3};\d{1,3}|[34]8;5;\d{1,3}"
_ATTRIBUTE = rf"(?:{_COLOUR}|0|1|2|3|4|7|9|22|23|24|27|29|39|49|[349][0-7]|10[0-7])"
"""Bold, dim, italic, underlined, reversed, struck through and colours; nothing blinks or is concealed."""

ALLOWED = re.compile(
    rf"\x1b\[(?:{_ATTRIBUTE}(?:;{_ATTRIBUTE})*)?m"
    r"|\x1b\[(?P<row>\d{1,3});(?P<column>\d{1,3})H"
    r"|\x1b\[(?P<first>\d{1,3});(?P<last>\d{1,3})r\x1b\[\d{1,3};1H(?:(?:\r\n)+|(?:\x1bM)+)\x1b\[r"  # rows are moved
    rf"|\x1b\[\?(?:{_MODES})[hl]"
    r"|\x1b\[\?(?:2026|2048|5522)\$p"  # are whole frames, sizes in the band, a clipboard known?
    r"|\x1b\[>\d{1,2}u|\x1b\[<u"  # the keyboard protocol, on and off
    r"|\x1b\[>4(?:;1)?m"  # that of xterm, on and off
    rf"|\x1b\]22;(?:{_SHAPES})\x07"  # the pointer's shape
    r"|\x1b\[>0q|\x1b\[\?[12];1;0S|\x1b\[1[46]t|\x1b\]11;\?\x1b\\|\x1b\[c"  # asked once
    rf"|\x1b\]2;oi-tui(?:: (?:{_CALLS}))?\x1b\\|\x1b\[2[23];2t"  # the bell, and the title, kept and put back
    rf"|\x1b\]9;oi-tui: (?:{_CALLS})\x1b\\|\x1b\]777;notify;oi-tui;(?:{_CALLS})\x1b\\"  # notifications
    r"|\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\"  # whether pictures are known
)
_FOREIGN = re.compile(r"\x1b[\s\S]{0,60}")
_UNSEEN = ("Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp")
_JOINERS = "\u200d\ufe0f"


def violations(raw: bytes, columns: int, rows: int, also: str = r"(?!)") -> list[str]:
    """Forbidden sequences in the output of a program, each with the next characters; empty if it is clean.

    `also` is a pattern of what this test made the program say, such as a copy into the clipboard.
    """
    return list(_violations(raw, columns, rows, re.compile(also)))


def _violations(raw: bytes, columns: int, rows: int, also: re.Pattern[str]) -> Iterator[str]:
    text = raw.decode("utf-8", errors="surrogateescape")
    position = 0
    while position < len(text):
        character = text[position]
        if character == "\x1b":
            found = ALLOWED.match(text, position) or also.match(text, position)
            if found is None:
                yield repr(_FOREIGN.match(text, position)[0])  # type: ignore[index]  # it begins like that
                position += 1
                continue
            place = found.groupdict()
            if place.get("row") and not (1 <= int(place["row"]) <= rows and 1 <= int(place["column"]) <= columns):
                yield f"the cursor goes to {found[0]!r}"
            if place.get("first") and not 1 <= int(place["first"]) < int(place["last"]) <= rows:
                yield f"rows are moved by {found[0]!r}"
            position = found.end()
            continue
        if text.startswith(_BELL, position):
            position += 1
            continue
        if text.startswith("\r\n", position):  # a line that ends, before and after the program's screen
            position += 2
            continue
        if unicodedata.category(character) in _UNSEEN and character not in _JOINERS:
            yield repr(text[position : position + 30])
        position += 1
