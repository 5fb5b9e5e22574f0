"""What a Python kernel is sent of ours: texts that it executes, and that leave nothing in the person's namespace."""

import importlib.resources
import json
from collections.abc import Sequence

from oi_tui.app.engine.core.modes import JOINT

PRELOAD = """\
import sys as _sys
_path, _sys.path = _sys.path, [place for place in _sys.path if place]
try: import numpy as np
except ImportError: pass
try: import pandas as pd
except ImportError: pass
try: import matplotlib.pyplot as plt
except ImportError: pass
_sys.path = _path
del _path, _sys
"""
"""Without the working folder: nobody has agreed to a numpy.py that may be there."""


def at_start() -> str:
    """The code that runs as a cell before all others."""
    parts = ("", "_frames", "_tables", "_figures", "_background", "_computer")
    source = "\n\n".join(_text(f"in_kernel{part}.py") for part in parts)
    return f"exec(compile({source!r}, '<oi-tui>', 'exec'), {{'__name__': 'oi_tui_in_kernel'}})"


def in_a_foreign_kernel() -> str:
    """The code that runs as a cell in a kernel that somebody else started: only what answers questions about
    variables."""
    space = {"__name__": "oi_tui_in_kernel", "OI_TUI_IS_GUEST": True}
    return f"exec(compile({_text('in_kernel.py')!r}, '<oi-tui>', 'exec'), {space!r})"


def limit_functions(allow: Sequence[str], deny: Sequence[str], begins: Sequence[str]) -> str:
    """A cell that limits functions in the kernel from now on: expressions over full names, each in its parts that must
    all match, and what allowed names begin with."""
    given = json.dumps([[one.split(JOINT) for one in allow], [one.split(JOINT) for one in deny], list(begins)])
    space = {"__name__": "oi_tui_in_kernel", "GIVEN": given}
    source = f"{_text('in_kernel_functions.py')}\n\nadd_function_hook(*__import__('json').loads(GIVEN))\n"
    return f"exec(compile({source!r}, '<oi-tui>', 'exec'), {space!r})"


def for_tool_files() -> str:
    """The code that runs as a cell in the kernel for functions of tool files."""
    return _text("in_kernel_tool_file.py")


def for_inspection() -> str:
    """The code that is sent before the first question about variables or names."""
    parts = ("look", "frames", "rows", "queries", "variables", "names")
    return "\n\n".join(_text(f"in_kernel_{part}.py") for part in parts)


def _text(name: str) -> str:
    return importlib.resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
