"""Files of a prompt: names of files, and pictures as `data:` URLs, which can have a name of their own."""

import base64
import re
from typing import NamedTuple
from urllib.parse import quote, unquote

from oi_tui.app.engine.text.mime import image_size

_PICTURE = re.compile(r"data:(image/[\w.+-]{1,40})(?:;name=([^;,]{1,2000}))?;base64,")


class AttachedFile(NamedTuple):
    """A file of a prompt."""

    name: str
    """As the person wrote it; "" for a picture that was pasted."""
    picture: str = ""
    """A data: URL as models take it; "" for a file that is no picture, or whose content is not kept."""

    @property
    def chip(self) -> str:
        """A few words for it: `plot.png (800×600)`, `picture (80×60)`."""
        if not self.picture:
            return self.name
        size = image_size(self.picture.partition(",")[2])
        return f"{self.name or 'picture'}{f' ({size[0]}×{size[1]})' if size else ''}"


def attached_file(written: str) -> AttachedFile:
    """The parts of an entry of `UserBlock.files`."""
    found = _PICTURE.match(written)
    if found is None:
        return AttachedFile(written)
    return AttachedFile(unquote(found[2] or ""), f"data:{found[1]};base64,{written[found.end() :]}")


def attach_picture(name: str, mime: str, data: bytes | str) -> str:
    """A picture as an entry of `UserBlock.files`; `data` is its content, or that in base64."""
    named = f";name={quote(name, safe='', errors='replace')[:2000]}" if name else ""
    encoded = data if isinstance(data, str) else base64.b64encode(data).decode()
    return f"data:{mime}{named};base64,{encoded}"
