"""Kernels that a provisioner of jupyter_client starts, as their kernelspec demands: in its own way, perhaps elsewhere.

We start kernels ourselves, in the sandbox; of such a one we know nothing but how to reach it, so none is around it.
"""

import asyncio
import subprocess
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import Any

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.kernels.channels import Channels
from oi_tui.app.engine.kernels.jupyter_worker import KernelOrigin, Opened
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.processes import cancel_tasks
from oi_tui.app.engine.kernels.spec import KernelSpec
from oi_tui.app.engine.sandbox.environments import kernel_environment

LOOK = 1.0
"""Seconds between two looks whether it is still there; a provisioner tells only when it is asked."""

CONNECTED = 1.0
"""Seconds after which all sockets have found the kernel, on this machine or near it."""

FAILED_LOOKS = 10
"""Looks that fail one after the other, after which it is taken as ended."""

LAST_WORD = 10.0
"""Seconds that a provisioner has to end a kernel."""


class ProvisionedProcess:
    """The process of a kernel, observed and controlled through jupyter_client's manager."""

    is_stopped = False
    """Nobody tells us."""

    def __init__(self, manager: Any) -> None:
        self.cause = "ended"
        self._manager = manager
        self._ended = asyncio.Event()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._do(self._look())

    @property
    def has_ended(self) -> bool:
        return self._ended.is_set()

    def last_lines(self) -> str:
        """Who started it keeps what it writes."""
        return ""

    def interrupt(self, *, with_children: bool, wake: Callable[[], None]) -> None:
        """In the way that the kernelspec says."""

        async def interrupt() -> None:
            await self._manager.interrupt_kernel()
            wake()

        self._do(interrupt())

    def note_session(self) -> None:
        """Nothing to do: its provisioner ends what it started."""

    def kill(self) -> None:
        """End it, by way of its provisioner."""
        self._do(self._end())

    async def wait(self) -> None:
        await self._ended.wait()

    async def close(self) -> None:
        """End it, and let go."""
        await cancel_tasks(*self._tasks)
        try:
            async with asyncio.timeout(LAST_WORD):
                await self._end()
        except Exception:  # a provisioner is anybody's code
            self._ended.set()
        finally:
            self._manager.context.destroy(linger=0)  # the manager itself does so only where all went well

    async def _end(self) -> None:
        try:
            await self._manager.shutdown_kernel(now=True)
        finally:
            self._ended.set()

    async def _look(self) -> None:
        failed = 0
        while not self._ended.is_set():
            try:
                is_alive, failed = await self._manager.is_alive(), 0
            except Exception as error:  # a provisioner is anybody's code
                failed += 1
                is_alive = failed < FAILED_LOOKS
                if not is_alive:
                    self.cause = f"cannot be asked for: {type(error).__name__}"
            if not is_alive:
                self._ended.set()
            await asyncio.sleep(LOOK)

    def _do(self, asking: Coroutine[Any, Any, object]) -> None:
        async def ask() -> None:
            try:
                await asking
            except Exception as error:  # a provisioner is anybody's code; the ladder continues
                self.cause = f"cannot be asked for: {type(error).__name__}"

        task = asyncio.create_task(ask())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def provisioned_origin(launch: Launch, spec: KernelSpec) -> KernelOrigin:
    """A kernel that is started by the provisioner of its kernelspec, which we know nothing of."""
    place = f"kernel {spec.name}, started by {spec.provisioner}"
    return KernelOrigin(spec.name, place, ("signal",), partial(open_provisioned, launch, spec), elsewhere=True)


async def open_provisioned(launch: Launch, spec: KernelSpec) -> Opened:
    """Have it started, and connect to it; KernelError if the provisioner fails."""
    from jupyter_client.manager import AsyncKernelManager  # deferred: heavy
    from zmq.constants import Event  # deferred: heavy

    manager = AsyncKernelManager(kernel_name=spec.name)
    async with AsyncExitStack() as stack:
        try:
            await manager.start_kernel(
                env=kernel_environment(launch.variables),
                cwd=str(launch.cwd),
                stdout=subprocess.DEVNULL,  # a kernel would have ours, which may be the terminal
                stderr=subprocess.DEVNULL,
            )
        except asyncio.CancelledError:
            await _end_unfinished(manager)
            raise
        except Exception as error:  # a provisioner is anybody's code
            await _end_unfinished(manager)
            title = f"“{spec.provisioner}” could not start the kernel “{spec.name}”."
            raise KernelError(title, details=f"{type(error).__name__}: {error}") from error
        process = ProvisionedProcess(manager)
        channels = Channels(manager.blocking_client())  # of which only the sockets are used
        stack.push_async_callback(channels.close)
        channels.connect(Event.HANDSHAKE_SUCCEEDED)
        # It runs already, so that event may have been before; within this time it is connected in any case.
        asyncio.get_running_loop().call_later(CONNECTED, channels.desk.can_ask.set)
        stack.push_async_callback(process.close)
        return Opened(process, channels, stack.pop_all())


async def _end_unfinished(manager: Any) -> None:
    """End the remains of a start that failed."""
    try:
        with suppress(Exception):  # a provisioner is anybody's code
            async with asyncio.timeout(LAST_WORD):
                await manager.shutdown_kernel(now=True)
    finally:
        manager.context.destroy(linger=0)
