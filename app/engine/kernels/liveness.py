"""Watches a run for signs of life, so that nobody waits for a kernel that will never answer.

A heartbeat is no progress: it also beats in an endless loop, which is for the user to stop. Without it the process is
stopped or stuck. A run that has not even begun waits for something an earlier one left behind, or for nothing: then the
control channel, which another thread of the kernel serves, does not answer either.

Only while something runs: an idle kernel is checked at its next run, and costs nothing until then.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Protocol

from oi_tui.app.engine.core.values import Value
from oi_tui.app.engine.kernels.output_stream import OutputStream


class LivenessTimeouts(Value, frozen=True, kw_only=True):
    """Seconds that are waited for signs of life."""

    pause: float = 2.0
    """Between two looks."""
    heart: float = 5.0
    """Without a heartbeat."""
    start: float = 5.0
    """Until a run is begun."""
    reply: float = 5.0
    """Until the control channel answers."""
    last: float = 20.0
    """Until we give up a kernel that answers nothing."""


class WatchedProcess(Protocol):
    """A kernel process, seen from here."""

    async def beats(self, within: float) -> bool:
        """Whether its heart beats."""
        ...

    def ask_control(self) -> Awaitable[object] | None:
        """Asks for anything on the control channel; None where it is not known to answer there."""
        ...

    @property
    def is_stopped(self) -> bool:
        """Whether the process was stopped by a signal."""
        ...


WAITS = "The kernel has not begun this run yet: something that an earlier one started keeps it busy."

STOPPED = "The kernel does not respond: its process was stopped."

STUCK = "The kernel does not respond: its process is stuck."

CUT_OFF = "There is no connection to the server of the kernel; it is tried again and again."

SILENT = "The kernel does not answer, although its process runs."

AGAIN = "The kernel responds again."

DEAF = "was there, but answered nothing any more, and was ended"


class LivenessWatch:
    """Watches one run: whether its kernel still answers while code runs."""

    def __init__(
        self,
        run: OutputStream,
        patient: WatchedProcess,
        patience: LivenessTimeouts,
        doom: Callable[[str], None],
        *,
        elsewhere: bool = False,
    ) -> None:
        """`doom` ends the process of a kernel that is beyond help; it is given the words for that.

        The heart of a kernel `elsewhere` is the connection to its server: nothing is known of its process without that.
        """
        self._run = run
        self._patient = patient
        self._patience = patience
        self._kill = doom
        self._stuck = CUT_OFF if elsewhere else STUCK
        self._told_wait = False

    async def watch(self) -> None:
        """Watch the process until the run is over."""
        run, patience = self._run, self._patience
        if not await self._over_within(patience.start):
            while not run.over.is_set():
                if not await self._patient.beats(patience.heart):
                    await self._sit_by()
                elif not run.taken and await self._is_deaf():
                    self._kill(DEAF)
                    return
                await self._over_within(patience.pause)

    async def _sit_by(self) -> None:
        """The heart does not beat: say so, and say when it does again."""
        run = self._run
        if not run.over.is_set():
            run.tell(STOPPED if self._patient.is_stopped else self._stuck)
        while not run.over.is_set():
            if await self._patient.beats(self._patience.pause):
                run.tell(AGAIN, responds=True)
                return

    async def _is_deaf(self) -> bool:
        """Whether the kernel will never start the run; a kernel that is only busy is reported once."""
        asked = self._patient.ask_control()
        if asked is not None:
            answer = asyncio.ensure_future(asked)
            await asyncio.wait([answer], timeout=self._patience.reply)
            if not answer.done():
                # It may be for a while: a thread that holds the interpreter's lock silences all channels.
                self._run.tell(SILENT)
                await asyncio.wait([answer], timeout=self._patience.last)
                answered = answer.done()
                answer.cancel()
                if not (answered or self._run.taken or self._run.over.is_set()):
                    return True
                self._run.tell(AGAIN, responds=True)
                return False
        if not (self._told_wait or self._run.taken or self._run.over.is_set()):
            self._told_wait = True
            self._run.tell(WAITS, responds=True)
        return False

    async def _over_within(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._run.over.wait()
        return self._run.over.is_set()
