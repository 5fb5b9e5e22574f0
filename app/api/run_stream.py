"""A run that you follow while it happens: its steps and text in order, and its result."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Generic, Self, TypeVar

from oi_tui.app.api.home_loop import HomeLoop
from oi_tui.app.api.results import Result

StreamItem = TypeVar("StreamItem")
StreamedT = TypeVar("StreamedT")


class MomentQueue(Generic[StreamItem]):
    """From the run to its consumer, within the session's loop."""

    def __init__(self, *, gated: bool) -> None:
        """`gated`: the run waits before each request to the model until the next moment is asked for."""
        self._queue: asyncio.Queue[StreamItem | None] = asyncio.Queue()
        self._gated = gated
        self._hungry = asyncio.Event()

    def put(self, item: StreamItem | None) -> None:
        """One more; None is the end."""
        self._hungry.clear()
        self._queue.put_nowait(item)

    async def get(self) -> StreamItem | None:
        """The next one, None at the end."""
        if self._queue.empty():
            self._hungry.set()
        return await self._queue.get()

    async def pass_gate(self) -> None:
        """Returns when the run may ask the model."""
        if self._gated:
            await self._hungry.wait()

    def open_gate(self) -> None:
        """Without a consumer the run need not wait."""
        self._gated = False
        self._hungry.set()


class RunStream(Generic[StreamedT, StreamItem]):
    """Iterate over it with `async for`; `await stream.result()` returns the result. Leaving its `async with` before the
    end stops the run."""

    def __init__(
        self,
        home: HomeLoop,
        begin: Callable[[MomentQueue[StreamItem]], Awaitable[Result[StreamedT]]],
        stop: Callable[[], None],
        *,
        gated: bool,
    ) -> None:
        self._home, self._begin, self._stop, self._gated = home, begin, stop, gated
        self._queue: MomentQueue[StreamItem] | None = None
        self._task: asyncio.Task[Result[StreamedT]] | None = None

    async def result(self) -> Result[StreamedT]:
        """Wait for the run to end and return its result; RunStopped if it has no answer."""
        return await self._home.run(self._finish())

    async def close(self) -> None:
        """Stop the run, unless it has ended."""
        await self._home.run(self._leave())

    async def __aenter__(self) -> Self:
        await self._home.run(self._start())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def __aiter__(self) -> AsyncIterator[StreamItem]:
        queue = await self._home.run(self._start())
        while (item := await self._home.run(queue.get())) is not None:
            yield item
        await self.result()

    async def _start(self) -> MomentQueue[StreamItem]:
        if self._queue is None:
            self._queue = MomentQueue(gated=self._gated)
            self._task = asyncio.ensure_future(self._whole(self._queue))
        return self._queue

    async def _whole(self, queue: MomentQueue[StreamItem]) -> Result[StreamedT]:
        try:
            return await self._begin(queue)
        finally:
            queue.put(None)

    async def _finish(self) -> Result[StreamedT]:
        (await self._start()).open_gate()
        assert self._task is not None
        return await asyncio.shield(self._task)

    async def _leave(self) -> None:
        if self._queue is None or self._task is None:
            return
        if not self._task.done():
            self._stop()
            self._queue.open_gate()
        await asyncio.wait([self._task])
        if not self._task.cancelled():
            self._task.exception()  # the consumer has asked for the result
