"""Files that a prompt brings along: of this machine, and of the server on which code runs."""

import asyncio
import base64
from collections.abc import Iterable
from pathlib import Path

from oi_tui.app.engine.core.verbs import Submit
from oi_tui.app.engine.kernels.base import KernelSource
from oi_tui.app.engine.text.excerpts import excerpt_of, excerpts, mime_of_picture, named_files, remote_files


async def attach_files(
    prompt: Submit, folder: Path, kernels: KernelSource, *, named: bool
) -> tuple[tuple[str, ...], str]:
    """The files of a prompt and what the model reads of them. KernelError if one on a server is missing.

    A file that is only `named`, not given with `@`, is read only for a model on this machine.
    """
    files = prompt.files
    if named:
        files = tuple(dict.fromkeys(files + await asyncio.to_thread(named_files, prompt.text, folder)))
    context = await asyncio.to_thread(excerpts, files, folder)
    if remote := remote_files(prompt.text):
        names, told = await attach_remote(remote, kernels)
        files, context = files + names, "\n\n".join(part for part in (context, told) if part)
    return files, context


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
