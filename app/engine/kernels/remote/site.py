"""From a known server to one that answers: a machine over ssh is given a server of ours, a hub starts the person's."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from oi_tui.app.engine.core.errors import KernelError, SettingsError
from oi_tui.app.engine.core.offline import require_here
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.remote.address import SSH, parse_address
from oi_tui.app.engine.kernels.remote.hub import JupyterHub, find_hub
from oi_tui.app.engine.kernels.remote.server import JupyterServer, ServerUnreachable
from oi_tui.app.engine.kernels.remote.servers import KnownServer
from oi_tui.app.engine.kernels.remote.ssh_server import SshServer
from oi_tui.app.engine.kernels.socket_folder import socket_folder

LAST_WORD = 3.0
"""Seconds that a server has to say whether anything is left on it."""

Tell = Callable[[str], None]


@asynccontextmanager
async def open_site(
    server: KnownServer, launch: Launch, tell: Tell = lambda step: None, *, starts: bool = True
) -> AsyncIterator[JupyterServer]:
    """The server, ready to be asked; KernelError in plain words if that cannot be. `tell` hears of each step.

    Over ssh it is stopped at the end, unless there are kernels or terminals on it. Without `starts` no server is
    started, nor stopped: ServerAsleep if none runs.
    """
    async with AsyncExitStack() as stack:
        if server.url.startswith(SSH):
            yield await _open_over_ssh(server, launch, tell, stack, starts=starts)
        else:
            token = await server.find_token(launch.environ, launch.learn_secret)
            yield await _open_at(server, token, tell, stack, starts=starts)


async def _open_over_ssh(
    server: KnownServer, launch: Launch, tell: Tell, stack: AsyncExitStack, *, starts: bool
) -> JupyterServer:
    address = parse_address(server.url)
    try:
        require_here(address.host)  # ssh is a program of its own
    except SettingsError as error:
        raise KernelError(error.title, hint=error.hint) from error
    there = SshServer(
        address,
        stack.enter_context(socket_folder()),
        python=server.python,
        command=launch.settings.ssh_command,
        environ=launch.environ,
    )
    tell(f"{'Starting or finding' if starts else 'Looking for'} a Jupyter server on {address.host} over ssh")
    stack.push_async_callback(there.leave)
    await there.open(starts=starts)
    launch.learn_secret("Jupyter token", there.token)
    site = await stack.enter_async_context(JupyterServer("http://localhost/", there.token, there, name=server.name))

    async def stop_if_empty() -> None:
        if there.is_silent:
            return  # it ends by itself
        try:
            async with asyncio.timeout(LAST_WORD):
                is_empty = await site.is_empty()
        except (KernelError, TimeoutError):
            return
        if is_empty:
            await there.stop()

    if starts:
        stack.push_async_callback(stop_if_empty)
    return site


async def _open_at(
    server: KnownServer, token: str, tell: Tell, stack: AsyncExitStack, *, starts: bool
) -> JupyterServer:
    url = server.url
    site = await stack.enter_async_context(JupyterServer(url, token, name=server.name, remedy=server.remedy))
    try:
        await site.kernelspecs()
    except ServerUnreachable:
        raise
    except KernelError as refused:
        async with AsyncExitStack() as asking:
            address = find_hub(url)
            hub = await asking.enter_async_context(JupyterHub(address.hub, token))
            version = await hub.version()
            if not version:
                raise refused from None
            tell(f"{hub.host} is a JupyterHub, {version}")
            started = await (hub.start_server(address, tell) if starts else hub.find_server(address))
        site = await stack.enter_async_context(JupyterServer(started, token, name=server.name, remedy=server.remedy))
        await site.kernelspecs()
    return site
