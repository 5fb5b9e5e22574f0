"""Links: where they lead is said in full, only web addresses are opened, and never without a yes."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.app import App
from textual.pilot import Pilot

from oi_tui.app.screens.browser_ask import BrowserAskScreen, NoBrowser, can_open, judge_link, open_in_browser
from oi_tui.themes.loader import load_palette, textual_theme
from support.snapshot import Snap


class Bare(App[None]):
    """Nothing but the question."""

    def __init__(self, href: str, opens: bool) -> None:
        super().__init__()
        self.register_theme(textual_theme(load_palette()))
        self.theme = "harbour"
        self.answers: list[str | None] = []
        self._question = BrowserAskScreen(href, can_open=opens)

    def on_mount(self) -> None:
        self.push_screen(self._question, self.answers.append)


@asynccontextmanager
async def asked(
    href: str, opens: bool = True, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[tuple[Bare, Pilot[None]]]:
    app = Bare(href, opens)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield app, pilot


def seen(app: App[None]) -> str:
    return app.export_screenshot().replace("&#160;", " ")


@pytest.mark.parametrize(
    "href",
    [
        *("file:///etc/passwd", "javascript:alert(1)", "data:text/html,x", "ftp://a.org/", "mailto:a@b.org", "//a.org"),
        *("", "about:blank", "http://", "https:a.org", "vscode://x", "http://[::1", "http://a.org:99999/"),
    ],
)
def test_only_web_addresses_are_opened(href: str) -> None:
    assert judge_link(href).refusal


@pytest.mark.parametrize(
    "href",
    ["https://a.org\\@b.org/", "https://a.org/ b", "https://a.org/\nx", "https://a\t.org", "https://a.org/\u202e"],
)
def test_an_address_that_a_browser_reads_otherwise_is_refused(href: str) -> None:
    assert "no web address" in judge_link(href).refusal or "not a web address" in judge_link(href).refusal
    assert "\n" not in judge_link(href).shown
    assert "\u202e" not in judge_link(href).shown


def test_an_ordinary_link_has_nothing_unusual() -> None:
    assert judge_link("https://docs.python.org/3/library/re.html?a=1#b") == (
        "https://docs.python.org/3/library/re.html?a=1#b",
        "docs.python.org",
        (),
        "",
    )


def test_names_that_look_like_others_are_told_apart() -> None:
    cyrillic = judge_link("https://\u0430pple.com/")
    assert cyrillic.host == "xn--pple-43d.com"
    assert "<U+0430>pple.com" in cyrillic.shown
    assert any("xn--pple-43d.com" in hint for hint in cyrillic.hints)
    assert any("look like Latin" in hint for hint in cyrillic.hints)
    (hint,) = judge_link("https://xn--pple-43d.com/").hints
    assert "<U+0430>pple.com" in hint
    assert judge_link("https://paypal.com@evil.org/").host == "evil.org"
    assert "user name" in judge_link("https://paypal.com@evil.org/").hints[0]
    assert judge_link("http://127.0.0.1:8888/").hints == ("It leads to the port 8888.",)


@pytest.mark.parametrize(("key", "answer"), [("y", "open"), ("c", "copy"), ("n", None), ("escape", None)])
async def test_K_a_link_is_opened_only_by_a_yes(key: str, answer: str | None) -> None:
    async with asked("https://a.org/") as (app, pilot):
        await pilot.press("enter", "space")
        assert app.answers == []
        await pilot.press(key)
        await pilot.pause()
        assert app.answers == [answer]


@pytest.mark.parametrize(("href", "opens"), [("https://a.org/", False), ("file:///etc/passwd", True)])
async def test_where_nothing_can_be_opened_a_yes_does_nothing_and_a_copy_is_offered(href: str, opens: bool) -> None:
    async with asked(href, opens) as (app, pilot):
        await pilot.press("y")
        await pilot.pause()
        assert app.answers == []
        await pilot.press("c")
        await pilot.pause()
        assert app.answers == ["copy"]


async def test_a_long_link_is_there_in_full_on_a_small_screen() -> None:
    async with asked("https://a.org/" + "x" * 1500 + "END", size=(40, 12)) as (app, pilot):
        assert "neither" in seen(app) or " no" in seen(app)
        await pilot.press("end")
        async with asyncio.timeout(5):
            while "END" not in seen(app):
                await pilot.pause()


def test_a_browser_comes_up_only_where_the_person_sits() -> None:
    linux = sys.platform != "darwin"
    assert can_open({"DISPLAY": ":0"})
    assert not can_open({"DISPLAY": ":0", "SSH_CONNECTION": "x"})
    assert can_open({"SSH_TTY": "x", "BROWSER": "forwarder"})
    assert can_open({}) != linux


def opened(environ: dict[str, str], url: str) -> str:
    """What opening says, in an interpreter of its own: the library looks at the environment once."""
    program = (
        "import asyncio, sys\n"
        "from oi_tui.app.screens.browser_ask import NoBrowser, open_in_browser\n"
        "try: asyncio.run(open_in_browser(sys.argv[1]))\n"
        "except NoBrowser as none: print(none)\n"
    )
    finished = subprocess.run(
        [sys.executable, "-c", program, url], env=environ, capture_output=True, text=True, timeout=60
    )
    assert finished.stderr == ""
    return finished.stdout.strip()


def test_the_browser_that_the_person_named_gets_the_link_and_stays_off_our_screen(tmp_path: Path) -> None:
    script = tmp_path / "browser.sh"
    script.write_text(f'#!/bin/sh\necho noise; echo "$1" > "{tmp_path}/part"; mv "{tmp_path}/part" "{tmp_path}/url"\n')
    script.chmod(0o700)
    assert opened({"PATH": os.environ["PATH"], "BROWSER": str(script)}, "https://a.org/?q=$(id)") == ""
    for _ in range(200):
        if (tmp_path / "url").exists():
            break
        subprocess.run(["sleep", "0.05"], check=True)
    assert (tmp_path / "url").read_text() == "https://a.org/?q=$(id)\n"


def test_a_browser_that_is_not_there_or_wants_the_terminal_is_told(tmp_path: Path) -> None:
    lynx = tmp_path / "lynx"
    lynx.write_text("#!/bin/sh\n")
    lynx.chmod(0o700)
    assert (
        opened({"PATH": str(tmp_path), "BROWSER": "lynx"}, "https://a.org/")
        == "There is only a browser for the terminal."
    )
    lynx.unlink()
    assert opened({"PATH": str(tmp_path)}, "https://a.org/") == "No browser was found."


async def test_what_is_refused_is_not_opened_even_when_asked() -> None:
    with pytest.raises(NoBrowser, match="Only links to http"):
        await open_in_browser("file:///etc/passwd")


async def test_the_question_looks_like_its_picture(snap: Snap) -> None:
    async with asked("https://\u0430pple.com/a/rather/long/path/to/somewhere?and=parameters&more=of-them") as (
        _,
        pilot,
    ):
        await snap(pilot)
