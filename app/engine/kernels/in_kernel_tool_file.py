"""Runs inside a Python kernel: never imported by us, only sent as text. Calls functions of files that are tools.

A file is executed once in a kernel, from the text that the person agreed to, not from the disk.

No first-party imports.
"""

import json
import linecache
import sys
import types
from pathlib import Path
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
    """What the function returns, or will."""
    __tracebackhide__ = True
    call = json.loads(given)
    function = getattr(_module_of(call["place"], call["digest"], call["text"]), call["function"])
    for name in call["paths"]:
        if isinstance(call["arguments"].get(name), str):
            call["arguments"][name] = Path(call["arguments"][name])
    return function(**call["arguments"])


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
