"""What others add to the kernels there are: programs that run a language, and forms of values in the Python kernel."""

from collections.abc import Mapping

import msgspec

from oi_tui.app.engine.core.values import Language


class KernelProgram(msgspec.Struct, frozen=True, kw_only=True):
    """A Jupyter kernel that is not installed as a kernelspec: started like those, in the same sandbox."""

    language: Language
    """The label of its fences: lower case letters, digits, `.`, `_` and `-`."""
    argv: tuple[str, ...]
    """`{connection_file}` is replaced by the file with the addresses."""
    aliases: tuple[str, ...] = ()
    env: Mapping[str, str] = msgspec.field(default_factory=dict)
    signals: bool = True
    """Whether SIGINT interrupts it; otherwise a message does."""


class LanguageProgram(msgspec.Struct, frozen=True, kw_only=True):
    """A language without a kernel: each cell is a file that a program runs, in the sandbox of the shell."""

    language: Language
    """As of a `KernelProgram`."""
    argv: tuple[str, ...]
    """`{file}` is replaced by the path of the source."""
    aliases: tuple[str, ...] = ()


Program = KernelProgram | LanguageProgram


class KernelForm(msgspec.Struct, frozen=True, kw_only=True):
    """One more form in which values of a type leave the Python kernel, beside their text."""

    mime: str
    source: str
    """Python that defines `form(value)`; it returns text, or what JSON can say, or None. It runs in the kernel."""
