"""A terminal that takes its time: the driver knows when it is behind, so that frames wait for it."""

import asyncio
import os
from collections.abc import AsyncIterator
from threading import Thread

import pytest
from textual.app import App
from textual.drivers._writer_thread import WriterThread

from oi_tui.app.terminal.guarded_driver import GuardedDriver

MORE_THAN_A_PIPE_HOLDS = "x" * 200_000


class Line:
    """A driver that writes into a pipe, from which this reads."""

    def __init__(self) -> None:
        self._end, begin = os.pipe()
        self.driver = GuardedDriver(App())
        self.driver._writer_thread = WriterThread(os.fdopen(begin, "w"))

    def start(self) -> None:
        assert self.driver._writer_thread is not None
        self.driver._writer_thread.start()

    def read(self) -> None:
        """Take everything that comes."""
        Thread(target=lambda: [None for _ in iter(lambda: os.read(self._end, 65536), b"")], daemon=True).start()

    async def wait(self, *, behind: bool) -> None:
        async with asyncio.timeout(10):
            while self.driver.is_behind is not behind:
                await asyncio.to_thread(os.sched_yield)  # the thread that writes has no event to wait for


@pytest.fixture
async def line() -> AsyncIterator[Line]:
    line = Line()
    yield line
    line.read()
    if line.driver._writer_thread is not None and line.driver._writer_thread.is_alive():
        line.driver._writer_thread.stop()


async def test_it_is_behind_while_output_waits_for_the_terminal(line: Line) -> None:
    line.start()
    line.driver.write(MORE_THAN_A_PIPE_HOLDS)
    line.driver.write("a frame")
    await line.wait(behind=True)

    line.read()
    await line.wait(behind=False)


async def test_it_is_not_behind_before_the_thread_that_writes_could_begin(line: Line) -> None:
    now = 100.0
    line.driver.clock = lambda: now
    line.driver.write("a frame")
    assert not line.driver.is_behind

    now += 1
    line.driver.write("another one")  # how long the first waits counts
    assert line.driver.is_behind
