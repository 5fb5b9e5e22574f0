"""The process of a kernel on a server, as far as it can be observed and controlled from here."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.kernels.processes import cancel_tasks
from oi_tui.app.engine.kernels.remote.server import JupyterServer

UNREACHABLE = "could not be reached any more"
"""How a kernel ended for us that may still be running."""

LEFT_ALONE = "was left alone, for somebody else started it"


class RemoteProcess:
    """The process of a kernel, observed and controlled from here."""

    is_stopped = False
    """Nobody tells us."""

    def __init__(self, server: JupyterServer, kernel_id: str, *, foreign: bool = False) -> None:
        """A `foreign` one was started by somebody else, and is never ended."""
        self.cause = "ended"
        self.may_interrupt: Callable[[], bool] = lambda: True
        """Asked before each interrupt: it must not hit what others run."""
        self._server = server
        self._kernel_id = kernel_id
        self._foreign = foreign
        self._ended = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def has_ended(self) -> bool:
        return self._ended.is_set()

    def note_end(self, how: str) -> None:
        """Note that it has exited, and why, as the end of a sentence."""
        if not self._ended.is_set():
            self.cause = how
            self._ended.set()

    def last_lines(self) -> str:
        """The server keeps what the process writes."""
        return ""

    def interrupt(self, *, with_children: bool, wake: Callable[[], None]) -> None:
        """Ask the server, which does it in the way that this kernel wants."""

        async def interrupt() -> None:
            await self._server.interrupt(self._kernel_id)
            wake()

        if self.may_interrupt():
            self._do(interrupt())

    def note_session(self) -> None:
        """Nothing to do: the server ends what it started."""

    def kill(self) -> None:
        """End it, by way of the server."""
        if self._foreign:
            self.note_end(LEFT_ALONE)
            return

        async def remove() -> None:
            await self._server.remove(self._kernel_id)
            self.note_end("was ended")

        self._do(remove())

    async def wait(self) -> None:
        await self._ended.wait()

    async def close(self) -> None:
        """Stop asking the server about it."""
        await cancel_tasks(*self._tasks)

    def _do(self, asking: Coroutine[Any, Any, None]) -> None:
        async def ask() -> None:
            with suppress(KernelError):  # the ladder continues, and the connection's owner reports a loss
                await asking

        task = asyncio.create_task(ask())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
