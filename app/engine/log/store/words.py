"""What is searched: how texts are numbered and cleaned, what a person's query asks for, what a snippet shows. Pure."""

import re
import unicodedata
from functools import cache
from typing import Final, NamedTuple

from oi_tui.app.engine.core.encoding import expressible
from oi_tui.app.engine.core.session_records import HitKind, SnippetPart
from oi_tui.app.engine.text.safe import safe_text

KINDS: Final[tuple[HitKind, ...]] = ("output", "code", "answer", "prompt", "title")
"""Kinds of texts; the index of a kind is the highest part of a text's id."""

HEAD_START: Final[dict[HitKind, int]] = {"title": 0, "prompt": 4, "answer": 12, "code": 12, "output": 20}
"""Hits of a kind are ordered by age; between kinds, a title counts as much as a prompt with this many newer ones."""

TEXT_LIMIT = 100_000
"""Characters of one text that are searched: the first half and the last."""

OUTPUT_LIMIT = 8_000
"""The same of what one run gave."""

QUERY_LIMIT, WORDS_LIMIT = 1_000, 20
"""Characters and words of a query; what is beyond is not looked at."""

INDEXED_BEGINNING = 4
"""Letters: the index has all prefixes of up to this length; a longer prefix needs a look at each word that begins with
it."""

BEFORE, AROUND = 30, 140
"""Characters of a snippet before what matched, and in all."""

END = len(KINDS) << 44
"""Beyond the ids of all texts."""

_KIND_SHIFT, _SECOND_SHIFT = 44, 10
_WINDOW = 1 << 20
_TERM = re.compile(r'"([^"]*)("?)|([^\s"]+)')
_TOKEN = re.compile(r"[^\W_]+")
_CUT = "…"


class Query(NamedTuple):
    """What a person looks for: all of these, each a word or several in a row."""

    terms: tuple[tuple[str, ...], ...]
    """Each as the words that it consists of."""
    growing: bool
    """Whether the last one may be the beginning of a word."""

    @property
    def exact(self) -> str:
        """The same for FTS5, the last word whole."""
        return " AND ".join(f'"{" ".join(term)}"' for term in self.terms)

    @property
    def beginning(self) -> str:
        """The same, the last word being a beginning where it may be."""
        return f"{self.exact}*" if self.growing else self.exact

    @property
    def costly(self) -> bool:
        """Whether it searches for a long prefix."""
        return self.growing and len(self.terms[-1][-1]) > INDEXED_BEGINNING

    @property
    def pattern(self) -> re.Pattern[str]:
        """The pattern for matches in a folded text."""
        parts = [r"[\W_]+".join(map(re.escape, map(plain_letters, term))) for term in self.terms]
        ends = [r"(?![^\W_])"] * len(parts)
        if self.growing:
            ends[-1] = r"[^\W_]*"
        return re.compile(r"(?<![^\W_])(?:" + "|".join(map("".join, zip(parts, ends, strict=True))) + ")")


def id_range(kind: HitKind) -> tuple[int, int]:
    """First and last id that a text of this kind can have."""
    first = KINDS.index(kind) << _KIND_SHIFT
    return first, first + (1 << _KIND_SHIFT) - 1


def id_window(kind: HitKind, at: float, step: int = 0) -> tuple[int, int]:
    """Where a text of this kind that was written `at` gets its id: the first free one behind all others in there.

    If there is none, the next `step`.
    """
    second = min(max(int(at), 0), (1 << (_KIND_SHIFT - _SECOND_SHIFT - 1)) - 1)
    first = id_range(kind)[0] + (second << _SECOND_SHIFT) + step * _WINDOW
    return first, first + _WINDOW - 1


def kind_of(text_id: int) -> HitKind:
    """The kind of the text with this id."""
    return KINDS[text_id >> _KIND_SHIFT]


def searchable(text: str, limit: int = TEXT_LIMIT) -> str:
    """The text as the index gets it: nothing that cannot be seen, head and tail where it is long."""
    clean = safe_text(middle_out(text, limit))
    return expressible(clean)


def middle_out(text: str, limit: int) -> str:
    """Head and tail of a text that is longer than the limit."""
    half = limit // 2
    return text if len(text) <= limit else f"{text[:half]}\n…\n{text[-half:]}"


def read_query(text: str) -> Query | None:
    """Words, "phrases", and at the end perhaps the beginning of a word; None if there is nothing to look for.

    A word with signs in it (`read_csv`) is a phrase. FTS5 gets everything in quotes, so nothing of it is syntax.
    """
    clean = expressible(safe_text(text[:QUERY_LIMIT])).rstrip()
    terms: list[tuple[str, ...]] = []
    growing = False
    for match in list(_TERM.finditer(clean))[:WORDS_LIMIT]:
        words = tuple(_TOKEN.findall(match[1] if match[3] is None else match[3]))
        if words:
            terms.append(words)
            # A single letter is the beginning of half of all words; one ideograph says enough.
            growing = match.end() == len(clean) and not match[2] and (len(words[-1]) > 1 or not words[-1].isascii())
    return Query(tuple(terms), growing) if terms else None


def snippet(text: str, query: Query) -> tuple[SnippetPart, ...]:
    """One line of the text around the first match, in parts that matched and parts that did not."""
    pattern, plain = query.pattern, plain_letters(text)
    first = pattern.search(plain)
    start = max(first.start() - BEFORE, 0) if first is not None else 0
    if start and (space := _SPACE.search(text, start, first.start() if first is not None else start)) is not None:
        start = space.end()
    end = min(start + AROUND, len(text))
    parts: list[SnippetPart] = []
    place = start
    for match in pattern.finditer(plain, start, end):
        parts += _piece(text[place : match.start()], matched=False)
        parts += _piece(text[match.start() : match.end()], matched=True)
        place = match.end()
    parts += _piece(text[place:end], matched=False)
    return tuple([SnippetPart(text=_CUT)] * (start > 0) + parts + [SnippetPart(text=_CUT)] * (end < len(text)))


def plain_letters(text: str) -> str:
    """The text without case and diacritics, letter by letter: places in it are those in the text."""
    if text.isascii():
        return text.lower()
    return "".join(map(_plain_letter, text))


@cache
def _plain_letter(letter: str) -> str:
    bare = unicodedata.normalize("NFD", letter)[0].lower()
    return bare if len(bare) == 1 else letter


def _piece(text: str, *, matched: bool) -> list[SnippetPart]:
    return [SnippetPart(text=_SPACE.sub(" ", text), matched=matched)] if text else []


_SPACE = re.compile(r"\s+")
