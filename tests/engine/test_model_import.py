"""What importing LiteLLM must not do, seen from a fresh process."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.openai_server import OpenAIServer

LOAD = """
import json, os, socket, sys, threading

def audit(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"):
        os.write(2, f"network: {event} {args!r}".encode())
        os._exit(3)

sys.addaudithook(audit)
from oi_tui.app.engine.models.litellm_model import load
early = "litellm" in sys.modules
load()
for thread in threading.enumerate():
    if thread is not threading.current_thread() and not thread.daemon:
        thread.join(5)

import pydantic

def below(kind):
    for sub in kind.__subclasses__():
        yield sub
        yield from below(sub)

theirs = [kind.__pydantic_complete__ for kind in below(pydantic.BaseModel) if kind.__module__.startswith("litellm")]
later = type("Later", (pydantic.BaseModel,), {"__module__": __name__})
print(json.dumps({
    "early": early,
    "loaded": "litellm" in sys.modules,
    "from .env": os.environ.get("OPENAI_API_BASE"),
    "built": sum(theirs) / len(theirs),
    "later": later.__pydantic_complete__,
}))
"""

FIRST_ANSWER = """
import asyncio, pathlib, sys
from oi_tui.app.engine.core.chat_model import ChatMessage, ChatRequest
from oi_tui.app.engine.files.program_log import begin_logging
from oi_tui.app.engine.models.litellm_model import LiteLLMModel, close_connections
from oi_tui.app.engine.core.settings import ModelSection

begin_logging(pathlib.Path("log"))

async def ask():
    model = LiteLLMModel(ModelSection(name="scripted", api_base=sys.argv[1]), environ={})
    async for _ in model.stream(ChatRequest(messages=(ChatMessage(role="user", text="hi"),))):
        pass
    await close_connections()

asyncio.run(ask())
"""


def run(code: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("LITELLM", "OPENAI"))}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=cwd,
        env=environ,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a process looks like that has imported LiteLLM, where a file `.env` lies; it reached for no network."""
    folder = tmp_path_factory.mktemp("folder")
    (folder / ".env").write_text("OPENAI_API_BASE=http://evil.invalid/v1\n", encoding="utf-8")
    done = run(LOAD, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_importing_the_model_loads_no_litellm_and_loading_it_asks_no_network(loaded: dict[str, Any]) -> None:
    assert (loaded["early"], loaded["loaded"]) == (False, True)


def test_the_env_file_of_the_working_directory_is_not_loaded(loaded: dict[str, Any]) -> None:
    assert loaded["from .env"] is None


def test_what_litellm_defines_is_built_when_it_is_used_and_what_others_define_at_once(loaded: dict[str, Any]) -> None:
    assert loaded["built"] < 0.2
    assert loaded["later"]


def test_a_first_answer_prints_nothing_and_logs_no_talk_of_litellm(tmp_path: Path, openai_server: OpenAIServer) -> None:
    done = run(FIRST_ANSWER, openai_server.url, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "LiteLLM" not in (tmp_path / "log").read_text()


def test_an_engine_that_is_closed_while_the_library_is_still_being_imported_has_nothing_to_close() -> None:
    program = (
        "import asyncio, sys, types\n"
        "from oi_tui.app.engine.models.litellm_model import close_connections\n"
        "sys.modules['litellm'] = types.ModuleType('litellm')  # what another thread has begun\n"
        "asyncio.run(close_connections())\n"
    )
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (finished.returncode, finished.stderr) == (0, "")
