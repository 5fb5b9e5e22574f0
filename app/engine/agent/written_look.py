"""A look at the folder after a run, which holds nothing up."""

import asyncio
from collections.abc import Callable

import msgspec

from oi_tui.app.engine.core.outputs import WrittenFiles
from oi_tui.app.engine.policy.secrets import names_secret

LOOKING = 1.0
"""Seconds that a look may take, where even asking for a file's state hangs."""

FindWritten = Callable[[float], WrittenFiles | None]
"""Files of the folder that changed since a moment (Unix time), for a thread; None where the look came to no end."""


async def look_for_written(find: FindWritten, since: float) -> WrittenFiles | None:
    """The files, without the first lines of what is named like credentials; None where nothing can be said."""
    try:
        async with asyncio.timeout(LOOKING):
            found = await asyncio.to_thread(find, since)
    except TimeoutError:
        return None
    if found is None:
        return None
    files = (msgspec.structs.replace(one, begins="") if names_secret(one.name) else one for one in found.files)
    return msgspec.structs.replace(found, files=tuple(files))
