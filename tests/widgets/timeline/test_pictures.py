"""Pictures: read safely, in their proportions, and as each protocol wants them. What is written is decoded again."""

import base64
import re
import struct
import unicodedata
import zlib
from collections.abc import Callable, Iterator
from io import BytesIO
from itertools import islice

import pytest
from PIL import Image
from rich.style import Style
from textual.color import Color
from textual.filter import NoColor
from textual.strip import Strip

from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.widgets.timeline.drawing import Order, draw
from oi_tui.widgets.timeline.graphics import Graphics
from oi_tui.widgets.timeline.graphics_kitty import (
    DIACRITICS,
    KITTY_CHUNK,
    PLACEHOLDER,
    apply_filters,
    deletion,
    numbers,
    placeholders,
    transmission,
)
from oi_tui.widgets.timeline.picture import Picture, original_of
from oi_tui.widgets.timeline.pixels import PictureSource, Unreadable, fit_picture
from oi_tui.widgets.timeline.row_pieces import BlockDisplay, Canvas

CELL = (9, 19)
GROUND = "#102030"


def pixel(image: Image.Image, place: tuple[int, int]) -> tuple[int, ...]:
    """Its colour there, of an image with several channels."""
    colour = image.getpixel(place)
    assert isinstance(colour, tuple)
    return colour


