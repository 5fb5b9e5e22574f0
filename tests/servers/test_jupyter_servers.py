"""Kernels elsewhere, beside the rows that hold everywhere (`support.kernel_places`): a real Jupyter Server and a real
Enterprise Gateway, each with a token, behind a relay that breaks connections."""

import asyncio
import random
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
import pytest_asyncio

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.core.events import NoticeAdded, OutputAdded
from oi_tui.app.engine.core.settings import KernelSection
from oi_tui.app.engine.kernels.jupyter import JupyterKernel
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.remote.kernel import remote_kernel
from oi_tui.app.engine.kernels.remote.servers import KnownServer
from support.kernel_places import TOKEN, FindServer
from support.runs import collect


class Relay:
    """A port that leads to another one, until `drop`."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None

    async def open(self) -> int:
        """Its own port."""
        self._server = await asyncio.start_server(self._carry, "127.0.0.1", 0)
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        self.drop()

    def drop(self) -> int:
        """Break all connections as a cable does; how many there were."""
        count = len(self._writers)
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()
        return count

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self._port)
        self._writers |= {writer, back}
        await asyncio.gather(_pass_on(reader, back), _pass_on(there, writer))
        self._writers -= {writer, back}


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    writer.close()


@pytest.fixture(params=["server", pytest.param("gateway", marks=pytest.mark.thorough)])
def url(request: pytest.FixtureRequest, kernel_server: FindServer) -> str:
    return kernel_server(request.param).url


@pytest_asyncio.fixture
async def relay(url: str) -> AsyncIterator[Relay]:
    made = Relay(int(url.rpartition(":")[2]))
    yield made
    await made.close()


@pytest_asyncio.fixture
async def kernel(relay: Relay, tmp_path: Path) -> AsyncIterator[JupyterKernel]:
    """A kernel of the server's own environment that is reached through the relay."""
    server = KnownServer(url=f"http://127.0.0.1:{await relay.open()}/", token=TOKEN)
    launch = Launch(cwd=tmp_path, settings=KernelSection(interrupt_step=5.0))
    made = remote_kernel(launch, server)
    await made.start()
    yield made
    await made.close()


def kernels_on(url: str) -> list[str]:
    answer = httpx.get(f"{url}/api/kernels", headers={"Authorization": f"token {TOKEN}"}, trust_env=False, timeout=20)
    return [str(kernel["id"]) for kernel in answer.raise_for_status().json()]


async def test_the_servers_own_kernel_is_one_there_and_ends_with_ours(kernel: JupyterKernel, url: str) -> None:
    assert kernel.place == "python3 on 127.0.0.1"
    assert not kernel.confinement.sandboxed
    run = await collect(kernel, "import sys\nx = 1\nsys.prefix")
    assert run.result != repr(sys.prefix)
    listing = await kernel.variables((), again=True)
    assert listing is not None
    assert "x" in {row.name for row in listing.variables}
    await kernel.restart()
    assert (await collect(kernel, "print('x' in dir())")).text() == "False\n"
    assert len(kernels_on(url)) == 1
    await kernel.close()
    assert kernels_on(url) == []


async def test_each_line_of_a_flood_comes_once_or_the_gap_is_named(kernel: JupyterKernel, relay: Relay) -> None:
    chance = random.Random(13)
    flood = "import time\nfor number in range(6000):\n    print('n', number)\n    if not number % 100: time.sleep(0.05)"
    events: list[object] = []
    running = asyncio.create_task(kernel.run(flood, "b", events.append))
    dropped = 0
    async with asyncio.timeout(100):
        for _ in range(20):
            await asyncio.wait([running], timeout=chance.uniform(0.02, 0.3))  # a random moment
            dropped += bool(relay.drop())
        result = await running
    text = "".join(str(event.output.text) for event in events if isinstance(event, OutputAdded))  # type: ignore[union-attr] # a flood of text
    numbers = [int(line.split()[1]) for line in text.splitlines()]
    assert dropped >= 3
    assert result.status == "ok"
    assert numbers == sorted(set(numbers))
    named = [event.title for event in events if isinstance(event, NoticeAdded) and "never came" in event.title]
    assert len(numbers) == 6000 or named
    assert (await collect(kernel, "print('still here')")).text() == "still here\n"


async def test_a_wrong_token_is_said_and_nothing_is_left(url: str, tmp_path: Path) -> None:
    before = kernels_on(url)
    refused = remote_kernel(Launch(cwd=tmp_path), KnownServer(url=url, token="wrong"))
    with pytest.raises(KernelError, match="token"):
        await refused.start()
    await refused.close()
    assert kernels_on(url) == before


async def test_R11_a_kernel_name_that_is_not_there_is_said(url: str, tmp_path: Path) -> None:
    missing = remote_kernel(Launch(cwd=tmp_path), KnownServer(url=url, token=TOKEN, kernel="nosuch"))
    with pytest.raises(KernelError):
        await missing.start()
    await missing.close()
