"""Runs in the person's Python: prints the JSON schema of MODULE:NAME. Needs nothing but what the model is made of.

Importing the module runs its code. stdout is the schema alone: what the module prints goes to stderr.
"""

import contextlib
import dataclasses
import datetime
import decimal
import enum
import importlib
import json
import os
import sys
import typing
import uuid

PLAIN: dict[typing.Any, dict[str, typing.Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    datetime.date: {"type": "string", "format": "date"},
    datetime.datetime: {"type": "string", "format": "date-time"},
    datetime.time: {"type": "string", "format": "time"},
    decimal.Decimal: {"type": "number"},
    uuid.UUID: {"type": "string", "format": "uuid"},
    list: {"type": "array"},
    dict: {"type": "object"},
}


def _find(module: str, name: str) -> typing.Any:
    found: typing.Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _schema_of(kind: typing.Any) -> typing.Any:
    if isinstance(kind, dict):
        return kind
    if hasattr(kind, "model_json_schema"):
        return kind.model_json_schema()
    if hasattr(kind, "__struct_fields__"):
        import msgspec  # it is there, the struct was made by it

        return msgspec.json.schema(kind)
    if typing.is_typeddict(kind) and sys.version_info < (3, 12):
        return _own_schema(kind, 0)  # pydantic takes none of the standard library's there
    with contextlib.suppress(ImportError):
        from pydantic import TypeAdapter  # the person's Python may lack it

        return TypeAdapter(kind).json_schema()
    return _own_schema(kind, 0)


def _own_schema(kind: typing.Any, depth: int) -> dict[str, typing.Any]:
    """Without a library: dataclasses, typed dictionaries, and what they are made of."""
    if depth > 20:
        raise TypeError("it is nested too deeply, or contains itself")
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if kind in PLAIN:
        return PLAIN[kind]
    if origin is typing.Literal:
        return {"enum": list(inner)}
    if origin is typing.Union or type(kind).__name__ == "UnionType":
        return {"anyOf": [_own_schema(one, depth + 1) for one in inner]}
    if origin in (list, set, frozenset) or (origin is tuple and inner[1:] == (...,)):
        return {"type": "array", "items": _own_schema(inner[0], depth + 1)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _own_schema(inner[1], depth + 1)}
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return {"enum": [one.value for one in kind]}
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        missing = dataclasses.MISSING
        required = [
            one.name
            for one in dataclasses.fields(kind)
            if one.init and one.default is missing and one.default_factory is missing
        ]
        names = [one.name for one in dataclasses.fields(kind) if one.init]
    elif typing.is_typeddict(kind):
        hints = typing.get_type_hints(kind)
        names, required = list(hints), sorted(kind.__required_keys__)
    else:
        raise TypeError(f"{kind!r} is no pydantic model, msgspec struct, dataclass, typed dictionary or schema")
    return {
        "type": "object",
        "properties": {name: _own_schema(hints[name], depth + 1) for name in names},
        "required": required,
        "additionalProperties": False,
    }


def main() -> None:
    """Print the schema; what is wrong goes to stderr."""
    told = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    module, _, name = sys.argv[1].partition(":")
    try:
        schema = _schema_of(_find(module, name))
    except Exception as error:
        # Boundary: the person's module, which raises whatever it likes.
        sys.stderr.write(f"{type(error).__name__}: {error}")
        sys.exit(3)
    json.dump(schema, told)
    told.flush()


if __name__ == "__main__":
    main()
