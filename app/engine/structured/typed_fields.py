"""Fields as a person types them, as a JSON schema: `name, price: number, day: date, kind: new|used`. Pure."""

import re
from typing import Any

from oi_tui.app.engine.core.errors import SettingsError

_FIELD = re.compile(r"\s*([^\W\d][\w -]*?)\s*(?::\s*(\S.*?))?\s*")

_TYPES: dict[str, dict[str, Any]] = {
    "text": {"type": ["string", "null"]},
    "number": {"type": ["number", "null"]},
    "integer": {"type": ["integer", "null"]},
    "date": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
    "time": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]},
    "yes/no": {"type": ["boolean", "null"]},
    "list": {"type": ["array", "null"], "items": {"type": "string"}},
}
"""What is not in a record is null, which the model has to say."""

TYPE_NAMES = ", ".join(_TYPES)


def reads_as_fields(text: str) -> bool:
    """Whether this is a list of fields, and no name of a file or a module."""
    return ("," in text or ": " in text) and all(_FIELD.fullmatch(part) for part in text.split(","))


def typed_schema(text: str) -> dict[str, Any]:
    """The schema of an object with these fields; SettingsError for an unknown type."""
    fields: dict[str, Any] = {}
    for part in text.split(","):
        if (found := _FIELD.fullmatch(part)) is None:
            raise SettingsError(f"“{part.strip()}” is no field.", hint=f"Type fields as NAME: TYPE, of {TYPE_NAMES}.")
        name, kind = found[1], found[2] or "text"
        if name in fields:
            raise SettingsError(f"There are two fields {name}.")
        fields[name] = _type(name, kind)
    return {"type": "object", "properties": fields, "required": [*fields], "additionalProperties": False}


def _type(name: str, kind: str) -> dict[str, Any]:
    if kind in _TYPES:
        return _TYPES[kind]
    members = [member.strip() for member in kind.split("|")]
    if len(members) > 1 and all(members):
        return {"enum": [*members, None]}
    title = f"The field {name} has an unknown type: {kind}."
    raise SettingsError(title, hint=f"Types are {TYPE_NAMES}, and words with | between them.")
