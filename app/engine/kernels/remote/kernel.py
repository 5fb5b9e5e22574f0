"""A kernel on a Jupyter server or gateway, as a `Kernel`: never sandboxed by us. It may outlive us, and may be somebody
else's."""

import asyncio
from dataclasses import replace

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.core.events import Emit
from oi_tui.app.engine.core.outcomes import KernelState
from oi_tui.app.engine.core.values import Language
from oi_tui.app.engine.kernels.base import ComeBack, InterruptMeans, RunRequest, RunResult
from oi_tui.app.engine.kernels.jupyter import JupyterKernel
from oi_tui.app.engine.kernels.jupyter_worker import JupyterWorker, KernelOrigin
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.output_stream import OutputStream
from oi_tui.app.engine.kernels.remote.living import living_kernels
from oi_tui.app.engine.kernels.remote.seat import KernelRestarted, Relay, RemotePlace, Seat
from oi_tui.app.engine.kernels.remote.server import KernelGone
from oi_tui.app.engine.kernels.remote.servers import KnownServer

RETURN_PATIENCE = 20.0
"""Seconds a server has to reconnect us to a kernel, before the session continues without it."""


class RemoteKernel(JupyterKernel):
    """Started on a server, reconnected to, or attached to."""

    def __init__(self, launch: Launch, seat: Seat) -> None:
        place = seat.place
        origin = KernelOrigin(place.kernelspec, place.telling, ("signal",), seat.open, elsewhere=True)
        # Nothing of ours holds it back there, so nothing is promised.
        super().__init__(replace(launch, sandbox=None), language=seat.language, origin=origin)
        self.seat = seat
        self._relay: Relay | None = None

    # -- coming back -----------------------------------------------------------------------------------

    async def come_back(self, block_id: str, source: str) -> ComeBack:
        """Reconnect to the kernel that this session left alive. `block_id` is the run that it did not see the end of,
        "" if there is none. KernelError if the server cannot be reached: the next run tries again."""
        seat = self.seat
        self._relay = Relay() if block_id else None
        if self._relay is not None:
            seat.orphan = RunRequest(source, block_id, self._relay, self._settings.output_cap, self._spill_dir)
        seat.only_back = True
        try:
            async with asyncio.timeout(RETURN_PATIENCE):
                await self.start()
        except KernelGone:
            self.state = "cold"
            return "gone"
        except TimeoutError:
            self.state = "cold"
            raise KernelError(f"{seat.place.server.host} did not let us in within {RETURN_PATIENCE:.0f} s.") from None
        except KernelError:
            self.state = "cold"
            raise
        finally:
            seat.only_back = False
        assert isinstance(self._worker, JupyterWorker)
        if block_id and (seat.is_busy or self._worker.runs.has(block_id)):
            return "runs"
        seat.orphan = None
        return "back"

    async def rejoin(self, emit: Emit) -> RunResult:
        """Follow a run that continued without us to its end, as `run` does."""
        orphan, relay = self.seat.orphan, self._relay
        if self._run is not None or orphan is None or relay is None or not isinstance(self._worker, JupyterWorker):
            raise KernelError("There is no run to reconnect to.")
        output = self._worker.follow(orphan)
        relay.lead_to(emit)
        return await self._result_of(output, "")

    async def _start_worker(self, state: KernelState) -> None:
        seat = self.seat
        seat.lost = ""
        try:
            await super()._start_worker(state)
        except KernelRestarted:
            await seat.give_up()
            if seat.only_back:
                raise
            await super()._start_worker(state)
        assert isinstance(self._worker, JupyterWorker)
        await seat.settle(is_python=self._worker.has_helper)
        if seat.lost or self._worker.returns is not None:
            self._loss = seat.lost

    # -- kernels of somebody else, and kernels that outlive us -----------------------------------------------

    async def restart(self) -> None:
        if self.seat.is_foreign:
            raise self._foreign_error("restarted")
        await super().restart()

    async def interrupt(self, *, restart: bool = True) -> InterruptMeans:
        """A kernel of somebody else is never replaced: at the end of the ladder we leave it."""
        if not self.seat.is_foreign:
            return await super().interrupt(restart=restart)
        means = await super().interrupt(restart=False)
        if means != "ignored" or not restart:
            return means
        async with self._lifecycle:
            await self._end_worker()
            self._finish_run("The run continues: it ignored the interrupt, and the kernel is somebody else's.")
            self.state = "dead"
        return "nothing_ran"

    async def close(self) -> None:
        self.seat.is_leaving = True
        if self._run is not None and self.seat.is_kept:
            self._run.detach(flush=True)  # its end is reported when somebody reconnects
        await super().close()

    async def end(self) -> None:
        """Close it for another one: nobody reconnects to it. It is ended, unless somebody else started it; KernelError
        if it may still be running."""
        await super().close()
        await self.seat.end()

    async def _replace_worker(self, detail: str) -> None:
        if self.seat.is_foreign:
            raise self._foreign_error("restarted")
        self.state = "restarting"
        await self._end_worker()
        left = ""
        try:
            await self.seat.end()
        except KernelError as error:
            left = f"{error.title} {error.hint}".strip()
        await super()._replace_worker(detail)
        self._loss = left

    async def _abandon(self, run: OutputStream) -> None:
        if not self.seat.is_kept:
            await super()._abandon(run)

    def _finish_run(self, detail: str) -> None:
        if not (self.seat.is_leaving and self.seat.is_kept):
            super()._finish_run(detail)

    def _foreign_error(self, what: str) -> KernelError:
        return KernelError(
            f"This kernel is not {what}: somebody else started it, and works in it.",
            hint="/kernel NAME changes to another one. To end it all the same: oi-tui kernels stop "
            f"{self.seat.address}",
        )


def remote_kernel(launch: Launch, server: KnownServer | RemotePlace, language: Language = "python") -> RemoteKernel:
    """A kernel on this server."""
    place = server if isinstance(server, RemotePlace) else RemotePlace(server=server, kernelspec=server.kernel)
    return RemoteKernel(launch, Seat(launch, language, place, living_kernels()))
