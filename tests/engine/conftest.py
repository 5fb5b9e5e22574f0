"""Fixtures of the engine's tests: an empty store, and a model that is talked to over HTTP."""

import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from oi_tui.app.engine.core.chat_model import ChatMessage, ChatRequest, Delta
from oi_tui.app.engine.core.settings import ModelSection
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.models.model import LiteLLMModel, close_connections
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


@pytest.fixture
async def model(openai_server: OpenAIServer) -> AsyncIterator[Callable[..., LiteLLMModel]]:
    """A factory of models on the scripted server, with settings as keywords, that retry at once."""

    def build(*, api_key: str | None = None, environ: dict[str, str] | None = None, **settings: Any) -> LiteLLMModel:
        defaults = ModelSection(name="scripted", api_base=openai_server.url, retries=1, timeout=10)
        section = msgspec.structs.replace(defaults, **settings)
        return LiteLLMModel(section, api_key=api_key, environ=environ or {}, backoff=0.001)

    yield build
    await close_connections()


@pytest.fixture
def answer() -> Callable[..., Any]:
    """Ask a model one thing and gather what comes, up to an error, which is raised after it is put in `into`."""

    async def gather(model: LiteLLMModel, text: str = "hi", *, into: list[Delta] | None = None) -> list[Delta]:
        deltas: list[Delta] = [] if into is None else into
        tools = (execute_spec(("python", "shell")),)
        request = ChatRequest(messages=(ChatMessage(role="user", text=text),), tools=tools)
        async for delta in model.stream(request):
            deltas.append(delta)
        return deltas

    return gather
