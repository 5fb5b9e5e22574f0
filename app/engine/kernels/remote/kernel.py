"""A kernel on a Jupyter server or gateway, as a `Kernel`: started there, ended there, never sandboxed by us."""

import asyncio
import logging
import uuid
from collections.abc import Coroutine
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from functools import partial
from typing import Any

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.kernels.jupyter import JupyterKernel
from oi_tui.app.engine.kernels.jupyter_worker import KernelOrigin, Opened
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.processes import cancel_tasks
from oi_tui.app.engine.kernels.remote.channels import RemoteChannels
from oi_tui.app.engine.kernels.remote.server import JupyterServer
from oi_tui.app.engine.kernels.remote.servers import KnownServer
from oi_tui.app.engine.kernels.remote.site import open_site

LAST_WORD = 5.0
"""Seconds that the server has to end a kernel when we leave."""

_log = logging.getLogger(__name__)


class RemoteProcess:
    """What can be known and done about the process of a kernel from here."""

    is_stopped = False
    """Nobody tells us."""

    def __init__(self, server: JupyterServer, kernel_id: str) -> None:
        self.cause = "ended"
        self._server = server
        self._kernel_id = kernel_id
        self._ended = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def has_ended(self) -> bool:
        return self._ended.is_set()

    def note_end(self, how: str) -> None:
        """It runs no more; how that came about, as the end of a sentence."""
        if not self._ended.is_set():
            self.cause = how
            self._ended.set()

    def last_lines(self) -> str:
        """The server keeps what the process writes."""
        return ""

    def interrupt(self, *, with_children: bool) -> None:
        """Ask the server, which does it in the way that this kernel wants."""
        self._do(self._server.interrupt(self._kernel_id))

    def note_session(self) -> None:
        """What it started is the server's business."""

    def kill(self) -> None:
        """End it, by way of the server."""

        async def remove() -> None:
            await self._server.remove(self._kernel_id)
            self.note_end("was ended")

        self._do(remove())

    async def wait(self) -> None:
        await self._ended.wait()

    async def close(self) -> None:
        """Nothing more is asked for."""
        await cancel_tasks(*self._tasks)

    def _do(self, asking: Coroutine[Any, Any, None]) -> None:
        async def ask() -> None:
            with suppress(KernelError):  # the ladder goes on, and a lost connection is told by who keeps it
                await asking

        task = asyncio.create_task(ask())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def open_remote(launch: Launch, server: KnownServer) -> Opened:
    """Start a kernel on the server and connect to it; KernelError if that cannot be. It ends with the connection."""
    async with AsyncExitStack() as stack:
        site = await stack.enter_async_context(open_site(server, launch, _log.info))
        kernel_id = await site.start(server.kernel)
        stack.push_async_callback(_remove, site, kernel_id)
        process = RemoteProcess(site, kernel_id)
        stack.push_async_callback(process.close)
        channels = RemoteChannels(site, kernel_id, uuid.uuid4().hex, process.note_end)
        stack.push_async_callback(channels.close)
        await channels.connect()
        return Opened(process, channels, stack.pop_all(), asked_to_end=False)


async def _remove(site: JupyterServer, kernel_id: str) -> None:
    try:
        async with asyncio.timeout(LAST_WORD):
            await site.remove(kernel_id)
    except (KernelError, TimeoutError) as error:
        _log.warning("a kernel may go on, on its server: %s", error)


def remote_kernel(launch: Launch, server: KnownServer) -> JupyterKernel:
    """A Python kernel on this server."""
    opening = partial(open_remote, launch, server)
    origin = KernelOrigin(server.kernel, server.place, ("signal",), opening, elsewhere=True)
    # Nothing of ours holds it back there, so nothing is promised.
    return JupyterKernel(replace(launch, sandbox=None), origin=origin)
