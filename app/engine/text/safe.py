"""Text of models, kernels and files is hostile until it has been sanitised here.

A terminal obeys its input: control sequences move the cursor, write the clipboard, answer into the keyboard; invisible
characters make code look different from what runs. `safe_text` keeps visible characters and nothing else; call it
before you put foreign text on a screen. Code must stay complete, before it runs and after: `visible_text` writes out
invisible characters, and `editable_text` does the same reversibly.
"""

import re
import unicodedata
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from oi_tui.app.engine.text.lookalikes import LOOKALIKES

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

_COLOURS = r"(\x1b\[[0-9;:]*m)"

SPELLED_OUT = re.compile(r"<U\+[0-9A-F]{4,6}>")
"""What a hidden character looks like once made visible."""

_STRING_END = r"\n\x07\x18\x1a\x1b\x9c"
_INTRODUCER = re.compile("[\x1b\x90\x98\x9b\x9d-\x9f]")
_ESCAPE_SEQUENCE = (
    "[\x1b\x90\x98\x9b\x9d-\x9f](?:"
    r"(?:(?<=\x9b)|(?<=\x1b)\[)[0-?]{0,256}[ -/]{0,8}[@-~]"  # CSI
    rf"|(?:(?<=[\x90\x98\x9d-\x9f])|(?<=\x1b)[\]PX^_])[^{_STRING_END}]*(?:\x07|\x18|\x1a|\x1b\\|\x9c)?"  # strings
    r"|(?<=\x1b)[ -/]{0,8}[0-~])"  # two characters, or with intermediates
)
"""No sequence reaches over the end of a line, so that an open one cannot swallow what follows."""

_UNFINISHED_SEQUENCE = r"(?:\x9b|\x1b\[)[0-?]{0,256}[ -/]{0,8}\Z|\x1b[ -/]{0,8}\Z"
_LONGEST_UNFINISHED = 2 + 256 + 8
_UNFINISHED_STRING = rf"(?:[\x90\x98\x9d-\x9f]|\x1b[\]PX^_])[^{_STRING_END}]*\Z"
_AFTER_STRING = r"[\x07\x18\x1a\x9c]|(?=[\n\x1b])"

_FAMILIAR = frozenset(
    map(
        chr,
        (
            10,
            9,
            *range(0x20, 0x7F),
            *range(0xA1, 0xAD),
            *range(0xAE, 0x300),
            *range(0x2010, 0x2028),
            0x203A,
            *range(0x2190, 0x2194),
        ),
    )
)
"""Some of what `_UNSURE` leaves alone: with these, no words of ours need it."""
_SHORT = 200
"""Characters of a text that is looked at this way first."""

_UNSURE = (
    "[^\n\t -~\u00a1-\u00ac\u00ae-\u02ff\u0391-\u03a1\u03a3-\u0482\u048a-\u052f\u05d0-\u05ea\u0620-\u064a\u0904-\u0939"
    "\u0e01-\u0e30\u0e32\u0e33\u0e3f-\u0e46\u0e4f-\u0e5b\u2010-\u2027\u2030-\u205e\u20a0-\u20bf\u2100-\u218b"
    "\u2190-\u2426\u2460-\u27ff\u3001-\u3029\u3041-\u3096\u309b-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff9f"
    "\U0001f300-\U0001f3fa\U0001f400-\U0001f64f\U0001f900-\U0001f9ff]"
)
"""Everything but the common letters and signs, which need no second look: each is seen and has a width."""

_INVISIBLE = frozenset(
    "\U0001d159\U00016fe4\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0"
    + "".join(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
)
"""Shown as nothing although their category says letter or mark."""

_EMPTY_BRAILLE = "\u2800"

_JOINER = "\u200d"
_EMOJI_STYLE = "\ufe0f"

_PICTURE = "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_STRAY = (
    f"(?<![{_PICTURE}])(?<![{_PICTURE}]{_EMOJI_STYLE}){_JOINER}"
    f"|{_JOINER}(?![{_PICTURE}])"
    f"|(?<![{_PICTURE}#*0-9]){_EMOJI_STYLE}"
    f"|(?<=[#*0-9]){_EMOJI_STYLE}(?!\u20e3)"
)
"""Joiners and style selectors that do not hold an emoji together."""

