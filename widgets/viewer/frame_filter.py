"""Which rows of a table are wanted, as a person types it: `score > 5 and city ~ berg`. Nothing of it is run as code."""

import re
from typing import Literal

from oi_tui.app.engine.core.variable import FrameCondition, FrameSign

FILTER_HELP = "score > 5 · city ~ berg (contains) · city = null · !~ and != for not · and · “a name” in quotes"

_SIGN = re.compile(r"\s*(!~|!=|<=|>=|==|=|<|>|~|\bis\b(?:\s+not\b)?|\bcontains\b)\s*")
_QUOTED = re.compile(r"""(["'`])(.*?)\1|“(.*?)”""")
_AND = re.compile(r"\s+and(?:\s+|$)|\s*&&?\s*", re.IGNORECASE)
_WORDS: dict[str, FrameSign] = {"==": "=", "is": "=", "is not": "!=", "contains": "~"}
_NOTHING = frozenset(("null", "none", "nan", "na"))


class FilterError(ValueError):
    """What was typed is no filter; the text says why."""


def parse_filter(typed: str) -> tuple[FrameCondition, ...]:
    """The conditions, all of which must hold; FilterError where it is none."""
    rest, found = typed.strip(), []
    while rest:
        column, rest = _take_column(rest)
        sign, rest = _take_sign(rest)
        value, is_quoted, rest = _take_value(rest)
        nothing = not is_quoted and value.lower() in _NOTHING
        if nothing and sign not in ("=", "!="):
            raise FilterError("null is compared with = or != only.")
        found.append(FrameCondition(column=column, sign=sign, value=None if nothing else value))
    return tuple(found)


def filter_text(conditions: tuple[FrameCondition, ...]) -> str:
    """How one would type them."""
    return " and ".join(
        f"{_quote(one.column)} {one.sign} {'null' if one.value is None else _quote(one.value)}" for one in conditions
    )


def _take_column(text: str) -> tuple[str, str]:
    if quoted := _QUOTED.match(text):
        return quoted[2] if quoted[2] is not None else quoted[3], text[quoted.end() :]
    sign = _SIGN.search(text)
    if sign is None:
        raise FilterError("Type a column, a sign and a value, such as: score > 5")
    if not text[: sign.start()].strip():
        raise FilterError("Which column? Type its name before the sign.")
    return text[: sign.start()].strip(), text[sign.start() :]


def _take_sign(text: str) -> tuple[FrameSign, str]:
    sign = _SIGN.match(text)
    if sign is None:
        raise FilterError("Type a sign after the column: = != < <= > >= ~ !~")
    said = " ".join(sign[1].split())
    known: dict[str, FrameSign] = {one: one for one in _SIGNS}
    return (_WORDS | known)[said], text[sign.end() :]


_SIGNS: tuple[Literal["=", "!=", "<", "<=", ">", ">=", "~", "!~"], ...] = ("=", "!=", "<", "<=", ">", ">=", "~", "!~")


def _take_value(text: str) -> tuple[str, bool, str]:
    if quoted := _QUOTED.match(text):
        value, rest = quoted[2] if quoted[2] is not None else quoted[3], text[quoted.end() :]
        joint = _AND.match(rest)
        if rest.strip() and joint is None:
            raise FilterError("Write and between two conditions.")
        return value, True, rest[joint.end() :] if joint else ""
    joint = _AND.search(text)
    value, rest = (text[: joint.start()], text[joint.end() :]) if joint else (text, "")
    if not value.strip():
        raise FilterError("Type a value after the sign.")
    if joint and not rest.strip():
        raise FilterError("Type a condition after and.")
    return value.strip(), False, rest


def _quote(text: str) -> str:
    plain = text and text.lower() not in _NOTHING and not _SIGN.search(text) and not _AND.search(text)
    return text if plain and text == text.strip() and '"' not in text else f'"{text}"'
