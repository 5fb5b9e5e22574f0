"""The newcomer's first minutes: a fresh clone, the README's first command, the built-in model, a plot.

Needs the package index, 1.1 GB of download and some minutes, so it runs only when asked for. With
OI_TUI_EVIDENCE=DIR it leaves an asciicast recording and the last screen there.
"""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from support.question import wait_armed
from support.terminal import Terminal

ROOT = Path(__file__).parents[2]
TASK = "read data.csv and plot the monthly mean"
MAX_QUESTIONS = 6
FIGURE = re.compile(r"figure · \d+×\d+")
"""What stands under a picture."""

pytestmark = [
    pytest.mark.local_model,
    pytest.mark.pty,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(
        os.environ.get("OI_TUI_TEST_MODEL") != "1",
        reason="NOT TESTED: the first start with the built-in model; OI_TUI_TEST_MODEL=1 downloads 1.1 GB",
    ),
]


class Recorded(Terminal):
    """A terminal that remembers when what was written."""

    written: list[tuple[float, bytes]]

    def _take(self, data: bytes) -> None:
        super()._take(data)
        self.__dict__.setdefault("written", []).append((self._pending[-1][0] - self.started, data))

    def asciicast(self) -> str:
        """The recording in asciinema's format, version 2."""
        lines = [json.dumps({"version": 2, "width": self.columns, "height": self.rows, "title": TASK})]
        lines += [json.dumps([round(at, 3), "o", data.decode(errors="replace")]) for at, data in self.written]
        return "\n".join(lines) + "\n"


def clone(folder: Path) -> None:
    """A fresh clone with the data of the task in it."""
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True, timeout=60)
    rows = [f"2026-{month:02}-{day:02},{60 + 7 * month + day % 5}" for month in range(1, 5) for day in range(1, 28, 3)]
    (folder / "data.csv").write_text("date,score\n" + "\n".join(rows) + "\n")


def test_a_fresh_clone_plots_a_file_by_the_readmes_first_command(tmp_path: Path, clean_env: dict[str, str]) -> None:
    folder = tmp_path / "oi-tui"
    clone(folder)
    with Recorded(["make", "run"], env=clean_env, cwd=folder, columns=100, rows=40, timeout=400) as screen:
        screen.wait_for("Which model?")
        screen.wait_for("Built-in: Qwen2.5-Coder 1.5B")
        screen.send("\r")
        screen.wait_for("Download this model?")
        screen.send("y")
        screen.wait_for("Ask, or !shell")
        screen.send(TASK + "\r")
        screen.wait_for("esc stops")
        approved = 0
        while approved < MAX_QUESTIONS:
            screen.wait_for(re.compile(r"Run this\?|ctrl.p commands"))  # "enter steers" while the turn goes on
            if "Run this?" not in screen.screen:
                break
            screen.wait_for("y run")
            screen.send("\x1b[F")  # to the end of the source, which has to be seen before it can be approved
            screen.wait_gone("more line")
            wait_armed(screen)
            screen.send("y")
            screen.wait_gone("Run this?")
            approved += 1
        assert approved, "the model proposed no code"
        screen.wait_for("ctrl+p commands")
        evidence = os.environ.get("OI_TUI_EVIDENCE")
        if evidence:
            Path(evidence, "monthly-mean.cast").write_text(screen.asciicast())
            Path(evidence, "monthly-mean.txt").write_text(screen.screen)
        assert FIGURE.search(screen.raw.decode(errors="replace")), "no picture was shown"
        screen.send("\x11")
        assert screen.wait_exit() == 0


def test_a_task_without_a_terminal_is_done_by_the_readmes_first_command(
    tmp_path: Path, clean_env: dict[str, str]
) -> None:
    folder = tmp_path / "oi-tui"
    clone(folder)
    done = subprocess.run(
        ["make", "run", "TASK=Compute 6 * 7 with Python and print it."],
        env=clean_env,
        cwd=folder,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=900,
        check=False,
        start_new_session=True,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert "42" in done.stdout.decode() + done.stderr.decode()
