"""Foreign servers and browsers, as they are: installed by `make check-servers`, on the loopback, ended by their id."""

import asyncio
import os
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from oi_tui.app.engine.core.chat_model import ChatMessage, ChatRequest, Delta
from oi_tui.app.engine.core.settings import ModelSection
from oi_tui.app.engine.models.connections import Connections
from oi_tui.app.engine.models.lean_model import LeanModel
from oi_tui.app.engine.models.providers import find_lean
from oi_tui.app.engine.tools.execute import execute_spec
from support.ports import free_port

HERE = Path(__file__).parent
SERVERS = Path(os.environ.get("OI_TUI_SERVERS", ""), "bin")
"""The commands of the environment that requirements.txt is installed into; the target says where that is."""

PATIENCE = 90.0
"""Seconds until a server answers."""
GRACE = 10.0
"""Seconds in which a server ends when it is asked to."""

Serve = Callable[..., str]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("servers")


@contextmanager
def process(command: Sequence[str | Path], log: Path, **environ: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that ends with the block, asked first; what it says is in the log."""
    with log.open("wb") as said:
        begun = subprocess.Popen(
            command, env=os.environ | environ, cwd=log.parent, stdin=subprocess.DEVNULL, stdout=said, stderr=said
        )
    try:
        yield begun
    finally:
        begun.terminate()
        try:
            begun.wait(GRACE)
        except subprocess.TimeoutExpired:
            begun.kill()
            begun.wait()


def wait_answers(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    """Until this address answers with success; else an error with the end of what the server said."""
    deadline = time.monotonic() + PATIENCE
    while server.poll() is None and time.monotonic() < deadline:
        try:
            if httpx.get(url, timeout=5, trust_env=False).is_success:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)  # nobody tells when a foreign server listens
    pytest.fail(f"{url} does not answer (exit code {server.poll()}):\n{log.read_text(errors='replace')[-4000:]}")


@pytest.fixture(scope="module")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """Starts a server that ends with the module, and waits for its `health`: `serve("litellm", "--port", "{port}",
    health="/health")` is `http://127.0.0.1:PORT`. A server that is not installed is a skipped test."""
    with ExitStack() as running:

        def begin(name: str, *arguments: str, health: str, place: str = "servers", **environ: str) -> str:
            program = SERVERS.parent.parent / place / "bin" / name
            if not program.exists():
                pytest.skip(f"NOT TESTED: {name} is not installed; make check-servers does that")
            port = free_port()
            log = tmp_path_factory.mktemp(name) / "log"
            command: list[str | Path] = [program, *(argument.format(port=port) for argument in arguments)]
            server = running.enter_context(process(command, log, **environ))
            wait_answers(f"http://127.0.0.1:{port}{health}", server, log)
            return f"http://127.0.0.1:{port}"

        yield begin


@pytest.fixture
async def ask() -> AsyncIterator[Callable[..., Awaitable[list[Delta]]]]:
    """Asks a server one thing, as the program does: `await ask(api_key="...", api_base=..., name=...)`."""

    connections = Connections({})

    async def gather(*, api_key: str | None = None, **settings: Any) -> list[Delta]:
        question = ChatMessage(role="user", text="What is 40 + 2?")
        section = ModelSection(retries=0, **settings)
        choice = await asyncio.to_thread(find_lean, section.name, section.api_base)
        assert choice is not None
        model = LeanModel(choice, connections, section, api_key=api_key, environ={})
        request = ChatRequest(messages=(question,), tools=(execute_spec(("python",)),))
        return [delta async for delta in model.stream(request)]

    yield gather
    await connections.close()
