"""What code that runs here gets to see of our environment: everything but the keys."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from oi_tui.app.engine.secrets.environment import is_credential


def kernel_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables a kernel may have: without keys, and without marks of a Jupyter that we may run in.

    Our Python's folder comes first on the path, so that `python` and `pip` mean the kernel's.
    """
    given = {name: value for name, value in environ.items() if not is_credential(name, value)}
    given.pop("JPY_PARENT_PID", None)  # the kernel would end with a process that is not ours
    folders = [str(Path(sys.executable).parent), *given.get("PATH", os.defpath).split(os.pathsep)]
    return given | {"PATH": os.pathsep.join(dict.fromkeys(folders))}
