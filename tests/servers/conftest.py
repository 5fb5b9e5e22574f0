"""Foreign servers and browsers, as they are: installed by `make check-servers`, on the loopback, ended by their id."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest

from oi_tui.app.engine.core.chat_model import ChatMessage, ChatRequest, Delta
from oi_tui.app.engine.core.settings import ModelSection
from oi_tui.app.engine.models.connections import Connections
from oi_tui.app.engine.models.lean_model import LeanModel
from oi_tui.app.engine.models.providers import find_lean
from oi_tui.app.engine.tools.execute import execute_spec
from support.foreign_servers import Serve, serving

PLACE = "tests/servers/"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith(PLACE):
            item.add_marker("servers")


@pytest.fixture(scope="module")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """Starts servers that end with the module."""
    with serving(tmp_path_factory.mktemp) as begin:
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
