"""The kernels of a session, by language: made when first asked for, kept until the end."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

from oi_tui.app.engine.core.settings import KernelSection
from oi_tui.app.engine.core.values import Language
from oi_tui.app.engine.kernels.base import Kernel
from oi_tui.app.engine.kernels.jupyter import JupyterKernel, installed_kernelspecs, kernelspec
from oi_tui.app.engine.kernels.shell_kernel import ShellKernel
from oi_tui.app.engine.sandbox.hosts import OnRefusal
from oi_tui.app.engine.sandbox.profile import Profile

PYTHON_NAMES = frozenset({"python", "python3", "py", "py3", "ipython", "ipython3"})
SHELL_NAMES = frozenset({"shell", "sh", "bash", "zsh"})
"""Not "console" or "shell-session": such fences are transcripts, with prompts and output in them."""
SHORT_NAMES = {"js": "javascript", "ts": "typescript", "jl": "julia", "rb": "ruby", "rs": "rust", "hs": "haskell"}
NATIVE = "python3"
"""The kernelspec that jupyter_client makes up for the Python it runs in; ours is "python"."""


class Kernels:
    """Makes and keeps one kernel for each language."""

    def __init__(
        self,
        settings: KernelSection,
        cwd: Path,
        spill_dir: Path | None = None,
        *,
        preload: Callable[[], bool] = lambda: False,
        environ: Mapping[str, str] | None = None,
        sandbox: Profile | None = None,
        on_refusal: OnRefusal | None = None,
    ) -> None:
        """`preload` is asked when the Python kernel is made: whether it imports the usual names beforehand.

        All of them run in a sandbox of this kind; without one code can do all that we can. `on_refusal` is told of what
        asks for the network in vain there.
        """
        self._settings = settings
        self._cwd = cwd
        self._spill_dir = spill_dir
        self._preload = preload
        self._environ = environ
        self._sandbox = sandbox
        self._on_refusal = on_refusal
        self._kernels: dict[Language, Kernel] = {}
        self._installed: dict[str, str] | None = None

    @property
    def languages(self) -> tuple[Language, ...]:
        """What can be run here, best first."""
        return ("python", "shell", *(name for name in sorted(self._specs()) if name != NATIVE))

    @property
    def surroundings(self) -> str:
        """For the model: what code in them can reach and change."""
        return "" if self._sandbox is None else self._sandbox.tell_model()

    def get(self, language: Language) -> Kernel:
        """The kernel of this language, not necessarily started; KernelError naming those there are."""
        if language not in self._kernels:
            self._kernels[language] = self._make(language)
        return self._kernels[language]

    def canonical(self, alias: str) -> Language | None:
        """What a fence or a tool call means by this name, None if it cannot be run here."""
        name = alias.strip().lower()
        if not name:
            return None
        if name in PYTHON_NAMES:
            return "python"
        if name in SHELL_NAMES:
            return "shell"
        return self._find_installed(SHORT_NAMES.get(name, name))

    def started_kernels(self) -> tuple[Kernel, ...]:
        """Those that were started at least once."""
        return tuple(kernel for kernel in self._kernels.values() if kernel.generation > 0)

    async def restart(self, language: Language | None = None) -> None:
        """A fresh process for this language, or for all that were started."""
        for kernel in self.started_kernels():
            if language in (None, kernel.language):
                await kernel.restart()

    async def renew(self) -> None:
        """End all of them; from the first moment on, others are made for whoever asks."""
        ended, self._kernels = self._kernels, {}
        await asyncio.gather(*(kernel.close() for kernel in ended.values()))

    async def close(self) -> None:
        """End all of them; idempotent."""
        await asyncio.gather(*(kernel.close() for kernel in self._kernels.values()))

    def _make(self, language: Language) -> Kernel:
        match language:
            case "shell":
                return ShellKernel(
                    self._settings,
                    cwd=self._cwd,
                    spill_dir=self._spill_dir,
                    environ=self._environ,
                    sandbox=self._sandbox,
                    on_refusal=self._on_refusal,
                )
            case "python":
                return JupyterKernel(
                    self._settings,
                    cwd=self._cwd,
                    spill_dir=self._spill_dir,
                    preload=self._preload(),
                    environ=self._environ,
                    sandbox=self._sandbox,
                    on_refusal=self._on_refusal,
                )
            case _:
                return JupyterKernel(
                    self._settings,
                    cwd=self._cwd,
                    language=language,
                    spec=kernelspec(language),
                    spill_dir=self._spill_dir,
                    environ=self._environ,
                    sandbox=self._sandbox,
                    on_refusal=self._on_refusal,
                )

    def _find_installed(self, name: str) -> Language | None:
        specs = self._specs()
        if name in specs:
            return name
        return next((spec for spec, language in specs.items() if language.lower() == name), None)

    def _specs(self) -> dict[str, str]:
        if self._installed is None:
            self._installed = installed_kernelspecs()
        return self._installed
