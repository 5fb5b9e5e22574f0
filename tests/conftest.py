"""Fixtures that every folder of tests shares; what they are made of is in `tests/support`."""

import gc
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import settings
from syrupy.assertion import SnapshotAssertion

from support import cost
from support.fuzzing import leave_sources_unread, pytest_runtest_call, pytest_terminal_summary  # noqa: F401 # hooks of every run
from support.kernel_places import kernel_server  # noqa: F401 # a fixture
from support.openai_server import OpenAIServer
from support.order import pytest_collection_modifyitems, pytest_xdist_make_scheduler  # noqa: F401 # hooks too
from support.parsed_css import parse_css_once
from support.script import Script
from support.short_waits import shorten_waits
from support.snapshot import Snap, snapper
from support.terminal import Terminal
from support.terminal import clean_env as clean_environment
from support.unprivileged import Nobody, as_nobody, why_not_nobody

# An example that waits for a core is no fault: 0.28 s on a busy machine, 1 ms alone. What hangs, pytest-timeout ends.
# `make check` draws other examples each time, and a third of those of `make check-all`.
settings.register_profile("check", deadline=None, max_examples=35)
settings.register_profile("thorough", deadline=None, max_examples=100)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "check"))


def pytest_configure(config: pytest.Config) -> None:
    """No test reads or writes the real keyring of the user, and apps of tests share the CSS of their widgets. While
    tests are collected nothing becomes garbage: looking for it was a fifth of that time."""
    os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"
    parse_css_once()
    shorten_waits()
    config.pluginmanager.register(cost)
    if "not thorough" in config.getoption("markexpr"):
        leave_sources_unread()
    gc.disable()


def pytest_collection_finish() -> None:
    """What is loaded by now stays, so the collector need not walk over it; at its usual pace it was a quarter of the
    time of every test with a screen."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(1_000_000, 20, 20)
    gc.enable()


@pytest.fixture
def clean_env(tmp_path: Path) -> dict[str, str]:
    """An environment with its own home, without keys, for a program under test."""
    return clean_environment(tmp_path / "home")


@pytest.fixture
def terminal() -> Iterator[Callable[..., Terminal]]:
    """A factory of terminals (see `support.terminal.Terminal`) whose programs end with the test."""
    with ExitStack() as stack:
        yield lambda *args, **options: stack.enter_context(Terminal(*args, **options))


@pytest.fixture
def snap(snapshot: SnapshotAssertion, tmp_path: Path) -> Snap:
    """Compare the screen of an app or pilot with the picture kept for this test."""
    return snapper(snapshot, tmp_path)


@pytest.fixture
def openai_server() -> Iterator[OpenAIServer]:
    """A scripted OpenAI-compatible server on the loopback interface."""
    with OpenAIServer() as server:
        yield server


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """A model for the engine's process that is a file in the home of `clean_env`: no server, no LiteLLM."""
    return Script(tmp_path / "home")


@pytest.fixture
def nobody(tmp_path: Path) -> Nobody:
    """Runs a program as a user without special rights, with a folder of its own; gives what it printed."""
    folder = tmp_path / "own"
    folder.mkdir()
    if reason := why_not_nobody(folder):
        pytest.skip(reason)

    def run(program: str) -> str:
        command = as_nobody([sys.executable, "-c", program, str(folder)], writable=folder)
        finished = subprocess.run(command, capture_output=True, text=True, timeout=30, cwd=folder)
        assert finished.returncode == 0, finished.stderr
        return finished.stdout

    return run
