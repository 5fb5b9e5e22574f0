"""Text of models, kernels and files is hostile until it went through here.

A terminal obeys what it is sent: control sequences move the cursor, write the clipboard, answer
into the keyboard; invisible characters make code read otherwise than it runs. `safe_text` keeps
what a person can see and nothing else; whoever puts foreign text on a screen calls it. Where a
decision hangs on the text nothing may be dropped: `visible_text` writes out what cannot be seen.
"""

import re
import unicodedata
from typing import Literal, NamedTuple

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

MARK = re.compile(r"<U\+[0-9A-F]{4,6}>")
"""What a hidden character looks like once made visible."""

_ESCAPE_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\n\x07\x18\x1a\x1b\x9c]*(?:\x07|\x18|\x1a|\x1b\\|\x9c)?"  # strings
    r"|\x1b[ -/]*[0-~]"  # two characters, or with intermediates
)
"""No sequence reaches over the end of a line, so that an open one cannot swallow what follows."""

_UNSURE = re.compile(
    "[^\n\t -~\u00a1-\u00ac\u00ae-\u02ff\u03a3-\u052f\u3041-\u3096\u3099-\u30ff\u4e00-\u9fff\uac00-\ud7a3]"
)
"""Everything but the common letters, which need no second look."""

_INVISIBLE = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0"
    + "".join(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
)
"""Shown as nothing although their category says letter or mark."""

_EMPTY_BRAILLE = "\u2800"

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

_LOOKALIKE = re.compile(
    "[\u0251\u0261"  # Latin of the phonetic alphabet
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bd\u03bf\u03f2\u03f3\u03f9"
    "\u0405\u0406\u0408\u0410\u0412\u0415\u041a\u041c-\u041e\u0420-\u0423\u0425"  # Cyrillic capitals
    "\u0430\u0435\u043a\u043e\u0440\u0441\u0443\u0445\u0455\u0456\u0458\u0474\u0475\u04ae\u04af\u04bb\u04c0\u04cf"
    "\u0501\u050c\u051a-\u051d"
    "\u0570\u0578\u057d\u0581\u0585]"  # Armenian
)
"""Letters of other alphabets that have the shape of a Latin one. Those that science adds to Latin names (Δ, σ, μ)
have a shape of their own."""

_WORD = re.compile(r"(?<!\\)\w+")
"""The letter after a backslash belongs to an escape, not to the word."""

Look = Literal["plain", "blank", "hidden", "broken"]
"""How a character shows: as it is, as an empty place, not at all, or as who knows what."""


class Visible(NamedTuple):
    """A text in which everything can be seen."""

    text: str
    hidden: int
    """How many characters had to be made visible."""


def safe_text(text: str) -> str:
    """`text` without anything that a terminal obeys or that cannot be seen.

    Newlines and tabs stay, and the number of lines stays the same. Lone surrogates and characters
    without a meaning become U+FFFD. Applying it twice changes nothing.
    """
    if text.isascii() and text.isprintable():
        return text
    if "\x1b" in text or not text.isascii():
        text = _ESCAPE_SEQUENCE.sub("", text)
    text = _UNSURE.sub(_cleaned, text)
    if _JOINER in text or _EMOJI_STYLE in text:
        text = _STRAY.sub("", text)
    return text


def visible_text(text: str) -> Visible:
    """`text` with each character that hides or deceives written out as `<U+202E>`; tabs and newlines stay.

    Deceiving is a letter of another alphabet in a word that reads as Latin.
    """
    if text.isascii() and text.isprintable():
        return Visible(text, 0)
    hidden = sum(_look(character) != "plain" for character in _UNSURE.findall(text))
    shown = _UNSURE.sub(_spelled_if_hidden, text) if hidden else text
    if _LOOKALIKE.search(shown):
        hidden += sum(len(_LOOKALIKE.findall(word)) for word in _WORD.findall(shown) if _reads_as_latin(word))
        shown = _WORD.sub(_spelled_if_deceiving, shown)
    return Visible(shown, hidden)


def without_hidden(text: str) -> str:
    """`text` without its hidden characters; for what a person is going to edit or has pasted."""
    plain = text.replace("\r\n", "\n").replace("\u00a0", " ")
    return _UNSURE.sub(lambda found: found.group() if _look(found.group()) == "plain" else "", plain)


def _look(character: str) -> Look:
    if character in _INVISIBLE:
        return "hidden"
    if character == _EMPTY_BRAILLE:
        return "blank"
    match unicodedata.category(character):
        case "Cc" | "Cf":
            return "hidden"
        case "Cs" | "Cn" | "Zl" | "Zp":
            return "broken"
        case "Co" | "Zs":
            return "blank"
        case _:
            return "plain"


def _cleaned(match: re.Match[str]) -> str:
    character = match.group()
    if character in (_JOINER, _EMOJI_STYLE):
        return character
    match _look(character):
        case "hidden":
            return ""
        case "broken":
            return REPLACEMENT
        case "plain" | "blank":
            return character


def _spelled_if_hidden(match: re.Match[str]) -> str:
    return match.group() if _look(match.group()) == "plain" else _spelled(match)


def _spelled_if_deceiving(match: re.Match[str]) -> str:
    word = match.group()
    return _LOOKALIKE.sub(_spelled, word) if _reads_as_latin(word) else word


def _reads_as_latin(word: str) -> bool:
    """Whether Latin letters stand in it, and foreign ones that all look like Latin letters."""
    latin = _LOOKALIKE.sub("", word)
    return latin != word and latin.isascii() and any(map(str.isalpha, latin))


def _spelled(match: re.Match[str]) -> str:
    return f"<U+{ord(match.group()):04X}>"
