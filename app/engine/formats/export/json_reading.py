"""JSON of a stranger: bounded in size and depth, and holding nothing that could not be written down again."""

import json
from typing import Any

from oi_tui.app.engine.core.errors import StoreError

MOST_BYTES = 128 * 1024 * 1024
MOST_JSON_VALUES = 10_000_000
"""Lists, objects and things in them, guessed by the signs between them: each takes far more memory than space here."""
DEEPEST_JSON = 100
"""Lists and objects in each other."""

_LARGEST = 2**63 - 1


def read_json(data: bytes) -> Any:
    """The value; StoreError if it is none, or too large or too deep.

    Other programs write NaN and halves of characters into their JSON. The first become null, the second a
    question mark; a number with too many digits becomes a less exact one, or null.
    """
    if len(data) > MOST_BYTES:
        raise StoreError(
            f"The file is too large: {len(data):,} bytes, and {MOST_BYTES:,} can be read",
            hint="Export it without pictures.",
        )
    if sum(map(data.count, (b"[", b"{", b","))) > MOST_JSON_VALUES:
        raise StoreError(f"The file holds more than {MOST_JSON_VALUES:,} values", hint="Export it in several parts.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise StoreError(f"The file is not UTF-8 text: byte {error.start:,} is none", hint=_EXPECTED) from None
    try:
        value = _load(text)
        if "\\ud" in text.lower():  # perhaps a half of a character, which nothing else can be made of
            value = _load(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode())
    except RecursionError:
        raise _too_deep() from None
    except json.JSONDecodeError as error:
        raise StoreError(
            f"The file is no JSON: line {error.lineno:,}, column {error.colno:,}: {error.msg}", hint=_EXPECTED
        ) from None
    _check_depth(value)
    return value


_EXPECTED = "A Jupyter notebook, or a conversation in the message language, can be imported."


def _load(text: str) -> Any:
    return json.loads(text, parse_int=_number, parse_float=_finite, parse_constant=lambda _: None)


def _number(digits: str) -> int | float | None:
    if len(digits) > 20:
        return _finite(digits)
    number = int(digits)
    return number if -_LARGEST <= number <= _LARGEST else float(number)


def _finite(digits: str) -> float | None:
    number = float(digits)
    return number if abs(number) != float("inf") else None


def _too_deep() -> StoreError:
    return StoreError(f"The file is nested too deep: more than {DEEPEST_JSON} lists in each other", hint=_EXPECTED)


def _check_depth(value: Any) -> None:
    """Level by level, so that no depth can exhaust the stack."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(DEEPEST_JSON + 1):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return
    raise _too_deep()
