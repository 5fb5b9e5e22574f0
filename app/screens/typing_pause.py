"""Work in small pieces while somebody types: each of them begins when the last key has been painted."""

import _imp
import asyncio
import contextlib
import sys
import threading
import time
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

PAINTED = 0.012
"""Seconds within which a key is on the screen, if nothing else is done."""

LONGEST = 0.05
"""Seconds that one piece of work waits at most: the screen is completed even while somebody types without a pause."""

STEP = 0.003
"""Seconds after which a wait looks whether the key was painted meanwhile."""

OURS = __name__.partition(".")[0]
"""The package before whose modules an import waits. A package of others may import its own modules while another thread
imports one of them: each would wait for the other, the longer the first one waits here, and importlib raises in one."""

_IMPORTING = threading.Lock()
"""Held by the thread that imports: of two, each could wait for a package that the other one imports."""

RETRY = 0.02
"""Seconds after which an import that failed is tried once more: the main loop may have been in its way."""


async def preload(name: str) -> None:
    """Import a module, and whatever it imports, in a thread, so that no key has to wait for it.

    It may fail, and nobody hears of it: who uses the module imports it as well, and that fails again, or the program
    was being updated.
    """

    def load() -> None:
        with _IMPORTING:
            _import_or_retry(name)

    await asyncio.to_thread(load)


def _import_or_retry(name: str) -> None:
    with contextlib.suppress(Exception):  # whatever a module raises
        import_module(name)
        return
    time.sleep(RETRY)
    with contextlib.suppress(Exception):
        import_module(name)


class TypingPause:
    """Knows whether a key is on its way to the screen. Nothing waits where nobody types."""

    def __init__(self) -> None:
        self._painted = float("-inf")
        """When the last key is on the screen."""

    def note_read(self) -> None:
        """A key was read from the terminal; `note_key` follows when the app gets it. Any thread may call this."""
        self._painted = time.monotonic() + LONGEST

    def note_key(self) -> None:
        """A key came, and is painted before anything else happens."""
        self._painted = time.monotonic() + PAINTED

    async def wait(self) -> None:
        """Wait until the next piece of work may begin."""
        begun = time.monotonic()
        await asyncio.sleep(0)
        # No event says that a key was painted: it is a matter of time.
        while (left := min(self._painted, begun + LONGEST) - time.monotonic()) > 0:  # noqa: ASYNC110
            await asyncio.sleep(min(left, STEP))

    async def import_aside(self, name: str) -> None:
        """As `preload`, but each module of ours is one piece of work."""
        await asyncio.to_thread(self._import, name)

    def _import(self, name: str) -> None:
        with _IMPORTING:
            before_each = _BeforeEach(self)
            # Not the same list changed: another thread that looks for a module is going through that, and would miss a
            # finder if one before it were taken out.
            sys.meta_path = [before_each, *sys.meta_path]
            try:
                _import_or_retry(name)
            finally:
                sys.meta_path = [finder for finder in sys.meta_path if finder is not before_each]

    def block(self) -> None:
        """As `wait`, in a thread of its own."""
        begun = time.monotonic()
        while (left := min(self._painted, begun + LONGEST) - time.monotonic()) > 0:
            time.sleep(min(left, STEP))


class _BeforeEach:
    """Finds nothing, and is asked for every module first."""

    def __init__(self, pause: TypingPause) -> None:
        self._pause = pause
        self._thread = threading.get_ident()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Other threads that import meanwhile continue."""
        if threading.get_ident() == self._thread and fullname.partition(".")[0] == OURS:
            _imp.release_lock()  # importlib holds it while it asks a finder, and no other thread could import
            try:
                self._pause.block()
            finally:
                _imp.acquire_lock()
        return None
