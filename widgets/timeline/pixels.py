"""From a file of a stranger to a few pixels. What is too large, broken or strange is found out here.

Only the formats that a notebook shows are opened, nothing is decoded before its size is known, and a picture is
brought to the size in which it is shown at once. A `PictureSource` can be read in any thread; decoding belongs in a
worker.
"""

import base64
import binascii
from io import BytesIO
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from PIL.Image import Image

_FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
_MOST_PIXELS = 40_000_000
"""At four bytes each, what a decoder may take for a moment."""
_MOST_BYTES = 30_000_000
_KEPT_PIXELS = 8_000_000
"""A decoded picture that is no larger is kept while it is looked at closely."""
_HEAD = 64 * 1024
"""Characters of base64 that usually contain the size."""
_ORIENTATION = 0x0112
_ROUNDING = 0.01
"""Of a cell: so little is no reason for one more."""
_TURNED = (5, 6, 7, 8)
"""Orientations that swap width and height."""

PixelBox = tuple[float, float, float, float]
"""Left, top, right, bottom in pixels of the upright picture."""


class Unreadable(Exception):
    """No picture, a broken one, or one too large to open."""


class PictureSource:
    """The file of a picture, as it came."""

    def __init__(self, content: str | bytes) -> None:
        self._content = content
        self._kept: Image | None = None
        self.size = self._measure()
        """Width and height in pixels, upright; None where it cannot be opened."""

    @property
    def data(self) -> bytes:
        """The bytes of the file; empty where they were not base64."""
        return self._content if isinstance(self._content, bytes) else _decode(self._content)

    def pixels(self, size: tuple[int, int], box: PixelBox | None = None, *, keep: bool = False) -> "Image":
        """The picture, or a part of it, at this size: RGB, or RGBA if it is transparent.

        With `keep` the next call has less to do. Raises Unreadable.
        """
        from PIL import Image  # heavy, and many sessions never see a picture

        if self.size is None:
            raise Unreadable
        picture = self._kept
        if picture is None:
            picture = self._open(None if keep else size)
            if keep and picture.width * picture.height <= _KEPT_PIXELS:
                self._kept = picture
        if box is not None:
            across, down = picture.width / self.size[0], picture.height / self.size[1]
            box = (box[0] * across, box[1] * down, box[2] * across, box[3] * down)
        shrinks = box is None or (box[2] - box[0]) > size[0]
        how = Image.Resampling.BOX if shrinks else Image.Resampling.NEAREST
        return picture.resize(size, how, box) if box or picture.size != size else picture

    def let_go(self) -> None:
        """Drop the cached picture data."""
        self._kept = None

    def _measure(self) -> tuple[int, int] | None:
        content = self._content
        if not content or len(content) > _MOST_BYTES * (1 if isinstance(content, bytes) else 4 / 3):
            return None
        if isinstance(content, str) and len(content) > _HEAD:
            return _size(_decode(content[:_HEAD])) or _size(self.data)
        return _size(self.data)

    def _open(self, enough: tuple[int, int] | None) -> "Image":
        """All of it, upright and in plain colours; where the format allows, not much larger than `enough`."""
        from PIL import Image, ImageOps  # heavy, as above

        try:
            with Image.open(BytesIO(self.data), formats=_FORMATS) as image:
                if image.width * image.height > _MOST_PIXELS:
                    raise Unreadable
                if enough is not None:
                    longest = 2 * max(enough)
                    image.draft("RGB", (longest, longest))
                image.load()
                return _plain(ImageOps.exif_transpose(image))
        except Unreadable:
            raise
        except Exception as error:
            # The boundary to a decoder fed by strangers: it raises OSError, ValueError, SyntaxError, struct.error,
            # MemoryError and warnings that were made errors.
            raise Unreadable from error


class Fit(NamedTuple):
    """How large a picture is shown."""

    columns: int
    rows: int
    """Cells."""
    scale: float
    """Shown pixels for each of its own, at most 1."""


def fit_picture(size: tuple[int, int], room: tuple[int, int], cell: tuple[float, float]) -> Fit:
    """The largest form of a picture in this many columns and rows; `cell` is the size of a cell in pixels.

    Nothing is enlarged, and the proportions stay. The last column and row may hold only some pixels.
    """
    width, height = size
    scale = min(1.0, room[0] * cell[0] / width, room[1] * cell[1] / height)
    columns, rows = (max(1, ceil(pixels * scale / unit - _ROUNDING)) for pixels, unit in zip(size, cell, strict=True))
    return Fit(min(columns, room[0]), min(rows, room[1]), scale)


def _decode(encoded: str) -> bytes:
    try:
        return base64.b64decode(encoded)
    except (binascii.Error, ValueError):
        return b""


def _size(data: bytes) -> tuple[int, int] | None:
    from PIL import Image  # heavy, as above

    try:
        with Image.open(BytesIO(data), formats=_FORMATS) as image:
            width, height = image.size
            turned = False
            if raw := image.info.get("exif"):
                exif = Image.Exif()
                exif.load(raw)
                turned = exif.get(_ORIENTATION) in _TURNED
    except Exception:
        # The same boundary as in `_open`; here only the head is looked at.
        return None
    if not 0 < width * height <= _MOST_PIXELS:
        return None
    return (height, width) if turned else (width, height)


def _plain(image: "Image") -> "Image":
    """RGB, or RGBA where something may shine through."""
    if image.mode.startswith("I"):  # 16 bits of grey; the lower ones are not seen
        image = image.convert("I").point(lambda value: value * (1 / 256)).convert("L")
    transparent = image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info
    mode = "RGBA" if transparent else "RGB"
    return image if image.mode == mode else image.convert(mode)
