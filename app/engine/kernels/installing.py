"""Installing packages because the person said so, once: by a process of its own, in a sandbox that may write to the
environment and ask the index of packages, and nothing more. The kernels keep theirs.
"""

import shlex
from dataclasses import replace
from urllib.parse import urlsplit

from msgspec import structs

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.core.events import Emit
from oi_tui.app.engine.kernels.base import RunResult
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.shell_kernel import ShellKernel
from oi_tui.app.engine.sandbox.hosts import parse_rule
from oi_tui.app.engine.sandbox.profile import Profile

USUAL_INDEX = ("pypi.org", "files.pythonhosted.org")
PASSED_ON = ("PIP_INDEX_URL", "PIP_CERT")
"""Variables that say where packages are; an index whose address has a password is left out."""


class InstallRunner(ShellKernel):
    """Runs one `pip install`, whatever it is given."""

    def __init__(self, launch: Launch, arguments: tuple[str, ...]) -> None:
        if launch.sandbox is None or not launch.sandbox.encloses or launch.sandbox.is_weaker:
            raise KernelError("There is no sandbox to install in.", hint="Install it in a terminal of your own.")
        profile = install_profile(launch, launch.sandbox)
        # Not in the working folder: a pip.py that code left there would be run in place of pip, and had the network.
        super().__init__(replace(launch, cwd=profile.workspace, sandbox=profile))
        self.place = f"{launch.python.describe(launch.cwd)}, which it may write to; network: {', '.join(profile.hosts)}"
        apart, hosts = str(profile.workspace), profile.hosts
        self.confinement = structs.replace(self.confinement, apart=apart, apart_hosts=hosts, packages=None)
        python = str(launch.python.python)
        self._command = shlex.join((python, "-I", "-m", "pip", "install", "--disable-pip-version-check", *arguments))

    async def run(self, source: str, block_id: str, emit: Emit) -> RunResult:
        """The installation. The source is what the person saw and said yes to; its arguments were read off it."""
        return await super().run(self._command, block_id, emit)


def install_profile(launch: Launch, usual: Profile) -> Profile:
    """The usual sandbox, but that the environment takes the place of the working folder, which is not there, and that
    the hosts of the index can be asked."""
    index = launch.environ.get("PIP_INDEX_URL", "")
    parts = urlsplit(index)
    own = index if parts.hostname and "@" not in parts.netloc else ""
    return replace(
        usual,
        mode="workspace-write",
        workspace=launch.python.prefix.resolve(),
        writable=(),
        network="hosts",
        hosts=(_host(own),) if own else USUAL_INDEX,
        environment=tuple(name for name in PASSED_ON if name != "PIP_INDEX_URL" or own),
    )


def _host(address: str) -> str:
    parts = urlsplit(address)
    rule = f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)
    parse_rule(rule)
    return rule
