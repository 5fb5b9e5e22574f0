"""What the engine loads before the first prompt: each module more is CPU at every start, whether it is used or not."""

import asyncio
import contextlib
import sys
from pathlib import Path

import pytest

from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.settings import ModelSection, Settings
from oi_tui.app.engine.core.verbs import KeepDraft, Open
from oi_tui.app.frontend.client import ProcessClient

PROGRAM = """
import os, sys, threading
from oi_tui.app import start

awaited, begun = os.environ.get("AWAITED", "sys"), threading.Event()
sys.addaudithook(lambda event, args: begun.set() if event == "import" and args[0] == awaited else None)

def end(code, leave=os._exit):
    if awaited not in sys.modules:
        begun.wait(20)  # another thread imports it
    print("LOADED", awaited if begun.is_set() else "", *sys.modules, flush=True)
    leave(code)

os._exit = end
sys.argv[1:] = ["engine", *sys.argv[1:]]
start.main()
"""

MODELS = b'{"object":"list","data":[{"id":"scripted","object":"model","owned_by":"llamacpp"}]}'
HEAD = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(MODELS)}\r\n\r\n".encode()

LIBRARIES = {
    *("aiohttp", "IPython", "PIL", "cryptography", "docstring_parser", "jedi", "jinja2", "jupyter_client", "litellm"),
    *("mcp", "numpy", "openai", "pydantic", "pygments", "pypdf", "regex", "rich", "textual", "tokenizers", "tomlkit"),
    *("tornado", "tree_sitter", "yaml", "zmq"),
}
"""Each is loaded when somebody needs it: aiohttp when a prompt is typed, the others with what they are for."""


OURS = {
    *(f"oi_tui.app.engine.policy.{name}" for name in ("judging", "python", "shell", "destruction", "function_uses")),
    *("oi_tui.app.engine.policy.syntax", "oi_tui.app.engine.text.widget_text"),
    *(f"oi_tui.app.engine.structured.{name}" for name in ("field_words", "normalising")),
    *(f"oi_tui.app.engine.web.{name}" for name in ("page_markdown", "page_text", "search_engines", "search_tool")),
}
"""For code and calls that want to run, widgets, answers that must fit a schema and do not, and the web."""


async def loaded(folder: Path, *, draft: str = "") -> set[str]:
    """What an engine has loaded that asked its model's server twice, at the opening and a moment later, and that was
    told of a `draft`, if there is one."""
    asked = asyncio.Semaphore(0)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(HEAD + MODELS)
        await writer.drain()
        writer.close()
        asked.release()

    program, log = folder / "program.py", folder / "engine.log"
    program.write_text(PROGRAM, encoding="utf-8")
    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server, asyncio.timeout(60):
        base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        settings = Settings(model=ModelSection(name="openai/scripted", api_base=base))
        setup = Configure(settings=settings, cwd=str(folder), can_ask=True)
        client = await ProcessClient.start(setup, log=log, command=(sys.executable, "-P", str(program)))
        await client.send(Open())
        told = client.replies()
        await anext(told)
        for _ in range(2):
            await asked.acquire()
        if draft:
            await client.send(KeepDraft(text=draft))
        await client.close()
        with contextlib.suppress(StopAsyncIteration):
            while True:
                await anext(told)
    lines = log.read_text(encoding="utf-8").splitlines()
    return set(next(line for line in lines if line.startswith("LOADED")).split()[1:])


@pytest.fixture
def in_clean_env(clean_env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in clean_env.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("in_clean_env")
async def test_no_library_that_only_some_work_needs_is_loaded_before_the_first_prompt(tmp_path: Path) -> None:
    there = await loaded(tmp_path)
    assert "oi_tui.app.engine.models.lean_model" in there
    assert there & (LIBRARIES | OURS) == set()


@pytest.mark.usefixtures("in_clean_env")
async def test_what_a_request_needs_is_loaded_while_the_prompt_is_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWAITED", "aiohttp")
    assert "aiohttp" in await loaded(tmp_path, draft="What is")
