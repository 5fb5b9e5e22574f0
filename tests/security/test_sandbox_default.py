"""The installed program as a newcomer starts it: in a sandbox, or refused; and row U9 with a real folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.enclosure import RUNG
from support.script import Script

OI_TUI = Path(sys.executable).with_name("oi-tui")

CODE = """```python
from pathlib import Path
Path("here").write_text("x")
for name in ("../outside", str(Path.home() / "at-home")):
    try:
        Path(name).write_text("x")
    except OSError as error:
        print(type(error).__name__)
print(sorted(path.name for path in Path.home().iterdir()))
```
"""


@pytest.fixture
def environment(clean_env: dict[str, str], rung: str) -> dict[str, str]:
    """A newcomer's: nothing is said of a sandbox."""
    said = {RUNG: rung} if rung else {}
    return {name: value for name, value in clean_env.items() if name != "OI_TUI_SANDBOX"} | said


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "home" / "work"
    made.mkdir(parents=True)
    return made


def run(
    environment: dict[str, str], script: Script, folder: Path, *args: str, data: str = ""
) -> subprocess.CompletedProcess[str]:
    """One task, with nobody to ask."""
    return subprocess.run(
        [str(OI_TUI), "run", *script.arguments, *args, "do it"],
        env=environment,
        cwd=folder,
        input=data,
        capture_output=True,
        text=True,
        timeout=60,
        start_new_session=True,
    )


@pytest.mark.sandbox
@pytest.mark.kernel
def test_S1_code_of_a_newcomer_runs_in_a_sandbox(environment: dict[str, str], script: Script, folder: Path) -> None:
    (folder.parent / "secret").write_text("x")
    script.write(CODE, "Done.")
    done = run(environment, script, folder, "--yes")
    assert done.returncode == 0, done.stderr
    assert (folder / "here").exists()
    assert not (folder.parent / "outside").exists()
    assert not (folder.parent / "at-home").exists()
    told = str(script.requests[-1]["messages"])
    assert "secret" not in told
    system = script.requests[0]["messages"][0]["content"]  # else the model writes where nothing is kept
    assert "Only files in that folder are kept" in system
    assert "no network" in system


@pytest.mark.sandbox
@pytest.mark.kernel
def test_what_was_piped_in_can_be_read_in_the_sandbox(
    environment: dict[str, str], script: Script, folder: Path
) -> None:
    code = "```python\nimport glob, os\n{0}```\n"
    inputs = Path(environment["XDG_DATA_HOME"]) / "oi-tui-inputs"
    read = f"for path in glob.glob({str(inputs / '*')!r}): print(open(path).read()[::-1])\n"
    script.write(code.format(read), "Done.")
    done = run(environment, script, folder, "--yes", data="abcdefg")
    assert done.returncode == 0, done.stderr
    assert "gfedcba" in str(script.requests[-1]["messages"])


def test_S20_where_there_is_no_sandbox_no_model_is_asked_and_the_way_out_is_named(
    environment: dict[str, str], script: Script, folder: Path, tmp_path: Path
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    script.write(CODE)
    done = run(environment | {"PATH": str(programs), RUNG: "bubblewrap"}, script, folder, "--yes")
    assert done.returncode == 4
    assert "bubblewrap is not installed" in done.stderr
    assert "--sandbox danger-full-access" in done.stderr
    assert script.requests == []
    assert list(folder.iterdir()) == []


@pytest.mark.kernel
def test_S20_without_a_sandbox_only_when_it_is_said(environment: dict[str, str], script: Script, folder: Path) -> None:
    script.write(CODE, "Done.")
    done = run(environment, script, folder, "--yes", "--sandbox", "danger-full-access")
    assert done.returncode == 0, done.stderr
    assert (folder.parent / "outside").exists()
    assert "in a sandbox" not in script.requests[0]["messages"][0]["content"]


@pytest.mark.sandbox
@pytest.mark.kernel
def test_U9_where_code_only_looks_yes_does_not_count_and_says_so(
    environment: dict[str, str], script: Script, folder: Path
) -> None:
    record = Path(environment["XDG_DATA_HOME"]) / "oi-tui" / "folders.toml"
    record.parent.mkdir(parents=True)
    record.write_text(f'[folder."{folder}"]\ntrusted = false\n')
    record.chmod(0o600)
    script.write(CODE, "Done.")
    done = run(environment, script, folder, "--yes")
    assert done.returncode == 7, done.stderr
    assert f"{folder} is read-only" in done.stderr
    assert not (folder / "here").exists()
    assert not os.path.lexists(folder / ".git")


@pytest.mark.kernel
def test_U9_rules_of_a_folder_that_nobody_trusts_forbid_and_do_not_allow(
    environment: dict[str, str], script: Script, folder: Path
) -> None:
    (folder / ".oi").mkdir()
    rules = folder / ".oi" / "permissions.toml"
    rules.write_text('deny = ["Shell(touch *)"]\nallow = ["Shell(mkdir made)"]\n')
    script.write("```bash\ntouch file\n```\n", "```bash\nmkdir made\n```\n", "Done.")
    done = run(environment | {"OI_TUI_SANDBOX": "danger-full-access"}, script, folder)
    assert done.returncode == 7, done.stderr
    assert "is not trusted" in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == [".oi"]


@pytest.mark.kernel
def test_U9_rules_that_came_after_a_folder_was_trusted_forbid_and_do_not_allow(
    environment: dict[str, str], script: Script, folder: Path
) -> None:
    (folder / ".oi").mkdir()
    rules = folder / ".oi" / "permissions.toml"
    unenclosed = environment | {"OI_TUI_SANDBOX": "danger-full-access"}

    def trusted() -> None:
        subprocess.run([str(OI_TUI), "trust"], env=environment, cwd=folder, check=True, capture_output=True, timeout=30)

    def task() -> subprocess.CompletedProcess[str]:
        script.write("```bash\ntouch file\n```\n", "```bash\nmkdir made\n```\n", "Done.")
        return run(unenclosed, script, folder)

    rules.write_text('deny = ["Shell(touch *)"]\n')
    rules.chmod(0o644)
    trusted()
    rules.write_text('deny = ["Shell(touch *)"]\nallow = ["Shell(mkdir made)"]\n')
    done = task()
    assert done.returncode == 7, done.stderr
    assert "The rules of this folder changed since you trusted it." in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == [".oi"]
    trusted()
    done = task()
    assert done.returncode == 0, done.stderr
    assert "changed since" not in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == [".oi", "made"]
