"""HTML as code: what a page shows and what its console says. It keeps no state."""

import asyncio
import base64

from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.core.values import Confinement
from oi_tui.app.engine.kernels.base import InterruptMeans, RunRequest, RunResult
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.output_stream import OutputStream
from oi_tui.app.engine.kernels.page_picture import PageNotDrawn, draw_page
from oi_tui.app.engine.kernels.processes import cancel_tasks
from oi_tui.app.engine.kernels.worker import OnEnd, WorkerKernel
from oi_tui.app.engine.text.browser_page import LINES_ABOVE, page_of

PAGE_LANGUAGE = "html"


class PageKernel(WorkerKernel):
    """A kernel whose source is HTML: each run is a page of its own."""

    def __init__(self, launch: Launch) -> None:
        async def open_worker(_: OnEnd) -> PageWorker:
            return PageWorker(launch)

        super().__init__(PAGE_LANGUAGE, launch, open_worker, "a browser in a sandbox, without network")
        self.confinement = Confinement(sandboxed=True, offline=True)  # or nothing runs


class PageWorker:
    """Has one page after the other drawn."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self._drawing: asyncio.Task[None] | None = None

    @property
    def rungs(self) -> tuple[InterruptMeans, ...]:
        """The end of the browser."""
        return ("kill",)

    def begin(self, request: RunRequest) -> OutputStream:
        """The page is there for the person at once; its picture comes when it is drawn."""
        run = OutputStream(request)
        self._drawing = asyncio.create_task(self._draw(run, request.source))
        return run

    def answer(self, text: str) -> None:
        """A page asks nothing that could be answered."""

    def press(self, means: InterruptMeans) -> None:
        """The page has no say in it: its sandbox is closed."""
        if self._drawing is not None:
            self._drawing.cancel()

    async def close(self, *, politely: bool) -> None:
        """End the browser, and wait until it is gone."""
        if self._drawing is not None:
            await cancel_tasks(self._drawing)

    async def _draw(self, run: OutputStream, source: str) -> None:
        try:
            run.display(RichOutput(data={"text/html": source}))
            run.finish(await self._show(run, source))
        except asyncio.CancelledError:
            run.finish(RunResult(status="interrupted"))
            raise
        except Exception as error:
            run.finish(RunResult(status="error", detail=f"The page could not be drawn: {error!r}."))
            raise

    async def _show(self, run: OutputStream, source: str) -> RunResult:
        page = page_of(RichOutput(data={"text/html": source}), scripts=True)
        sandbox = self._launch.sandbox
        try:
            if page is None:
                raise PageNotDrawn("The page is empty, or too large.")
            drawn = await draw_page(page, self._launch.environ, sandbox.rung if sandbox is not None else "auto")
        except PageNotDrawn as why:
            run.stream("stderr", f"[no picture of the page, and none of its scripts ran: {why.title}]\n")
            return RunResult(status="ok")
        for said in drawn.console:
            line = said.line - LINES_ABOVE
            run.stream("stderr", f"{f'line {line}: ' if line > 0 else ''}{said.text}\n")
        encoded = base64.b64encode(drawn.picture.data).decode()
        run.display(RichOutput(data={drawn.picture.mime: encoded}, metadata={"recipient": "assistant"}))
        return RunResult(status="error" if any(said.is_error for said in drawn.console) else "ok")
