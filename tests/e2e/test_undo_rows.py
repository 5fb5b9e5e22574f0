"""What code changed in files, undone in a real terminal; also after the program was killed in the middle of a run."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from oi_tui.themes.loader import load_palette
from support.script import Script
from support.terminal import Terminal

pytestmark = [pytest.mark.pty, pytest.mark.kernel]

CLEAN = """I clean up.

```python
import os
open('notes.md', 'w').write('gone')
os.remove('data.csv')
os.remove('big.bin')
```
"""

OVERWRITE = """I write.

```python
import time
open('notes.md', 'w').write('gone')
time.sleep(100)
```
"""


def test_f16_f17_a_run_is_undone_by_a_key_and_what_cannot_be_is_named_before(
    start: Callable[..., Terminal], folder: Path
) -> None:
    (folder / "notes.md").write_text("mine")
    (folder / "data.csv").write_bytes(b"a,b\r\n\xff")
    with (folder / "big.bin").open("wb") as file:
        file.truncate(30_000_000)
    shown = start(CLEAN, "Done.", rows=30)
    shown.send("clean up\r")
    shown.wait_for("big.bin (30 MB)")
    accent = load_palette().inks.accent.removeprefix("#")
    shown.wait_until(lambda: "y run" in shown.screen and shown.colour("y run") == accent, "the question to be armed")
    shown.send("y")
    shown.wait_for("Done.")
    shown.wait_for("wrote notes.md · deleted 2 files · u undo · 1 cannot be undone")
    assert not (folder / "data.csv").exists()
    shown.send("\tu")
    shown.wait_for("big.bin was not kept as it was")
    shown.wait_for("+mine")
    shown.send("y")
    shown.wait_for("Undone: 2 files of 3 (")
    assert (folder / "notes.md").read_text() == "mine"
    assert (folder / "data.csv").read_bytes() == b"a,b\r\n\xff"


def test_f19_after_a_kill_in_the_middle_of_a_run_its_changes_are_undone(
    start: Callable[..., Terminal], script: Script, command: list[str], clean_env: dict[str, str], folder: Path
) -> None:
    (folder / "notes.md").write_text("mine")
    script.write(OVERWRITE)
    run = [command[0], "run", *command[1:], "--yes", "write"]
    with subprocess.Popen(run, env=clean_env, cwd=folder, stdout=subprocess.DEVNULL, start_new_session=True) as process:
        end = time.monotonic() + 60
        while (folder / "notes.md").read_text() != "gone":
            assert time.monotonic() < end, "the code did not run"
            os.sched_yield()
        process.send_signal(signal.SIGKILL)
    shown = start("Hello.", arguments=("--continue",))
    shown.wait_for("since that began, 1 file changed")
    shown.send("/undo block yes\r")
    shown.wait_for("Undone: 1 file (notes.md)")
    assert (folder / "notes.md").read_text() == "mine"
