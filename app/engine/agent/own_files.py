"""Which files are the session's own: written by its runs, and not touched by anybody else since.

Such a file may be overwritten, or deleted if the session made it, without a question: only the session's own work is
lost. The disk is looked at in threads, for a bounded time.
"""

import asyncio
import os
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from oi_tui.app.engine.policy.losses import Loss, Target, WorkLook

SECONDS = 2.0
"""That a look at the disk may take, where even asking for a file's state hangs; then it counts as a loss."""

MOST = 2_000
"""Files that are remembered."""

TOO_LATE = ", and whether it is committed took too long to find out"

_Found = TypeVar("_Found")


class _Stamp(NamedTuple):
    """The state of a file; its change time can be set back by no program."""

    changed: int
    modified: int
    size: int
    inode: int


class OwnFiles:
    """The own files of one session."""

    def __init__(self, look: WorkLook) -> None:
        self._look = look
        self._own: dict[str, _Stamp] = {}
        self._made: dict[str, _Stamp | None] = {}
        """Those that it wrote whole, as far as could be read off its sources; None where there is none (any more)."""
        self._before: dict[str, _Stamp | None] = {}
        """The files a current run may change, as they were at its start."""

    async def find_losses(self, targets: Sequence[Target]) -> tuple[Loss, ...]:
        """The work of others that would be overwritten."""
        found = await _in_thread(lambda: self._foreign_losses(targets))
        return found if found is not None else (Loss(targets[0], targets[0].path, TOO_LATE),)

    async def made_files(self) -> frozenset[str]:
        """Files that runs of the session wrote whole, and that are still as these left them."""
        if not self._made:
            return frozenset()
        made = dict(self._made)
        now = await _in_thread(lambda: _stamps(made))
        return frozenset() if now is None else frozenset(path for path in made if made[path] == now[path])

    async def begin_run(self, targets: Sequence[Target]) -> None:
        """Something is about to run that may write these."""
        if not targets and not self._own and not self._made:
            self._before = {}
            return
        known = (*self._own, *self._made)
        before = await _in_thread(lambda: _stamps((*known, *(self._look.list_files(targets) if targets else ()))))
        self._before = before if before is not None else {}
        self._own = {path: stamp for path, stamp in self._own.items() if self._before.get(path) == stamp}
        self._made = {path: stamp for path, stamp in self._made.items() if self._before.get(path, _NEVER) == stamp}

    async def end_run(self, made: Iterable[str] = ()) -> None:
        """After a run: files that changed meanwhile and that it names are the session's own, and those that it wrote as
        a whole."""
        before, wrote = self._before, (*self._made, *made)
        self._before = {}
        if not before and not wrote:
            return
        now = await _in_thread(lambda: _stamps((*before, *wrote)))
        if now is None:
            self._own, self._made = {}, {}
            return
        changed = {path: stamp for path in before if (stamp := now[path]) is not None and stamp != before[path]}
        self._own = dict([*self._own.items(), *changed.items()][-MOST:])
        self._made = {path: now[path] for path in list(dict.fromkeys(wrote))[-MOST:]}

    def _foreign_losses(self, targets: Sequence[Target]) -> tuple[Loss, ...]:
        losses = self._look.find_losses(targets)
        own = {**self._own, **self._made}
        now = _stamps(loss.path for loss in losses if loss.path in own)
        return tuple(loss for loss in losses if loss.path not in own or own[loss.path] != now[loss.path])


_NEVER = _Stamp(-1, -1, -1, -1)


def _stamps(paths: Iterable[str]) -> dict[str, _Stamp | None]:
    """The state of these files, None for missing ones."""
    return {path: _stamp(path) for path in paths}


def _stamp(path: str) -> _Stamp | None:
    try:
        state = os.lstat(path)
    except (OSError, ValueError):
        return None
    return _Stamp(state.st_ctime_ns, state.st_mtime_ns, state.st_size, state.st_ino)


async def _in_thread(work: Callable[[], _Found]) -> _Found | None:
    """The result of the work, None if it takes too long."""
    try:
        async with asyncio.timeout(SECONDS):
            return await asyncio.to_thread(work)
    except TimeoutError:
        return None
