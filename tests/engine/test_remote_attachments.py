"""Files of the server on which code runs: attached to a prompt by `@remote:path`, made by the person."""

import io
from pathlib import Path

from PIL import Image

from oi_tui.app.engine.core.blocks import NoticeBlock, UserBlock
from oi_tui.app.engine.core.events import NoticeAdded, TurnEnded, TurnStarted
from oi_tui.app.engine.core.verbs import Open, SaveRemote, Submit
from oi_tui.app.engine.testing import FakeKernels, FakeModel
from oi_tui.app.engine.text.attached import attached_file
from oi_tui.app.engine.text.excerpts import remote_files
from support.front import engine


def picture() -> bytes:
    file = io.BytesIO()
    Image.new("L", (3, 2)).save(file, "PNG")
    return file.getvalue()


def test_mentions_are_found_each_once() -> None:
    text = 'see @remote:a.csv, no mail@remote:b and @"remote:my file.txt" @remote:a.csv, @local.txt'
    assert remote_files(text) == ("a.csv", "my file.txt")
    assert remote_files("(@remote:x) @remote:") == ()


async def test_text_and_pictures_of_the_server_come_along(tmp_path: Path) -> None:
    kernels, model = FakeKernels(), FakeModel("Well.", takes_images=True)
    kernels.files = {"data.csv": b"a,b\n1,2\n", "plot.png": picture()}
    async with engine(tmp_path, model, kernels=kernels) as front:
        await front.client.send(Open())
        await front.client.send(Submit(text="look at @remote:data.csv and @remote:plot.png"))
        await front.until_event(TurnEnded)
    (block,) = (block for block in front.transcript.blocks if isinstance(block, UserBlock))
    table, plot = map(attached_file, block.files)
    assert (table.name, plot.chip) == ("remote:data.csv", "remote:plot.png (3×2)")
    (asked,) = (message for message in model.requests[0].messages if message.role == "user")
    assert "data.csv on fake, where code runs (2 lines) begins:\na,b\n1,2" in asked.text
    assert "plot.png on fake, where code runs (PNG picture, 3×2 pixels, L, " in asked.text
    assert asked.images == (plot.picture,)
    assert "base64" not in asked.text


async def test_a_file_that_is_not_there_is_said_and_nothing_is_sent(tmp_path: Path) -> None:
    model = FakeModel("Well.")
    async with engine(tmp_path, model, kernels=FakeKernels()) as front:
        await front.client.send(Open())
        await front.client.send(Submit(text="look at @remote:none.csv"))
        await front.until_event(TurnEnded)
    assert not [event for event in front.events if isinstance(event, TurnStarted)]
    assert model.requests == []
    titles = [block.title for block in front.transcript.blocks if isinstance(block, NoticeBlock)]
    assert "There is no file none.csv on fake." in titles


async def test_what_is_saved_there_is_told(tmp_path: Path) -> None:
    kernels = FakeKernels()
    async with engine(tmp_path, FakeModel(), kernels=kernels) as front:
        await front.client.send(Open())
        await front.client.send(SaveRemote(path="out.bin", data=b"\0\xff"))
        told = await front.until_event(NoticeAdded)
    assert told.title == "Saved remote:out.bin on fake."
    assert kernels.files == {"out.bin": b"\0\xff"}
