"""What code that runs here gets to see of our environment: everything but the keys."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

SECRET_ENDINGS = ("API_KEY", "TOKEN", "SECRET")
"""Last words of the names of variables that hold credentials for a service."""

HARMLESS = frozenset({"XDG_ACTIVATION_TOKEN"})
"""Names that end like a credential and are none."""


def kernel_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables a kernel may have: without keys, and without marks of a Jupyter that we may run in.

    Our Python's folder comes first on the path, so that `python` and `pip` mean the kernel's.
    """
    given = {name: value for name, value in environ.items() if not _is_withheld(name)}
    folders = [str(Path(sys.executable).parent), *given.get("PATH", os.defpath).split(os.pathsep)]
    return given | {"PATH": os.pathsep.join(dict.fromkeys(folders))}


def _is_withheld(name: str) -> bool:
    upper = name.upper()
    if upper in HARMLESS:
        return False
    # An inherited JPY_PARENT_PID would make the kernel end with a process that is not ours.
    return upper == "JPY_PARENT_PID" or any(
        upper == ending or upper.endswith(f"_{ending}") for ending in SECRET_ENDINGS
    )
