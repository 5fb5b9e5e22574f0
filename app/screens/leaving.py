"""Leaving the screen: the engine ends with it, or keeps running without it."""

import asyncio
import signal
from contextlib import suppress

from textual.screen import Screen

from oi_tui.app.engine.core.protocol import Detached
from oi_tui.app.engine.core.verbs import Detach
from oi_tui.app.engine.text.words import quantity
from oi_tui.app.frontend.bridge import Bridge
from oi_tui.app.screens.bottom import Bottom
from oi_tui.app.screens.typing_pause import TypingPause

HANG_UP = 128 + signal.SIGHUP
"""The exit code of a program whose terminal is lost."""

DETACHING = 2.0
"""Seconds that an engine has to answer when the terminal is lost."""

COMPLETE = 3.0
"""Seconds that leaving waits for the screen to be put together, where it still is."""


class Leaving:
    """How one screen is left."""

    def __init__(
        self, screen: Screen[None], bridge: Bridge, complete: asyncio.Event, pause: TypingPause, *, outlives: bool
    ) -> None:
        """`complete` is set when the screen has all its parts. `outlives`: the engine keeps running, detached, if the
        terminal is lost."""
        self._screen = screen
        self._bridge = bridge
        self._complete = complete
        self._pause = pause
        self._outlives = outlives
        self._code = 0
        self.detached: Detached | None = None
        """How the engine keeps running without this screen, if it does."""

    async def obey_signal(self, code: int) -> None:
        """Leave with this exit code. A lost terminal is no wish to end what runs, where that can outlive it."""
        if code != HANG_UP or not self._outlives or self._bridge.stopped:
            await self.leave(code)
            return
        self._code = code
        self._bridge.send(Detach())
        self._screen.set_timer(DETACHING, lambda: self.leave(code))  # should no answer come, it is left to itself

    def follow(self, detached: Detached) -> None:
        """The engine keeps running without this screen."""
        self.detached = detached
        self._screen.call_later(self.leave, self._code)

    async def leave(self, code: int = 0) -> None:
        """End the program: keep the draft; an engine that does not keep running saves and ends."""
        with suppress(TimeoutError):
            async with asyncio.timeout(COMPLETE):  # widgets that are being mounted cannot be left alone
                await self._complete.wait()
        self._screen.query_one(Bottom).keep_draft()
        await self._bridge.close()
        self._screen.app.exit(return_code=code)

    async def tell_detached(self) -> None:
        """Sessions that run without a screen are easily forgotten."""
        await self._pause.import_aside("oi_tui.app.frontend.attaching")
        # Nothing of it is needed for the first frame.
        from oi_tui.app.frontend.attaching import live_sessions

        count = sum(not live.attached for live in await asyncio.to_thread(live_sessions))
        if count:
            runs = "runs" if count == 1 else "run"
            self._screen.notify(
                f"{quantity(count, 'session')} {runs} detached. Reconnect with: oi-tui attach", timeout=10
            )
