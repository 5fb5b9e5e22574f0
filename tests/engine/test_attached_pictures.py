"""Pictures that come with a prompt: read from files, sent, kept, exported."""

import base64
import io
import os
import struct
import zlib
from pathlib import Path

import pytest
from PIL import Image

from oi_tui.app.engine.agent.conversation import Conversation
from oi_tui.app.engine.agent.prompt import UNSEEN
from oi_tui.app.engine.core.blocks import NoticeBlock, UserBlock
from oi_tui.app.engine.core.events import SessionOpened, TurnEnded, TurnStarted
from oi_tui.app.engine.core.verbs import Open, Submit
from oi_tui.app.engine.files.given_picture import LARGEST, LONGEST_SIDE, UnreadablePicture, read_picture
from oi_tui.app.engine.formats.export.pictures import without_pictures
from oi_tui.app.engine.formats.lmc.mime_map import file_message
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.secrets.redaction import Redactor
from oi_tui.app.engine.session.attachments import read_prompt
from oi_tui.app.engine.testing import FakeKernels, FakeModel
from oi_tui.app.engine.text.attached import AttachedFile, attach_picture, attached_file
from oi_tui.app.engine.text.markdown import as_markdown
from support.front import engine


def encoded(image: Image.Image, form: str = "PNG", **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, form, **options)
    return file.getvalue()


def photograph() -> bytes:
    """A JPEG lying on its side, which says where it was taken."""
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by 90 degrees
    exif[0x010F] = "CameraMaker"
    exif.get_ifd(0x8825)[1] = "N"
    return encoded(Image.new("RGB", (2000, 1000), "red"), "JPEG", exif=exif)


def claiming(width: int, height: int) -> bytes:
    """A few bytes that say they are a PNG of this size."""
    head = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    begin = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + head + struct.pack(">I", zlib.crc32(head))
    return begin + struct.pack(">I", 100) + b"IDAT" + zlib.compress(b"\0" * 10)


def opened(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data))


def test_P1_a_photograph_is_sent_upright_small_and_without_metadata() -> None:
    assert b"CameraMaker" in photograph()
    given = read_picture(photograph())
    assert given is not None
    assert (given.form, given.width, given.height, given.mode) == ("JPEG", 2000, 1000, "RGB")
    sent = opened(given.data)
    assert (given.mime, sent.format, sent.size) == ("image/jpeg", "JPEG", (LONGEST_SIDE // 2, LONGEST_SIDE))
    assert not sent.getexif()
    assert b"CameraMaker" not in given.data
    assert b"Exif" not in given.data


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16", "I", "F"])
def test_P1_pictures_of_every_mode_become_what_models_take(mode: str) -> None:
    form = "TIFF" if mode in ("CMYK", "F", "I") else "PNG"
    given = read_picture(encoded(Image.new(mode, (30, 20)), form))
    assert given is not None
    assert given.mode == mode
    sent = opened(given.data)
    assert (given.mime, sent.size, sent.info) == ("image/png", (30, 20), {})
    assert sent.mode in ("L", "RGB", "RGBA")


def test_P1_the_text_in_a_png_stays_here_and_transparency_goes_along() -> None:
    from PIL.PngImagePlugin import PngInfo

    words = PngInfo()
    words.add_text("Author", "Somebody")
    given = read_picture(encoded(Image.new("RGBA", (5, 5), (1, 2, 3, 0)), pnginfo=words))
    assert given is not None
    assert b"Somebody" not in given.data
    assert opened(given.data).getpixel((0, 0)) == (1, 2, 3, 0)


def test_P1_a_measurement_with_many_bits_uses_the_whole_range() -> None:
    measured = Image.new("I;16", (2, 1))
    measured.putpixel((0, 0), 1000)
    measured.putpixel((1, 0), 1200)
    given = read_picture(encoded(measured))
    assert given is not None
    sent = opened(given.data)
    assert (sent.getpixel((0, 0)), sent.getpixel((1, 0))) == (0, 255)


def test_P1_what_does_not_compress_without_loss_becomes_a_jpeg() -> None:
    noise = Image.frombytes("RGB", (900, 900), os.urandom(900 * 900 * 3))
    given = read_picture(encoded(noise))
    assert given is not None
    assert given.mime == "image/jpeg"
    assert len(given.data) < LARGEST


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (claiming(60_000, 60_000), "pixels"),
        (claiming(10_000, 10_000), "has 10,000×10,000 pixels, too many to read"),
        (claiming(8_000, 8_000), "has 8,000×8,000 pixels, too many to read"),
        (claiming(1, 70_000), "has 1×70,000 pixels, too many to read"),
        (claiming(10, 10), "is damaged"),
        (photograph()[:-5000], "is damaged"),
    ],
)
@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_P2_what_is_huge_or_damaged_is_named(data: bytes, why: str) -> None:
    with pytest.raises(UnreadablePicture, match=why):
        read_picture(data)
    assert read_picture(b"no picture") is None


