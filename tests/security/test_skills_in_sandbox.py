"""Scripts of skills, as code in each kind of sandbox sees them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.enclosure import RUNG
from support.script import Script


@pytest.mark.kernel
def test_H4_code_in_the_sandbox_runs_the_scripts_of_a_skill_and_cannot_change_them(
    tmp_path: Path, script: Script, clean_env: dict[str, str], rung: str
) -> None:
    work, data = tmp_path / "home" / "work", tmp_path / "home" / "data"
    path = data / "oi-tui-skills" / "tidy" / "run.py"
    work.mkdir(parents=True)
    path.parent.mkdir(parents=True)
    path.write_text("print('tidied')\n", encoding="utf-8")
    source = f"import runpy\nplace = {str(path)!r}\nrunpy.run_path(place)\ntry:\n    open(place, 'w')\n"
    source += "except OSError as error:\n    print('refused', type(error).__name__)\n"
    script.write(f"```python\n{source}```", "Done.")
    env = {name: value for name, value in clean_env.items() if name != "OI_TUI_SANDBOX"}
    env |= {"XDG_DATA_HOME": str(data)} | ({RUNG: rung} if rung else {})
    argv = [sys.executable, "-m", "oi_tui.app.cli", "run", *script.arguments, "--yes", "go"]
    finished = subprocess.run(argv, capture_output=True, text=True, timeout=120, cwd=work, env=env)
    said = finished.stdout + finished.stderr
    assert "tidied" in said, said
    assert "refused" in said, said
    assert os.path.getsize(path) > 0
