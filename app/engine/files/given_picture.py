"""A picture that a person gives to a model: read, scaled to the limits of providers, and encoded again.

Nothing but the pixels leaves: a photograph says where it was taken, and by which camera.
"""

import io
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_BYTES = 20_000_000
"""Of a file that is read."""

MOST_PIXELS = 90_000_000
"""Of a JPEG, which is read small. A small file can claim to have billions."""

MOST_PLAIN_PIXELS = 45_000_000
"""Of any other picture, which is in memory as a whole, several times: some hundred megabytes."""

MOST_SIDE = 65_535
"""Pixels; what is longer is no picture, and takes seconds to scale."""

LONGEST_SIDE = 1_568
"""Pixels; providers scale down what is larger, after it was sent."""

LARGEST = 1_000_000
"""Bytes of a picture without loss; a larger one becomes a JPEG."""

_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")

_WIDE_MODES = ("I", "I;16", "I;16B", "I;16L", "F")
"""One channel with more than eight bits: a measurement, whose range becomes that of the picture."""


class UnreadablePicture(Exception):
    """Why a file is not sent as a picture; the words continue "a picture that ..."."""


class GivenPicture(NamedTuple):
    """A picture as it is sent, and what the file was."""

    mime: str
    data: bytes
    form: str
    """`PNG`, `JPEG`, ..., of the file."""
    width: int
    height: int
    mode: str
    """`RGB`, `L`, ..., of the file."""


def read_picture(data: bytes) -> GivenPicture | None:
    """The first frame, upright, without metadata; None for what is no picture. UnreadablePicture if it is damaged or
    too large. Takes up to a second: not for an event loop."""
    from PIL import Image, ImageOps, UnidentifiedImageError  # heavy, and few prompts have a picture

    try:
        with Image.open(io.BytesIO(data), formats=_FORMATS) as opened:
            form, mode, (width, height) = opened.format or "", opened.mode, opened.size
            most = MOST_PIXELS if form in ("JPEG", "MPO") else MOST_PLAIN_PIXELS
            if width * height > most or max(width, height) > MOST_SIDE:
                raise UnreadablePicture(f"has {width:,}×{height:,} pixels, too many to read")
            opened.draft("RGB" if mode == "RGB" else None, (LONGEST_SIDE, LONGEST_SIDE))  # a JPEG is read small
            pixels = ImageOps.exif_transpose(opened)
            return GivenPicture(*encode_scaled(pixels, photo=form in ("JPEG", "MPO")), form, width, height, mode)
    except UnidentifiedImageError:
        return None
    except UnreadablePicture:
        raise
    except Image.DecompressionBombError as error:
        raise UnreadablePicture("has too many pixels to read") from error
    except Exception as error:  # decoders raise whatever a damaged file leads them to
        raise UnreadablePicture("is damaged") from error


def encode_scaled(pixels: "Image", *, photo: bool) -> tuple[str, bytes]:
    """Type and content of a picture as it is sent. OSError or ValueError for pixels that are not all there."""
    sent = _eight_bits(pixels)
    sent.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    return _encode(sent, photo=photo)


def _eight_bits(pixels: "Image") -> "Image":
    """The same in a mode that PNG and JPEG share, with transparency where there is some."""
    if pixels.mode in _WIDE_MODES:
        values = pixels.convert("F")
        extrema = values.getextrema()
        low, high = (float(one) for one in extrema if isinstance(one, int | float))
        scale = 255 / (high - low) if high > low else 1.0
        return values.point(lambda value: value * scale - low * scale).convert("L")
    if pixels.mode in ("RGBA", "LA", "PA") or "transparency" in pixels.info:
        return pixels.convert("RGBA")
    return pixels if pixels.mode in ("L", "RGB") else pixels.convert("RGB")


def _encode(pixels: "Image", *, photo: bool) -> tuple[str, bytes]:
    """Type and content, without the file's metadata."""
    from PIL import Image  # as above

    pixels.info.clear()
    if not photo:
        png = io.BytesIO()
        pixels.save(png, "PNG")
        if png.tell() <= LARGEST:
            return "image/png", png.getvalue()
    if pixels.mode == "RGBA":
        white = Image.new("RGB", pixels.size, "white")
        white.paste(pixels, mask=pixels.getchannel("A"))
        pixels = white
    jpeg = io.BytesIO()
    pixels.save(jpeg, "JPEG", quality=85)
    return "image/jpeg", jpeg.getvalue()
