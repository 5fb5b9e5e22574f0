"""What Python code can be run in, as values to choose from, and what came of a choice."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.core.values import Value

ChoiceKind = Literal["environment", "server", "running", "kernelspec"]
"""A Python of this machine; a Jupyter server, which starts a kernel; a kernel that lives on one; what is installed
there, or on this machine for fences of another language."""


class KernelChoice(Value, frozen=True, kw_only=True):
    """One place where code can run. Texts from servers are raw: sanitise them before showing them."""

    name: str
    """What `UseKernel.name` takes; of a kernelspec of this machine, the label of a fence."""
    kind: ChoiceKind
    title: str
    """A few words: "Python 3.12.4 in .venv"."""
    detail: str = ""
    """Facts, a line for each."""
    server: str = ""
    """Name of the server that it is on, or is; "" is this machine."""
    obstacle: str = ""
    """Why no kernel can be started in it, as a sentence; "" if one can."""
    lack: str = ""
    """The same in a few words, for a list."""
    remedy: str = ""
    """The command that takes the obstacle away; `InstallKernel` runs it."""
    remedy_reach: str = ""
    """What that command can reach while it runs, as a sentence."""
    costs: str = ""
    """Of a kernel that somebody else started, or works in: what attaching to it costs them, which needs a yes."""
    in_use: bool = False

    @property
    def is_language(self) -> bool:
        """Whether it is there for fences beside Python, so that Python code cannot be run in it."""
        return self.kind == "kernelspec" and not self.server


class KernelMove(NamedTuple):
    """Where Python code runs from now on."""

    place: str
    """As shown to the user."""
    keeps_variables: bool = False
    """Whether it is a kernel that lived before."""
    left: tuple[OiTuiError, ...] = ()
    """Kernels of the place before that could not be ended."""


def tell_choices(choices: Sequence[KernelChoice]) -> str:
    """The choices as lines of text, where there is no screen."""
    lines, missing = [], False
    for choice in choices:
        missing = missing or bool(choice.remedy)
        lacks = (
            ", needs ipykernel" if choice.remedy else f", {choice.lack or choice.obstacle}" if choice.obstacle else ""
        )
        title = choice.title.removeprefix(f"{choice.name}: ").removesuffix(f" in {choice.name}")
        lines.append(f"{choice.name:16} {title}{' (in use)' if choice.in_use else ''}{lacks}")
    if missing:
        lines.append("What needs ipykernel gets it in /kernel on the screen, after a yes.")
    return "\n".join(lines)
