"""Where Vim's motions lead in a text, and what its text objects are. Places are offsets; nothing changes a text."""

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

_BRACKETS = {
    "(": "()",
    ")": "()",
    "b": "()",
    "[": "[]",
    "]": "[]",
    "{": "{}",
    "}": "{}",
    "B": "{}",
    "<": "<>",
    ">": "<>",
}
_QUOTES = "\"'`"

Reach = Literal["exclusive", "inclusive", "lines"]


class Aim(NamedTuple):
    """Where a motion leads, and what an operator does with the character there."""

    to: int
    reach: Reach = "exclusive"


def line_start(text: str, at: int) -> int:
    """The first character of the line."""
    return text.rfind("\n", 0, at) + 1


def line_end(text: str, at: int) -> int:
    """Behind the last character of the line."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def first_word(text: str, at: int) -> int:
    """The first character of the line that is no blank."""
    start, end = line_start(text, at), line_end(text, at)
    line = text[start:end]
    return start + len(line) - len(line.lstrip(" \t"))


def on_character(text: str, at: int) -> int:
    """The same place, or where normal mode has no cursor, the last character of the line."""
    start, end = line_start(text, at), line_end(text, at)
    return max(start, min(at, end - 1))


def line_below(text: str, at: int, lines: int, column: int) -> int:
    """This column of a line so many below (negative: above), or of the outermost."""
    for _ in range(abs(lines)):
        if lines > 0:
            end = line_end(text, at)
            at = end + 1 if end < len(text) else at
        else:
            at = max(0, line_start(text, at) - 1)
    start = line_start(text, at)
    return min(start + column, max(start, line_end(text, at) - 1))


def _kind(character: str, big: bool) -> int:
    if character.isspace():
        return 0
    return 1 if big or character.isalnum() or character == "_" else 2


def _word(text: str, at: int, big: bool) -> int:
    kind = _kind(text[at], big) if at < len(text) else 0
    while kind and at < len(text) and _kind(text[at], big) == kind:
        at += 1
    while at < len(text) and text[at].isspace():
        if text[at] == "\n" and text[at + 1 : at + 2] == "\n":
            return at + 1  # an empty line is a word
        at += 1
    return at


def _word_end(text: str, at: int, big: bool) -> int:
    at += 1
    while at < len(text) and text[at].isspace():
        at += 1
    while at + 1 < len(text) and _kind(text[at + 1], big) == _kind(text[at], big):
        at += 1
    return min(at, max(0, len(text) - 1))


def _word_back(text: str, at: int, big: bool) -> int:
    at -= 1
    while at > 0 and text[at].isspace():
        at -= 1
    while at > 0 and not text[at].isspace() and _kind(text[at - 1], big) == _kind(text[at], big):
        at -= 1
    return max(0, at)


def _end_back(text: str, at: int, big: bool) -> int:
    kind = _kind(text[at], big) if at < len(text) else 0
    while kind and at >= 0 and _kind(text[at], big) == kind:
        at -= 1
    while at > 0 and text[at : at + 1].strip() == "":
        at -= 1
    return max(0, at)


def _paragraph(text: str, at: int, step: int) -> int:
    lines = [match.start() for match in re.finditer(r"^$", text, re.MULTILINE)]
    if step > 0:
        return next((start for start in lines if start > at), len(text))
    return next((start for start in reversed(lines) if start < at), 0)


def _bracket(text: str, at: int) -> int | None:
    """The partner of the first bracket from here on in the line."""
    here = next((place for place in range(at, line_end(text, at)) if text[place] in "()[]{}"), None)
    if here is None:
        return None
    pair = _BRACKETS[text[here]]
    step, depth, place = 1 if text[here] == pair[0] else -1, 0, here
    while 0 <= place < len(text):
        depth += (text[place] == text[here]) - (text[place] in pair and text[place] != text[here])
        if not depth:
            return place
        place += step
    return None


_WORDS: dict[str, tuple[Callable[[str, int, bool], int], Reach]] = {
    "w": (_word, "exclusive"),
    "b": (_word_back, "exclusive"),
    "e": (_word_end, "inclusive"),
    "ge": (_end_back, "inclusive"),
}


def aim(text: str, at: int, motion: str, count: int | None, *, again: bool = False) -> Aim | None:
    """The target of a motion; None if there is none. `motion` is its keys, with the character of `f` and `t`;
    `again` continues after the character found by `t`."""
    times = count or 1
    small = motion.lower() if motion not in ("G",) else motion
    if small in _WORDS and motion in (small, small.upper(), "gE"):
        move, reach = _WORDS[small]
        for _ in range(times):
            at = move(text, at, motion != small)
        return Aim(at, reach)
    start, end = line_start(text, at), line_end(text, at)
    match motion:
        case "h":
            return Aim(max(start, at - times))
        case "l":
            return Aim(min(end, at + times))
        case "0":
            return Aim(start)
        case "^":
            return Aim(first_word(text, at))
        case "$":
            end = line_end(text, line_below(text, at, times - 1, 0))
            return Aim(end)
        case "j" | "k":
            to = line_below(text, at, times if motion == "j" else -times, at - start)
            return None if line_start(text, to) == start else Aim(to, "lines")
        case "G" | "gg":
            last = text.count("\n") + 1
            line = count or (last if motion == "G" else 1)
            return Aim(first_word(text, line_below(text, 0, min(line, last) - 1, 0)), "lines")
        case "{" | "}":
            for _ in range(times):
                at = _paragraph(text, at, 1 if motion == "}" else -1)
            return Aim(at)
        case "%":
            to_bracket = _bracket(text, at)
            return None if to_bracket is None else Aim(to_bracket, "inclusive")
        case _ if motion[0] in "fFtT" and len(motion) == 2:
            return _to_character(text, at, motion, times, again=again)
    return None


def _to_character(text: str, at: int, motion: str, times: int, *, again: bool) -> Aim | None:
    kind, wanted = motion[0], motion[1]
    start, end = line_start(text, at), line_end(text, at)
    forward = kind in "ft"
    found = at
    for number in range(times):
        skip = again and kind in "tT" and not number
        if forward:
            found = text.find(wanted, found + 1 + skip * (text[found + 1 : found + 2] == wanted), end)
        else:
            found = text.rfind(wanted, start, found - skip * (text[found - 1 : found] == wanted))
        if found < 0:
            return None
    if kind in "tT":
        found += -1 if forward else 1
    return Aim(found, "inclusive" if forward else "exclusive")


def text_object(text: str, at: int, what: str) -> tuple[int, int] | None:
    """Start and end of `iw`, `a"`, `i(`, `ip` and the like around this place; None if there is none."""
    inner, name = what[0] == "i", what[1]
    if name in "wW":
        return _word_object(text, at, name == "W", inner=inner)
    if name in _QUOTES:
        start, end = line_start(text, at), line_end(text, at)
        marks = [place for place in range(start, end) if text[place] == name]
        for left, right in zip(marks[::2], marks[1::2], strict=False):
            if at <= right:
                return (left + 1, right) if inner else (left, right + 1)
        return None
    if name in _BRACKETS:
        return _pair_object(text, at, _BRACKETS[name], inner=inner)
    if name == "p":
        start, end = at, at
        while start > 0 and text[start - 1 : start + 1] != "\n\n" and text[start - 2 : start] != "\n\n":
            start -= 1
        blank = text.find("\n\n", end)
        end = len(text) if blank < 0 else blank + (0 if inner else 2)
        return start, end
    return None


def _word_object(text: str, at: int, big: bool, *, inner: bool) -> tuple[int, int] | None:
    start, end = line_start(text, at), line_end(text, at)
    if at >= end:
        return None
    kind = _kind(text[at], big)
    left, right = at, at
    while left > start and _kind(text[left - 1], big) == kind:
        left -= 1
    while right < end and _kind(text[right], big) == kind:
        right += 1
    if inner:
        return left, right
    after = right
    while after < end and text[after].isspace() != (kind == 0):
        if kind == 0 or text[after].isspace():
            after += 1
        else:
            break
    if after == right:
        while left > start and text[left - 1].isspace():
            left -= 1
    return left, after


def _pair_object(text: str, at: int, pair: str, *, inner: bool) -> tuple[int, int] | None:
    depth, left = 0, at
    while left >= 0:
        if text[left : left + 1] == pair[0]:
            if not depth:
                break
            depth -= 1
        elif text[left : left + 1] == pair[1] and left != at:
            depth += 1
        left -= 1
    if left < 0:
        return None
    depth, right = 0, left + 1
    while right < len(text):
        if text[right] == pair[0]:
            depth += 1
        elif text[right] == pair[1]:
            if not depth:
                return (left + 1, right) if inner else (left, right + 1)
            depth -= 1
        right += 1
    return None
