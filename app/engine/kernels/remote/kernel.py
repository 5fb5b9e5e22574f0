"""A kernel on a Jupyter server or gateway, as a `Kernel`: started there, ended there, never sandboxed by us."""

import asyncio
import logging
import uuid
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.core.values import Language, Value
from oi_tui.app.engine.kernels.jupyter import JupyterKernel
from oi_tui.app.engine.kernels.jupyter_worker import KernelOrigin, Opened
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.processes import cancel_tasks
from oi_tui.app.engine.kernels.remote.channels import RemoteChannels
from oi_tui.app.engine.kernels.remote.server import JupyterServer

_log = logging.getLogger(__name__)


class ServerAddress(Value, frozen=True, kw_only=True):
    """Where a kernel is started."""

    name: str
    """What the person calls it."""
    url: str
    kernel: str = "python3"
    """The kernelspec of the server."""


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
        """End it."""

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
            try:
                await asking
            except KernelError:
                pass  # the ladder of interrupts goes on, and a lost connection is told by who keeps it

        task = asyncio.create_task(ask())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def open_remote(address: ServerAddress, token: str) -> Opened:
    """Start a kernel on the server and connect to it; KernelError if that cannot be. It ends with the connection."""
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(JupyterServer(address.url, token))
        kernel_id = await server.start(address.kernel)
        stack.push_async_callback(_remove, server, kernel_id)
        process = RemoteProcess(server, kernel_id)
        stack.push_async_callback(process.close)
        channels = RemoteChannels(server, kernel_id, uuid.uuid4().hex, process.note_end)
        stack.push_async_callback(channels.close)
        await channels.connect()
        return Opened(process, channels, stack.pop_all(), asked_to_end=False)


async def _remove(server: JupyterServer, kernel_id: str) -> None:
    try:
        await server.remove(kernel_id)
    except KernelError as error:
        _log.warning("a kernel stays on its server: %s", error.title)


def remote_kernel(launch: Launch, address: ServerAddress, token: str, language: Language = "python") -> JupyterKernel:
    """A kernel on this server."""
    host = urlsplit(address.url).hostname or address.name
    origin = KernelOrigin(
        address.kernel, f"{address.kernel} on {host}", ("signal",), partial(open_remote, address, token)
    )
    # Nothing here holds it back: what our sandbox promises is not promised there.
    return JupyterKernel(replace(launch, sandbox=None), language=language, origin=origin)
