"""Breaking off whatever a turn waits for: a request to the model, or the model that is still opening."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, TypeVar

HaltItem = TypeVar("HaltItem")


class Halt:
    """Whether the turn is to end, and what is being waited for in it."""

    def __init__(self) -> None:
        self._asked = asyncio.Event()
        self._reading: asyncio.Future[Any] | None = None

    def is_asked(self) -> bool:
        """Whether the turn is to end."""
        return self._asked.is_set()

    @property
    def waits(self) -> bool:
        """Whether something is being waited for."""
        return self._reading is not None

    def ask(self) -> None:
        """The turn is to end; `break_off` ends the waiting too."""
        self._asked.set()

    def break_off(self) -> None:
        """What is being waited for comes no more."""
        if self._reading is not None:
            self._reading.cancel()

    def clear(self) -> None:
        """Another turn begins."""
        self._asked.clear()

    async def until(self, source: AsyncGenerator[HaltItem, None]) -> AsyncGenerator[HaltItem, None]:
        """The items of `source` until the turn is to end, also while it is waiting for the next one."""
        async with aclosing(source):
            while not self.is_asked():
                self._reading = reading = asyncio.ensure_future(anext(source))
                try:
                    item = await reading
                except StopAsyncIteration:
                    return
                except asyncio.CancelledError:
                    task = asyncio.current_task()
                    if self.is_asked() and task is not None and not task.cancelling():
                        return  # break_off() cancelled the reading, nobody cancelled us
                    raise
                finally:
                    self._reading = None
                yield item

    async def result(self, work: Callable[[], Awaitable[HaltItem]]) -> HaltItem | None:
        """What it gives; None if the turn is to end before that."""
        async with aclosing(self.until(_once(work))) as waiting:
            async for item in waiting:
                return item
        return None


async def _once(work: Callable[[], Awaitable[HaltItem]]) -> AsyncGenerator[HaltItem, None]:
    yield await work()
