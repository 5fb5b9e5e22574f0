"""What Python code can be run in: environments and kernelspecs of this machine, servers, and what is on one of them."""

import asyncio
import os
import re
from collections.abc import Iterator, Mapping, Set

from oi_tui.app.engine.core.errors import KernelError, SettingsError
from oi_tui.app.engine.core.kernel_choice import KernelChoice
from oi_tui.app.engine.environments.discovery import (
    AFTER_TRUST,
    find_environments,
    how_to_mend,
    install_command,
    kernel_obstacle,
    waiting_environment,
)
from oi_tui.app.engine.environments.environment import PythonEnvironment
from oi_tui.app.engine.kernels.base import public_place
from oi_tui.app.engine.kernels.installing import tell_reach
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.remote.address import SHORT_ID
from oi_tui.app.engine.kernels.remote.running import RunningKernel
from oi_tui.app.engine.kernels.remote.seat import ATTACHING
from oi_tui.app.engine.kernels.remote.server import JupyterServer
from oi_tui.app.engine.kernels.remote.servers import KnownServer, known_servers
from oi_tui.app.engine.kernels.remote.site import open_site

ASKING = 60.0
"""Seconds for a server to answer: a keyring may need unlocking, a server may have to start over ssh."""

OURS = "oi-tui"
"""What the Python of oi-tui is called."""

MOST_TOLD = 100
"""Kernelspecs of a server that are listed."""

_SPEC_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")
"""What Jupyter itself allows; a server may say anything."""


def find_choices(launch: Launch, server: KnownServer | None, specs: Mapping[str, str]) -> list[KernelChoice]:
    """The kernels of this machine, the one in use first; Python runs on `server`, if that is given. `specs` are the
    installed kernelspecs with their languages. Reads files; no server is asked."""
    found = [
        *_environments(launch, in_use=server is None),
        *_servers(server),
        *(
            KernelChoice(name=name, kind="kernelspec", title=language or name, detail=f"Runs fences labelled {name}.")
            for name, language in sorted(specs.items())
        ),
    ]
    return sorted(found, key=lambda choice: not choice.in_use)


async def ask_server(
    launch: Launch, name: str, *, ours: Set[str] = frozenset(), patience: float = ASKING
) -> list[KernelChoice]:
    """What this known server can start, and its running kernels; `ours` are the ids of kernels that our sessions
    started. KernelError or SettingsError if it does not answer in time. It is not started for that."""
    server = await asyncio.to_thread(known_servers().find, name)
    try:
        async with asyncio.timeout(patience), open_site(server, launch, starts=False) as site:
            specs = await site.kernelspecs()
            running = await _running(site)
    except TimeoutError:
        raise KernelError(f"{server.host} did not say within {patience:.0f} s what it has.") from None
    told = [spec for spec in sorted(specs) if _SPEC_NAME.fullmatch(spec)][:MOST_TOLD]
    return [*(_running_choice(name, server.host, kernel, ours) for kernel in running)] + [
        KernelChoice(
            name=f"{name}:{spec}",
            kind="kernelspec",
            title=f"a new {spec} on {server.host}",
            detail=f"Host: {server.host}\nLanguage: {specs[spec][:100] or 'not told'}",
            server=name,
        )
        for spec in told
    ]


async def _running(site: JupyterServer) -> tuple[RunningKernel, ...]:
    """A gateway may keep to itself what runs there."""
    try:
        return await site.running()
    except KernelError:
        return ()


def _running_choice(name: str, host: str, kernel: RunningKernel, ours: Set[str]) -> KernelChoice:
    since = f" since {kernel.since[:16].replace('T', ' ')} UTC" if kernel.since else ""
    what = kernel.notebook.rpartition("/")[2] or kernel.kernelspec or "a kernel"
    return KernelChoice(
        name=f"{name}@{kernel.kernel_id[:SHORT_ID]}",
        kind="running",
        title=f"{kernel.kernel_id[:SHORT_ID]} {what} on {host}, {kernel.state}{since}",
        detail=tell_running(kernel),
        costs=ATTACHING if kernel.connections or kernel.kernel_id not in ours else "",
        server=name,
    )


