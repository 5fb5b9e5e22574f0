"""From a known server to one that answers: a machine over ssh is given a server of ours, a hub starts the person's."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.remote.address import SSH, parse_address
from oi_tui.app.engine.kernels.remote.hub import JupyterHub, find_hub
from oi_tui.app.engine.kernels.remote.server import JupyterServer, ServerUnreachable
from oi_tui.app.engine.kernels.remote.servers import KnownServer
from oi_tui.app.engine.kernels.remote.ssh_server import SshServer
from oi_tui.app.engine.kernels.socket_folder import socket_folder

Tell = Callable[[str], None]


@asynccontextmanager
async def open_site(
    server: KnownServer, launch: Launch, tell: Tell = lambda step: None
) -> AsyncIterator[JupyterServer]:
    """The server, ready to be asked; KernelError in plain words if that cannot be. `tell` hears of each step.

    Over ssh it is stopped at the end, unless there are kernels on it.
    """
    async with AsyncExitStack() as stack:
        if server.url.startswith(SSH):
            yield await _open_over_ssh(server, launch, tell, stack)
        else:
            token = await server.find_token(launch.environ, launch.learn_secret)
            yield await _open_at(server.url, token, tell, stack)


async def _open_over_ssh(server: KnownServer, launch: Launch, tell: Tell, stack: AsyncExitStack) -> JupyterServer:
    address = parse_address(server.url)
    there = SshServer(
        address,
        stack.enter_context(socket_folder()),
        python=server.python,
        command=launch.settings.ssh_command,
        environ=launch.environ,
    )
    tell(f"Starting or finding a Jupyter server on {address.host} over ssh")
    stack.push_async_callback(there.leave)
    await there.open()
    launch.learn_secret("Jupyter token", there.token)
    site = await stack.enter_async_context(JupyterServer("http://localhost/", there.token, there))

    async def stop_if_empty() -> None:
        try:
            kernels = await site.count_kernels()
        except KernelError:
            return  # it ends by itself
        if not kernels:
            await there.stop()

    stack.push_async_callback(stop_if_empty)
    return site


async def _open_at(url: str, token: str, tell: Tell, stack: AsyncExitStack) -> JupyterServer:
    site = await stack.enter_async_context(JupyterServer(url, token))
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
            started = await hub.start_server(address, tell)
        site = await stack.enter_async_context(JupyterServer(started, token))
        await site.kernelspecs()
    return site