async def test_P2_files_that_are_no_pictures_are_told_as_before_and_none_is_waited_for(tmp_path: Path) -> None:
    (tmp_path / "cut.png").write_bytes(claiming(10, 10))
    (tmp_path / "large.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    os.truncate(tmp_path / "large.png", 30_000_000)
    (tmp_path / "text.bmp").write_text("BM\n")
    os.mkfifo(tmp_path / "pipe.png")
    names = ("cut.png", "large.png", "text.bmp", "pipe.png", "gone.png")
    asked = await read_prompt(Submit(text="", files=names), tmp_path, FakeKernels(), named=False)
    assert asked.files == names
    assert asked.context.split("\n\n") == [
        "cut.png (a picture that is damaged)",
        "large.png (a picture that is larger than 20 MB)",
        "text.bmp (1 lines) begins:\nBM",
        "pipe.png",
        "gone.png",
    ]


async def test_P1_a_picture_is_sent_kept_and_the_same_when_the_session_is_resumed(tmp_path: Path) -> None:
    """Also when the file is another by then."""
    path = tmp_path / "my plot.png"
    Image.frombytes("RGB", (200, 100), os.urandom(60_000)).save(path)
    model = FakeModel("A plot.", "The same.", takes_images=True)
    async with engine(tmp_path, model) as front:
        await front.client.send(Open())
        await front.client.send(Submit(text="What is it?", files=(str(path),)))
        await front.until_event(TurnEnded)
    path.write_bytes(b"other")
    (asked,) = (message for message in model.requests[0].messages if message.role == "user")
    assert f"{path} (PNG picture, 200×100 pixels, RGB, 60 kB, changed " in asked.text
    (url,) = asked.images
    assert url.startswith("data:image/png;base64,")
    session_id = front.transcript.session_id
    loaded = Store(tmp_path / "sessions.db").load(session_id)
    (started,) = (event for event in loaded if isinstance(event, TurnStarted))
    assert [attached_file(written) for written in started.files] == [AttachedFile(str(path), url)]
    assert len(list((tmp_path / "blobs").glob("*/*"))) == 1
    assert url[30:60].encode() not in (tmp_path / "sessions.db").read_bytes()
    async with engine(tmp_path, model) as front:
        await front.client.send(Open(session_id=session_id))
        await front.until_event(SessionOpened)
        await front.turn("And now?")
    assert url in model.requests[1].messages[1].images


async def test_P1_a_pasted_picture_is_scaled_too_and_one_that_was_sent_before_stays(tmp_path: Path) -> None:
    pasted = f"data:image/jpeg;base64,{base64.b64encode(photograph()).decode()}"
    prompt = Submit(text="see [picture #1]", files=(pasted,))
    asked = await read_prompt(prompt, tmp_path, FakeKernels(), named=False)
    (file,) = map(attached_file, asked.files)
    assert (file.name, file.chip) == ("", f"picture ({LONGEST_SIDE // 2}×{LONGEST_SIDE})")
    assert asked.context.startswith("a pasted picture (JPEG picture, 2,000×1,000 pixels, RGB, ")
    before = attach_picture("a, b;.png", "image/png", encoded(Image.new("L", (3, 2))))
    asked = await read_prompt(Submit(text="", files=(before,)), tmp_path, FakeKernels(), named=False)
    assert attached_file(asked.files[0]).chip == "a, b;.png (3×2)"
    hostile = ("data:image/png;base64,!!", "data:text/html;base64,AAAA", "data:image/png;base64,")
    asked = await read_prompt(Submit(text="", files=hostile), tmp_path, FakeKernels(), named=False)
    assert not any(attached_file(written).picture for written in asked.files)


def test_P1_a_model_that_sees_nothing_gets_the_facts_and_no_picture() -> None:
    url = attach_picture("a.png", "image/png", encoded(Image.new("L", (3, 2))))
    block = UserBlock(id="u", text="Look.", files=(url,), context="a.png (PNG picture, 3×2 pixels, L)")
    said = Conversation(Redactor({}), 1000).messages([block], system="s", images=False)[1]
    assert (said.text, said.images) == (f"Look.\n\na.png (PNG picture, 3×2 pixels, L)\n\n{UNSEEN}", ())
    seen = Conversation(Redactor({}), 1000).messages([block], system="s", images=True)[1]
    assert seen.images == (attached_file(url).picture,)
    assert UNSEEN not in seen.text


async def test_P1_the_person_learns_that_the_model_sees_nothing(tmp_path: Path) -> None:
    url = attach_picture("a.png", "image/png", encoded(Image.new("L", (3, 2))))
    async with engine(tmp_path, FakeModel("Well.")) as front:
        await front.client.send(Open())
        await front.client.send(Submit(text="Look.", files=(url,)))
        await front.until_event(TurnEnded)
    (said,) = (block.title for block in front.transcript.blocks if isinstance(block, NoticeBlock))
    assert said == "fake/model cannot see pictures: it gets their names and sizes."


def test_P1_exports_have_the_picture_with_its_name_or_only_the_name() -> None:
    data = base64.b64encode(encoded(Image.new("L", (3, 2)))).decode()
    url = attach_picture("a b.png", "image/png", data)
    message = {"role": "user", "type": "image", "format": "base64.png", "name": "a b.png", "content": data}
    assert file_message(url) == message
    block = UserBlock(id="u", text="Look.", files=(url,))
    assert f"![a b.png](data:image/png;base64,{data[:8]}" in as_markdown(block)
    assert without_pictures(block) == UserBlock(id="u", text="Look.", files=("a b.png",))
