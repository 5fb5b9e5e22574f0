"""What a kernel sent, as something that can be written and read again: UTF-8, finite, not endlessly deep."""

import math
from typing import Any

from oi_tui.app.engine.core.encoding import expressible

MAX_DEPTH = 50
"""Levels of JSON in JSON; what is deeper is left out."""

MAX_INT = 2**63 - 1
"""Larger numbers are kept as text: not everything that reads JSON has them."""


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
