"""What starts a kernel, as one value: made once for all kernels of a session, and handed down as it is."""

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from oi_tui.app.engine.core.settings import KernelSection
from oi_tui.app.engine.core.values import Confinement, Language, PackageHome
from oi_tui.app.engine.core.widget_views import FindView
from oi_tui.app.engine.environments.environment import (
    PythonEnvironment,
    active_environ,
    can_install,
    own_environment,
)
from oi_tui.app.engine.kernels.base import public_place
from oi_tui.app.engine.kernels.liveness import LivenessTimeouts
from oi_tui.app.engine.kernels.reach import reach_of
from oi_tui.app.engine.sandbox.hosts import OnRefusal
from oi_tui.app.engine.sandbox.places import can_change, program_places
from oi_tui.app.engine.sandbox.profile import Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How kernels are started, and what they may do."""

    cwd: Path
    """The folder that they work in."""
    settings: KernelSection = field(default_factory=KernelSection)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    """What they get variables from: all but the keys; in a sandbox only those that it passes on."""
    python: PythonEnvironment = field(default_factory=own_environment)
    """What Python code runs in, and what is active in the shell."""
    trusted: bool = False
    """Whether environments in the folder may be used."""
    sandbox: Profile | None = None
    """Without one, or with one that does not enclose, code can do all that we can."""
    on_refusal: OnRefusal | None = None
    """Called with each network request that a sandbox refuses."""
    spill_dir: Path | None = None
    """Where the whole text of long outputs is kept; without it, only as much is kept as is shown."""
    token_variables: Callable[[], Collection[str]] = tuple
    """Asked at each start: variables that hold tokens of servers, whatever they are called. No kernel gets them."""
    learn_secret: Callable[[str, str], None] = lambda name, value: None
    """Called with each token and its name, before it is used."""
    small_model: Callable[[], bool] = lambda: True
    """Called for each request: a small model reads no more than it needs."""
    preload: Callable[[], bool] = lambda: False
    """Asked at each start of a Python kernel: whether it imports numpy, pandas and pyplot beforehand."""
    session_id: Callable[[], str] = lambda: ""
    """Called when a kernel that may live on is left: the session it belongs to; "" if nobody will reconnect."""
    keeps_kernels: Callable[[], bool] = lambda: False
    """Called at the end: whether kernels on servers keep running without us."""
    cells_at_start: tuple[str, ...] = ()
    """Further cells that each Python kernel executes before all others."""
    widget_views: FindView = lambda widget: None
    """How widgets of ipywidgets are shown, and what of them can be operated; those that it does not know, plainly."""
    patience: LivenessTimeouts = field(default_factory=LivenessTimeouts)
    """How long Jupyter kernels may give no sign of life."""

    def confine(self, language: Language) -> Confinement:
        """The promises of the sandbox for code of this language."""
        enclosure = self.enclosure
        return Confinement(
            sandboxed=enclosure is not None and not enclosure.is_weaker,
            offline=enclosure is not None and enclosure.network == "none",
            reach=reach_of(enclosure, language) if enclosure is not None else None,
            packages=self._packages if language in ("python", "shell") else None,
        )

    @property
    def _packages(self) -> PackageHome:
        python = self.python
        return PackageHome(
            place=public_place(python.describe(self.cwd)),
            prefix=str(python.prefix),
            python=str(python.python),
            has_pip="pip" in python.packages,
            is_ours=python.is_ours,
            offered=can_install(python),
            writable=self.sandbox is None or not self.sandbox.encloses or can_change(self.sandbox, python.prefix),
        )

    @property
    def enclosure(self) -> Profile | None:
        """The sandbox that they run in, with the environment to be seen in it; None if they run without."""
        if self.sandbox is None or not self.sandbox.encloses:
            return None
        wanted = () if self.python.is_ours else program_places(str(self.python.python))
        return replace(self.sandbox, readable=(*self.sandbox.readable, *wanted))

    @property
    def variables(self) -> dict[str, str]:
        """The variables that they get, with the environment active."""
        withheld = self.token_variables()
        given = {name: value for name, value in self.environ.items() if name not in withheld}
        return active_environ(given, self.python)
