"""Values of a model as the schema wants them: enumerations, numbers, dates, yes and no, names of fields. Pure.

Only what does not fit is changed, and only where there is one way to read it.
"""

import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from oi_tui.app.engine.structured.field_words import plain, read_boolean, read_date, read_moment, read_number

Fits = Callable[[Any, Mapping[str, Any]], bool]
"""Whether a value fits a part of the schema."""

DEEPEST = 64

NEAR = 0.82
"""How alike a word and a member of an enumeration are that are taken for the same."""

_NOTHING = frozenset(
    {"", "null", "none", "n/a", "na", "nil", "unknown", "keine", "unbekannt", "-", "—", "k. a.", "k.a."}
)


class Normaliser:
    """Reads values as one schema wants them."""

    def __init__(self, root: Mapping[str, Any], fits: Fits) -> None:
        self._root = root
        self._fits = fits

    def normalise(self, value: Any) -> Any:
        """The same value, or one that fits better."""
        return self._value(value, self._root, 0)

    def _value(self, value: Any, schema: Any, depth: int) -> Any:
        if depth > DEEPEST or not isinstance(schema, dict) or self._fits(value, schema):
            return value
        if isinstance(reference := schema.get("$ref"), str):
            value = self._value(value, self._resolve(reference), depth + 1)
        for part in schema.get("allOf", ()):
            value = self._value(value, part, depth + 1)
        for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
            if self._fits(changed := self._value(value, choice, depth + 1), choice):
                return changed
        return self._by_type(value, schema, depth)

    def _resolve(self, reference: str) -> Any:
        part: Any = self._root
        for name in [name for name in reference.removeprefix("#").split("/") if name]:
            part = part.get(name.replace("~1", "/").replace("~0", "~")) if isinstance(part, dict) else None
        return part

    def _by_type(self, value: Any, schema: Mapping[str, Any], depth: int) -> Any:
        if "enum" in schema or "const" in schema:
            members = schema.get("enum", [schema.get("const")])
            return _member(value, members)
        kinds = schema.get("type", ())
        for kind in [kinds] if isinstance(kinds, str) else kinds:
            match kind, value:
                case "object", dict():
                    return self._fields(value, schema, depth)
                case "array", list():
                    inner = schema.get("items")
                    return [self._value(one, inner, depth + 1) for one in value]
                case "array", str() | int() | float() | dict():
                    return [self._value(value, schema.get("items"), depth + 1)]
                case _:
                    changed = _scalar(value, kind, schema)
            if changed is not value and self._fits(changed, schema):
                return changed
        return value

    def _fields(self, value: dict[str, Any], schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        """Fields under the names of the schema, without those that nobody asked for and those left empty."""
        known = schema.get("properties", {})
        names = {plain(name): name for name in known}
        required = schema.get("required", ())
        told: dict[str, Any] = {}
        for given, inner in value.items():
            name = given if given in known else names.get(plain(given), given)
            if name not in known and schema.get("additionalProperties") is False:
                continue
            if name != given and name in value:
                continue
            part = known.get(name, schema.get("additionalProperties"))
            inner = self._value(inner, part, depth + 1)
            if inner is None and name not in required and isinstance(part, dict) and not self._fits(None, part):
                continue
            told[name] = inner
        return told


def _scalar(value: Any, kind: str, schema: Mapping[str, Any]) -> Any:
    match kind, value:
        case "null", str() if value.strip().casefold() in _NOTHING:
            return None
        case "boolean", str():
            return _or(read_boolean(value), value)
        case "boolean", 0 | 1:
            return bool(value)
        case "integer" | "number", str():
            return _or(read_number(value, whole=kind == "integer", most=_most(schema)), value)
        case "integer", float() if value.is_integer():
            return int(value)
        case "string", int() | float() if not isinstance(value, bool):
            return str(value)
        case "string", bool():
            return "true" if value else "false"
        case "string", str():
            return _text(value, schema)
        case _:
            return value


def _text(value: str, schema: Mapping[str, Any]) -> str:
    match schema.get("format"):
        case "date":
            moment = read_moment(value) if "T" in value or ":" in value else None
            return read_date(value) or (moment or value).partition("T")[0]
        case "date-time":
            return read_moment(value) or value
        case _:
            return value.strip()


def _most(schema: Mapping[str, Any]) -> float | None:
    found = schema.get("maximum", schema.get("exclusiveMaximum"))
    return found if isinstance(found, int | float) else None


def _or(found: Any, value: Any) -> Any:
    return value if found is None else found


def _member(value: Any, members: Sequence[Any]) -> Any:
    """The member that is meant: alike but for case, accents and marks, else the only one that is near."""
    if value is None or isinstance(value, dict | list):
        return value
    if isinstance(value, str) and None in members and value.strip().casefold() in _NOTHING:
        return None
    by_text = {plain(str(member)): member for member in members if member is not None}
    said = plain(str(value))
    if said in by_text:
        return by_text[said]
    for kind in (bool, int, float):
        if any(type(member) is kind for member in members) and isinstance(value, str):
            number = read_boolean(value) if kind is bool else read_number(value)
            if number is not None and number in members:
                return number
    near = difflib.get_close_matches(said, by_text, n=2, cutoff=NEAR)
    return by_text[near[0]] if len(near) == 1 and len(said) > 2 else value
