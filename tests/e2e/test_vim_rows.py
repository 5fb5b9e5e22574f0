"""Keys as in Vim while a question about code comes: none of them approves but the one that the question names."""

from collections.abc import Callable
from pathlib import Path

import pytest

from oi_tui.app.engine.models.scripted import ScriptedAnswer
from support.question import wait_armed
from support.script import Script
from support.terminal import ScreenTimeout, Terminal

pytestmark = [pytest.mark.pty, pytest.mark.kernel]

PROPOSAL = "I'll write a file.\n\n```python\nopen('ran', 'w').write('yes')\n```\n"
QUESTION = "Run this?"
BEFORE = ("y", "yy", "Vy", "ggyG", "ya", '"+y', "dd", ":y\r", "i", "y\r", " y")
"""What one types in Vim, much of it with the key that approves, as fast as a terminal sends it."""


def test_C16_V2_keys_of_vim_never_approve_by_accident(
    start: Callable[..., Terminal], script: Script, folder: Path, clean_env: dict[str, str]
) -> None:
    config = Path(clean_env["XDG_CONFIG_HOME"]) / "oi-tui"
    config.mkdir(parents=True, exist_ok=True)
    (config / "config.toml").write_text('[screen]\nkeys = "vim"\n')
    shown = start(ScriptedAnswer(text=PROPOSAL, pause_after=4), "Good.")
    shown.send("write\r")
    shown.wait_for("I'll")
    shown.send("\x1b")
    for keys in BEFORE:
        shown.send(keys)
    script.release()
    for keys in BEFORE:
        shown.send(keys)
    shown.wait_for(QUESTION)
    shown.send("yy")
    with pytest.raises(ScreenTimeout):
        shown.wait_gone(QUESTION, timeout=0.5)
    assert not (folder / "ran").exists()
    wait_armed(shown)
    for keys in ("gg", "G", "\r", " ", "\t\r", "zz", "\x1b[A", "\x1b[B"):
        shown.send(keys)
    with pytest.raises(ScreenTimeout):
        shown.wait_gone("y run", timeout=0.5)
    assert not (folder / "ran").exists()
