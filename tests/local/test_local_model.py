"""The whole way with real weights: the smallest model from the package index, served, asked, ended."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.blocks import SummaryBlock
from oi_tui.app.engine.core.events import TurnEnded, UsageReported
from oi_tui.app.engine.core.settings import LoopSection, ModelSection
from oi_tui.app.engine.kernels.base import RunResult
from oi_tui.app.engine.local.catalogue import find
from oi_tui.app.engine.local.fetch import fetch
from oi_tui.app.engine.local.model_server import LocalServer
from oi_tui.app.engine.local.weights import Weights
from oi_tui.app.engine.local.wheel_parts import IndexParts
from oi_tui.app.engine.models.connections import Connections
from oi_tui.app.engine.models.lean_model import LeanModel
from oi_tui.app.engine.models.providers import find_lean
from oi_tui.app.engine.testing import FakeKernel, FakeKernels, Happenings, stdout_output
from support.kinds import of
from support.turns import play

pytestmark = [
    pytest.mark.local_model,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        os.environ.get("OI_TUI_TEST_MODEL") != "1",
        reason="NOT TESTED: the embedded model with real weights; OI_TUI_TEST_MODEL=1 downloads 98 MB",
    ),
]
SMOL = find("smollm2-135m")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture
async def file(folder: Path, heard: Any) -> Path:
    """The weights, downloaded once for all tests of this file."""
    async with asyncio.timeout(300):
        return await fetch(SMOL, Weights(folder), progress=heard, sources=[IndexParts()])


@pytest.fixture
async def url(file: Path, tmp_path: Path) -> AsyncIterator[str]:
    async with LocalServer(log=tmp_path / "local-model.log") as server:
        async with asyncio.timeout(60):
            started = await server.start(SMOL, file)
        yield started


async def test_the_smallest_model_comes_out_of_the_package_index(file: Path, folder: Path) -> None:
    assert Weights(folder).verify(SMOL)


async def test_the_server_streams_tokens_to_an_openai_client(url: str) -> None:
    question = {
        "model": "local",
        "messages": [{"role": "user", "content": "Say hello."}],
        "max_tokens": 12,
        "stream": True,
    }
    async with (
        asyncio.timeout(60),
        httpx.AsyncClient(trust_env=False, timeout=60) as client,
        client.stream("POST", f"{url}/chat/completions", json=question) as response,
    ):
        lines = [line async for line in response.aiter_lines() if line.startswith("data: ")]
    assert response.status_code == 200
    assert len(lines) > 3
    assert lines[-1] == "data: [DONE]"


async def test_the_server_lends_nothing_to_web_pages_and_shows_no_prompts(url: str) -> None:
    async with asyncio.timeout(60), httpx.AsyncClient(trust_env=False, timeout=60) as client:
        models = await client.get(f"{url}/models", headers={"Origin": "http://elsewhere.example"})
        slots = await client.get(f"{url.removesuffix('/v1')}/slots")
    assert models.json()["data"][0]["id"] == "local"
    assert models.headers.get("Access-Control-Allow-Origin", "") == ""
    assert slots.status_code == 501


async def test_the_server_ends_in_the_middle_of_an_answer_when_its_parent_is_killed(file: Path, tmp_path: Path) -> None:
    program = tmp_path / "parent.py"
    program.write_text(
        "import asyncio, pathlib, httpx, psutil\n"
        "from oi_tui.app.engine.local.catalogue import find\n"
        "from oi_tui.app.engine.local.model_server import LocalServer\n"
        "async def main():\n"
        f"    server = LocalServer(log=pathlib.Path({str(tmp_path / 'log')!r}))\n"
        f"    url = await server.start(find('smollm2-135m'), pathlib.Path({str(file)!r}))\n"
        "    ask = {'messages': [{'role': 'user', 'content': 'Count.'}], 'max_tokens': 4000, 'stream': True,"
        " 'ignore_eos': True}\n"
        "    async with httpx.AsyncClient(trust_env=False, timeout=60) as client:\n"
        "        async with client.stream('POST', url + '/chat/completions', json=ask) as response:\n"
        "            async for line in response.aiter_lines():\n"
        "                print(psutil.Process().children()[0].pid, flush=True)\n"
        "asyncio.run(main())\n"
    )
    async with asyncio.timeout(90):
        parent = await asyncio.create_subprocess_exec(sys.executable, str(program), stdout=asyncio.subprocess.PIPE)
        assert parent.stdout is not None
        child = psutil.Process(int(await parent.stdout.readline()))
        parent.send_signal(signal.SIGKILL)
        await parent.communicate()
        await asyncio.to_thread(child.wait, 20)
    assert not child.is_running()


async def test_L24_twelve_turns_go_on_though_they_are_longer_than_the_context(url: str) -> None:
    """The weights count their own tokens; the window is made small, so that twelve turns overflow it."""
    section = ModelSection(
        name="openai/local", api_base=url, tools="off", temperature=0.0, context_window=1_200, max_output_tokens=40
    )
    choice, connections = find_lean(section.name, section.api_base), Connections({})
    assert choice is not None
    happenings: Happenings = [stdout_output("ok\n" * 60), RunResult(status="ok")]
    model = LeanModel(choice, connections, section, environ={}, free=True)
    await model.preload()
    kernels = FakeKernels(python=FakeKernel(lambda _source: happenings))
    session = Session(kernels=kernels, settings=LoopSection(approve="auto", max_steps=2), model=model)
    events = []
    try:
        for number in range(12):
            note = (
                f"Note {number}: the ferry brought {number * 7} boxes to the quay and left before the tide turned. " * 3
            )
            events += await play(session, session.run(f"{note}Say ok."), limit=120)
    finally:
        await connections.close()
    counts = [report.input_tokens for report in of(UsageReported, events)]
    assert "model_error" not in {end.reason for end in of(TurnEnded, events)}
    assert any(block.text for block in of(SummaryBlock, session.transcript.blocks))
    assert max(counts) < 1_200
