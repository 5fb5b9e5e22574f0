"""Types of hints that are only read, not evaluated: what a function takes is known before its file runs.

A class of the file (an enumeration, a dataclass, a TypedDict, a NamedTuple) becomes a type that JSON says in the same
way (`argument_types.py`); no code of the class runs for that.
"""

import ast
import collections.abc
import datetime
import decimal
import enum
import functools
import operator
import pathlib
import uuid
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import msgspec

NOTHING = type(None)

SIMPLE: dict[str, Any] = {
    **{kind.__name__: kind for kind in (str, int, float, bool, bytes, list, dict, tuple, set, frozenset)},
    "None": NOTHING,
    "Any": Any,
    "object": Any,
    **{kind.__name__.title(): kind for kind in (list, dict, tuple, set)},
    **{name: getattr(collections.abc, name) for name in ("Sequence", "Iterable", "Collection", "Mapping")},
    "Path": pathlib.Path,
    "UUID": uuid.UUID,
    "Decimal": decimal.Decimal,
    **{name: getattr(datetime, name) for name in ("datetime", "date", "time")},
}
KNOWN = (
    "str, int, float, bool, bytes, list, dict, tuple, set, Literal, Path, date, datetime, time, Decimal, UUID, None, "
    "Any, their unions, and enumerations, dataclasses, TypedDict and NamedTuple of the file"
)
_WITH_PARTS = frozenset(name for name, kind in SIMPLE.items() if hasattr(kind, "__class_getitem__"))
_ENUMS = {"Enum": enum.Enum, "IntEnum": enum.IntEnum, "StrEnum": enum.StrEnum}
_RECORDS = frozenset({"TypedDict", "NamedTuple", "dataclass"})


class WrongHint(Exception):
    """A type hint that JSON cannot express; the text is the rest of a sentence about the argument."""


class ReadHint(NamedTuple):
    """The meaning of a type hint."""

    hint: Any
    description: str = ""
    """The text of an `Annotated`."""


class _Field(NamedTuple):
    """One field of a class."""

    hint: ast.expr
    has_default: bool
    default: ast.expr | None


class HintTypes:
    """The types that hints of one file mean."""

    def __init__(self, tree: ast.Module) -> None:
        self._classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        self._made: dict[str, Any] = {}
        self._open: set[str] = set()
        """Classes that are being made."""

    def read(self, hint: ast.expr) -> ReadHint:
        """The type of an argument; WrongHint."""
        match _unquote(hint):
            case ast.Subscript(value=outer, slice=ast.Tuple(elts=[inner, *more])) if last_word(outer) == "Annotated":
                texts = [one.value for one in more if isinstance(one, ast.Constant) and isinstance(one.value, str)]
                return ReadHint(self._type(inner), texts[0] if texts else "")
            case plain:
                return ReadHint(self._type(plain))

    def _type(self, written: ast.expr) -> Any:
        hint = _unquote(written)
        name = last_word(hint)
        match hint:
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return self._type(left) | self._type(right)
            case ast.Subscript(value=outer, slice=inner):
                return self._with_parts(last_word(outer), inner, hint)
            case ast.Name() if name in self._classes:
                return self._class(name)
            case _ if name in SIMPLE:
                return SIMPLE[name]
            case _:
                raise _unknown(hint)

    def _with_parts(self, name: str, inner: ast.expr, whole: ast.expr) -> Any:
        parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        if name == "Literal":
            return Literal[tuple(_choices(parts))]
        if name == "Annotated":
            return self._type(parts[0])
        if name == "Optional":
            return self._type(inner) | NOTHING
        if name == "Union":
            return functools.reduce(operator.or_, (self._type(part) for part in parts))
        if name in _WITH_PARTS:
            kinds = tuple(... if _is_dots(part) else self._type(part) for part in parts)
            try:
                return SIMPLE[name][kinds if len(kinds) > 1 or name in ("tuple", "Tuple") else kinds[0]]
            except TypeError as error:
                raise _unknown(whole) from error
        raise _unknown(whole)

    def _class(self, name: str) -> Any:
        if name in self._open:
            raise WrongHint(f"has the hint {name}, a class that holds itself")
        if name not in self._made:
            self._open.add(name)
            try:
                self._made[name] = self._make(self._classes[name])
            except (TypeError, ValueError) as error:  # of the names and values in it
                raise WrongHint(f"has the hint {name}, a class that cannot be read: {error}") from error
            finally:
                self._open.discard(name)
        return self._made[name]

    def _make(self, node: ast.ClassDef) -> Any:
        for base in map(last_word, node.bases):
            if base in _ENUMS:
                return _ENUMS[base](node.name, list(_enum_members(node, base)))
        kind = self._record_kind(node)
        fields = [self._field(name, field) for name, field in self._fields(node).items()]
        return msgspec.defstruct(
            node.name, fields, array_like=kind == "NamedTuple", forbid_unknown_fields=True, kw_only=kind != "NamedTuple"
        )

    def _record_kind(self, node: ast.ClassDef, depth: int = 0) -> str:
        """Which kind of class with fields this is."""
        marks = [one.func if isinstance(one, ast.Call) else one for one in node.decorator_list]
        names = [last_word(one) for one in (*node.bases, *marks)]
        for name in names:
            if name in _RECORDS:
                return name
        if depth < len(self._classes):
            for name in names:
                if name in self._classes:
                    return self._record_kind(self._classes[name], depth + 1)
        raise WrongHint(f"has the hint {node.name}, a class that is no enumeration, dataclass, TypedDict or NamedTuple")

    def _fields(self, node: ast.ClassDef, depth: int = 0) -> dict[str, _Field]:
        """The fields, those of base classes first."""
        found: dict[str, _Field] = {}
        for base in map(last_word, node.bases):
            if base in self._classes and depth < len(self._classes):
                found |= self._fields(self._classes[base], depth + 1)
            elif base not in _RECORDS:
                raise WrongHint(f"has the hint {node.name}, a class that is made of {base or 'another one'}")
        optional = any(
            one.arg == "total" and isinstance(one.value, ast.Constant) and one.value.value is False
            for one in node.keywords
        )
        for line in node.body:
            match line:
                case ast.AnnAssign(target=ast.Name(id=name), annotation=hint, value=value):
                    match hint:
                        case ast.Subscript(value=outer) if last_word(outer) == "ClassVar":
                            continue
                        case ast.Subscript(value=outer, slice=inner) if last_word(outer) in ("Required", "NotRequired"):
                            found[name] = _Field(inner, last_word(outer) == "NotRequired", None)
                        case _:
                            found[name] = _Field(hint, optional or value is not None, value)
                case _:
                    pass
        return found

    def _field(self, name: str, field: _Field) -> tuple[str, Any] | tuple[str, Any, Any]:
        kind = self._type(field.hint)
        if not field.has_default:
            return name, kind
        value = literal_default(field.default)
        return name, kind, msgspec.field(default_factory=dict) if value is NO_VALUE else value


