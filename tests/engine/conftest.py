"""Fixtures of the engine's tests: an empty store, and a model that is talked to over HTTP."""

import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from oi_tui.app.engine.core.chat_model import ChatMessage, ChatRequest, Delta, TextDelta
from oi_tui.app.engine.core.settings import ModelSection
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.models.connections import Connections
from oi_tui.app.engine.models.lean_model import LeanModel
from oi_tui.app.engine.models.litellm_model import LiteLLMModel, close_connections
from oi_tui.app.engine.models.providers import find_lean
from oi_tui.app.engine.models.served_model import ServedModel
from oi_tui.app.engine.tools.execute import execute_spec
from support.openai_server import OpenAIServer


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """LiteLLM looks for keys and addresses in the environment: a developer's own must not reach a test."""
    for name in tuple(os.environ):
        if name.endswith(("_API_KEY", "_API_BASE", "_BASE_URL")):
            monkeypatch.delenv(name)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty one, in `sessions.db` of the test's folder."""
    opened = Store(tmp_path / "sessions.db")
    yield opened
    opened.close()


@pytest.fixture(params=["lean", "litellm"])
def client(request: pytest.FixtureRequest) -> str:
    """Which client asks: what holds of a model holds of both."""
    return str(request.param)


@pytest.fixture
async def model(openai_server: OpenAIServer, client: str) -> AsyncIterator[Callable[..., ServedModel]]:
    """A factory of models on the scripted server, with settings as keywords, that retry at once."""
    connections = Connections({})

    def build(*, api_key: str | None = None, environ: dict[str, str] | None = None, **settings: Any) -> ServedModel:
        defaults = ModelSection(name="scripted", api_base=openai_server.url, retries=1, timeout=10)
        section = msgspec.structs.replace(defaults, **settings)
        more: dict[str, Any] = {"api_key": api_key, "environ": environ or {}, "backoff": 0.001}
        if client == "litellm":
            return LiteLLMModel(section, **more)
        choice = find_lean(section.name, section.api_base)
        assert choice is not None
        return LeanModel(choice, connections, section, **more)

    yield build
    await connections.close()
    await close_connections()


@pytest.fixture
def answer() -> Callable[..., Any]:
    """Ask a model one thing and gather what comes, neighbouring text as one, up to an error, which is raised after it
    is put in `into`."""

    async def gather(model: ServedModel, text: str = "hi", *, into: list[Delta] | None = None) -> list[Delta]:
        deltas: list[Delta] = [] if into is None else into
        tools = (execute_spec(("python", "shell")),)
        request = ChatRequest(messages=(ChatMessage(role="user", text=text),), tools=tools)
        async for delta in model.stream(request):
            match deltas[-1:], delta:
                case [TextDelta(text=before)], TextDelta(text=more):
                    deltas[-1] = TextDelta(text=before + more)
                case _:
                    deltas.append(delta)
        return deltas

    return gather
