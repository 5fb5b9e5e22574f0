"""What importing LiteLLM must not do, seen from a fresh process."""

import os
import subprocess
import sys
from pathlib import Path

from support.openai_server import OpenAIServer

OFFLINE = """
import socket, sys, threading

def audit(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"):
        import os
        os.write(2, f"network: {event} {args!r}".encode())
        os._exit(3)

sys.addaudithook(audit)
from oi_tui.app.engine.models.model import load
assert "litellm" not in sys.modules, "imported too early"
load()
assert "litellm" in sys.modules
for thread in threading.enumerate():
    if thread is not threading.current_thread() and not thread.daemon:
        thread.join(5)
"""

DOTENV = """
import os
from oi_tui.app.engine.models.model import load
load()
assert "OPENAI_API_BASE" not in os.environ, os.environ["OPENAI_API_BASE"]
"""

FIRST_ANSWER = """
import asyncio, sys
from oi_tui.app.engine.chat import ChatMessage, ChatRequest
from oi_tui.app.engine.models.model import LiteLLMModel, close_connections
from oi_tui.app.engine.settings import ModelSection

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


def test_importing_the_model_loads_no_litellm_and_loading_it_asks_no_network(tmp_path: Path) -> None:
    done = run(OFFLINE, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_env_file_of_the_working_directory_is_not_loaded(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("OPENAI_API_BASE=http://evil.invalid/v1\n", encoding="utf-8")
    done = run(DOTENV, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_first_answer_prints_nothing(tmp_path: Path, openai_server: OpenAIServer) -> None:
    done = run(FIRST_ANSWER, openai_server.url, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_an_engine_that_is_closed_while_the_library_is_still_being_imported_has_nothing_to_close() -> None:
    program = (
        "import asyncio, sys, types\n"
        "from oi_tui.app.engine.models.model import close_connections\n"
        "sys.modules['litellm'] = types.ModuleType('litellm')  # what another thread has begun\n"
        "asyncio.run(close_connections())\n"
    )
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (finished.returncode, finished.stderr) == (0, "")
