"""Terminals of a real Jupyter Server, beside what any shell does there (`tests/kernels/test_shell_kernel.py`); a real
Enterprise Gateway, which has none."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
import pytest_asyncio

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.core.settings import KernelSection
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.pool import Kernels
from oi_tui.app.engine.kernels.remote.servers import KnownServer
from oi_tui.app.engine.kernels.remote.terminal import remote_shell
from oi_tui.app.engine.kernels.shell_kernel import ShellKernel
from support.foreign_servers import Serve
from support.kernel_places import JUPYTER_SERVER, TOKEN, FindServer
from support.runs import LIMIT, collect, started


@pytest.fixture
def url(kernel_server: FindServer) -> str:
    return kernel_server("server").url


@pytest.fixture
def launch(tmp_path: Path) -> Launch:
    settings = KernelSection(interrupt_step=1.0, output_cap=100_000)
    return Launch(cwd=tmp_path, settings=settings, spill_dir=tmp_path)


@pytest_asyncio.fixture
async def kernel(url: str, launch: Launch) -> AsyncIterator[ShellKernel]:
    made = remote_shell(launch, KnownServer(url=url, token=TOKEN))
    await made.start()
    yield made
    await made.close()


def terminals_on(url: str) -> list[str]:
    headers = {"Authorization": f"token {TOKEN}"}
    answer = httpx.get(f"{url}/api/terminals", headers=headers, trust_env=False, timeout=20)
    return [str(terminal["name"]) for terminal in answer.raise_for_status().json()]


async def test_a_shell_is_one_terminal_which_ends_with_it(kernel: ShellKernel, url: str) -> None:
    assert len(terminals_on(url)) == 1
    await kernel.close()
    assert terminals_on(url) == []


async def test_a_terminal_that_somebody_ends_is_told(kernel: ShellKernel, url: str) -> None:
    running = await started(kernel, "echo ready; sleep 100")
    headers = {"Authorization": f"token {TOKEN}"}
    async with httpx.AsyncClient(trust_env=False, headers=headers, timeout=20) as client:
        await client.delete(f"{url}/api/terminals/{terminals_on(url)[0]}")
    async with asyncio.timeout(LIMIT):
        result = await running
    assert result.status == "died"
    assert "was ended on the server" in result.detail
    assert (await collect(kernel, "echo well")).text() == "well\n"


async def test_a_gateway_has_no_terminals_and_that_is_said(kernel_server: FindServer, launch: Launch) -> None:
    kernels = Kernels(launch, server=kernel_server("gateway"))
    told = await kernels.settle()
    assert told is not None
    assert "has no terminals" in told.title
    assert "shell" not in kernels.languages
    with pytest.raises(KernelError, match="has no terminals"):
        await kernels.get("shell").start()
    await kernels.close()


async def test_a_server_that_was_told_to_have_no_terminals_has_none(serve: Serve, launch: Launch) -> None:
    url = serve("jupyter-server", *JUPYTER_SERVER, "--ServerApp.terminals_enabled=False", health="/api")
    kernels = Kernels(launch, server=KnownServer(url=url, token=TOKEN))
    told = await kernels.settle()
    assert told is not None
    assert "has no terminals" in told.title
    await kernels.close()


async def test_a_file_of_the_server_is_read_and_made(tmp_path: Path, serve: Serve, launch: Launch) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "sub folder").mkdir()
    (root / "sub folder" / "data ü%.csv").write_text("a,b\n1,2\n")
    (root / "plot.png").write_bytes(b"\x89PNG\r\n\x1a\nrest")
    (root / "large.bin").write_bytes(bytes(5_000_000))
    url = serve("jupyter-server", *JUPYTER_SERVER, f"--ServerApp.root_dir={root}", health="/api")
    kernels = Kernels(launch, server=KnownServer(url=url, token=TOKEN))
    assert (await kernels.read_file("sub folder/data ü%.csv")).data == b"a,b\n1,2\n"
    assert (await kernels.read_file("/plot.png")).data == b"\x89PNG\r\n\x1a\nrest"
    for path, said in (("none.txt", "no file"), ("sub folder", "is a folder"), ("large.bin", "5,000,000 bytes")):
        with pytest.raises(KernelError, match=said):
            await kernels.read_file(path)
    assert await kernels.write_file("sub folder/out.bin", b"\0\xff\n") == "127.0.0.1"
    assert (root / "sub folder" / "out.bin").read_bytes() == b"\0\xff\n"
    with pytest.raises(KernelError, match="already"):
        await kernels.write_file("plot.png", b"other")
    with pytest.raises(KernelError, match="was not saved"):
        await kernels.write_file("no folder/out.bin", b"")
    assert (root / "plot.png").read_bytes().startswith(b"\x89PNG")
    await kernels.close()