def file_of(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    file = BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def gradient(width: int, height: int) -> Image.Image:
    across, down = Image.linear_gradient("L").rotate(90), Image.linear_gradient("L")
    return Image.merge("RGB", (across, down, across)).resize((width, height))


def order_of(data: bytes, columns: int, rows: int, size: tuple[int, int]) -> Order:
    return Order(PictureSource(data), columns, rows, size, GROUND)


# --- Kitty


def commands(written: str) -> Iterator[tuple[dict[str, str], str]]:
    """The control data and payload of every graphics command; anything between them is an error."""
    position = 0
    for found in re.finditer(r"\x1b_G([^;\x1b]*)(?:;([^\x1b]*))?\x1b\\", written):
        assert found.start() == position
        position = found.end()
        yield dict(pair.split("=") for pair in found[1].split(",")), found[2] or ""
    assert position == len(written)


def test_a_picture_is_sent_to_kitty_in_chunks_with_a_place_for_it() -> None:
    noise = file_of(Image.effect_noise((200, 100), 90))
    sent = list(commands(transmission(0x01000042, noise, 23, 6)))

    first, *rest = [control for control, _ in sent]
    assert len(rest) > 2
    wanted = {"a": "T", "U": "1", "f": "100", "t": "d", "i": "16777282", "c": "23", "r": "6", "q": "2", "m": "1"}
    assert first == wanted
    assert [control["m"] for control in rest] == ["1"] * (len(rest) - 1) + ["0"]
    assert all(len(payload) <= KITTY_CHUNK for _, payload in sent)
    assert base64.b64decode("".join(payload for _, payload in sent)) == noise


def test_a_deleted_picture_frees_its_memory_without_an_answer() -> None:
    assert list(commands(deletion(7))) == [({"a": "d", "d": "I", "i": "7", "q": "2"}, "")]


def test_every_placeholder_says_its_row_column_and_picture() -> None:
    number = 0x2A00_00C8
    for row in (0, 1, 19, len(DIACRITICS) - 1):
        segment = placeholders(number, row, len(DIACRITICS), Style(bgcolor=GROUND))
        cells = re.findall(f"{PLACEHOLDER}(.)(.)(.)", segment.text)

        assert segment.cell_length == len(DIACRITICS) == len(cells) == 297
        assert segment.text == "".join(PLACEHOLDER + "".join(marks) for marks in cells)
        assert [tuple(map(DIACRITICS.index, marks)) for marks in cells] == [
            (row, at, 0x2A) for at in range(len(DIACRITICS))
        ]
        assert segment.style is not None
        assert segment.style.color is not None
        assert segment.style.color.get_ansi_codes() == ("38", "5", "200")


def test_marks_are_those_of_the_protocol() -> None:
    """Its table: marks above letters in Unicode 6.0, without those that letters are composed with."""
    composed = "0300 0301 0302 0303 0304 0306 0307 0308 0309 030A 030B 030C 030F 0311 0313 0314 0342 0653 0654"
    kinds = {
        (unicodedata.category(mark), unicodedata.combining(mark), unicodedata.bidirectional(mark))
        for mark in DIACRITICS
    }

    assert kinds == {("Mn", 230, "NSM")}
    assert not any(map(unicodedata.decomposition, DIACRITICS))
    assert not {chr(int(code, 16)) for code in composed.split()} & set(DIACRITICS)
    assert list(DIACRITICS) == sorted(set(DIACRITICS))
    assert (len(DIACRITICS), ord(DIACRITICS[0]), ord(DIACRITICS[30]), ord(DIACRITICS[-1])) == (
        297,
        0x305,
        0x483,
        0x1D244,
    )


def test_numbers_can_be_told_by_an_8_bit_colour_and_never_meet() -> None:
    here, there = (list(islice(numbers(realm, 5), 40_000)) for realm in (0, 1))
    assert not set(here) & set(there)
    assert len(set(here)) == 240 * 127  # as many pictures live before a number comes again
    assert all(number & 0xFF >= 16 and 0 < number >> 24 < 256 and not number & 0xFFFF00 for number in here + there)


def test_V7_without_colours_a_picture_keeps_its_number() -> None:
    red = Style(color="red")
    strip = Strip([*Strip.blank(3, red), placeholders(0x010000C8, 0, 4, Style(bgcolor="blue"))])
    without = apply_filters(strip, [NoColor()], Color(0, 0, 0))

    assert [segment.style.color.name for segment in without if segment.style and segment.style.color] == [
        "default",
        "color(200)",
    ]
    assert without.cell_length == 7


def test_what_kitty_gets_is_drawn_anew_in_the_size_of_its_cells() -> None:
    drawn = draw(order_of(file_of(gradient(64, 48), "JPEG"), 8, 3, (64, 48)), Graphics("kitty", CELL), 16)
    sent = Image.open(BytesIO(base64.b64decode("".join(payload for _, payload in commands(drawn.sending)))))

    assert (sent.format, sent.size, sent.mode) == ("PNG", (8 * 9, 3 * 19), "RGBA")
    assert pixel(sent, (63, 47))[3] == 255
    assert pixel(sent, (64, 47))[3] == pixel(sent, (63, 48))[3] == 0  # no stretching: the rest stays empty
    assert len(drawn.lines) == 3


# --- Sixel


def unsixel(written: str) -> Image.Image:
    """A small decoder: pixels that were not drawn are magenta."""
    found = re.fullmatch(r'\x1bP0;1;0q"1;1;(\d+);(\d+)(.*)\x1b\\', written, re.DOTALL)
    assert found
    image = Image.new("RGB", (int(found[1]), int(found[2]) + 5), "magenta")
    palette: dict[int, tuple[int, ...]] = {}
    x = y = colour = 0
    for token in re.finditer(r"#(\d+);2;(\d+);(\d+);(\d+)|#(\d+)|!(\d+)([?-~])|([?-~])|(\$)|(-)", found[3]):
        if token[1]:
            palette[int(token[1])] = tuple(round(int(part) * 255 / 100) for part in token.groups()[1:4])
        elif token[5]:
            colour = int(token[5])
        elif token[9]:
            x = 0
        elif token[10]:
            x, y = 0, y + 6
        else:
            bits = ord(token[7] or token[8]) - ord("?")
            start = x
            for x in range(start, start + int(token[6] or 1)):
                for bit in range(6):
                    if bits >> bit & 1:
                        image.putpixel((x, y + bit), palette[colour])
            x += 1
    return image


@pytest.mark.parametrize(("first", "last"), [(0, 4), (0, 1), (1, 3), (3, 4)])
def test_any_rows_of_a_sixel_picture_hold_its_pixels(first: int, last: int) -> None:
    picture = gradient(90, 76)
    drawn = draw(order_of(file_of(picture), 10, 4, (90, 76)), Graphics("sixel", CELL, colours=128), 16)
    assert drawn.sheet is not None

    seen = unsixel(drawn.sheet.sixels(first, last))

    height = (last - first) * 19
    assert seen.size == (90, height + 5)
    assert seen.crop((0, height, 90, height + 5)).getcolors() == [(450, (255, 0, 255))], (
        "the text below is painted over"
    )
    wanted = picture.crop((0, first * 19, 90, last * 19))
    difference = max(
        abs(one - other) for one, other in zip(seen.crop((0, 0, 90, height)).tobytes(), wanted.tobytes(), strict=True)
    )
    assert difference < 40  # 128 colours for a gradient in two directions


def test_a_sixel_picture_has_no_more_colours_than_the_terminal() -> None:
    drawn = draw(order_of(file_of(gradient(90, 76)), 10, 4, (90, 76)), Graphics("sixel", CELL, colours=16), 16)
    assert drawn.sheet is not None
    assert len(set(re.findall(r"#(\d+);2;", drawn.sheet.sixels(0, 4)))) <= 16


def test_what_shines_through_is_the_ground() -> None:
    clear = Image.new("RGBA", (9, 19), (255, 0, 0, 0))
    drawn = draw(order_of(file_of(clear), 1, 1, (9, 19)), Graphics("sixel", CELL), 16)
    assert drawn.sheet is not None
    assert drawn.sheet.palette[drawn.sheet.indexes[0]] == (0x10, 0x20, 0x30)


# --- sizes


@pytest.mark.parametrize(
    ("size", "room", "cells"),
    [
        ((640, 480), (76, 20), (57, 20)),  # 380 of 480 pixels high, so 507 wide: 56.3 cells of 9
        ((640, 480), (30, 20), (30, 11)),
        ((8, 8), (76, 20), (1, 1)),
        ((4000, 10), (76, 20), (76, 1)),
        ((1, 100_000), (76, 20), (1, 20)),
    ],
)
def test_proportions_follow_the_cells_and_nothing_is_enlarged(
    size: tuple[int, int], room: tuple[int, int], cells: tuple[int, int]
) -> None:
    fit = fit_picture(size, room, CELL)
    assert (fit.columns, fit.rows) == cells
    assert fit.scale <= 1


def test_an_opened_picture_is_as_wide_as_the_window(canvas_of: Callable[[int], Canvas]) -> None:
    picture = Picture.of(file_of(gradient(600, 900)), "chart")
    canvas = canvas_of(80)
    heights = {fold: picture.pieces(canvas, BlockDisplay(fold))[0].height for fold in ("short", "open")}

    assert picture.has_more
    assert heights == {"short": 20, "open": 57}
    caption = picture.pieces(canvas, BlockDisplay())[1].row(0).text.strip()
    assert caption == "│ chart · 600×900 · z zoom · o open · s save"


def test_rows_of_a_picture_are_no_text_to_copy(canvas_of: Callable[[int], Canvas]) -> None:
    row = Picture.of(file_of(gradient(60, 40)), "figure").pieces(canvas_of(80), BlockDisplay())[0].row(0)
    assert row.lead == row.reach


def test_the_original_is_given_as_it_came() -> None:
    data = file_of(gradient(10, 10), "JPEG")
    assert original_of(RichOutput(data={"image/jpeg": base64.b64encode(data).decode()})) == (data, "image/jpeg")
    assert original_of(RichOutput(data={"text/plain": "1"})) is None


# --- files of strangers


def bomb() -> bytes:
    """A PNG of a kilobyte that claims 60,000 x 60,000 pixels."""
    head = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    parts = [(b"IHDR", head), (b"IDAT", zlib.compress(bytes(100_000))), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in parts
    )


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize("data", [b"", b"GIF89a", b"<svg/>", bomb(), b"\x89PNG\r\n\x1a\n" + bytes(100)])
def test_what_is_no_picture_or_too_large_has_no_size(data: bytes) -> None:
    source = PictureSource(data)
    assert source.size is None
    with pytest.raises(Unreadable):
        source.pixels((4, 4))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_a_picture_that_breaks_off_is_unreadable_and_said_so(kind: str, canvas_of: Callable[[int], Canvas]) -> None:
    whole = file_of(gradient(300, 200), kind)
    source = PictureSource(whole[: len(whole) // 2])
    if source.size is not None:
        with pytest.raises(Unreadable):
            source.pixels((30, 20))
        rows = Picture.of(whole[: len(whole) // 2], "figure").pieces(canvas_of(80), BlockDisplay())[0]
        assert rows.row(0).text.strip() == "│ this picture is broken"


MODES = {
    "grey": Image.new("L", (4, 4), 76),
    "one bit": Image.new("1", (4, 4), 1),
    "palette": Image.new("RGB", (4, 4), (255, 0, 0)).quantize(4),
    "alpha": Image.new("RGBA", (4, 4), (255, 0, 0, 255)),
    "grey with alpha": Image.new("LA", (4, 4), (76, 255)),
    "16 bits": Image.new("I;16", (4, 4), 76 * 256),
}


@pytest.mark.parametrize("name", MODES)
def test_every_kind_of_pixel_becomes_plain_colours(name: str) -> None:
    pixels = PictureSource(file_of(MODES[name])).pixels((2, 2)).convert("RGB")
    wanted = {"one bit": (255, 255, 255), "palette": (255, 0, 0), "alpha": (255, 0, 0)}.get(name, (76, 76, 76))
    assert pixels.getpixel((1, 1)) == wanted


def test_the_colours_of_print_are_turned_into_those_of_a_screen() -> None:
    pixels = PictureSource(file_of(Image.new("CMYK", (16, 16), (0, 255, 255, 0)), "JPEG")).pixels((2, 2))
    red, green, blue = pixel(pixels, (1, 1))
    assert pixels.mode == "RGB"
    assert red > 200 > 60 > max(green, blue)


def test_of_an_animation_the_first_frame_is_shown() -> None:
    frames = [Image.new("RGB", (4, 4), colour) for colour in ("red", "blue")]
    data = file_of(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert PictureSource(data).pixels((1, 1)).convert("RGB").getpixel((0, 0)) == (255, 0, 0)


def test_a_turned_photograph_stands_upright() -> None:
    photo = Image.new("RGB", (40, 20), "blue")
    photo.paste((255, 0, 0), (0, 0, 20, 20))
    exif = Image.Exif()
    exif[0x0112] = 6  # its top is at the right
    source = PictureSource(file_of(photo, "JPEG", exif=exif.tobytes(), quality=95))

    assert source.size == (20, 40)
    upright = source.pixels((2, 4))
    assert pixel(upright, (0, 0))[0] > 200
    assert pixel(upright, (0, 3))[2] > 200