MOST_MARKS = 30
"""Marks upon one letter (as many as Unicode's stream-safe form has): no cell of a screen may hold a megabyte."""

_JOINED = "[\u1161-\u11ff\ud7b0-\ud7fb\U0001f3fb-\U0001f3ff]"
"""Vowels and ends of Korean syllables, and skin colours: drawn in the cell of the character before, like a mark."""

_LOOKALIKE = f"[{LOOKALIKES}]"

_WORD = r"(?<!\\)\w+"
"""The letter after a backslash belongs to an escape, not to the word."""

_BLANKS = r"(?<![ \t])[ \t]{80,}+(?=\S)"

CharacterKind = Literal["plain", "blank", "hidden", "broken"]
"""How a character shows: as it is, as an empty place, not at all, or as who knows what."""


class Visible(NamedTuple):
    """A text in which everything can be seen."""

    text: str
    hidden: int
    """How many characters were made visible."""


def safe_text(text: str) -> str:
    """`text` without anything that a terminal obeys or that cannot be seen.

    Newlines and tabs stay, and the number of lines stays the same. Lone surrogates and characters
    without a meaning become U+FFFD; of more than `MOST_MARKS` marks on one letter the rest goes. Applying it twice
    changes nothing. For text that comes in pieces there is `SafeStream`.
    """
    if (text.isascii() and text.isprintable()) or (len(text) < _SHORT and _FAMILIAR.issuperset(text)):
        return text
    if _INTRODUCER.search(text) is not None:
        text = _pattern(_ESCAPE_SEQUENCE).sub("", text)
    text, unsure = _pattern(_UNSURE).subn(_clean_character, text)
    if not unsure or text.isascii():
        return text
    if _JOINER in text or _EMOJI_STYLE in text:
        text = _pattern(_STRAY).sub("", text)
    return _pile().sub(lambda pile: _limit_marks(pile.group(), spelled=False), text)


def coloured_text(text: str) -> str:
    """The text made safe, but for its colours: for a terminal or a pager that is given lines."""
    parts = _pattern(_COLOURS).split(text)
    parts[::2] = map(safe_text, parts[::2])
    return "".join(parts)


class SafeStream:
    """`safe_text` for one text that comes in pieces: together they are the same, wherever they were cut.

    What may be the beginning of a sequence is kept back, a few hundred characters at most.
    """

    def __init__(self) -> None:
        self._held = ""
        self._in_string = False
        """Within a sequence that extends to its end or to the end of the line."""
        self._joint = ""
        """A joiner at the end: whether it holds something together is not known yet."""
        self._near = self._told = ""
        """The text before the next piece, as far back as it matters to joiners and marks."""

    def feed(self, text: str) -> str:
        """The visible text so far that was not returned yet."""
        plain = _pattern(_UNSURE).sub(_clean_character, self._without_sequences(self._held + text))
        plain, self._joint = self._joint + plain, ""
        if plain[-1:] in (_JOINER, _EMOJI_STYLE):
            plain, self._joint = plain[:-1], plain[-1]
        return self._tell(plain)

    def finish(self) -> str:
        """The held text; nothing comes after it."""
        held, joint = self._held, self._joint
        self._held = self._joint = ""
        self._in_string = False
        return self._tell(joint + safe_text(held))

    def _without_sequences(self, text: str) -> str:
        """Stops before what may be the beginning of one."""
        self._held, start, parts = "", 0, []
        if self._in_string:
            ended = _pattern(_AFTER_STRING).search(text)
            if ended is None:
                return ""
            self._in_string, start = False, ended.end()
        if _INTRODUCER.search(text, start) is None:
            return text[start:]
        tail = max(0, len(text) - _LONGEST_UNFINISHED)
        for found in _pattern(_ESCAPE_SEQUENCE).finditer(text, start):
            if found.start() >= tail and _pattern(_UNFINISHED_SEQUENCE).match(text, found.start()):
                break
            parts.append(text[start : found.start()])
            start = found.end()
            self._in_string = start == len(text) and _pattern(_UNFINISHED_STRING).match(text, found.start()) is not None
        unfinished = _pattern(_UNFINISHED_SEQUENCE).search(text, max(start, tail))
        end = len(text) if unfinished is None else unfinished.start()
        self._held = text[end:]
        return "".join((*parts, text[start:end]))

    def _tell(self, plain: str) -> str:
        """The text without stray joiners and piles of marks, which depend on the text before."""
        window = self._near + plain + self._joint
        known, end = len(self._near), len(self._near) + len(plain)
        self._near = window[:end][-2:]
        said = plain
        if _JOINER in window or _EMOJI_STYLE in window:
            joined = _pattern(_STRAY).sub(lambda found: "" if known <= found.start() < end else found.group(), window)
            said = joined[known : len(joined) - len(self._joint)]
        if not plain.isascii():
            said = _pile().sub(lambda pile: _limit_marks(pile.group(), spelled=False), self._told + said)[
                len(self._told) :
            ]
        self._told = (self._told + said[-2 * MOST_MARKS :])[-2 * MOST_MARKS :]
        return said


