"""An exported page in a real browser: what it shows, and that nothing of it runs or reaches out. A page that does
both stands beside it, so that the browser is seen to be able to."""

import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.plugins.session_files import export_session
from support.exports import OPENED, code, prose, ran, tour

NAMES = ("chromium-headless-shell", "headless_shell", "chromium", "chromium-browser", "google-chrome")
OPTIONS = ("--headless", "--disable-gpu", "--no-first-run", "--enable-logging=stderr", "--window-size=900,1200")

Look = Callable[..., tuple[str, str]]


@pytest.fixture
def look(tmp_path: Path) -> Look:
    """Opens a page; gives its document as it is when all has loaded, and what the browser says about it."""
    browser = next((found for name in NAMES if (found := shutil.which(name))), "")
    if not browser:
        pytest.skip(f"NOT TESTED: there is no browser here (looked for {', '.join(NAMES)})")
    # Its own sandbox does not start for root.
    rights = ("--no-sandbox",) if os.geteuid() == 0 else ()

    def open_page(page: bytes, *options: str) -> tuple[str, str]:
        file = tmp_path / "page.html"
        file.write_bytes(page)
        told = subprocess.run(
            [browser, *OPTIONS, *rights, f"--user-data-dir={tmp_path / 'profile'}", *options, file.as_uri()],
            capture_output=True, text=True, timeout=60, check=True, env=os.environ | {"HOME": str(tmp_path)},
        )  # fmt: skip
        return told.stdout, "\n".join(line for line in told.stderr.splitlines() if "CONSOLE" in line)

    return open_page


@pytest.fixture
def asked() -> Iterator[tuple[str, list[str]]]:
    """The address of a server that nobody should ask for anything, and the paths that it was asked for."""
    paths: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        serving.start()
        yield f"http://127.0.0.1:{server.server_port}", paths
        server.shutdown()
        serving.join(10)


def test_a_page_is_shown_with_its_style_and_without_a_complaint(look: Look, tmp_path: Path) -> None:
    page = export_session(tour(), "html", title="A <tour>")
    document, complaints = look(page, "--dump-dom")
    assert complaints == "", "the browser applies the style and finds nothing to forbid"
    assert "<title>A &lt;tour&gt;</title>" in document
    assert "Not run: no!" in document
    look(page, f"--screenshot={tmp_path / 'plain.png'}")
    assert (tmp_path / "plain.png").stat().st_size > 10_000, "something is drawn"


def test_a_style_that_was_changed_is_not_applied(look: Look) -> None:
    page = export_session(tour(), "html").replace(b"</style>", b" p{color:red}</style>")
    assert "Applying inline style violates" in look(page, "--dump-dom")[1]


def test_nothing_that_anybody_wrote_runs_or_is_loaded(look: Look, asked: tuple[str, list[str]]) -> None:
    place, paths = asked
    hostile = (
        f"<script>document.title='ran'</script><img src='{place}/a.png' onerror=\"document.title='ran'\">"
        f"<iframe src='{place}/b'></iframe><link rel=stylesheet href='{place}/c.css'>"
    )
    document, _ = look(f"<!doctype html><title>Mine</title>{hostile}".encode(), "--dump-dom")
    assert "<title>ran</title>" in document, "the browser does run what a page brings"
    assert {"/a.png", "/b", "/c.css"} <= set(paths), "and loads what it asks for"
    paths.clear()
    rich = (RichOutput(data={mime: hostile}) for mime in ("text/html", "text/markdown", "image/svg+xml"))
    events = [
        OPENED,
        *prose("p1", f"{hostile}\n\n![a]({place}/d.png) [b](javascript:document.title='ran')"),
        *code("c1", hostile),
        *ran("c1", hostile, *rich),
    ]
    document, complaints = look(export_session(events, "html", title="Mine"), "--dump-dom")
    assert "<title>Mine</title>" in document
    assert (paths, complaints) == ([], "")
