"""Runs inside a Python kernel: never imported by us, only sent as text. Calls functions of files that are tools.

A file is executed once in a kernel, from the text that the person agreed to, not from the disk.

No first-party imports.
"""

import base64
import collections.abc
import dataclasses
import datetime
import decimal
import enum
import json
import linecache
import math
import pathlib
import sys
import types
import typing
import uuid
from typing import Any

from IPython.display import display


def _module_of(place: str, digest: str, text: str) -> types.ModuleType:
    """The module of this text, made where it is not there yet."""
    name = f"oi_tui_tool_file_{digest}"
    if name not in sys.modules:
        __tracebackhide__ = True
        module = types.ModuleType(name)
        module.__file__ = place
        linecache.cache[place] = (len(text), None, text.splitlines(keepends=True), place)
        sys.modules[name] = module  # dataclasses and pickle look there
        try:
            exec(compile(text, place, "exec"), module.__dict__)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


def oi_tui_call(given: str) -> Any:
    """Call the function; returns its result, or what it awaits."""
    __tracebackhide__ = True
    call = json.loads(given)
    module = _module_of(call["place"], call["digest"], call["text"])
    function = getattr(module, call["function"])
    arguments = _convert_arguments(function, module, call["arguments"])
    if call["output"]:
        arguments[call["output"]] = _Output(call["progress"])
    return function(**arguments)


class _Output:
    """Where a function says what it does while it runs, as a function of a plugin does by its `ToolOutput`."""

    def __init__(self, progress: str) -> None:
        self._progress, self._shown = progress, ""

    def print(self, text: str) -> None:
        """Text, shown as it comes; end a line with a line end."""
        sys.stdout.write(text)
        sys.stdout.flush()

    def show(self, shown: Any) -> None:
        """A picture, a table, or whatever else a cell can show."""
        display(shown)

    def report(self, done: float, total: Any = None, message: str = "") -> None:
        """How far it is, in finite numbers."""
        numbers = [None if one is None else float(one) for one in (done, total)]
        if not all(one is None or math.isfinite(one) for one in numbers):
            raise ValueError("progress is a finite number")
        told = {"done": numbers[0], "total": numbers[1], "message": str(message)}
        update, self._shown = bool(self._shown), self._shown or f"progress {uuid.uuid4()}"
        display({self._progress: told}, raw=True, display_id=self._shown, update=update)  # costs no room of outputs


def _convert_arguments(function: Any, module: types.ModuleType, arguments: Any) -> Any:
    """The arguments in the types of the hints; ValueError or TypeError where one fits none."""
    hints = {name: hint for name, hint in function.__annotations__.items() if name in arguments}
    holder = types.SimpleNamespace(__annotations__=hints, __module__=module.__name__)
    read = typing.get_type_hints(holder, module.__dict__)
    return {name: _convert(value, read.get(name, Any)) for name, value in arguments.items()}


_FROM_TEXT: Any = {
    datetime.datetime: lambda text: datetime.datetime.fromisoformat(text.replace("Z", "+00:00")),
    datetime.date: datetime.date.fromisoformat,
    datetime.time: lambda text: datetime.time.fromisoformat(text.replace("Z", "+00:00")),
    decimal.Decimal: decimal.Decimal,
    uuid.UUID: uuid.UUID,
    bytes: base64.b64decode,
}


