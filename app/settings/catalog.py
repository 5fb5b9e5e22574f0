"""Every setting by its key, read off the declaration: what it means, what it takes, and when a change applies."""

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import msgspec
from msgspec.inspect import (
    BoolType,
    DictType,
    Field,
    FloatType,
    IntType,
    LiteralType,
    NoneType,
    StrType,
    StructType,
    Type,
    UnionType,
    VarTupleType,
    type_info,
)

from oi_tui.app.engine.core import settings as settings_module
from oi_tui.app.engine.core import settings_section
from oi_tui.app.engine.core.settings import AT_ONCE, Settings
from oi_tui.app.engine.files.settings_lines import KeyPath

SettingKind = Literal["switch", "choice", "number", "text", "list", "table"]


class SettingEntry(NamedTuple):
    """One setting, as it is declared."""

    path: KeyPath
    kind: SettingKind
    help: str
    default: Any
    """As plain values; None where it is not set."""
    values: str
    """What it takes, in words."""
    choices: tuple[str, ...] = ()
    """All that a choice can be."""

    @property
    def key(self) -> str:
        """The key as it is written, without quotes."""
        return ".".join(self.path)


_ELSEWHERE = {
    "loop.approve": "A stricter mode applies at once, another from the next start; /approve changes this session.",
    "model.name": "Applies from the next start; /model changes this session.",
    "kernel.python": "Applies from the next start; /kernel changes this session.",
    "kernel.server": "Applies from the next start; /kernel changes this session.",
    "instructions.text": "Applies from the next start; /instructions changes this session.",
}


def applies_when(key: str) -> str:
    """When a change of this key applies, as a sentence."""
    return "Applies at once." if key in AT_ONCE else _ELSEWHERE.get(key, "Applies from the next start.")


@cache
def setting_catalog() -> tuple[SettingEntry, ...]:
    """All of them, in the order of the declaration."""
    told = setting_docstrings()
    whole = type_info(Settings)
    assert isinstance(whole, StructType)
    return tuple(entry for field in whole.fields for entry in _entries(field, (field.name,), Settings, told))


def _entries(field: Field, path: KeyPath, owner: type, told: dict[tuple[str, str], str]) -> Iterator[SettingEntry]:
    """A section's, or those of a table in it, or the one of a value."""
    if isinstance(field.type, StructType):
        for inner in field.type.fields:
            yield from _entries(inner, (*path, inner.name), field.type.cls, told)
        return
    default = field.default if field.default is not msgspec.NODEFAULT else field.default_factory
    default = default() if callable(default) else default
    kinds = field.type.types if isinstance(field.type, UnionType) else (field.type,)
    optional = any(isinstance(one, NoneType) for one in kinds)
    kinds = tuple(one for one in kinds if not isinstance(one, NoneType))
    choices = tuple(dict.fromkeys(_literals(get_type_hints(owner)[field.name])))
    kind, values = _kind_of(kinds[0])
    if optional and kind == "switch":
        kind, choices = "choice", ("true", "false")
    if choices:
        values = ", ".join(choice or '""' for choice in choices)
    help_text = told.get((owner.__name__, field.name), "")
    yield SettingEntry(path, kind, help_text, msgspec.to_builtins(default), values, choices)


def _literals(hint: Any) -> Iterator[str]:
    """The words of all `Literal`s in a type, in the order in which they are declared."""
    for part in get_args(hint):
        if get_origin(hint) is Literal:
            yield str(part)
        else:
            yield from _literals(part)


def _kind_of(kind: Type) -> tuple[SettingKind, str]:
    match kind:
        case BoolType():
            return "switch", "true or false"
        case LiteralType():
            return "choice", ""
        case IntType():
            return "number", f"a whole number{_range(kind)}"
        case FloatType():
            return "number", f"a number{_range(kind)}"
        case VarTupleType():
            return "list", "a list of texts"
        case DictType():
            return "table", "a table"
        case StrType() | _:
            return "text", "a text"


def _range(kind: IntType | FloatType) -> str:
    limits = (("at least", kind.ge), ("more than", kind.gt), ("at most", kind.le))
    told = [f"{words} {limit:g}" for words, limit in limits if limit is not None]
    return f", {' and '.join(told)}" if told else ""


def setting_docstrings() -> dict[tuple[str, str], str]:
    """The docstring under each field, by the name of its section's class and its own."""
    tree = ast.parse("".join(map(inspect.getsource, (settings_module, settings_section))))
    found: dict[tuple[str, str], str] = {}
    for owner in tree.body:
        if not isinstance(owner, ast.ClassDef):
            continue
        for field, after in zip(owner.body, owner.body[1:], strict=False):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(after, ast.Expr)
                and isinstance(after.value, ast.Constant)
            ):
                found[owner.name, field.target.id] = " ".join(str(after.value.value).split())
    return found
