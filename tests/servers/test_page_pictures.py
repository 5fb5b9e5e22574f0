"""Pages drawn by a real browser in a real sandbox."""

import base64
import io
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from PIL import Image

from oi_tui.app.engine.agent.page_pictures import draw_results
from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.events import AnyEvent, OutputAdded
from oi_tui.app.engine.core.outputs import RichOutput, StreamOutput
from oi_tui.app.engine.core.verbs import Open
from oi_tui.app.engine.kernels import page_picture
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.page_kernel import PageKernel
from oi_tui.app.engine.kernels.page_picture import BROWSERS, PageNotDrawn, draw_page
from oi_tui.app.engine.testing import FakeKernel, FakeKernels, FakeModel
from oi_tui.app.engine.text.mime import image_size
from support.front import engine
from support.kinds import of

pytestmark = pytest.mark.sandbox

SECRET = "nobody-may-read-this"


@pytest.fixture
async def kernel(tmp_path: Path) -> AsyncIterator[PageKernel]:
    if not any(map(shutil.which, BROWSERS)):
        pytest.skip(f"NOT TESTED: there is no browser here (looked for {', '.join(BROWSERS)})")
    kernel = PageKernel(Launch(cwd=tmp_path))
    yield kernel
    await kernel.close()


async def shown(kernel: PageKernel, source: str) -> tuple[str, Image.Image, str]:
    """How it ended, the picture, and what the console said."""
    events: list[AnyEvent] = []
    result = await kernel.run(source, "b", events.append)
    outputs = [event.output for event in of(OutputAdded, events)]
    page, drawn = of(RichOutput, outputs)
    assert (page.data, drawn.metadata) == ({"text/html": source}, {"recipient": "assistant"})
    picture = Image.open(io.BytesIO(base64.b64decode(drawn.data["image/png"])))
    return result.status, picture, "".join(one.text for one in of(StreamOutput, outputs))


async def test_P6_the_picture_shows_what_scripts_drew_and_the_console_names_the_line(kernel: PageKernel) -> None:
    page = "<body style='margin:0'>\n<canvas id=c width=900 height=700></canvas>\n<script>\n"
    draw = "const pen = c.getContext('2d'); pen.fillStyle = '#00ff00'; pen.fillRect(0, 0, 900, 700)\n"
    status, picture, said = await shown(kernel, f"{page}{draw}console.log('drawn')</script>")
    assert (status, said) == ("ok", "line 5: drawn\n")
    assert picture.convert("RGB").getpixel((450, 350)) == (0, 255, 0)
    status, _, said = await shown(kernel, "<h1>x</h1>\n<script>nope()</script>")
    assert (status, said) == ("error", "line 2: Uncaught ReferenceError: nope is not defined\n")


async def test_P6_a_page_reaches_neither_network_nor_files(
    kernel: PageKernel, tmp_path: Path, unused_tcp_port: int
) -> None:
    (tmp_path / "secret.html").write_text(SECRET)
    address, file = f"http://127.0.0.1:{unused_tcp_port}/", (tmp_path / "secret.html").as_uri()
    tries = f"""<body style="margin:0"><iframe src="{file}"></iframe><img src="{address}"><script>
    for (const url of ["{address}", "{file}"]) fetch(url).then(r => r.text()).then(t => console.log("GOT " + t));
    try {{ open("{file}"); top.location = "{file}"; }} catch (e) {{}} location = "{file}"</script>"""
    _, _, said = await shown(kernel, tries)
    assert SECRET not in said
    assert "GOT" not in said
    assert "violates" in said


async def test_P6_the_browser_itself_is_enclosed(kernel: PageKernel, tmp_path: Path) -> None:
    """A page that is not in our frame may try more: the browser has neither the files nor the network."""
    (tmp_path / "secret.txt").write_text(SECRET)
    frame = '<body style="margin:0"><iframe style="width:900px;height:700px;border:0" src="{}"></iframe>'
    there = await draw_page(frame.format("file:///etc/passwd").encode(), os.environ)
    hidden = await draw_page(frame.format((tmp_path / "secret.txt").as_uri()).encode(), os.environ)
    none = await draw_page(frame.format((tmp_path / "none.txt").as_uri()).encode(), os.environ)
    assert there.picture.data != none.picture.data, "this would have shown it"
    assert len(hidden.picture.data) == pytest.approx(len(none.picture.data), rel=0.2), "an error page for each"


async def test_P6_a_page_that_never_ends_is_left_at_its_time_limit(
    kernel: PageKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_picture, "PATIENCE", 2.0)
    with pytest.raises(PageNotDrawn, match="took longer than 2 seconds"):
        await draw_page(b"<script>while (true) {}</script>", os.environ)


async def test_P6_a_page_that_takes_all_memory_is_ended(kernel: PageKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_picture, "MOST_MEMORY", 500_000_000)
    greedy = b"<script>const taken = []; for (;;) taken.push(new Uint8Array(5e6).fill(1))</script>"
    with pytest.raises(PageNotDrawn, match="GB of memory"):
        await draw_page(greedy, os.environ)


async def test_P7_a_page_that_code_shows_is_a_picture_for_a_model_that_sees(kernel: PageKernel) -> None:
    moving = RichOutput(data={"text/html": "<p>x</p><script>nope()</script>", "text/plain": "<Figure object>"})
    still = RichOutput(data={"text/html": "<h1>Sales</h1>", "text/plain": "<IPython.core.display.HTML object>"})
    drawn = await draw_results(CodeBlock(id="b", language="python", state="ok", outputs=(moving, still)))
    said, first, second = drawn
    assert isinstance(said, StreamOutput)
    assert said.text == "[page] Uncaught ReferenceError: nope is not defined\n"
    for output in (first, second):
        assert isinstance(output, RichOutput)
        assert output.metadata == {"recipient": "assistant"}
        size = image_size(output.data["image/png"])
        assert size is not None
        assert size[0] == 1000
        assert size[1] < 300, "the empty part below is left out"


async def test_P7_what_reads_well_or_has_a_picture_is_not_drawn(kernel: PageKernel) -> None:
    table = RichOutput(data={"text/html": "<table></table>", "text/plain": "a b"})
    figure = RichOutput(data={"text/html": "<script></script>", "image/png": "AAAA"})
    page = RichOutput(data={"text/html": "<script></script>"})
    assert await draw_results(CodeBlock(id="b", language="python", state="ok", outputs=(table, figure))) == ()
    assert await draw_results(CodeBlock(id="b", language="html", state="ok", outputs=(page,))) == ()


@pytest.mark.parametrize("sees", [True, False])
async def test_P7_only_a_model_that_sees_is_sent_the_picture(kernel: PageKernel, tmp_path: Path, sees: bool) -> None:
    page = OutputAdded(block_id="", output=RichOutput(data={"text/html": "<h1>Sales</h1>"}))
    model = FakeModel("```python\nshow()\n```", "Seen.", takes_images=sees)
    kernels = FakeKernels(python=FakeKernel({"show()": [page]}))
    async with engine(tmp_path, model, kernels=kernels) as front:
        await front.client.send(Open())
        await front.turn("Show it.")
    assert len(model.requests[1].messages[-1].images) == sees
    assert "Sales" in model.requests[1].messages[-1].text
