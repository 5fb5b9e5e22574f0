"""The JSON values in an answer of a model: the whole of it, what is in fences, what is between prose. Pure."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any, NoReturn

LONGEST = 2_000_000
"""Characters of an answer that are looked through."""

TRIES = 60
"""Places in prose at which a value may begin."""

_FENCE = re.compile(r"^(`{3,}|~{3,})[^\n]*\n(.*?)^\1[ \t]*$", re.DOTALL | re.MULTILINE)
_OPENING = re.compile(r"[\[{]")


def find_values(text: str) -> Iterator[Any]:
    """The values that may be the answer, the likeliest first."""
    text = text[:LONGEST].rpartition("</think>")[2].strip()
    seen: list[Any] = []
    for value in _candidates(text):
        if value not in seen:
            seen.append(value)
            yield value


def _candidates(text: str) -> Iterator[Any]:
    found, value = _read(text)
    if found:
        yield value
        return
    for fence in reversed(_FENCE.findall(text)):
        found, value = _read(fence[1])
        if found:
            yield value
    yield from (value for _, value in sorted(_spans(text), key=lambda span: -span[0]))


def _spans(text: str) -> list[tuple[int, Any]]:
    """Objects and lists between prose, each with its length."""
    decoder = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)
    spans: list[tuple[int, Any]] = []
    place = 0
    for _ in range(TRIES):
        if (opening := _OPENING.search(text, place)) is None:
            break
        try:
            value, end = decoder.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            place = opening.end()
            continue
        spans.append((end - opening.start(), value))
        place = end
    return spans


def _read(text: str) -> tuple[bool, Any]:
    """Whether the whole text is JSON, and its value."""
    try:
        return True, json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError):
        return False, None


def _finite(digits: str) -> float:
    """ValueError for what has no finite value here: it could not be written as JSON again."""
    if not math.isfinite(number := float(digits)):
        _refuse(digits)
    return number


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