class Editable(NamedTuple):
    """A source for an editor: hidden characters are written out, and restored afterwards."""

    text: str
    hidden: int
    """How many characters are written out."""
    marks: frozenset[str]
    """How they are written."""
    line_end: str
    """Of the source, where all its lines end alike; in the text it is a newline."""

    def read(self, text: str) -> str:
        """The source for this text, which the user may have changed."""
        read = SPELLED_OUT.sub(self._restore_character, text)
        return read if self.line_end == "\n" else read.replace("\n", self.line_end)

    def _restore_character(self, mark: re.Match[str]) -> str:
        """Only for marks written here: other marks are the user's own words."""
        return chr(int(mark.group()[3:-1], 16)) if mark.group() in self.marks else mark.group()


def visible_text(text: str, *, emoji: bool = False) -> Visible:
    """`text` with each character that hides or deceives written out as `<U+202E>`; tabs and newlines stay.

    Deceiving is a letter of another alphabet in a word that reads as Latin, and marks piled upon one letter. With
    `emoji`, what holds an emoji together is not hidden: the emoji shows that it is there.
    """
    if text.isascii() and text.isprintable():
        return Visible(text, 0)
    unsure = _pattern(_UNSURE).findall(text)
    hidden = sum(_look(character) != "plain" for character in unsure)
    shown = text
    if hidden and emoji and (_JOINER in text or _EMOJI_STYLE in text):
        shown, stray = _pattern(_STRAY).subn(_spell_out, _pattern(_UNSURE).sub(_spell_unless_joining, text))
        hidden += stray - text.count(_JOINER) - text.count(_EMOJI_STYLE)
    elif hidden:
        shown = _pattern(_UNSURE).sub(_spell_if_hidden, text)
    if len(unsure) > MOST_MARKS:
        before = shown
        shown = _pile().sub(lambda pile: _limit_marks(pile.group(), spelled=True), before)
        hidden += len(SPELLED_OUT.findall(shown)) - len(SPELLED_OUT.findall(before))
    if _pattern(_LOOKALIKE).search(shown):
        hidden += sum(
            len(_pattern(_LOOKALIKE).findall(word)) for word in _pattern(_WORD).findall(shown) if _reads_as_latin(word)
        )
        shown = _pattern(_WORD).sub(_spell_if_deceiving, shown)
    return Visible(shown, hidden)


def collapse_blanks(text: str) -> str:
    """`text` with each long run of blanks within a line as `⟨4,000 blanks⟩`, for display: anything after such a run
    would be off the screen."""
    return _pattern(_BLANKS).sub(lambda run: f" ⟨{len(run.group()):,} blanks⟩ ", text)


