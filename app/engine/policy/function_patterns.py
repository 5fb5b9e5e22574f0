"""Regular expressions over names of functions, held to what takes a bounded time: few repetitions, none within another.

`A & B` matches names that match A and B. Names are bounded too, so that no expression takes longer than a blink.
"""

import re
from functools import lru_cache

from oi_tui.app.engine.core.modes import JOINT

LONGEST_PATTERN = 300
"""Characters of one expression."""
LONGEST_NAME = 120
"""Characters of a name that is judged."""
MOST_REPEATS = 6
"""Signs of repetition in one expression."""
MOST_OPEN = 2
"""Of these, ones without an upper bound."""
_COUNT = re.compile(r"\{(\d*)(,?)(\d*)\}")
_MOST_COUNTED = 20
"""More repetitions than this count as unbounded."""


class WrongPattern(ValueError):
    """An expression that is not taken; the text says why."""


def check_pattern(text: str) -> None:
    """WrongPattern if it is none that can be matched in a bounded time."""
    for part in text.split(JOINT):
        _check_part(part.strip())


def matches_name(text: str, name: str) -> bool:
    """Whether all of the name is matched. A name that is too long matches nothing."""
    if len(name) > LONGEST_NAME:
        return False
    return all(found.fullmatch(name) for found in _expressions(text))


def may_match_within(text: str, module: str) -> bool:
    """Whether it may match the module, or something of it: judged by what it begins with."""
    for part in text.split(JOINT):
        begins = [_fixed_begin(choice) for choice in _choices(part.strip())]
        beneath = f"{module}."
        if not any(begin.startswith(beneath) or begin == module or _is_open(begin, beneath) for begin in begins) and (
            not matches_name(part, module)
        ):
            return False
    return True


@lru_cache(maxsize=2_000)
def _expressions(text: str) -> tuple[re.Pattern[str], ...]:
    check_pattern(text)
    return tuple(re.compile(part.strip(), re.ASCII) for part in text.split(JOINT))


def _check_part(part: str) -> None:
    if not part or len(part) > LONGEST_PATTERN:
        raise WrongPattern(f"has {'nothing' if not part else f'more than {LONGEST_PATTERN} characters'} in it")
    try:
        re.compile(part)
    except (re.error, RecursionError, OverflowError) as error:
        raise WrongPattern(f"is no regular expression: {error}") from error
    repeats = opened = at = 0
    groups: list[bool] = []
    """For each open group, whether something in it is repeated, or has alternatives."""
    closed = False
    """Whether such a group has just been closed."""
    while at < len(part):
        sign, size = part[at], 1
        now_closed = False
        if sign == "\\":
            size = 2
            if part[at + 1 : at + 2].isdigit():
                raise WrongPattern("refers back to a group")
        elif sign == "[":
            size = _class_length(part, at)
        elif sign == "(":
            if part.startswith("(?", at) and not part.startswith("(?:", at):
                raise WrongPattern("has a group that begins with (? and is not (?:")
            groups.append(False)
            size = 3 if part.startswith("(?:", at) else 1
        elif sign == ")" and groups:
            now_closed = groups.pop()
            if now_closed and groups:
                groups[-1] = True
        elif sign == "|" and groups:
            groups[-1] = True
        elif sign in "*+?" or (sign == "{" and _COUNT.match(part, at)):
            count = _COUNT.match(part, at) if sign == "{" else None
            size = len(count[0]) if count is not None else 1
            is_open = sign in "*+" or (count is not None and _counts_far(count))
            if closed and sign != "?":
                raise WrongPattern("repeats a group that repeats, or has alternatives")
            if part[at + size : at + size + 1] in ("?", "+"):
                size += 1  # lazy, or possessive
            repeats += 1
            opened += is_open
            if groups:
                groups[-1] = True
        closed = now_closed
        at += size
    if repeats > MOST_REPEATS or opened > MOST_OPEN:
        raise WrongPattern(f"repeats too much: {MOST_OPEN} of “*” and “+”, and {MOST_REPEATS} in all, are taken")


def _counts_far(count: re.Match[str]) -> bool:
    """WrongPattern for what no name has room for."""
    least, most = int(count[1] or 0), int(count[3] or 0)
    if max(least, most) > LONGEST_NAME:
        raise WrongPattern(f"repeats something more than {LONGEST_NAME} times")
    return (bool(count[2]) and not count[3]) or max(least, most) > _MOST_COUNTED


def _class_length(part: str, at: int) -> int:
    """Characters of `[…]`, which begins here."""
    end = at + 2 if part.startswith("[^", at) else at + 1
    end += part.startswith("]", end)
    while end < len(part) and part[end] != "]":
        end += 2 if part[end] == "\\" else 1
    return end - at + 1


def _choices(part: str) -> list[str]:
    """The alternatives between the outermost `|`."""
    depth, begun, found, at = 0, 0, [], 0
    while at < len(part):
        match part[at]:
            case "\\":
                at += 1
            case "[":
                at += _class_length(part, at) - 1
            case "(":
                depth += 1
            case ")":
                depth -= 1
            case "|" if depth == 0:
                found.append(part[begun:at])
                begun = at + 1
            case _:
                pass
        at += 1
    return [*found, part[begun:]]


def fixed_begins(text: str) -> tuple[str, ...]:
    """What names that match begin with; with `\\0` at its end where more is left open."""
    return tuple(_fixed_begin(choice) for part in text.split(JOINT) for choice in _choices(part.strip()))


def _fixed_begin(choice: str) -> str:
    """The text with which each match begins; a dot is itself, and `\0` at the end means anything further."""
    begin, at = "", 0
    while at < len(choice):
        sign = choice[at]
        if sign == "\\" and choice[at + 1 : at + 2] and not choice[at + 1].isalnum():
            sign, at = choice[at + 1], at + 1
        elif sign in "\\[(|^$":
            return f"{begin}\0"
        if choice[at + 1 : at + 2] and choice[at + 1] in "*?{":
            return f"{begin}\0"
        if sign in "*+?{":
            return f"{begin}\0"
        begin += sign
        at += 1
    return begin


def _is_open(begin: str, beneath: str) -> bool:
    return begin.endswith("\0") and (beneath.startswith(begin[:-1]) or begin[:-1].startswith(beneath))
