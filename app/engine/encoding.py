"""Values as JSON, whatever text is in them: half of a surrogate pair has no place in UTF-8, and must stop nobody.

Such text comes from servers, kernels, file names and exceptions. Most of it is cleaned where it comes in; what slips
through is replaced here, before it would keep a session from being written down or told.
"""

from typing import Any

import msgspec

_encoder = msgspec.json.Encoder()


def as_json(value: Any) -> bytes:
    """One line of JSON."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return _encoder.encode(_expressible(msgspec.to_builtins(value)))


def _expressible(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case dict():
            return {_expressible(key): _expressible(content) for key, content in value.items()}
        case list() | tuple():
            return [_expressible(content) for content in value]
        case _:
            return value
