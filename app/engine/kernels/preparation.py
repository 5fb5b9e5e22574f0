"""What a Python kernel is sent of ours: texts that it executes, and that leave nothing in the person's namespace."""

import importlib.resources

PRELOAD = """\
try: import numpy as np
except ImportError: pass
try: import pandas as pd
except ImportError: pass
try: import matplotlib.pyplot as plt
except ImportError: pass
"""


def at_start() -> str:
    """As a cell, before all others."""
    source = "\n\n".join(map(_text, ("in_kernel.py", "in_kernel_tables.py", "in_kernel_background.py")))
    return f"exec(compile({source!r}, '<oi-tui>', 'exec'), {{'__name__': 'oi_tui_in_kernel'}})"


def for_inspection() -> str:
    """As a part, before the first question about variables."""
    return "\n\n".join(map(_text, ("in_kernel_look.py", "in_kernel_variables.py")))


def _text(name: str) -> str:
    return importlib.resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
