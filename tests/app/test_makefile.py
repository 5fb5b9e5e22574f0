"""`make run`: what it hands on to the program, and what it says where there is no sandbox."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """A finished environment whose program tells how it was started, and ends with the code that the test asks for."""
    program = tmp_path / "venv" / "bin" / "oi-tui"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\necho "$OI_TUI_SANDBOX|$@"\nexit "$CODE"\n')
    program.chmod(0o755)
    (program.parent / "python").touch()
    (tmp_path / "venv" / ".run").touch()
    return tmp_path / "venv"


def make(venv: Path, code: int, *variables: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`make run` where there is no terminal."""
    return subprocess.run(
        ["make", "run", f"VENV={venv}", *variables],
        env={"PATH": "/usr/bin:/bin", "CODE": str(code), **environment},
        cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=30, check=False,
    )  # fmt: skip


def test_what_the_sandbox_is_can_be_said_to_make(venv: Path) -> None:
    run = "run --yes --accept-download do it\n"
    assert make(venv, 0, "TASK=do it").stdout == f"|{run}"
    assert make(venv, 0, "TASK=do it", SANDBOX="danger-full-access").stdout == f"danger-full-access|{run}"
    assert make(venv, 0, "TASK=do it", "SANDBOX=read-only", OI_TUI_SANDBOX="x").stdout == f"read-only|{run}"
    assert make(venv, 0, "TASK=do it", OI_TUI_SANDBOX="read-only").stdout == f"read-only|{run}"


def test_S20_where_there_is_no_sandbox_make_says_what_to_do(venv: Path) -> None:
    refused = make(venv, 4)
    assert refused.returncode == 2
    assert "SANDBOX=danger-full-access make run" in refused.stderr
    assert "SANDBOX" not in make(venv, 3).stderr
