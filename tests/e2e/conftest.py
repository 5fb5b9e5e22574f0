"""The installed program in a real terminal, with a scripted model and real kernels."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from oi_tui.app.engine.models.scripted import ScriptedAnswer
from support.openai_server import OpenAIServer
from support.script import Script
from support.terminal import Terminal

OI_TUI = Path(sys.executable).with_name("oi-tui")
READY = "Ask, or !shell"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the program's code works."""
    work = tmp_path / "work"
    work.mkdir()
    return work


@pytest.fixture
def command(script: Script, folder: Path) -> list[str]:
    """The program, asking the script."""
    return [str(OI_TUI), *script.arguments, "--cwd", str(folder)]


@pytest.fixture
def wired_command(openai_server: OpenAIServer, folder: Path) -> list[str]:
    """The program, asking the scripted server over HTTP."""
    model = ["-m", "openai/scripted", "--api-base", openai_server.url, "--api-key", "x"]
    return [str(OI_TUI), *model, "--cwd", str(folder)]


@pytest.fixture
def bare_command(folder: Path) -> list[str]:
    """The program without a model, for tests that ask none."""
    return [str(OI_TUI), "--cwd", str(folder)]


@pytest.fixture
def start(
    terminal: Callable[..., Terminal],
    script: Script,
    command: list[str],
    clean_env: dict[str, str],
    folder: Path,
) -> Callable[..., Terminal]:
    """Starts the program, the model answering so, and waits until it can be typed into."""

    def started(
        *answers: str | ScriptedAnswer, columns: int = 80, rows: int = 24, arguments: tuple[str, ...] = ()
    ) -> Terminal:
        script.write(*answers)
        shown = terminal([*command, *arguments], env=clean_env, cwd=folder, columns=columns, rows=rows, timeout=30)
        shown.wait_for(READY)
        return shown

    return started
