"""What a kernel sent, as something that can be written and read again: UTF-8, finite, not endlessly deep or many."""

import math
from collections.abc import Mapping
from typing import Any

from oi_tui.app.engine.core.encoding import expressible

MAX_DEPTH = 50
"""Levels of JSON in JSON; what is deeper is left out."""

MAX_INT = 2**63 - 1
"""Larger numbers are kept as text: not everything that reads JSON has them."""

MARKS = (b",", b"[", b"{")
"""Outside of strings, one of these precedes each value but the first."""

STEPS = 10
"""Steps for each allowed value that counting the values may take."""


def clean_json(value: Any, depth: int = 0) -> Any:
    """Any JSON value, keys included."""
    match value:
        case str():
            return expressible(value)
        case bool() | None:
            return value
        case int():
            return value if -MAX_INT <= value <= MAX_INT else f"{value:#x}"
        case float():
            return value if math.isfinite(value) else None
        case dict() | list() if depth >= MAX_DEPTH:
            return None
        case dict():
            return {expressible(str(key)): clean_json(inner, depth + 1) for key, inner in value.items()}
        case list():
            return [clean_json(inner, depth + 1) for inner in value]
        case _:
            return None


class CleanContent(dict[str, Any]):
    """Content of a message whose `data` and `metadata` have been cleaned."""


def clean_content(content: Mapping[str, Any]) -> CleanContent:
    """The same with `data` and `metadata` cleaned, if they were not."""
    if isinstance(content, CleanContent):
        return content
    cleaned = {name: clean_json(content[name]) for name in ("data", "metadata") if name in content}
    return CleanContent(content, **cleaned)


def has_more_values(text: bytes, most: int) -> bool:
    """Whether a JSON text has more than `most` values in its lists and objects.

    Does not parse the text, for no other thread could interrupt that. True also if counting takes too long: for a text
    with more than `STEPS * most` quotation marks.
    """
    if _count_marks(text, 0, len(text)) <= most:
        return False
    values = position = 0
    inside = False
    for _ in range(STEPS * most):
        quote = text.find(b'"', position)
        if not inside:
            values += _count_marks(text, position, quote if quote >= 0 else len(text))
            if values > most:
                return True
        if quote < 0:
            return False
        inside = not inside or _ends_in_escape(text[position:quote])
        position = quote + 1
    return True


def _count_marks(text: bytes, start: int, end: int) -> int:
    return sum(text.count(mark, start, end) for mark in MARKS)


def _ends_in_escape(text: bytes) -> bool:
    return (len(text) - len(text.rstrip(b"\\"))) % 2 == 1
