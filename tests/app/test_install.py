"""`.ci/install.py`: uv is told how pip is set up, and pip does what uv cannot. pip and uv are stand-ins."""

import os
import shlex
import subprocess
import venv
from pathlib import Path

import pytest

INSTALL = Path(__file__).parents[2] / ".ci" / "install.py"

WHAT = ".[local,data]"

UV = """#!/bin/sh
echo uv "$@" >>"$CALLED"
echo SSL_CERT_FILE="$SSL_CERT_FILE" HTTPS_PROXY="$HTTPS_PROXY" >>"$CALLED"
mkdir -p "$CACHE"
exit "$UV_CODE"
"""

PIP = """
import os, sys
from pathlib import Path
arguments = sys.argv[1:]
if arguments == ["config", "list"]:
    print(os.environ["SET_UP"])
    raise SystemExit
with open(os.environ["CALLED"], "a") as called:
    print("pip", *arguments, file=called)
if arguments[-1] != "uv":
    raise SystemExit(int(os.environ["PIP_CODE"]))
if not os.environ["UV"]:
    raise SystemExit("No matching distribution")
uv = Path(sys.prefix, "bin", "uv")
uv.write_text(os.environ["UV"])
uv.chmod(0o755)
"""


class Machine:
    """An environment with a pip that is set up so, and what was called."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cache = folder / "venv" / "uv-cache"
        self._called = folder / "called"
        venv.create(folder / "venv", with_pip=False, symlinks=True)
        (pip,) = (folder / "venv" / "lib").glob("python*/site-packages")
        (pip / "pip").mkdir()
        (pip / "pip" / "__main__.py").write_text(PIP)

    def install(self, set_up: str = "", *, uv: str = UV, uv_code: int = 0, pip_code: int = 0) -> int:
        """The exit code; `set_up` is what `pip config list` prints."""
        self._called.write_text("")
        environ = {"PATH": os.environ["PATH"], "SET_UP": set_up, "CALLED": str(self._called), "CACHE": str(self.cache)}
        codes = {"UV": uv, "UV_CODE": str(uv_code), "PIP_CODE": str(pip_code)}
        command: list[str | Path] = [self.folder / "venv" / "bin" / "python", INSTALL, "-e", WHAT]
        return subprocess.run(command, env=environ | codes, cwd=self.folder, timeout=30, check=False).returncode

    @property
    def calls(self) -> list[list[str]]:
        return [shlex.split(line) for line in self._called.read_text().splitlines()]

    def by(self, program: str) -> list[str]:
        """The arguments of the one installation of this program by that one; empty if there was none."""
        return next((call[1:] for call in self.calls if call[0] == program and call[-1] == WHAT), [])


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_uv_installs_into_the_environment_and_shares_no_file_with_any_other(machine: Machine) -> None:
    assert machine.install() == 0
    told = machine.by("uv")
    assert told[told.index("--python") + 1].startswith(str(machine.folder / "venv"))
    assert told[told.index("--cache-dir") + 1] == str(machine.cache)
    assert not machine.cache.exists()
    assert machine.by("pip") == []


def test_uv_is_told_where_pip_looks(machine: Machine) -> None:
    set_up = (
        "global.index-url='file:///one'\n"
        "install.index-url='file:///two'\n"
        "global.extra-index-url='\\nfile:///three\\nfile:///four'\n"
        "global.cert='/a/cert.pem'\n"
        "global.timeout='60'\n"
        "freeze.user='true'\n"
        ":env:.find-links='/wheels'\n"
        "global.constraint='/pinned'\n"
        ":env:.proxy='http://127.0.0.1:9'\n"
        ":env:.trusted-host='mirror:8080'"
    )
    assert machine.install(set_up) == 0
    told = " ".join(machine.by("uv"))
    assert "file:///one" not in told
    for option in (
        "--index-url file:///two",
        "--extra-index-url file:///three --extra-index-url file:///four",
        "--index-strategy unsafe-best-match",
        "--find-links /wheels",
        "--constraint /pinned",
        "--allow-insecure-host mirror:8080",
    ):
        assert option in told
    assert ["SSL_CERT_FILE=/a/cert.pem", "HTTPS_PROXY=http://127.0.0.1:9"] in machine.calls


@pytest.mark.parametrize("set_up", ["global.require-hashes='1'", ":env:.no-index='1'", "install.no-binary='a'"])
def test_pip_does_it_where_it_is_set_up_with_what_uv_cannot_be_told(machine: Machine, set_up: str) -> None:
    assert machine.install(set_up) == 0
    assert machine.by("pip")
    assert len(machine.calls) == 1


def test_pip_does_it_where_there_is_no_uv_and_where_uv_fails(machine: Machine) -> None:
    assert machine.install(uv="") == 0
    assert machine.by("pip")
    assert machine.install(uv_code=2) == 0
    assert machine.by("pip")
    assert not machine.cache.exists()
    assert machine.install(uv="no program") == 0
    assert machine.by("pip")


def test_what_neither_could_do_is_a_failure_that_says_what_is_needed(
    machine: Machine, capfd: pytest.CaptureFixture[str]
) -> None:
    assert machine.install(uv_code=2, pip_code=1) == 1
    assert "a network is needed, or a proxy or an index of your own" in capfd.readouterr().err
