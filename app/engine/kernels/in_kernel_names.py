"""Runs inside a Python kernel once somebody completes a name: never imported by us, only sent as text.

It is executed with `in_kernel_look.py` before it, as one text. The text before the cursor is not evaluated: a path such
as `shop.orders.` is followed through namespaces, instances and classes in memory. No property, no `__dir__` and no
`__getattr__` runs.

No first-party imports. Leave nothing in the user namespace.
"""

import builtins
import keyword
import re
import sys
import time
import types
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # in the kernel they are there, from the text before
    from oi_tui.app.engine.kernels.in_kernel_look import attributes, is_part, type_name

TIME = 0.020
"""Seconds that an answer may take."""

NAMES = 200
"""Names in an answer at most."""

LOOKED_AT = 20_000
"""Names compared with the typed text, at most."""

LONGEST = 200
"""Characters of a name; longer ones are left out."""

NOTHING = object()

PATH = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
ENDING = re.compile(rf"(?:({PATH})\.)?((?:[^\W\d]\w*)?)\Z")
FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, staticmethod, classmethod)
KEY = re.compile(rf"({PATH})\[(['\"])([^'\"\[\]]*)\Z")
IMPORT = re.compile(r"\s*import\s+(?:.*,\s*)?(\w*)\Z")
FROM = re.compile(rf"\s*from\s+({PATH})\s+import\s+(?:.*,\s*)?(\w*)\Z")


class CodeNameFinder:
    """Looks in one namespace for what could complete a name."""

    def __init__(self, namespace: dict[str, Any], clock: Callable[[], float] = time.monotonic) -> None:
        self._namespace = namespace
        self._clock = clock

    def answer(self, text: str) -> dict[str, Any]:
        """The names that could end this text, and where in it the one begins that they complete."""
        line = text[text.rfind("\n") + 1 :]
        word, found = self._look(line)
        deadline = self._clock() + TIME
        fitting: dict[str, Any] = {}
        for number, (name, value) in enumerate(found):
            if number >= LOOKED_AT or self._clock() > deadline:
                break
            if type(name) is str and len(name) <= LONGEST and name.startswith(word) and name not in fitting:
                fitting[name] = value
        names = sorted(fitting, key=lambda name: (name.startswith("_"), name.lower()))
        shown = [name for name in names if not name.startswith("_") or word.startswith("_")]
        return {
            "start": len(text) - len(word),
            "names": [{"name": name, "kind": name_kind(fitting[name])} for name in shown[:NAMES]],
        }

    def _look(self, line: str) -> tuple[str, Iterator[tuple[Any, Any]]]:
        """The typed part of the name, and its completions."""
        if match := IMPORT.match(line):
            return match[1], importable_names()
        if match := FROM.match(line):
            return match[2], members(sys.modules.get(match[1], NOTHING))
        if match := KEY.search(line):
            return match[3], keys(self._follow(match[1]))
        match = ENDING.search(line)
        if match is None or line[: match.start()].endswith("."):
            return "", iter(())
        path, word = match[1], match[2]
        if path:
            return word, members(self._follow(path))
        return word, self._own_names() if word else iter(())

    def _own_names(self) -> Iterator[tuple[Any, Any]]:
        yield from list(dict.items(self._namespace))
        yield from vars(builtins).items()
        yield from ((word, NOTHING) for word in keyword.kwlist)

    def _follow(self, path: str) -> Any:
        """The object at a path, NOTHING if finding it would run code."""
        first, *rest = path.split(".")
        value = dict.get(self._namespace, first, vars(builtins).get(first, NOTHING))
        for name in rest:
            value = member(value, name)
        return value


def lineage(kind: Any) -> Any:
    """The classes of a class, past a metaclass that has its own idea of them."""
    return vars(type)["__mro__"].__get__(kind)


def own_space(kind: Any) -> Any:
    """The members that a class itself defines."""
    return vars(type)["__dict__"].__get__(kind)


def is_class(value: Any) -> bool:
    """Whether it is one, whatever its class claims."""
    return any(base is type for base in lineage(type(value)))


def is_module(value: Any) -> bool:
    """Whether it is one, whatever its class claims."""
    return any(base is types.ModuleType for base in lineage(type(value)))


def spaces(value: Any) -> Iterator[Any]:
    """The dictionaries that hold a value's members, nearest first."""
    if value is NOTHING:
        return
    if is_module(value):
        yield vars(types.ModuleType)["__dict__"].__get__(value)
        return
    if is_class(value):
        yield from map(own_space, lineage(value))
        return
    yield attributes(value)
    yield from map(own_space, lineage(type(value)))


def member(value: Any, name: str) -> Any:
    """A member as it is stored; NOTHING for a computed one."""
    for number, space in enumerate(spaces(value)):
        found = space.get(name, NOTHING)
        if found is not NOTHING:
            is_own = number == 0 and not is_class(value)
            return found if is_own or not is_computed(found) else NOTHING
    return NOTHING


def is_computed(found: Any) -> bool:
    """Whether a class would run something to hand this out; a function it only binds."""
    if type(found) is types.FunctionType:
        return False
    return any("__get__" in own_space(base) for base in lineage(type(found)))


def members(value: Any) -> Iterator[tuple[Any, Any]]:
    """The names of a value's members with what is stored there; of a table, the columns too."""
    if value is not NOTHING and is_part("pandas", type(value), "DataFrame"):
        yield from ((name, NOTHING) for name, _ in keys(value) if type(name) is str and name.isidentifier())
    for space in spaces(value):
        yield from list(space.items())


def keys(value: Any) -> Iterator[tuple[Any, Any]]:
    """Possible subscripts of a value."""
    if type(value) is dict:
        yield from ((name, entry) for name, entry in list(value.items()) if type(name) is str)
    elif value is not NOTHING and is_part("pandas", type(value), "DataFrame"):
        yield from ((name, NOTHING) for name in value.columns[:NAMES].tolist() if type(name) is str)


def importable_names() -> Iterator[tuple[Any, Any]]:
    """Modules that are there without looking at the disk."""
    for name in (*getattr(sys, "stdlib_module_names", ()), *list(sys.modules)):
        if type(name) is str and "." not in name:
            yield name, NOTHING


def name_kind(value: Any) -> str:
    """The type in a word; "" where nothing is known of the value."""
    if value is NOTHING:
        return ""
    kind = type(value)
    if any(kind is one for one in FUNCTIONS):
        return "function"
    return "class" if is_class(value) else str(type_name(kind))


def install_names() -> None:
    """Answer from now on."""
    from IPython import get_ipython  # there is one only in a kernel

    shell = get_ipython()
    kernel = shell.kernel
    finder = CodeNameFinder(shell.user_ns)

    def names(stream: Any, ident: Any, parent: dict[str, Any]) -> None:
        try:
            content = finder.answer(parent["content"]["line"])
        except Exception:  # boundary: a value that is broken, or that a thread is changing
            content = {}
        kernel.session.send(stream, "oi_tui_names_reply", content, parent, ident)

    kernel.shell_handlers |= {"oi_tui_names": names}


if __name__ == "oi_tui_in_kernel":
    install_names()
