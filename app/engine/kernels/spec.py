"""How a Jupyter kernel is started, as a value."""

import sys

import msgspec

from oi_tui.app.engine.core.values import Value


class KernelSpec(Value, frozen=True, kw_only=True):
    """How a kernel is started."""

    name: str
    argv: tuple[str, ...]
    """`{connection_file}` stands for the file with the addresses."""
    env: dict[str, str] = msgspec.field(default_factory=dict)
    signals: bool = True
    """Whether it is interrupted by SIGINT; otherwise only by a message."""


def own_python() -> KernelSpec:
    """The Python that we run in: needs no installed kernelspec, so it works in a venv and under pipx."""
    # -P: else a file ipykernel_launcher.py in the folder that we work in would be run, unasked, instead of the kernel.
    launch = (sys.executable, "-P", "-m", "ipykernel_launcher", "-f", "{connection_file}")
    return KernelSpec(name="python3", argv=(*launch, "--HistoryManager.enabled=False"))
