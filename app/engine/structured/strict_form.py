"""A schema in the form of providers that hold a model to it while it writes. Pure.

They take a part of JSON schema, and want each property required and no other allowed. What is optional may be null
there; `Normaliser` takes such nulls away again.
"""

from collections.abc import Mapping
from typing import Any

_KEYWORDS = frozenset({
    *("type", "properties", "required", "items", "enum", "const", "anyOf", "$ref", "$defs", "definitions"),
    *("additionalProperties", "description", "format", "pattern", "minimum", "maximum", "exclusiveMinimum"),
    *("exclusiveMaximum", "multipleOf", "minItems", "maxItems"),
})  # fmt: skip
_REMARKS = frozenset({"title", "default", "examples", "$schema", "$id", "$comment", "deprecated", "readOnly"})
_FORMATS = frozenset({"date", "date-time", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})


class _NotStrict(Exception):
    """The schema says something that such providers do not take."""


def response_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The field `response_format` of OpenAI's language, strict where the schema can be."""
    try:
        told: dict[str, Any] = {"name": "answer", "schema": _strict(schema), "strict": True}
    except _NotStrict:
        told = {"name": "answer", "schema": dict(schema)}
    return {"type": "json_schema", "json_schema": told}


def _strict(schema: Any) -> Any:
    if not isinstance(schema, Mapping) or not (schema.keys() - _REMARKS or schema.keys() <= {"title"}):
        raise _NotStrict
    kept = {name: part for name, part in schema.items() if name not in _REMARKS}
    if not kept or kept.keys() - _KEYWORDS or kept.get("format", "date") not in _FORMATS:
        raise _NotStrict
    for name in ("$defs", "definitions"):
        if name in kept:
            kept[name] = {key: _strict(part) for key, part in kept[name].items()}
    if "anyOf" in kept:
        kept["anyOf"] = [_strict(part) for part in kept["anyOf"]]
    if "items" in kept:
        kept["items"] = _strict(kept["items"])
    kinds = kept.get("type", ())
    if "object" in ([kinds] if isinstance(kinds, str) else kinds) or "properties" in kept:
        if kept.get("additionalProperties", False) is not False or "properties" not in kept:
            raise _NotStrict
        required = kept.get("required", ())
        kept["properties"] = {
            name: _strict(part) if name in required else _or_null(_strict(part))
            for name, part in kept["properties"].items()
        }
        kept |= {"required": list(kept["properties"]), "additionalProperties": False}
    elif "array" in ([kinds] if isinstance(kinds, str) else kinds) and "items" not in kept:
        raise _NotStrict
    return kept


def _or_null(part: dict[str, Any]) -> dict[str, Any]:
    kinds = part.get("type")
    choices = part.get("anyOf", ())
    if kinds == "null" or (isinstance(kinds, list) and "null" in kinds) or {"type": "null"} in choices:
        return part
    return {"anyOf": [*choices, {"type": "null"}]} if part.keys() == {"anyOf"} else {"anyOf": [part, {"type": "null"}]}
