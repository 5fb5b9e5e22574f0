"""Types of arguments, as JSON schema and from JSON: what msgspec reads, paths, and those of pydantic where it is."""

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

import msgspec

OUTPUT = "output"
"""A parameter of this name without a hint is where the function says what it does: it is no argument of a call."""

_REFERENCE = "#/$defs/{name}"


class ArgumentType(NamedTuple):
    """How values of one type are written in JSON and read from it."""

    hint: Any
    convert: Callable[[Any], Any]
    """The value of this type that a JSON value means; ValueError if it means none."""
    schema: Callable[[], dict[str, Any]] | None = None
    """Its schema, where msgspec cannot make it."""


class Parameter(NamedTuple):
    """One argument of a call."""

    name: str
    kind: ArgumentType
    description: str
    is_required: bool
    default: object
    """The default value; one that JSON cannot express is left out."""


def argument_type(hint: Any) -> ArgumentType:
    """TypeError (`of the type X, which JSON cannot say`) for what can be no argument."""
    pydantic = sys.modules.get("pydantic")  # a function cannot name a type of a library that nobody has loaded
    if pydantic is not None and any(map(_is_of_pydantic, _parts(hint))):
        adapter = pydantic.TypeAdapter(hint)
        return ArgumentType(
            hint, adapter.validate_python, lambda: dict(adapter.json_schema(ref_template="#/$defs/{model}"))
        )
    try:
        msgspec.json.schema(hint, schema_hook=_schema_of)
    except (TypeError, NotImplementedError) as error:
        name = getattr(hint, "__name__", str(hint))
        raise TypeError(f"of the type {name}, which JSON cannot say") from error
    return ArgumentType(hint, lambda value: msgspec.convert(value, hint, dec_hook=_decode))


def arguments_schema(parameters: Sequence[Parameter]) -> dict[str, Any]:
    """JSON schema of the arguments of a call."""
    schemas, definitions = _schemas([one.kind for one in parameters])
    properties: dict[str, Any] = {}
    for one, schema in zip(parameters, schemas, strict=True):
        properties[one.name] = schema | ({"description": one.description} if one.description else {})
        if not one.is_required:
            try:
                properties[one.name]["default"] = msgspec.to_builtins(one.default)
            except (TypeError, ValueError):
                continue
    required = [one.name for one in parameters if one.is_required]
    whole: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    return whole | ({"required": required} if required else {}) | ({"$defs": definitions} if definitions else {})


def _schemas(kinds: Sequence[ArgumentType]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The schema of each, and the definitions that these share."""
    own = [kind.hint for kind in kinds if kind.schema is None]
    made, definitions = msgspec.json.schema_components(own, schema_hook=_schema_of, ref_template=_REFERENCE)
    rest = iter(made)
    schemas: list[dict[str, Any]] = []
    for kind in kinds:
        schema = next(rest) if kind.schema is None else kind.schema()
        definitions.update(schema.pop("$defs", {}))
        schemas.append(schema)
    return schemas, definitions


def _is_of_pydantic(hint: Any) -> bool:
    return hasattr(hint, "__pydantic_core_schema__") or hasattr(hint, "__get_pydantic_core_schema__")


def _parts(hint: Any) -> Iterable[Any]:
    """The type and all types within it."""
    yield hint
    for part in get_args(hint):
        yield from _parts(part)


def _schema_of(kind: type) -> dict[str, Any]:
    if issubclass(kind, Path):
        return {"type": "string", "description": "A path."}
    raise NotImplementedError(kind)


def _decode(kind: type, value: Any) -> Any:
    if issubclass(kind, Path) and isinstance(value, str):
        return Path(value)
    raise NotImplementedError(kind)
