"""JSON schemas of type hints that are only read, not evaluated: what a function takes is known before its file runs."""

import ast
from typing import Any, NamedTuple

SIMPLE: dict[str, dict[str, Any]] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "None": {"type": "null"},
    "Any": {},
    "object": {},
    "list": {"type": "array"},
    "List": {"type": "array"},
    "dict": {"type": "object"},
    "Dict": {"type": "object"},
}
_PATH = {"type": "string", "description": "A path."}
KNOWN = "str, int, float, bool, list, dict, Literal, Path, None, Any and their unions"


class WrongHint(Exception):
    """It says nothing that JSON has; the text is the rest of a sentence about the argument."""


class HintSchema(NamedTuple):
    """What a hint says."""

    schema: dict[str, Any]
    is_path: bool = False
    """Whether the function wants a `Path`, where JSON has a text."""
    description: str = ""
    """The text of an `Annotated`."""


def hint_schema(hint: ast.expr) -> HintSchema:
    """The schema of a hint; WrongHint."""
    match hint:
        case ast.Constant(value=str(quoted)):
            try:
                return hint_schema(ast.parse(quoted, mode="eval").body)
            except SyntaxError as error:
                raise WrongHint(f"has the hint {quoted!r}, which is no Python") from error
        case ast.Subscript(value=outer, slice=ast.Tuple(elts=[inner, *more])) if _name(outer) == "Annotated":
            texts = [one.value for one in more if isinstance(one, ast.Constant) and isinstance(one.value, str)]
            return hint_schema(inner)._replace(description=texts[0] if texts else "")
        case _:
            pass
    members = list(_members(hint))
    paths = [one for one in members if _name(one) == "Path"]
    if paths and all(_name(one) in ("Path", "None") for one in members):
        return HintSchema(_any_of([_PATH if _name(one) == "Path" else SIMPLE["None"] for one in members]), is_path=True)
    return HintSchema(_any_of([_schema(one) for one in members]))


def _any_of(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _members(hint: ast.expr) -> list[ast.expr]:
    """The parts of a union, or the hint itself."""
    match hint:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return [*_members(left), *_members(right)]
        case ast.Subscript(value=outer, slice=inner) if _name(outer) == "Optional":
            return [*_members(inner), ast.Constant(value=None)]
        case ast.Subscript(value=outer, slice=ast.Tuple(elts=parts)) if _name(outer) == "Union":
            return [member for part in parts for member in _members(part)]
        case _:
            return [hint]


def _schema(hint: ast.expr) -> dict[str, Any]:
    match hint:
        case ast.Subscript(value=outer, slice=inner):
            match _name(outer), inner:
                case "Literal", _:
                    return {"enum": _choices(inner)}
                case "list" | "List", _:
                    return {"type": "array", "items": _inner(inner)}
                case "dict" | "Dict", ast.Tuple(elts=[key, value]) if _name(key) == "str":
                    return {"type": "object", "additionalProperties": _inner(value)}
                case _:
                    pass
        case _ if (name := _name(hint)) in SIMPLE:
            return SIMPLE[name]
        case _:
            pass
    raise WrongHint(f"has the hint {ast.unparse(hint)[:80]}; known are {KNOWN}")


def _inner(hint: ast.expr) -> dict[str, Any]:
    found = hint_schema(hint)
    if found.is_path:
        raise WrongHint("has paths within another type, which JSON has no word for")
    return found.schema


def _choices(inner: ast.expr) -> list[Any]:
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    try:
        values = [ast.literal_eval(part) for part in parts]
    except ValueError:
        values = [None]
    if not all(isinstance(value, str | int | bool) for value in values):
        raise WrongHint("has a Literal of something else than texts and numbers")
    return values


def _name(hint: ast.expr) -> str:
    """The last word of a name: `typing.Any` is `Any`; "" for what is none."""
    match hint:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Constant(value=None):
            return "None"
        case _:
            return ""
