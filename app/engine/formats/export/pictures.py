"""Blocks without their pictures, for those who want a small file or one that can be passed on."""

import re
from typing import Any

import msgspec

from oi_tui.app.engine.core.blocks import Action, Block, UserBlock
from oi_tui.app.engine.core.outputs import Output, RichOutput
from oi_tui.app.engine.formats.lmc.mime_map import PATH_MIME
from oi_tui.app.engine.text.attached import attached_file
from oi_tui.app.engine.text.mime import image_size

LEFT_OUT = "[picture left out]"

_DATA_URL = re.compile(r"data:image/[\w.+-]{1,40};base64,[A-Za-z0-9+/=\s]*")


def without_pictures(block: Block) -> Block:
    """The block with words where its pictures were."""
    match block:
        case UserBlock():
            given = map(attached_file, block.files)
            files = tuple((file.name or LEFT_OUT) if file.picture else file.name for file in given)
            return msgspec.structs.replace(block, files=files)
        case Action():
            return msgspec.structs.replace(block, outputs=tuple(map(_without, block.outputs)))
        case _:
            return block


def _without(output: Output) -> Output:
    if not isinstance(output, RichOutput):
        return output
    kept = {mime: _strip_data_urls(mime, content) for mime, content in output.data.items() if not _is_picture(mime)}
    if len(kept) < len(output.data) and not kept.keys() - {"text/plain"}:
        # The words beside a figure are only its name in Python: its size says more.
        kept = {"text/plain": _describe(output.data)}
    return msgspec.structs.replace(output, data=kept)


def _is_picture(mime: str) -> bool:
    return mime.startswith("image/") or mime == PATH_MIME


def _describe(data: dict[str, Any]) -> str:
    png = data.get("image/png")
    size = image_size(png) if isinstance(png, str) else None
    return f"[picture of {size[0]}×{size[1]} pixels left out]" if size else LEFT_OUT


def _strip_data_urls(mime: str, content: Any) -> Any:
    if mime in ("text/html", "text/markdown") and isinstance(content, str):
        return _DATA_URL.sub("", content)
    return content
