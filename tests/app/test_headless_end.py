"""A task without a screen ends when it is told to, though a tool goes on."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from oi_tui.app.engine.core.blocks import CallBlock
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.models.scripted import ScriptedAnswer, ScriptedCall
from oi_tui.app.engine.transcript.event_log import fold_events
from support.plugin_packages import enable, install
from support.script import Script

PLUGIN = """
import asyncio, contextlib, threading
from oi_tui.plugins.api import Capabilities, Tool, hookimpl

async def insist(arguments, output):
    output.print("begun\\\\n")
    while True:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()

async def hand_over(arguments, output):
    output.print("begun\\\\n")
    await asyncio.to_thread(threading.Event().wait, 600)

async def leave(arguments, output):
    raise SystemExit(3)

@hookimpl
def register_tools():
    made = {"insist": insist, "hand_over": hand_over, "leave": leave}
    harmless = Capabilities(writes=False, network=False)
    return [Tool(name=name, description="x", schema={"type": "object"}, run=run, capabilities=harmless)
            for name, run in made.items()]
"""

SOON = 60.0
"""Seconds, on a machine that has other things to do; a call that is waited for takes longer."""


@pytest.fixture
def plugins(tmp_path: Path, clean_env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a plugin, as pip installs one, which the person enabled."""
    for name in (name for name in clean_env if name.startswith("XDG_")):
        monkeypatch.setenv(name, clean_env[name])
    folder = tmp_path / "plugins"
    monkeypatch.syspath_prepend(folder)
    install(folder, "insisting", {"insisting": PLUGIN.replace("\\\\n", "\\n")}, {"engine": "insisting"})
    enable("insisting")
    return folder


@contextmanager
def task(env: dict[str, str], script: Script, plugins: Path, tool: str) -> Iterator[subprocess.Popen[str]]:
    """A task in which this tool is called."""
    script.write(ScriptedAnswer(calls=(ScriptedCall(tool=tool),)), "Done.")
    command = [sys.executable, "-m", "oi_tui.app.cli", "run", "--yes", *script.arguments]
    command += ["--sandbox", "danger-full-access", "go"]
    env = env | {"PYTHONPATH": str(plugins)}
    running = subprocess.Popen(command, env=env, cwd=plugins, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield running
    finally:
        running.kill()
        running.communicate()


def told(running: subprocess.Popen[str], words: str) -> None:
    """Returns when this was said."""
    assert running.stderr is not None
    assert any(words in line for line in running.stderr)


@pytest.mark.parametrize("tool", ["insist", "hand_over"])
@pytest.mark.parametrize("ends", [signal.SIGTERM, signal.SIGINT])
def test_a_task_ends_when_it_is_told_to_though_a_tool_goes_on(
    ends: signal.Signals, tool: str, clean_env: dict[str, str], script: Script, plugins: Path
) -> None:
    with task(clean_env, script, plugins, tool) as running:
        told(running, "begun")
        running.send_signal(ends)
        if ends == signal.SIGINT:
            told(running, "Ctrl+C again ends at once")
            running.send_signal(ends)
        assert running.wait(SOON) == 128 + ends
    with closing(Store(Path(clean_env["XDG_DATA_HOME"]) / "oi-tui" / "sessions.db")) as store:
        (record,) = store.sessions()
        kept = fold_events(store.load(record.id))
    assert not kept.turn_open
    assert [block.tool for block in kept.blocks if isinstance(block, CallBlock)] == [tool]


def test_a_task_whose_tool_ends_the_program_goes_on(clean_env: dict[str, str], script: Script, plugins: Path) -> None:
    with task(clean_env, script, plugins, "leave") as running:
        out, err = running.communicate(timeout=SOON)
    assert (running.returncode, out.strip()) == (0, "Done.")
    assert "SystemExit: 3" in err


@pytest.mark.parametrize(
    ("code", "exit_code", "said"),
    [
        ((), 1, "Nothing was verified: 1 call of a tool ran in this recording, and calls are not run again."),
        (("```python\n1 + 1\n```",), 0, "1 call of a tool ran too; calls are not run again."),
    ],
)
def test_calls_of_a_recording_are_not_run_again_and_that_is_said(
    code: tuple[str, ...],
    exit_code: int,
    said: str,
    clean_env: dict[str, str],
    script: Script,
    plugins: Path,
    tmp_path: Path,
) -> None:
    script.write(ScriptedAnswer(calls=(ScriptedCall(tool="leave"),)), *code, "Done.")
    env, start = clean_env | {"PYTHONPATH": str(plugins)}, [sys.executable, "-m", "oi_tui.app.cli"]
    freely = ["--yes", "--sandbox", "danger-full-access"]
    made = [*start, "run", *freely, *script.arguments, "--record", str(tmp_path / "r.jsonl"), "go"]
    subprocess.run(made, env=env, cwd=plugins, check=True, capture_output=True, timeout=60)
    verify = [*start, "replay", "--verify", *freely, str(tmp_path / "r.jsonl")]
    verified = subprocess.run(verify, env=env, cwd=plugins, capture_output=True, text=True, timeout=60, check=False)
    assert (verified.returncode, verified.stderr) == (exit_code, "")
    assert said in verified.stdout.splitlines()
