"""How a Jupyter kernel is started, as a value, and which label of a fence means it."""

import re
import sys
from pathlib import Path

import msgspec

from oi_tui.app.engine.core.values import Value
from oi_tui.app.engine.environments.environment import PythonEnvironment
from oi_tui.app.engine.environments.lending import LEND, lent_modules

ACTIVATE = 'for script in "$0"/*.sh; do . "$script"; done; exec "$@"'
"""Where packages of conda keep variables such as PROJ_LIB: in scripts, which run where the kernel runs."""

LAUNCH_IPYKERNEL = """\
import gc, runpy, sys
gc.disable()
sys.modules["debugpy"] = None
try:
    import ipykernel.kernelapp, ipykernel.debugger
except ImportError:
    pass
del sys.modules["debugpy"]
gc.enable()
runpy.run_module("ipykernel_launcher", run_name="__main__", alter_sys=True)
"""
"""Starts `ipykernel_launcher` in four fifths of its time: nobody asks this kernel to debug, and ipykernel works without
a debugpy that it does not find; code that imports debugpy gets it. While modules are loaded, there is no garbage."""

PYTHON_NAMES = frozenset({"python", "python3", "py", "py3", "ipython", "ipython3"})
SHELL_NAMES = frozenset({"shell", "sh", "bash", "zsh"})
"""Not "console" or "shell-session": such fences are transcripts, with prompts and output in them."""

FOREIGN = "jupyter:"
"""Before the name of a kernelspec that would mean our Python or our shell without it."""

LOCAL = "local-provisioner"
"""What starts a kernel as a process of this machine; we do that ourselves, in the sandbox."""

_NAME = re.compile(r"[a-z0-9._-]{1,100}")


class KernelSpec(Value, frozen=True, kw_only=True):
    """How a kernel is started."""

    name: str
    argv: tuple[str, ...]
    """`{connection_file}` is replaced by the file with the addresses."""
    env: dict[str, str] = msgspec.field(default_factory=dict)
    signals: bool = True
    """Whether it is interrupted by SIGINT; otherwise only by a message."""
    provisioner: str = ""
    """What starts it in its own way, perhaps elsewhere, so that no sandbox of ours is around it; "" if we do."""


def label_of(name: str, folder: str) -> str:
    """The label of a fence for the kernelspec in this folder; "" if it has none: it is the one that our own ipykernel
    brings, or has a name that cannot be one."""
    ours = name == "python3" and Path(folder).is_relative_to(sys.prefix)
    if ours or not _NAME.fullmatch(name):
        return ""
    return f"{FOREIGN}{name}" if name in PYTHON_NAMES | SHELL_NAMES else name


def program_of(program: str, folder: str) -> str:
    """What a bare `python` in a kernelspec means: that of the environment which the kernelspec is installed in."""
    beside = Path(folder).parents[3] / "bin" / program if len(Path(folder).parents) > 3 else None
    if re.fullmatch(r"python(3(\.\d+)?)?", program) and beside is not None and beside.exists():
        return str(beside)
    return program


def python_spec(environment: PythonEnvironment) -> KernelSpec:
    """Python in this environment: needs no installed kernelspec. What it lacks of ipykernel is lent by us.

    The folder that we work in is not on `sys.path` while it starts: else a file ipykernel.py in there would be run,
    unasked, instead of the kernel.
    """
    python, rest = str(environment.python), ("-f", "{connection_file}", "--HistoryManager.enabled=False")
    if environment.is_ours:
        return KernelSpec(name="python3", argv=(python, "-P", "-c", LAUNCH_IPYKERNEL, *rest))
    lent = ("", "") if environment.has_ipykernel else lent_modules()
    argv: tuple[str, ...] = (python, "-c", LEND + LAUNCH_IPYKERNEL, *lent, *rest)
    scripts = environment.prefix / "etc" / "conda" / "activate.d"
    if environment.kind == "conda" and scripts.is_dir():
        argv = ("bash", "-c", ACTIVATE, str(scripts), *argv)
    return KernelSpec(name=environment.prefix.name, argv=argv)
