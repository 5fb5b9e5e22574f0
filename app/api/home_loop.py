"""The event loop that a session lives in: that of the program that opened it, or one in a thread of its own.

Kernels and connections belong to one loop. Where the session is used from code without a loop, or from a notebook cell
without `await`, it has a thread; where it is opened with `async with`, it lives beside the program's own tasks, and its
tools and callbacks run there.
"""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

LoopItem = TypeVar("LoopItem")

JOINING = 10.0
"""Seconds that the thread has to end."""


class HomeLoop:
    """Chosen by the first use."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    async def run(self, work: Coroutine[Any, Any, LoopItem]) -> LoopItem:
        """The result of the work, from whichever loop this is called in."""
        self._require_open(work)
        here = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = here
        if self._loop is here:
            return await work
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def run_sync(self, work: Coroutine[Any, Any, LoopItem]) -> LoopItem:
        """The same for code that cannot await; RuntimeError where waiting would stop the session's own loop."""
        self._require_open(work)
        if self._loop is None:
            self._begin_thread()
        assert self._loop is not None
        try:
            here: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if here is self._loop:
            work.close()
            raise RuntimeError("This session lives in the running event loop: use await session.run(...).")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # Ctrl+C while it waits
            raise

    def close(self) -> None:
        """End the thread, if there is one; nothing runs here any more. Idempotent; not from within it."""
        self._closed = True
        thread, self._thread = self._thread, None
        if thread is not None and self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join(JOINING)

    def _require_open(self, work: Coroutine[Any, Any, LoopItem]) -> None:
        if self._closed:
            work.close()
            raise RuntimeError("This session is closed.")

    def _begin_thread(self) -> None:
        loop = self._loop = asyncio.new_event_loop()

        def live() -> None:
            asyncio.set_event_loop(loop)
            try:
                loop.run_forever()
            finally:
                loop.run_until_complete(loop.shutdown_asyncgens())
                loop.run_until_complete(loop.shutdown_default_executor())
                loop.close()

        self._thread = threading.Thread(target=live, name="oi-tui session", daemon=True)
        self._thread.start()