NO_VALUE: Any = object()
"""For a default that is known only at run time, or is not shown."""


def literal_default(written: ast.expr | None) -> Any:
    """The value of a default that is a text, a number, a bool or None; NO_VALUE for all others."""
    if written is None:
        return NO_VALUE
    try:
        value = ast.literal_eval(written)
    except (ValueError, TypeError):  # the second: `{[]: 1}` has no value
        return NO_VALUE
    return value if isinstance(value, str | int | float | bool | None) else NO_VALUE


def last_word(hint: ast.expr) -> str:
    """The last part of a name: `typing.Any` is `Any`; "" for anything else."""
    match hint:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Constant(value=None):
            return "None"
        case _:
            return ""


def _unquote(hint: ast.expr) -> ast.expr:
    match hint:
        case ast.Constant(value=str(quoted)):
            try:
                return _unquote(ast.parse(quoted, mode="eval").body)
            except SyntaxError as error:
                raise WrongHint(f"has the hint {quoted!r}, which is no Python") from error
        case _:
            return hint


def _unknown(hint: ast.expr) -> WrongHint:
    return WrongHint(f"has the hint {ast.unparse(hint)[:80]}; known are {KNOWN}")


def _is_dots(part: ast.expr) -> bool:
    return isinstance(part, ast.Constant) and part.value is ...


def _choices(parts: list[ast.expr]) -> list[Any]:
    try:
        values = [ast.literal_eval(part) for part in parts]
    except ValueError:
        values = [None]
    if not all(isinstance(value, str) or type(value) is int for value in values):
        raise WrongHint("has a Literal of something else than texts and whole numbers")
    return values


def _enum_members(node: ast.ClassDef, base: str) -> Iterator[tuple[str, Any]]:
    """Names and values, as far as these are written there."""
    number = 0
    for line in node.body:
        match line:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=called)) if last_word(called) == "auto":
                number += 1
                yield name, name.lower() if base == "StrEnum" else number
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name[0] != "_":
                told = literal_default(value)
                if not isinstance(told, str | int):
                    raise WrongHint(f"has the hint {node.name}, whose {name} is neither a text nor a whole number")
                number = told if isinstance(told, int) else number
                yield name, told
            case _:
                pass
