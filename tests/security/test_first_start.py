"""The installed program in a real terminal, in a folder that nothing was decided about (rows S1, S20, U9)."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.enclosure import RUNG
from support.question import wait_armed
from support.script import Script
from support.terminal import Terminal

OI_TUI = Path(sys.executable).with_name("oi-tui")

CODE = """```python
from pathlib import Path
Path("here").write_text("x")
Path("../outside").write_text("x")  # into memory
print("it " + "ran")
```
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "home" / "work"
    made.mkdir(parents=True)
    return made


@pytest.fixture
def start(
    terminal: Callable[..., Terminal], script: Script, clean_env: dict[str, str], folder: Path, rung: str
) -> Callable[..., Terminal]:
    """Starts the program as a newcomer does, with nothing said of a sandbox."""

    def started(**changed: str) -> Terminal:
        said = {RUNG: rung} if rung else {}
        env = {name: value for name, value in clean_env.items() if name != "OI_TUI_SANDBOX"} | said | changed
        return terminal([str(OI_TUI), *script.arguments], env=env, cwd=folder, columns=100, rows=30, timeout=30)

    return started


@pytest.mark.sandbox
@pytest.mark.kernel
@pytest.mark.pty
def test_S1_a_newcomer_trusts_a_folder_and_code_stays_in_it(
    start: Callable[..., Terminal], script: Script, folder: Path
) -> None:
    script.write(CODE, "All done.")
    shown = start()
    shown.wait_for("Trust ~/work?")
    shown.wait_for("the sandbox works")
    wait_armed(shown, "enter choose")
    shown.send("\r")
    shown.wait_for("approval: ask · sandbox, no network")
    shown.send("write\r")
    shown.wait_for("Run this?")
    wait_armed(shown)
    shown.send("y")
    shown.wait_for("it ran")
    shown.wait_for("All done.")
    assert (folder / "here").exists()
    assert not (folder.parent / "outside").exists()
    shown.send("\x11")
    assert shown.wait_exit() == 0
    assert shown.faults == []
    again = start()
    again.wait_for("approval: ask · sandbox, no network")
    assert "Trust " not in again.screen


@pytest.mark.pty
def test_S20_without_bubblewrap_enter_runs_nothing_and_doing_without_is_a_choice(
    start: Callable[..., Terminal], tmp_path: Path
) -> None:
    (tmp_path / "programs").mkdir()
    shown = start(PATH=str(tmp_path / "programs"), OI_TUI_SANDBOX_RUNG="bubblewrap")
    shown.wait_for("bubblewrap is not installed")
    shown.wait_for("▸ No code")
    wait_armed(shown, "enter choose")
    shown.send("w\r")
    shown.wait_for("approval: ask · no sandbox")


@pytest.mark.pty
def test_who_quits_at_the_question_leaves_a_usable_terminal_and_no_decision(
    start: Callable[..., Terminal], clean_env: dict[str, str]
) -> None:
    shown = start()
    shown.wait_for("Trust ~/work?")
    shown.send("\x1b")
    assert shown.wait_exit() == 0
    assert shown.faults == []
    assert not (Path(clean_env["XDG_DATA_HOME"]) / "oi-tui" / "folders.toml").exists()


@pytest.mark.pty
def test_who_quits_while_the_screen_is_still_being_put_together_leaves_a_usable_terminal(
    start: Callable[..., Terminal],
) -> None:
    shown = start(OI_TUI_SANDBOX="danger-full-access")
    shown.wait_for("Ask, or !shell")
    shown.send("\x11")
    assert shown.wait_exit() == 0
    assert shown.faults == []


def trusted(environment: dict[str, str], folder: Path) -> None:
    """As it was decided on an earlier day."""
    record = Path(environment["XDG_DATA_HOME"]) / "oi-tui" / "folders.toml"
    record.parent.mkdir(parents=True)
    record.write_text(f'[folder."{folder}"]\ntrusted = true\n')
    record.chmod(0o600)


@pytest.mark.pty
def test_S20_a_sandbox_that_works_no_more_is_told_at_the_start_and_not_at_the_first_run(
    start: Callable[..., Terminal], clean_env: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    trusted(clean_env, folder)
    (tmp_path / "programs").mkdir()
    shown = start(PATH=str(tmp_path / "programs"), OI_TUI_SANDBOX_RUNG="bubblewrap")
    shown.wait_for("There is no sandbox here: bubblewrap is not installed.")
    shown.wait_for("install the package “bubblewrap”")
    shown.wait_for("approval: ask · sandbox fails")
    assert "Run this?" not in shown.screen


@pytest.mark.pty
def test_S20_a_sandbox_that_may_not_enclose_any_more_is_told_at_the_start(
    start: Callable[..., Terminal], clean_env: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    trusted(clean_env, folder)
    (tmp_path / "programs").mkdir()
    bwrap = tmp_path / "programs" / "bwrap"
    bwrap.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    bwrap.chmod(0o755)
    shown = start(PATH=str(tmp_path / "programs"), OI_TUI_SANDBOX_RUNG="bubblewrap")
    shown.wait_for("setting up uid map: Permission denied")
    shown.wait_for("approval: ask · sandbox fails")


@pytest.mark.sandbox
@pytest.mark.kernel
@pytest.mark.pty
def test_where_the_sandbox_works_nothing_is_told_of_it(
    start: Callable[..., Terminal], clean_env: dict[str, str], folder: Path
) -> None:
    trusted(clean_env, folder)
    shown = start()
    shown.wait_for("approval: ask · sandbox, no network")
    shown.send("!echo it $((40 + 2)) works\r")
    shown.wait_for("it 42 works")
    assert "sandbox fails" not in shown.screen
    assert "There is no sandbox" not in shown.screen
