"""Install packages after the person agreed, in a process of its own that ends after one command. The kernels keep their
sandbox.

What a cell installs (`InstallRunner`) may write to the environment and ask the index of packages, and nothing more. A
command that the person agreed to (`installer`, for ipykernel) reaches the whole network: it may be uv's, with an index
that only uv's configuration names. Neither sees the person's work: code that was left there must not run instead.
"""

import os
import shlex
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import structs

from oi_tui.app.engine.core.errors import KernelError, SettingsError
from oi_tui.app.engine.core.events import Emit
from oi_tui.app.engine.core.offline import HINT, is_offline
from oi_tui.app.engine.environments.discovery import install_command, kernel_obstacle
from oi_tui.app.engine.environments.environment import PythonEnvironment
from oi_tui.app.engine.kernels.base import RunResult
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.shell_kernel import ShellKernel
from oi_tui.app.engine.sandbox.hosts import parse_rule
from oi_tui.app.engine.sandbox.places import program_places
from oi_tui.app.engine.sandbox.profile import Profile

VARIABLES = (
    *(name for proxy in ("http_proxy", "https_proxy", "all_proxy", "no_proxy") for name in (proxy, proxy.upper())),
    *("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX", "PIP_CERT", "PIP_TRUSTED_HOST"),
    *("UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "UV_NO_INDEX"),
    *("UV_NATIVE_TLS", "UV_OFFLINE"),
)
"""What says where packages come from: passed on to what installs them."""


READ = (
    *("/etc/pip.conf", "/etc/xdg/pip", "/etc/uv/uv.toml"),  # a pip.conf may name constraints beside it
    *("/etc/debian_version", "/etc/lsb-release", "/etc/redhat-release"),
)
"""What it reads of the machine: where packages come from, and for pip, which system it is."""

USUAL_INDEX = ("pypi.org", "files.pythonhosted.org")
PASSED_ON = ("PIP_INDEX_URL", "PIP_CERT")
"""Variables that say where packages are; an index whose address has a password is left out."""


class InstallRunner(ShellKernel):
    """Runs one `pip install`, whatever it is given."""

    def __init__(self, launch: Launch, arguments: tuple[str, ...]) -> None:
        if launch.sandbox is None or not launch.sandbox.encloses or launch.sandbox.is_weaker:
            raise KernelError("There is no sandbox to install in.", hint="Install it in a terminal of your own.")
        if is_offline():
            raise KernelError("oi-tui is offline: nothing was installed.", hint=HINT)
        if launch.python.is_replaced:  # by code that ran, perhaps: it can move the folders above it
            prefix = launch.python.prefix
            raise KernelError(
                f"{prefix} is another one than when it was chosen: nothing was installed.",
                hint=f"If you replaced it yourself: /kernel {prefix} chooses the new one.",
            )
        try:
            profile = install_profile(launch, launch.sandbox)
        except (SettingsError, ValueError) as error:  # its folder, or the address of the index
            raise KernelError(f"It cannot be installed from here: {error}") from error
        # Not in the working folder: a pip.py that code left there would run instead of pip, with network access.
        super().__init__(replace(launch, cwd=profile.workspace, sandbox=profile))
        self.place = f"{launch.python.describe(launch.cwd)}, which it may write to; network: {', '.join(profile.hosts)}"
        apart, hosts = str(profile.workspace), profile.hosts
        self.confinement = structs.replace(self.confinement, apart=apart, apart_hosts=hosts, packages=None)
        python = str(launch.python.python)
        self._command = shlex.join((python, "-I", "-m", "pip", "install", "--disable-pip-version-check", *arguments))

    async def run(self, source: str, block_id: str, emit: Emit) -> RunResult:
        """Install. `source` is what the person saw and agreed to; the arguments were read from it."""
        return await super().run(self._command, block_id, emit)


def install_profile(launch: Launch, usual: Profile) -> Profile:
    """The sandbox of one `pip install`: the hosts of the index can be asked."""
    index = launch.environ.get("PIP_INDEX_URL", "")
    parts = urlsplit(index)
    own = index if parts.hostname and "@" not in parts.netloc else ""
    return replace(
        _installing_profile(usual, _own_prefix(launch, launch.python)),
        network="hosts",
        hosts=(_host(own),) if own else USUAL_INDEX,
        environment=tuple(name for name in PASSED_ON if name != "PIP_INDEX_URL" or own),
    )


def _host(address: str) -> str:
    parts = urlsplit(address)
    rule = f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)
    parse_rule(rule)
    return rule


def installer(launch: Launch, environment: PythonEnvironment) -> tuple[ShellKernel, str]:
    """What runs the command, and the command; SettingsError if there is nothing to install, or no way to do it."""
    command = install_command(environment, launch.environ) if kernel_obstacle(environment) else ""
    if not command:
        raise SettingsError(f"There is nothing to install in {environment.prefix}.")
    if is_offline():
        raise SettingsError("oi-tui is offline: nothing can be installed.", hint=HINT)
    prefix = _own_prefix(launch, environment)
    sandbox = None if launch.sandbox is None else _profile(launch.sandbox, prefix)
    kernel = ShellKernel(replace(launch, cwd=prefix, python=environment, sandbox=sandbox))
    kernel.confinement = structs.replace(kernel.confinement, apart=str(prefix))
    return kernel, command


def tell_reach(launch: Launch, environment: PythonEnvironment) -> str:
    """The reach of the command, for the person who is asked about it."""
    if launch.sandbox is None or not launch.sandbox.encloses:
        return "It runs without a sandbox, with all your rights."
    reach = f"It runs in a sandbox that can write in {environment.prefix} alone, and reach the whole network."
    inside = environment.prefix.is_relative_to(launch.cwd)
    return f"{reach} It runs the Python in there, even if somebody else put it there." if inside else reach


def _own_prefix(launch: Launch, environment: PythonEnvironment) -> Path:
    """The folder of the environment; SettingsError if more than that is in it."""
    prefix = Path(os.path.realpath(environment.prefix))
    if any(folder.is_relative_to(prefix) for folder in (launch.cwd.resolve(), Path.home().resolve())):
        raise SettingsError(f"{prefix} is no environment of its own: your files are in it.")
    return prefix


def _installing_profile(usual: Profile, prefix: Path) -> Profile:
    """The usual sandbox, but that the environment takes the place of the working folder, which is not there."""
    return replace(usual, mode="workspace-write", workspace=prefix, writable=())


def _profile(usual: Profile, prefix: Path) -> Profile:
    """The sandbox of the command that was agreed to."""
    if not usual.encloses:
        return usual
    return replace(
        _installing_profile(usual, prefix),
        readable=(*usual.readable, *program_places("uv"), *(path for path in map(Path, READ) if path.exists())),
        network="full",
        hosts=(),
        environment=(*usual.environment, *VARIABLES),
    )
