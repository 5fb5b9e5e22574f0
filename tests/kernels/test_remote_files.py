"""Files of a server, as a strange server may give them: tests/servers has a real one."""

import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web

from oi_tui.app.engine.core.errors import KernelError, OiTuiError
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.pool import Kernels
from oi_tui.app.engine.kernels.remote.contents import FILE_LIMIT
from oi_tui.app.engine.kernels.remote.servers import KnownServer

Answers = Callable[[web.Request], Any]
Serving = Callable[[Answers], Awaitable[Kernels]]


@pytest_asyncio.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serving]:
    """Kernels on a server that answers a request with JSON, or with a status."""
    runners: list[web.AppRunner] = []

    async def begin(answers: Answers) -> Kernels:
        async def handle(request: web.Request) -> web.Response:
            answer = {"kernelspecs": {}} if request.path == "/api/kernelspecs" else answers(request)
            if isinstance(answer, int):
                return web.json_response({"message": "no"}, status=answer)
            return web.json_response(answer)

        app = web.Application()
        app.router.add_route("*", "/{path:.*}", handle)
        runners.append(web.AppRunner(app))
        await runners[-1].setup()
        await web.TCPSite(runners[-1], "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runners[-1].addresses[0][1]}/"
        return Kernels(Launch(cwd=tmp_path), server=KnownServer(url=url, token="a-token"))

    yield begin
    for runner in runners:
        await runner.cleanup()


@pytest.mark.parametrize("path", ["../../api/kernels", "a/../b", "", "/", "a//b", "a\nb", "x" * 2000])
async def test_a_path_that_leads_elsewhere_is_never_asked_for(serve: Serving, path: str) -> None:
    asked: list[str] = []

    def note(request: web.Request) -> Any:
        asked.append(request.path)
        return {}

    kernels = await serve(note)
    with pytest.raises(OiTuiError, match="names no file"):
        await kernels.read_file(path)
    assert asked == []


async def test_a_file_that_is_larger_than_it_said_is_refused(serve: Serving) -> None:
    content = base64.b64encode(b"x" * (FILE_LIMIT + 1)).decode()
    kernels = await serve(lambda request: {"type": "file", "size": 3, "content": content, "format": "base64"})
    with pytest.raises(KernelError, match="4,000,001 bytes"):
        await kernels.read_file("a.bin")


@pytest.mark.parametrize(
    "answer", [[], 3.5, "text", {"type": "file", "content": 3}, {"content": "é", "format": "base64"}]
)
async def test_an_answer_that_makes_no_sense_is_said(serve: Serving, answer: object) -> None:
    kernels = await serve(lambda request: answer)
    with pytest.raises(KernelError, match="not as a Jupyter server does"):
        await kernels.read_file("a.txt")


@pytest.mark.parametrize("status", [403, 404])
async def test_a_server_without_files_is_said(serve: Serving, status: int) -> None:
    kernels = await serve(lambda request: status)
    with pytest.raises(KernelError, match="no access to files"):
        await kernels.read_file("a.txt")
    with pytest.raises(KernelError, match="no access to files"):
        await kernels.write_file("a.txt", b"")


async def test_without_a_server_nothing_is_remote(tmp_path: Path) -> None:
    kernels = Kernels(Launch(cwd=tmp_path))
    with pytest.raises(KernelError, match="No Jupyter server is in use"):
        await kernels.read_file("a.txt")
