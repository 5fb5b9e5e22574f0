"""A look at the folder after a run, which holds nothing up."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from oi_tui.app.engine.core.outputs import WrittenFiles
from oi_tui.app.engine.policy.secrets import names_secret

LOOKING = 1.0
"""Seconds that a look may take, where even asking for a file's state hangs."""

ELSEWHERE = ("changes of files there cannot be undone",)
"""Said of code that changes files where the kernel is not on this machine."""

FindWritten = Callable[[float], WrittenFiles | None]
"""Files of the folder that changed since a moment (Unix time), for a thread; None where the look came to no end."""


class RunKeeper(Protocol):
    """Keeps files as they are before code and others' tools run, so that what these do can be undone. Its methods never
    raise."""

    async def begin(self, block_id: str, named: Sequence[str]) -> None:
        """A run begins, whose source names these absolute paths to write or delete them."""
        ...

    async def end(self, block_id: str) -> WrittenFiles | None:
        """The run is over: how many files can be restored, and which were deleted; None if that is not known yet."""
        ...

    async def remarks(self, named: Sequence[str]) -> tuple[str, ...]:
        """What would not be undone if code or a tool wrote these paths, in plain words for the question."""
        ...


class _NoKeeper:
    """For where there are no files of a person, or their settings keep none."""

    async def begin(self, block_id: str, named: Sequence[str]) -> None:
        """Code may run as it is."""

    async def end(self, block_id: str) -> WrittenFiles | None:
        """The changes of the run cannot be undone."""
        return None

    async def remarks(self, named: Sequence[str]) -> tuple[str, ...]:
        """Questions have no word about undo: the person did without it."""
        return ()


NO_KEEPER: RunKeeper = _NoKeeper()


def with_undo(written: WrittenFiles | None, left: WrittenFiles | None) -> WrittenFiles | None:
    """The written files with what can be undone."""
    if left is None or not (left.undoable or left.lost):
        return written
    return msgspec.structs.replace(left, files=written.files if written else (), more=written.more if written else 0)


async def look_for_written(find: FindWritten, since: float) -> WrittenFiles | None:
    """The files that changed, without the first lines of those named like credentials; None if that is unknown."""
    try:
        async with asyncio.timeout(LOOKING):
            found = await asyncio.to_thread(find, since)
    except TimeoutError:
        return None
    if found is None:
        return None
    files = (msgspec.structs.replace(one, begins="") if names_secret(one.name) else one for one in found.files)
    return msgspec.structs.replace(found, files=tuple(files))
