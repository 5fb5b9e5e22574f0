"""llama.cpp's own server, as the program starts it, with a model whose answers are chance: streaming, its end, and
that none of the bytes which chance brings does harm."""

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from oi_tui.app.engine.core.chat_model import AnswerEnded, AnswerUsage, TextDelta
from oi_tui.app.engine.local.catalogue import MODELS
from oi_tui.app.engine.local.model_server import ALIAS, LocalServer

pytestmark = pytest.mark.thorough  # each test starts the server anew

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny model."""
    python = Path(os.environ.get("OI_TUI_SERVERS", ""), "bin", "python")
    if not python.exists():
        pytest.skip("NOT TESTED: what makes a tiny model is not installed; make check-servers does that")
    file = tmp_path_factory.mktemp("model") / "tiny.gguf"
    subprocess.run([python, HERE / "tiny_model.py", file], check=True, timeout=60)
    return file


@pytest.fixture
async def url(weights: Path, tmp_path: Path) -> AsyncIterator[str]:
    async with LocalServer(log=tmp_path / "log", threads=1) as server:
        async with asyncio.timeout(60):
            started = await server.start(MODELS[0], weights)
        yield started


async def test_an_answer_streams_until_it_is_as_long_as_it_may_be(url: str, ask: Callable[..., Any]) -> None:
    async with asyncio.timeout(60):
        deltas = await ask(api_base=url, api_key="none", name=f"openai/{ALIAS}", max_output_tokens=40, temperature=0.0)
    assert any(isinstance(delta, TextDelta) for delta in deltas)  # one at least: what came at once is one
    (usage,) = (delta for delta in deltas if isinstance(delta, AnswerUsage))
    assert usage.output_tokens == 40
    assert deltas[-1] == AnswerEnded(reason="length")


async def test_a_web_page_can_neither_read_answers_nor_see_what_is_asked(url: str) -> None:
    async with httpx.AsyncClient(trust_env=False, headers={"Origin": "http://elsewhere.example"}) as client:
        listed = await client.get(f"{url}/models")
        slots = await client.get(f"{url.removesuffix('/v1')}/slots")
    assert listed.is_success
    assert listed.headers.get("access-control-allow-origin", "") in ("", "http://127.0.0.1")
    assert not slots.is_success