def _convert(value: Any, hint: Any) -> Any:
    """A value of JSON as one of this type; it fits the schema that was made of the same hint."""
    origin, parts = typing.get_origin(hint) or hint, typing.get_args(hint)
    if origin is typing.Annotated or origin in (getattr(typing, name, None) for name in ("Required", "NotRequired")):
        return _convert(value, parts[0])
    if origin in (typing.Union, getattr(types, "UnionType", None)):
        return _of_union(value, parts)
    if not isinstance(origin, type):
        return value
    if origin in _FROM_TEXT:
        return _FROM_TEXT[origin](_check(value, str, hint))
    if issubclass(origin, enum.Enum):
        return origin(value)
    if issubclass(origin, pathlib.PurePath):
        return pathlib.Path(_check(value, str, hint))
    if dataclasses.is_dataclass(origin):
        return _record(_check(value, dict, hint), origin)
    if hasattr(origin, "__total__"):  # a TypedDict
        hints = typing.get_type_hints(origin)
        missing = getattr(origin, "__required_keys__", set()) - _check(value, dict, hint).keys()
        if missing or value.keys() - hints.keys():
            raise TypeError(f"it is no {origin.__name__}")
        return {name: _convert(item, hints[name]) for name, item in value.items()}
    if hasattr(origin, "_fields"):  # a NamedTuple
        hints = typing.get_type_hints(origin)
        kinds = [hints[name] for name in origin._fields]
        return origin(*map(_convert, _check(value, list, hint), kinds))
    return _collection(value, origin, parts, hint)


def _collection(value: Any, origin: type, parts: Any, hint: Any) -> Any:
    if origin in (str, bool, type(None)):
        return _check(value, origin, hint)
    if origin in (int, float):
        number = _check(value, (int, float), hint)
        if isinstance(number, bool) or (origin is int and number != int(number)):
            raise TypeError(f"{value!r} is no {origin.__name__}")
        return origin(number)
    if issubclass(origin, collections.abc.Mapping):
        kinds = parts or (Any, Any)
        items = _check(value, dict, hint).items()
        return {_convert(key, kinds[0]): _convert(item, kinds[1]) for key, item in items}
    if issubclass(origin, tuple):
        kinds = parts or (Any, ...)
        items = _check(value, list, hint)
        kinds = [kinds[0]] * len(items) if len(kinds) == 2 and kinds[1] is ... else kinds
        if len(items) != len(kinds):
            raise ValueError(f"{value!r} has not {len(kinds)} items")
        return tuple(map(_convert, items, kinds))
    if issubclass(origin, collections.abc.Iterable):
        made = [_convert(item, parts[0] if parts else Any) for item in _check(value, list, hint)]
        return origin(made) if origin in (set, frozenset) else made
    return value


def _of_union(value: Any, parts: Any) -> Any:
    """The first that it fits: what JSON has itself before what is made of it."""
    plain = [part for part in parts if isinstance(part, type) and part in (bool, int, float, type(None))]
    texts = [part for part in parts if part is str]
    for part in (*plain, *(part for part in parts if part not in (*plain, *texts)), *texts):
        try:
            return _convert(value, part)
        except (TypeError, ValueError, ArithmeticError):
            continue
    raise TypeError(f"{value!r} is none of {', '.join(map(str, parts))}")


def _record(value: Any, kind: Any) -> Any:
    hints = typing.get_type_hints(kind)
    return kind(**{name: _convert(item, hints[name]) for name, item in value.items()})


def _check(value: Any, kind: Any, hint: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is no {getattr(hint, '__name__', hint)}")
    return value


def oi_tui_show(result: Any) -> None:
    """Show a result by its type: text and JSON as they are, all else as in a cell."""
    if result is None:
        return
    if isinstance(result, str):
        display({"text/plain": result}, raw=True)
        return
    if isinstance(result, dict | list | tuple | int | float):
        try:
            display({"text/plain": json.dumps(result, ensure_ascii=False, indent=2)}, raw=True)
            return
        except (TypeError, ValueError):
            pass  # it holds something that JSON has no word for
    display(result)


def oi_tui_try(given: str) -> None:
    """Execute the file and the examples in its docstrings; AssertionError where one gives something else."""
    import doctest  # seldom wanted

    __tracebackhide__ = True
    call = json.loads(given)
    tried = doctest.testmod(_module_of(call["place"], call["digest"], call["text"]))
    sys.stdout.write(f"{tried.attempted} {'example' if tried.attempted == 1 else 'examples'}, {tried.failed} failed\n")
    assert not tried.failed, f"{tried.failed} of {tried.attempted} failed"
