"""What others add to the kernels there are: programs that run a language, and forms of values in the Python kernel."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from oi_tui.app.engine.core.values import Language


@dataclass(frozen=True, kw_only=True)
class KernelProgram:
    """A Jupyter kernel that is not installed as a kernelspec: started like those, in the same sandbox."""

    language: Language
    """The label of its fences: lower case letters, digits, `.`, `_` and `-`."""
    argv: tuple[str, ...]
    """`{connection_file}` is replaced by the file with the addresses."""
    aliases: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    signals: bool = True
    """Whether SIGINT interrupts it; otherwise a message does."""


@dataclass(frozen=True, kw_only=True)
class LanguageProgram:
    """A language without a kernel: each cell is a file that a program runs, in the sandbox of the shell."""

    language: Language
    """As of a `KernelProgram`."""
    argv: tuple[str, ...]
    """`{file}` is replaced by the path of the source."""
    aliases: tuple[str, ...] = ()


Program = KernelProgram | LanguageProgram


@dataclass(frozen=True, kw_only=True)
class KernelForm:
    """One more form in which values of a type leave the Python kernel, beside their text."""

    mime: str
    source: str
    """Python that defines `form(value)`; it returns text, or what JSON can say, or None. It runs in the kernel."""
