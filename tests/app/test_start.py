"""What the start leaves behind: garbage is collected in whatever lives for longer than the first frame."""

import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.script import Script
from support.terminal import Terminal

OI_TUI = str(Path(sys.executable).with_name("oi-tui"))

TELLING = """
import gc, os, signal
signal.signal(signal.SIGUSR1, lambda *_: os.write(1, f"collects: {gc.isenabled()}".encode()))
"""
"""A `sitecustomize`: at a signal, the process writes whether it collects garbage."""

LINES = re.compile(r"^>$", re.MULTILINE)


@pytest.mark.parametrize(
    ("words", "env", "ready"),
    [
        (["hello"], {}, "Hello."),
        ([], {"ACCESSIBLE": "1"}, LINES),
        ([], {"TERM": "dumb"}, LINES),
        (["--linear"], {}, LINES),
        (["--profile", "lines"], {}, LINES),
    ],
)
def test_garbage_is_collected_in_every_session(
    terminal: Callable[..., Terminal],
    clean_env: dict[str, str],
    script: Script,
    tmp_path: Path,
    words: list[str],
    env: dict[str, str],
    ready: str | re.Pattern[str],
) -> None:
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "sitecustomize.py").write_text(TELLING)
    profile = Path(clean_env["XDG_CONFIG_HOME"], "oi-tui", "profiles", "lines.toml")
    profile.parent.mkdir(parents=True)
    profile.write_text("[screen]\nlinear = true\n")
    script.write("Hello.")
    env = clean_env | {"PYTHONPATH": str(hooks)} | env
    shown = terminal([OI_TUI, *script.arguments, *words], env=env, cwd=tmp_path)
    shown.wait_for(ready)
    shown.signal(signal.SIGUSR1)
    shown.wait_raw(b"collects: True", timeout=5)
