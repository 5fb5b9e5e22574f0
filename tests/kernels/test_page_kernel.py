"""HTML as code, where there is no browser: the page is there for the person, its text for the model."""

from pathlib import Path

from oi_tui.app.engine.agent.page_pictures import draw_results
from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.events import AnyEvent, OutputAdded
from oi_tui.app.engine.core.outputs import RichOutput, StreamOutput
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.page_kernel import PageKernel
from oi_tui.app.engine.kernels.page_picture import Said, _messages
from oi_tui.app.engine.kernels.pool import Kernels
from oi_tui.app.engine.text.mime import report
from support.kinds import of


async def test_P6_without_a_browser_the_page_stays_and_its_text_is_told(tmp_path: Path) -> None:
    kernel, events = PageKernel(Launch(cwd=tmp_path, environ={"PATH": str(tmp_path)})), list[AnyEvent]()
    result = await kernel.run("<h1>Sales</h1><p>Up by 3 %</p>", "b", events.append)
    await kernel.close()
    page, said = (event.output for event in of(OutputAdded, events))
    assert result.status == "ok"
    assert isinstance(page, RichOutput)
    assert page.data == {"text/html": "<h1>Sales</h1><p>Up by 3 %</p>"}
    assert isinstance(said, StreamOutput)
    assert said.text.startswith("[no picture of the page, and none of its scripts ran: There is no browser here")
    told = report(CodeBlock(id="b", language="html", state="ok", outputs=(page, said)), 1000)
    assert "Sales" in told
    assert "Up by 3 %" in told


def test_P6_html_is_a_language_that_larger_models_are_told_of(tmp_path: Path) -> None:
    small, large = Kernels(Launch(cwd=tmp_path)), Kernels(Launch(cwd=tmp_path, small_model=lambda: False))
    assert small.canonical("HTML") == large.canonical("html") == "html"
    assert "html" not in small.languages
    assert large.languages[:3] == ("python", "shell", "html")


def test_P6_messages_of_the_console_are_read_off_the_log_of_the_browser() -> None:
    log = (
        "[1123/091957.02:ERROR:dbus/bus.cc:405] Failed to connect\n"
        '[1123/091957.02:INFO:CONSOLE:9] "two\nlines", source: about:srcdoc (9)\n'
        '[1123/091957.02:INFO:CONSOLE(11)] "Uncaught x", source: file:///tmp/page.html (11)\n'
        "[1123/091957.02:INFO:CONSOLE:1] \"Unrecognized Content-Security-Policy directive 'webrtc'.\", source:  (0)\n"
        '[1123/091957.02:INFO:CONSOLE:9] "cut'
    )
    assert list(_messages(log)) == [Said("two\nlines", 9), Said("Uncaught x", 0)]
    assert [said.is_error for said in _messages(log)] == [False, True]


async def test_P7_without_a_browser_no_picture_is_made(tmp_path: Path) -> None:
    page = RichOutput(data={"text/html": "<script></script>"})
    block = CodeBlock(id="b", language="python", state="ok", outputs=(page,))
    assert await draw_results(block, {"PATH": str(tmp_path)}) == ()
