"""Installs ipykernel in an environment that has none: a shell of its own, which ends after that one command.

It is what the person asked for by saying yes to this command. In a sandbox it may write in that environment alone, sees
nothing of the person's work, and reaches the whole network: packages have to come from somewhere.
"""

import os
from dataclasses import replace
from pathlib import Path

from msgspec import structs

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.environments.discovery import install_command, kernel_obstacle
from oi_tui.app.engine.environments.environment import PythonEnvironment
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.shell_kernel import ShellKernel
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
    *("/etc/pip.conf", "/etc/xdg/pip/pip.conf", "/etc/uv/uv.toml"),
    *("/etc/debian_version", "/etc/lsb-release", "/etc/redhat-release"),
)
"""What it reads of the machine: where packages come from, and for pip, which system it is."""


def installer(launch: Launch, environment: PythonEnvironment) -> tuple[ShellKernel, str]:
    """What runs the command, and the command; SettingsError if there is nothing to install, or no way to do it."""
    command = install_command(environment, launch.environ) if kernel_obstacle(environment) else ""
    if not command:
        raise SettingsError(f"There is nothing to install in {environment.prefix}.")
    prefix = Path(os.path.realpath(environment.prefix))
    if any(folder.is_relative_to(prefix) for folder in (launch.cwd.resolve(), Path.home().resolve())):
        raise SettingsError(f"{prefix} is no environment of its own: your files are in it.", hint=command)
    sandbox = None if launch.sandbox is None else _profile(launch.sandbox, prefix)
    kernel = ShellKernel(replace(launch, cwd=prefix, python=environment, sandbox=sandbox))
    kernel.confinement = structs.replace(kernel.confinement, apart=str(prefix))
    return kernel, command


def tell_reach(launch: Launch, environment: PythonEnvironment) -> str:
    """What the command can do, for the person who is asked about it."""
    if launch.sandbox is None or not launch.sandbox.encloses:
        return "It runs without a sandbox, with all your rights."
    return f"It runs in a sandbox that can write in {environment.prefix} alone, and reach the whole network."


def _profile(around: Profile, prefix: Path) -> Profile:
    if not around.encloses:
        return around
    return replace(
        around,
        mode="workspace-write",
        workspace=prefix,
        writable=(),
        readable=(*around.readable, *program_places("uv"), *(path for path in map(Path, READ) if path.exists())),
        network="full",
        hosts=(),
        environment=(*around.environment, *VARIABLES),
    )
