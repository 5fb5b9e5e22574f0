"""How a Jupyter kernel is started, as a value."""

import msgspec

from oi_tui.app.engine.core.values import Value
from oi_tui.app.engine.environments.environment import PythonEnvironment
from oi_tui.app.engine.environments.lending import START, lent_modules

ACTIVATE = 'for script in "$0"/*.sh; do . "$script"; done; exec "$@"'
"""Where packages of conda keep variables such as PROJ_LIB: in scripts, which run where the kernel runs."""


class KernelSpec(Value, frozen=True, kw_only=True):
    """How a kernel is started."""

    name: str
    argv: tuple[str, ...]
    """`{connection_file}` stands for the file with the addresses."""
    env: dict[str, str] = msgspec.field(default_factory=dict)
    signals: bool = True
    """Whether it is interrupted by SIGINT; otherwise only by a message."""


def python_spec(environment: PythonEnvironment) -> KernelSpec:
    """Python in this environment: needs no installed kernelspec. What it lacks of ipykernel is lent by us.

    The folder that we work in is not on `sys.path` while it starts: else a file ipykernel_launcher.py in there would be
    run, unasked, instead of the kernel.
    """
    python, rest = str(environment.python), ("-f", "{connection_file}", "--HistoryManager.enabled=False")
    if environment.is_ours:
        return KernelSpec(name="python3", argv=(python, "-P", "-m", "ipykernel_launcher", *rest))
    lent = ("", "") if environment.has_ipykernel else lent_modules()
    argv: tuple[str, ...] = (python, "-c", START, *lent, *rest)
    scripts = environment.prefix / "etc" / "conda" / "activate.d"
    if environment.kind == "conda" and scripts.is_dir():
        argv = ("bash", "-c", ACTIVATE, str(scripts), *argv)
    return KernelSpec(name=environment.prefix.name, argv=argv)