def editable_text(source: str) -> Editable:
    """`source` as `visible_text` shows it, to be edited and read back; read back unchanged, it is `source` itself."""
    ended = source.count("\r\n")
    line_end = "\r\n" if ended and ended == source.count("\n") == source.count("\r") else "\n"
    whole = source.replace(line_end, "\n")
    text, hidden = visible_text(whole, emoji=True)
    if not hidden:
        return Editable(text, 0, frozenset(), line_end)
    if SPELLED_OUT.search(whole) is not None:
        # What already looks like a mark must stay what it is: its own first sign is written out.
        text = visible_text(SPELLED_OUT.sub(lambda mark: f"<U+003C>{mark.group()[1:]}", whole), emoji=True).text
    return Editable(text, hidden, frozenset(SPELLED_OUT.findall(text)), line_end)


def without_hidden(text: str) -> str:
    """`text` without its hidden characters; for what a person has pasted into code."""
    plain = text.replace("\r\n", "\n").replace("\u00a0", " ")
    seen = _pattern(_STRAY).sub("", _pattern(_UNSURE).sub(_keep_if_visible, plain))
    return _pile().sub(lambda pile: _limit_marks(pile.group(), spelled=False), seen)


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    """Compiled on first use: that takes milliseconds, which the first frame cannot spare."""
    return re.compile(pattern)


@cache
def _pile() -> re.Pattern[str]:
    """Where there may be too many marks: a long run without any of the letters that are certainly none.

    Compiling it takes three milliseconds, and most texts do not need it.
    """
    return re.compile(
        "[^\n\t -~\u00a1-\u00a8\u00aa-\u00ad\u00af-\u02ff\u0391-\u0482\u05d0-\u05ea\u0620-\u064a\u0e01-\u0e30"
        "\u2010-\u2027\u3041-\u3096\u30a0-\u3296\u329a-\ua66e\uac00-\ud7a3]"
        f"{{{MOST_MARKS + 1},}}"
    )


@lru_cache(maxsize=4_096)
def _look(character: str) -> CharacterKind:
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


def _clean_character(match: re.Match[str]) -> str:
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


def _limit_marks(pile: str, spelled: bool) -> str:
    """The run with at most `MOST_MARKS` marks upon each letter; the rest is left out, or written out.

    What a joiner joins is a mark as well, so that a joiner counts for two.
    """
    kept: list[str] = []
    joined = _pattern(_JOINED)
    marks = 0
    for character in pile:
        cost = 0
        if kept and kept[-1] == _JOINER:
            pass
        elif character == _JOINER:
            cost = 2
        elif character == _EMOJI_STYLE or unicodedata.category(character)[0] == "M" or joined.match(character):
            cost = 1
        else:
            marks = 0
        if marks + cost <= MOST_MARKS:
            marks += cost
            kept.append(character)
        elif spelled:
            kept.append(f"<U+{ord(character):04X}>")
    return "".join(kept)


def _spell_if_hidden(match: re.Match[str]) -> str:
    return match.group() if _look(match.group()) == "plain" else _spell_out(match)


def _spell_unless_joining(match: re.Match[str]) -> str:
    return match.group() if match.group() in (_JOINER, _EMOJI_STYLE) else _spell_if_hidden(match)


def _keep_if_visible(match: re.Match[str]) -> str:
    character = match.group()
    return character if character in (_JOINER, _EMOJI_STYLE) or _look(character) == "plain" else ""


def _spell_if_deceiving(match: re.Match[str]) -> str:
    word = match.group()
    return _pattern(_LOOKALIKE).sub(_spell_out, word) if _reads_as_latin(word) else word


def _reads_as_latin(word: str) -> bool:
    """Whether it has Latin letters, and foreign ones that all look like Latin letters."""
    latin = _pattern(_LOOKALIKE).sub("", word)
    return latin != word and latin.isascii() and any(map(str.isalpha, latin))


def _spell_out(match: re.Match[str]) -> str:
    return f"<U+{ord(match.group()):04X}>"
