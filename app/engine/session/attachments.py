"""Files that a prompt brings along: of this machine, and of the server on which code runs."""

import asyncio
import base64
from collections.abc import Iterable
from pathlib import Path

from oi_tui.app.engine.core.events import TurnStarted
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.verbs import Submit
from oi_tui.app.engine.kernels.base import KernelSource
from oi_tui.app.engine.text.excerpts import excerpt_of, excerpts, mime_of_picture, named_files, remote_files

FRESH = "(The kernels are fresh: variables and imports of the code above are gone unless you run it again.)"
"""What the model reads with the first prompt of a resumed session."""


async def read_prompt(
    prompt: Submit, folder: Path, kernels: KernelSource, *, named: bool, fresh: bool = False
) -> TurnStarted:
    """The prompt with its files and what the model reads of them. KernelError if one on a server is missing.

    A file that is only `named`, not given with `@`, is read only for a model on this machine. `fresh`: the variables of
    earlier code are gone.
    """
    files = prompt.files
    if named:
        files = tuple(dict.fromkeys(files + await asyncio.to_thread(named_files, prompt.text, folder)))
    context = await asyncio.to_thread(excerpts, files, folder)
    if remote := remote_files(prompt.text):
        names, told = await attach_remote(remote, kernels)
        files, context = files + names, "\n\n".join(part for part in (context, told) if part)
    if fresh:
        context = "\n\n".join(part for part in (context, FRESH) if part)
    return TurnStarted(block_id=new_id(), text=prompt.text, files=files, context=context)


async def attach_remote(paths: Iterable[str], kernels: KernelSource) -> tuple[tuple[str, ...], str]:
    """The files, pictures as data: URLs too, and what the model reads. KernelError if one is missing."""
    names: list[str] = []
    told: list[str] = []
    for path in paths:
        file = await kernels.read_file(path)
        names.append(f"remote:{path}")
        where = f"{path.strip('/')} on {file.host}, where code runs"
        if mime := mime_of_picture(file.data):
            names.append(f"data:{mime};base64,{base64.b64encode(file.data).decode()}")
            told.append(f"{where} ({len(file.data):,} bytes, a picture: {mime})")
        else:
            told.append(excerpt_of(where, file.data, len(file.data)))
    return tuple(names), "\n\n".join(told)
