"""A page as it looks, drawn by a browser without a window, in a sandbox of its own.

The page is a stranger's, and the browser large: it runs without network and sees no file but the system's, the page and
a profile in memory, whatever the kernels may do. Its own sandbox cannot be inside ours. If ours cannot be had, nothing
is drawn.
"""

import asyncio
import io
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil

from oi_tui.app.engine.core.errors import KernelError, OiTuiError
from oi_tui.app.engine.files.given_picture import GivenPicture, UnreadablePicture, read_picture
from oi_tui.app.engine.files.paths import socket_dir
from oi_tui.app.engine.kernels.processes import cancel_tasks
from oi_tui.app.engine.sandbox.ladder import require_rung
from oi_tui.app.engine.sandbox.places import program_places
from oi_tui.app.engine.sandbox.profile import Limits, Profile, RungChoice
from oi_tui.app.engine.sandbox.sandbox_launch import SandboxLaunch

BROWSERS = ("chromium-headless-shell", "headless_shell", "chromium", "chromium-browser", "google-chrome")

PATIENCE = 20.0
"""Seconds of a page."""

MOST_MEMORY, MEMORY_LOOK = 2_000_000_000, 0.2
"""Bytes of all processes of the browser, and seconds between two looks: it reserves so much that a limit of the system
would end it at once."""

MOST_PICTURE, MOST_CONSOLE = 10_000_000, 20_000
"""Bytes that are read of a picture and of what the browser writes."""

LEAST_HEIGHT, MARGIN = 100, 20
"""Pixels of a picture, and below what is on the page."""

_LIMITS = Limits(processes=400, open_files=1024, cpu=20, scratch=300_000_000)

_OPTIONS = (
    *("--headless", "--no-sandbox", "--no-zygote", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
    *("--disable-extensions", "--disable-background-networking", "--disable-breakpad", "--hide-scrollbars"),
    *("--enable-logging=stderr", "--window-size=1000,800", "--virtual-time-budget=5000"),
)

_SCRIPT = f"""\
folder=$1; shift
cat > "$folder/page.html"
"$@" --user-data-dir="$folder/profile" --screenshot="$folder/page.png" "file://$folder/page.html" 2> "$folder/log"
head -c {MOST_CONSOLE} "$folder/log" >&2
head -c {MOST_PICTURE} "$folder/page.png"
"""

_CONSOLE = re.compile(r'^\[[^\]\n]*:CONSOLE[:(]\d+\)?\] "(.*?)", source: (\S*) \((\d+)\)$', re.MULTILINE | re.DOTALL)

_OF_OUR_POLICY = "Unrecognized Content-Security-Policy directive"
"""Chromium does not know all of what `browser_page.py` forbids."""


class PageNotDrawn(OiTuiError):
    """A page could not be drawn; the title says why."""


class Said(NamedTuple):
    """A message of a page's console."""

    text: str
    line: int
    """Of the document that it comes from; 0 where it is none of ours."""

    @property
    def is_error(self) -> bool:
        """Whether a script failed."""
        return self.text.startswith("Uncaught ")


class DrawnPage(NamedTuple):
    """A page as a picture, with the messages of its console."""

    picture: GivenPicture
    console: tuple[Said, ...]


async def draw_page(page: bytes, environ: Mapping[str, str], rung: RungChoice = "auto") -> DrawnPage:
    """Have it drawn; PageNotDrawn if there is no browser, no sandbox, or no picture within its time."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name, path=environ.get("PATH")))), "")
    if not browser:
        raise PageNotDrawn("There is no browser here that draws pages (Debian and Ubuntu: chromium-headless-shell).")
    profile = Profile(
        mode="read-only",
        workspace=Path(__file__).resolve().parent,  # our own code, where nothing of the person is
        home=Path.home().resolve(),
        readable=program_places(browser),
        limits=_LIMITS,
        rung=rung,
    )
    if profile.is_weaker:
        raise PageNotDrawn("A page is drawn in a full sandbox only.")
    try:
        drawn, log = await _run(browser, profile, page, environ)
    except KernelError as error:
        raise PageNotDrawn(f"There is no sandbox to draw the page in: {error.title}") from error
    except TimeoutError:
        raise PageNotDrawn(f"The page took longer than {PATIENCE:.0f} seconds.") from None
    try:
        picture = await asyncio.to_thread(_read_drawn, drawn)
    except UnreadablePicture as error:
        raise PageNotDrawn(f"The browser made a picture that {error}.") from error
    if picture is None:
        raise PageNotDrawn("The browser made no picture of the page.", details=log[-2000:])
    return DrawnPage(picture, tuple(_messages(log)))


async def _run(browser: str, profile: Profile, page: bytes, environ: Mapping[str, str]) -> tuple[bytes, str]:
    """The picture, and what the browser wrote."""
    launch = await SandboxLaunch.open(
        await require_rung(profile),
        profile,
        lambda _, scratch: ("/bin/sh", "-c", _SCRIPT, "sh", str(scratch), browser, *_OPTIONS),
        environ,
        name_folder=socket_dir,
    )
    try:
        async with asyncio.timeout(PATIENCE):
            pipe = asyncio.subprocess.PIPE
            process = await launch.start(cwd="/", stdin=pipe, stdout=pipe, stderr=pipe)
            await launch.prove()
            launch.release()
            talking = asyncio.ensure_future(process.communicate(page))
            watching = asyncio.ensure_future(_outgrow(launch.leader))
            try:
                await asyncio.wait({talking, watching}, return_when=asyncio.FIRST_COMPLETED)
                if not talking.done():
                    raise PageNotDrawn(f"The page took more than {MOST_MEMORY / 1e9:.0f} GB of memory.")
                drawn, log = talking.result()
            finally:
                await cancel_tasks(talking, watching)
        return drawn, log.decode(errors="replace")
    finally:
        await launch.close()


async def _outgrow(leader: int) -> None:
    """Wait until the browser has taken too much memory."""
    taken = 0
    while taken < MOST_MEMORY:
        await asyncio.sleep(MEMORY_LOOK)
        taken = 0
        with suppress(psutil.Error):  # it has ended, or is about to
            for process in psutil.Process(leader).children(recursive=True):
                with suppress(psutil.Error):
                    taken += process.memory_info().rss


def _read_drawn(drawn: bytes) -> GivenPicture | None:
    """Without the empty part below the page."""
    from PIL import Image, ImageChops  # heavy, and seldom wanted

    picture = read_picture(drawn)
    if picture is None:
        return None
    with Image.open(io.BytesIO(picture.data)) as opened:
        pixels = opened.convert("RGB")
    corner = pixels.getpixel((pixels.width - 1, pixels.height - 1))
    used = ImageChops.difference(pixels, Image.new("RGB", pixels.size, corner)).getbbox()
    bottom = min(pixels.height, max(LEAST_HEIGHT, (used[3] if used else 0) + MARGIN))
    cropped = io.BytesIO()
    pixels.crop((0, 0, pixels.width, bottom)).save(cropped, "PNG")
    return read_picture(cropped.getvalue())


def _messages(log: str) -> Iterator[Said]:
    for found in _CONSOLE.finditer(log):
        text, source, line = found.groups()
        if not text.startswith(_OF_OUR_POLICY):
            yield Said(text, int(line) if source == "about:srcdoc" else 0)