def tell_running(kernel: RunningKernel) -> str:
    """Facts about it, a line for each; the notebook is as it came from the server."""
    notebook = f"Notebook: {kernel.notebook}\n" if kernel.notebook else ""
    since = f" since {kernel.since} UTC" if kernel.since else ""
    return (
        f"{notebook}Kernelspec: {kernel.kernelspec or 'not told'}\nState: {kernel.state}{since}\n"
        f"Connections: {kernel.connections}\nId: {kernel.kernel_id}"
    )


def _environments(launch: Launch, *, in_use: bool) -> Iterator[KernelChoice]:
    found = list(find_environments(launch.cwd, launch.environ, trusted=launch.trusted))
    used = os.path.realpath(launch.python.prefix)
    if used not in (os.path.realpath(environment.prefix) for environment in found):
        found.insert(0, launch.python)
    taken = set(_server_names())
    for environment in found:
        name = OURS if environment.is_ours else environment.prefix.name
        another = name == OURS and not environment.is_ours
        if another or name in taken or re.search("[:@]", name):  # it means another one: only the path is sure
            name = str(environment.prefix)
        taken.add(name)
        obstacle = kernel_obstacle(environment)
        remedy = install_command(environment, launch.environ) if obstacle else ""
        if obstacle and not remedy:
            obstacle = f"{obstacle} {how_to_mend(environment, launch.environ)}"
        yield KernelChoice(
            name=name,
            kind="environment",
            title=environment.describe(launch.cwd),
            detail=_facts(environment, obstacle),
            obstacle=obstacle,
            lack="" if remedy or not obstacle else "too old" if "too old" in obstacle else "no kernel",
            remedy=remedy,
            remedy_reach=tell_reach(launch, environment) if remedy else "",
            in_use=in_use and os.path.realpath(environment.prefix) == used,
        )
    waiting = None if launch.trusted else waiting_environment(launch.cwd, launch.environ)
    if waiting is not None and os.path.realpath(waiting.prefix) not in {os.path.realpath(one.prefix) for one in found}:
        yield KernelChoice(
            name=str(waiting.prefix),
            kind="environment",
            title=waiting.describe(launch.cwd),
            detail=_facts(waiting, kernel_obstacle(waiting)),
            obstacle=f"It came with a folder that you do not trust. {AFTER_TRUST}",
        )


def _facts(environment: PythonEnvironment, obstacle: str) -> str:
    threads = ", without the global lock" if environment.threaded else ""
    if environment.has_ipykernel:
        kernel = f"{environment.packages['ipykernel']}, its own"
    else:
        kernel = "none" if obstacle else "none of its own, lent by oi-tui"
    return "\n".join(
        (
            f"Program: {environment.python}",
            f"Python: {environment.version or 'of unknown version'}{threads} ({environment.kind})",
            f"ipykernel: {kernel}",
        )
    )


def _servers(used: KnownServer | None) -> Iterator[KernelChoice]:
    try:
        known = known_servers().all()
    except SettingsError as error:
        yield KernelChoice(name="", kind="server", title="The list of servers", detail=error.hint, obstacle=error.title)
        return
    urls = {server.url for server in known.values()}
    if used is not None and used.url not in urls:  # typed as ssh://, or forgotten meanwhile
        yield KernelChoice(name="", kind="server", title=used.place, detail=f"Host: {used.host}", in_use=True)
    for name, server in known.items():
        yield KernelChoice(
            name=name,
            kind="server",
            title=f"{name}: {server.kernel} at {public_place(server.url)}",
            detail=f"Host: {server.host}\nKernelspec: {server.kernel}",
            server=name,
            in_use=used is not None and server.url == used.url,
        )


def _server_names() -> tuple[str, ...]:
    try:
        return tuple(known_servers().all())
    except SettingsError:
        return ()
