"""What all kernels have in common: states, one run at a time, the interrupt ladder, a process that may end.

A `Worker` is one process, opened once and closed once. `WorkerKernel` replaces it by a fresh one when necessary, and
reports that to the next run.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Protocol

import msgspec

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.core.events import Emit
from oi_tui.app.engine.core.outcomes import KernelState
from oi_tui.app.engine.core.values import Language, PackageHome
from oi_tui.app.engine.kernels.base import InterruptMeans, RunRequest, RunResult, public_place
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.output_stream import OutputStream
from oi_tui.app.engine.kernels.processes import cancel_tasks

ABANDONED = 0.5
"""Seconds that a run has to end by the mildest means when nobody waits for it any more."""

OnEnd = Callable[[str], None]
"""Called when the process exits by itself: how ("crashed ..."), or "" if a run has reported it already."""


class Worker(Protocol):
    """One process that runs sources."""

    @property
    def rungs(self) -> tuple[InterruptMeans, ...]:
        """The means it has against a run, the mildest first."""
        ...

    def begin(self, request: RunRequest) -> OutputStream:
        """Hand it the source."""
        ...

    def answer(self, text: str) -> None:
        """Give the run a line of input."""
        ...

    def press(self, means: InterruptMeans) -> None:
        """Use one of the `rungs`."""
        ...

    async def close(self, *, politely: bool) -> None:
        """End it with everything that it started; also where it ended by itself."""
        ...


OpenWorker = Callable[[OnEnd], Coroutine[Any, Any, Worker]]
"""Starts a process and waits until it can run something; KernelError if that fails. Then, and where it is cancelled,
nothing is left of it."""


class WorkerKernel:
    """A `Kernel` over one worker after the other."""

    def __init__(
        self,
        language: Language,
        launch: Launch,
        open_worker: OpenWorker,
        place: str = "",
        *,
        elsewhere: bool = False,
    ) -> None:
        """`elsewhere`: on a server, or started in a way that we do not know."""
        self.language = language
        self.place = public_place(place)
        self.elsewhere = elsewhere
        self.confinement = launch.confine(language)
        """The sandbox of the code it runs."""
        if elsewhere:  # what is installed here is not what is installed there
            packages = PackageHome(place=self.place)
            self.confinement = msgspec.structs.replace(self.confinement, packages=packages)
        self._settings = launch.settings
        self._spill_dir = launch.spill_dir
        self._open_worker = open_worker
        self.state: KernelState = "cold"
        self.generation = 0
        """How often it was started."""
        self._worker: Worker | None = None
        self._run: OutputStream | None = None
        self._loss = ""
        """Why the state of the last worker is lost, until it is reported."""
        self._opening: asyncio.Task[Worker] | None = None
        """The start of a worker, so that `close` need not wait for it."""
        self._closed = False
        self._lifecycle = asyncio.Lock()
        self._ladder = asyncio.Lock()

    async def start(self) -> None:
        """Start it if it is cold or dead; KernelError if that fails."""
        async with self._lifecycle:
            if self.state in ("cold", "dead"):
                await self._end_worker()
                await self._start_worker("starting")

    async def restart(self) -> None:
        """A fresh process; a current run is over then."""
        async with self._lifecycle:
            await self._replace_worker(f"The {self.language} kernel was restarted during this run; its state is lost.")

    async def close(self) -> None:
        """End the process and everything that it started, and start none any more; idempotent."""
        self._closed = True
        if self._opening is not None:
            self._opening.cancel()
        async with self._lifecycle:
            await self._end_worker()
            self._finish_run(f"The {self.language} kernel was closed during this run.")
            self.state = "cold"

    async def run(self, source: str, block_id: str, emit: Emit) -> RunResult:
        """Run the source and emit its events; when cancelled, interrupt the run."""
        if self._run is not None:
            raise KernelError("Something runs already.", hint="Interrupt it, or wait for its end.")
        await self.start()
        assert self._worker is not None
        loss, self._loss = self._loss, ""
        request = RunRequest(source, block_id, emit, self._settings.output_cap, self._spill_dir)
        return await self._result_of(self._worker.begin(request), loss)

    async def _result_of(self, run: OutputStream, loss: str) -> RunResult:
        """How the run ends. `loss` is called with it."""
        self._run = run
        self.state = "busy"
        try:
            result = await run.result()
        except BaseException:
            run.detach()
            if not run.over.is_set():
                # In a task of its own: before Python 3.11.3 `asyncio.timeout` fails in one that was cancelled.
                await asyncio.create_task(self._abandon(run))
            raise
        finally:
            self._run = None
            if self.state in ("busy", "interrupting"):
                self.state = "idle"
        return msgspec.structs.replace(result, detail=f"{result.detail} {loss}".strip()) if loss else result

    async def answer(self, text: str) -> None:
        """Give the line that the run waits for; without a run it does nothing."""
        if self._worker is not None and self._run is not None and not self._run.over.is_set():
            self._worker.answer(text)

    async def interrupt(self, *, restart: bool = True) -> InterruptMeans:
        """Climb the worker's rungs, each with `kernel.interrupt_step` seconds, then (only with `restart`) replace it.

        A run that ignored all rungs once is replaced at once.
        """
        async with self._ladder:
            run, worker = self._run, self._worker
            if run is None or worker is None or run.over.is_set():
                return "nothing_ran"
            run.interrupting = True
            self.state = "interrupting"
            for means in worker.rungs if not (restart and run.ignores) else ():
                worker.press(means)
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._settings.interrupt_step):
                        await run.over.wait()
                        return means
            run.ignores = True
            if not restart:
                self.state = "busy" if self.state == "interrupting" else self.state
                return "ignored"
            async with self._lifecycle:
                if not run.over.is_set():
                    await self._replace_unless_closed(
                        f"The {self.language} kernel ignored the interrupt and was restarted; its state is lost."
                    )
            return "restart"

    async def _abandon(self, run: OutputStream) -> None:
        """Stop waiting for the worker: it may exit by itself within a moment, or its process is killed."""
        run.interrupting = True
        if self._worker is not None:
            self._worker.press(self._worker.rungs[0])
        with suppress(TimeoutError):
            async with asyncio.timeout(ABANDONED):
                await run.over.wait()
                return
        async with self._lifecycle:
            if run.over.is_set():
                return
            await self._end_worker()
            self._finish_run("Nobody waited for this run any more.")
            self._on_end("ignored the interrupt")

    # -- the worker ------------------------------------------------------------------------------------

    async def _start_worker(self, state: KernelState) -> None:
        if self._closed:
            raise self._closed_error()
        self.state = state
        self._opening = opening = asyncio.create_task(self._open_worker(self._on_end))
        try:
            await asyncio.wait([opening])
            if opening.cancelled():
                raise self._closed_error()
            self._worker = opening.result()
        except BaseException:
            await cancel_tasks(opening)
            self.state = "dead"
            if not opening.cancelled() and opening.exception() is None:
                await opening.result().close(politely=False)  # it was ready when nobody waited for it any more
            raise
        finally:
            self._opening = None
        self.generation += 1
        self.state = "idle"

    def _closed_error(self) -> KernelError:
        return KernelError(f"The {self.language} kernel was closed.")

    async def _replace_worker(self, detail: str) -> None:
        if self._closed:
            raise self._closed_error()
        self.state = "restarting"
        await self._end_worker()
        self._finish_run(detail)
        await self._start_worker("restarting")

    async def _replace_unless_closed(self, detail: str) -> None:
        try:
            await self._replace_worker(detail)
        except KernelError:
            if not self._closed:
                raise

    async def _end_worker(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            await worker.close(politely=self._run is None)

    def _finish_run(self, detail: str) -> None:
        if self._run is not None:
            self._run.finish(RunResult(status="interrupted", detail=detail))

    def _on_end(self, how: str) -> None:
        self.state = "dead"
        if how:
            self._loss = f"The {self.language} kernel {how} before this run and was started afresh; its state was lost."
