"""A tiny model of three parts, a place for it, and the two kinds of source that serve it on the loopback interface."""

import asyncio
import hashlib
import random
import re
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from oi_tui.app.engine.core.protocol import FetchProgressed
from oi_tui.app.engine.local.catalogue import LocalModel
from oi_tui.app.engine.local.weights import Weights

CONTENT = random.Random(7).randbytes(3_000_000)
PART_NUMBERS = (1, 2, 10)
"""Ten sorts before two as text: the order must be the number's."""


class ByteServer:
    """Serves `files` by path; notes what was asked; can cut, hold or refuse answers."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.asked: list[tuple[str, str]] = []
        """Path and Range header of each request, in order."""
        self.moved: dict[str, str] = {}
        """Paths that lead elsewhere."""
        self.ranges = True
        self.cuts: list[int] = []
        """The next answers end after so many bytes, in the middle of what they promised."""
        self.held = ""
        """A path whose answer stops halfway until `release` is set; `reached` tells that it was asked for."""
        self.reached = threading.Event()
        self.release = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self.release.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                wanted = self.headers.get("Range", "")
                server.asked.append((self.path, wanted))
                if self.path in server.moved:
                    self.send_response(302)
                    self.send_header("Location", server.moved[self.path])
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                body = server.files.get(self.path)
                if body is None:
                    self.send_error(404)
                    return
                start = int(wanted.removeprefix("bytes=").split("-")[0]) if wanted and server.ranges else 0
                self.send_response(206 if start else 200)
                if start:
                    self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
                self.send_header("Content-Type", "text/html" if self.path.endswith("/") else "application/octet-stream")
                self.send_header("Content-Length", str(len(body) - start))
                self.end_headers()
                self._send(body[start:])

            def _send(self, body: bytes) -> None:
                if server.cuts:
                    body = body[: server.cuts.pop(0)]
                if self.path == server.held:
                    self.wfile.write(body[: len(body) // 2])
                    body = body[len(body) // 2 :]
                    server.reached.set()
                    server.release.wait(60)
                try:
                    self.wfile.write(body)
                except OSError:  # whoever asked is gone
                    self.close_connection = True

            def log_message(self, *_: object) -> None:
                pass

        return Handler


class Wheelhouse:
    """Real wheels with one part each, their pinned requirement lines, and a simple index of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.lines = [self._build(number, part) for number, part in zip(PART_NUMBERS, self._cut(), strict=True)]

    @staticmethod
    def _cut() -> list[bytes]:
        third = len(CONTENT) // 3
        return [CONTENT[:third], CONTENT[third : 2 * third], CONTENT[2 * third :]]

    def _build(self, number: int, part: bytes) -> str:
        name, version = f"tiny_model_part{number}", "0.1.0"
        wheel = self.folder / f"{name}-{version}-py3-none-any.whl"
        info = f"{name}-{version}.dist-info"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr(f"{name}/__init__.py", "raise SystemExit('this package must never be imported')\n")
            archive.writestr(f"{name}/data/part{number:02}.bin", part)
            archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
            archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            archive.writestr(f"{info}/RECORD", "")
        return f"tiny-model-part{number}=={version} --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}"

    @property
    def as_folder(self) -> tuple[str, ...]:
        """pip's options to find the wheels in the folder and nowhere else."""
        return ("--no-index", "--find-links", str(self.folder))

    def as_index(self, server: ByteServer) -> tuple[str, ...]:
        """pip's options to find the wheels on the server, where they are put."""
        for wheel in sorted(self.folder.glob("*.whl")):
            project = re.sub("_", "-", wheel.name.split("-")[0])
            server.files[f"/simple/{project}/"] = f'<a href="/files/{wheel.name}">{wheel.name}</a>'.encode()
            server.files[f"/files/{wheel.name}"] = wheel.read_bytes()
        return ("--index-url", f"{server.url}/simple/", "--extra-index-url", "", "--isolated")


class Heard:
    """A progress callback that keeps what it is told."""

    def __init__(self) -> None:
        self.all: list[FetchProgressed] = []
        self.something = asyncio.Event()

    def __call__(self, progressed: FetchProgressed) -> None:
        self.all.append(progressed)
        self.something.set()

    def stages(self) -> list[str]:
        """Each stage once, in order."""
        return list(dict.fromkeys(progressed.stage for progressed in self.all))


@pytest.fixture
def content() -> bytes:
    """The tiny model's bytes."""
    return CONTENT


@pytest.fixture
def server() -> Iterator[ByteServer]:
    running = ByteServer()
    yield running
    running.close()


@pytest.fixture
def wheelhouse(tmp_path: Path) -> Wheelhouse:
    return Wheelhouse(tmp_path / "wheelhouse")


@pytest.fixture
def model(server: ByteServer) -> LocalModel:
    """The tiny model; the server does not have it yet."""
    return LocalModel(
        id="tiny",
        title="Tiny",
        file_name="tiny.gguf",
        size=len(CONTENT),
        sha256=hashlib.sha256(CONTENT).hexdigest(),
        licence="MIT",
        memory=1,
        hub_url=f"{server.url}/tiny.gguf",
        parts="unused.txt",
        part_pattern=r"data/part(\d+)\.bin$",
    )


@pytest.fixture
def weights(tmp_path: Path, model: LocalModel) -> Weights:
    return Weights(tmp_path / "models", models=(model,))


@pytest.fixture
def heard() -> Heard:
    return Heard()
