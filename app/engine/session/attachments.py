"""Files of the server on which code runs, as what a prompt brings along."""

import base64
from collections.abc import Iterable

from oi_tui.app.engine.kernels.base import KernelSource
from oi_tui.app.engine.text.excerpts import excerpt_of, mime_of_picture


async def attach_remote(paths: Iterable[str], kernels: KernelSource) -> tuple[tuple[str, ...], str]:
    """The files, pictures as data: URLs too, and what the model is told. KernelError if one is missing."""
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
