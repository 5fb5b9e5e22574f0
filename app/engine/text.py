"""Text of models, kernels and files is hostile until it went through here.

A terminal obeys what it is sent: control sequences move the cursor, write the clipboard, answer
into the keyboard; invisible characters make code read otherwise than it runs. `safe_text` keeps
what a person can see and nothing else. Whoever puts foreign text on a screen calls it.
"""

import re
import unicodedata

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

_ESCAPE_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\n\x07\x18\x1a\x1b\x9c]*(?:\x07|\x18|\x1a|\x1b\\|\x9c)?"  # strings
    r"|\x1b[ -/]*[0-~]"  # two characters, or with intermediates
)
"""No sequence reaches over the end of a line, so that an open one cannot swallow what follows."""

_UNSURE = re.compile("[^\n\t -~\u00a1-\u00ac\u00ae-\u02ff\u0391-\u052f\u3041-\u30ff\u4e00-\u9fff\uac00-\ud7a3]")
"""Everything but the common letters, which need no second look."""

_INVISIBLE = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0"
    + "".join(map(chr, (*range(0xFE00, 0xFE0F), *range(0xE0100, 0xE01F0))))
)
"""Shown as nothing although their category says letter or mark."""

_JOINER = "\u200d"
_EMOJI_STYLE = "\ufe0f"

_PICTURE = "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_STRAY = re.compile(
    f"(?<![{_PICTURE}])(?<![{_PICTURE}]{_EMOJI_STYLE}){_JOINER}"
    f"|{_JOINER}(?![{_PICTURE}])"
    f"|(?<![{_PICTURE}#*0-9]){_EMOJI_STYLE}"
    f"|(?<=[#*0-9]){_EMOJI_STYLE}(?!\u20e3)"
)
"""Joiners and style selectors that do not hold an emoji together."""


def safe_text(text: str) -> str:
    """`text` without anything that a terminal obeys or that cannot be seen.

    Newlines and tabs stay, and the number of lines stays the same. Lone surrogates and characters
    without a meaning become U+FFFD. Applying it twice changes nothing.
    """
    if text.isascii() and text.isprintable():
        return text
    if "\x1b" in text or not text.isascii():
        text = _ESCAPE_SEQUENCE.sub("", text)
    text = _UNSURE.sub(_judge, text)
    if _JOINER in text or _EMOJI_STYLE in text:
        text = _STRAY.sub("", text)
    return text


def _judge(match: re.Match[str]) -> str:
    character = match.group()
    if character in (_JOINER, _EMOJI_STYLE):
        return character
    if character in _INVISIBLE:
        return ""
    match unicodedata.category(character):
        case "Cc" | "Cf":
            return ""
        case "Cs" | "Cn" | "Zl" | "Zp":
            return REPLACEMENT
        case _:
            return character
