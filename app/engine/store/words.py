"""What is searched: how texts are numbered and cleaned, what a person's query asks for, what a snippet shows. Pure."""

import re
from typing import Final

from oi_tui.app.engine.sessions import HitKind, Piece
from oi_tui.app.engine.text import safe_text

KINDS: Final[tuple[HitKind, ...]] = ("output", "code", "answer", "prompt", "title")
"""Where a word can stand; its place here is the highest part of a text's id."""

HEAD_START: Final[dict[HitKind, int]] = {"title": 0, "prompt": 4, "answer": 12, "code": 12, "output": 20}
"""Hits of a kind are ordered by age; between kinds, a title counts as much as a prompt with this many newer ones."""

TEXT_LIMIT = 100_000
"""Characters of one text that are searched: the first half and the last."""

OUTPUT_LIMIT = 8_000
"""The same of what one run gave."""

QUERY_LIMIT, WORDS_LIMIT = 1_000, 20
"""Characters and words of a query; what is beyond is not looked at."""

_KIND_SHIFT, _SECOND_SHIFT = 44, 10
_WINDOW = 1 << 20
_BEFORE, _AFTER = "\x01", "\x02"
_QUERY = re.compile(r'"([^"]*)("?)|([^\s"]+)')


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
    """What the text of this id is."""
    return KINDS[text_id >> _KIND_SHIFT]


def searchable(text: str, limit: int = TEXT_LIMIT) -> str:
    """The text as the index gets it: nothing that cannot be seen, head and tail where it is long."""
    clean = safe_text(middle_out(text, limit))
    return clean.encode("utf-8", errors="replace").decode("utf-8")


def middle_out(text: str, limit: int) -> str:
    """Head and tail of a text that is longer than the limit."""
    half = limit // 2
    return text if len(text) <= limit else f"{text[:half]}\n…\n{text[-half:]}"


def match_query(text: str) -> str:
    """What FTS5 is asked for: every word and every "phrase", the last word being the beginning of one.

    "" if there is nothing to look for. Whatever a person types stands between quotes, so nothing in it is syntax.
    """
    clean = safe_text(text[:QUERY_LIMIT]).encode("utf-8", errors="replace").decode("utf-8")
    found = list(_QUERY.finditer(clean))[:WORDS_LIMIT]
    terms = [
        (word, match.end() == len(clean.rstrip()) and not match[2])
        for match in found
        if any(map(str.isalnum, word := (match[1] if match[3] is None else match[3])))
    ]
    return " AND ".join(f'"{word}"*' if open_end and _can_grow(word) else f'"{word}"' for word, open_end in terms)


def _can_grow(word: str) -> bool:
    """A single letter is the beginning of half of all words; one ideograph says enough."""
    return len(word) > 1 or not word.isascii()


def pieces(snippet: str) -> tuple[Piece, ...]:
    """A snippet of FTS5 on one line, in parts that matched and parts that did not."""
    parts: list[Piece] = []
    for number, part in enumerate(snippet.split(_BEFORE)):
        matched, after, rest = part.partition(_AFTER) if number else ("", "", part)
        if matched:
            parts.append(Piece(text=_on_one_line(matched), matched=True))
        if rest := _on_one_line(rest):
            parts.append(Piece(text=rest))
        del after
    return tuple(parts)


def _on_one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text)
