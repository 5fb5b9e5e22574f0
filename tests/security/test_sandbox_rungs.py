"""Row S27: the ladder. Which promise is kept on which rung, tried from within as whoever runs the tests and as another
user; and what is left, and said, where bubblewrap or namespaces or both are missing."""

import asyncio
import functools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from oi_tui.app.engine.core.settings import SandboxSection, describe_sandbox
from oi_tui.app.engine.kernels.jupyter import JupyterKernel
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.sandbox import rungs
from oi_tui.app.engine.sandbox.ladder import find_rung, try_rung
from oi_tui.app.engine.sandbox.profile import Profile
from oi_tui.app.engine.sandbox.rungs import LADDER
from support.enclosure import make_home, profile, why_no_rung
from support.promises import BREACHES, broken_promises, promise_table, unpromised
from support.runs import collect
from support.script import Script
from support.unprivileged import as_nobody, why_not_nobody

pytestmark = pytest.mark.kernel

NAMES = [rung.name for rung in LADDER if rung.name != "seatbelt"]
"""Those that are tried here; the one for macOS is a text (`test_sandbox_seatbelt.py`)."""
OI_TUI = Path(sys.executable).with_name("oi-tui")


@pytest.fixture
def each(request: pytest.FixtureRequest) -> str:
    """A rung that this machine has."""
    if reason := why_no_rung(request.param):
        pytest.skip(reason)
    return str(request.param)


def test_S27_the_table_has_a_line_for_each_promise_that_is_tried() -> None:
    assert all(list(kept) == list(BREACHES) for kept in promise_table().values())


def test_S27_what_the_full_rungs_promise_is_the_same_but_to_root() -> None:
    assert unpromised("bubblewrap") == {"S12 the mode of a device cannot be changed"}
    assert not unpromised("space")


async def test_S12_whoever_owns_the_machines_devices_cannot_change_their_modes(tmp_path: Path) -> None:
    if reason := why_no_rung("space"):
        pytest.skip(reason)
    (tmp_path / "work").mkdir()
    wanted = profile(tmp_path / "work", make_home(tmp_path / "home"))
    kernel = JupyterKernel(Launch(cwd=tmp_path / "work", sandbox=wanted))
    try:
        same = "os.chmod('/dev/null', os.stat('/dev/null').st_mode & 0o7777)"
        run = await collect(kernel, f"import os\nopen('/dev/null', 'w').write('x')\n{same}")
        assert run.finished.status == "error"
        assert "PermissionError" in str(run.events) or "Read-only file system" in str(run.events)
    finally:
        await kernel.close()


@pytest.mark.parametrize("each", NAMES, indirect=True)
async def test_S27_commands_in_python_cells_run_on_each_rung(each: str, tmp_path: Path) -> None:
    """IPython runs them in a terminal of their own, which the lock has none of."""
    (tmp_path / "work").mkdir()
    sandbox = profile(tmp_path / "work", make_home(tmp_path / "home"), rung=each)
    kernel = JupyterKernel(Launch(cwd=tmp_path / "work", sandbox=sandbox))
    try:
        run = await collect(kernel, "!echo $((40 + 2)); exit 3\nprint('then', _exit_code)\nlines = !echo a line\nlines")
        assert run.finished.status == "ok", run.events
        assert "42" in run.text()
        assert "then 3" in run.text()
        assert "a line" in str(run.events)
    finally:
        await kernel.close()


@pytest.mark.parametrize("each", NAMES, indirect=True)
async def test_S27_each_rung_keeps_what_the_table_says(each: str, tmp_path: Path) -> None:
    assert await broken_promises(each, tmp_path) == unpromised(each)


@pytest.mark.parametrize("each", NAMES, indirect=True)
async def test_S27_each_rung_keeps_what_the_table_says_to_another_user(each: str, tmp_path: Path) -> None:
    assert await run(each, tmp_path / "own") == unpromised(each)


@pytest.mark.parametrize("how", ["limit", "filter"])
@pytest.mark.parametrize("user", ["whoever runs the tests", "another"])
async def test_S27_where_namespaces_are_forbidden_the_lock_keeps_what_it_says(
    how: str, user: str, tmp_path: Path
) -> None:
    if reason := why_no_rung("lock"):
        pytest.skip(reason)
    assert await run("lock", tmp_path / "own", forbid=how, other=user == "another") == unpromised("lock")


async def run(rung: str, folder: Path, *, forbid: str = "", other: bool = True) -> set[str]:
    """What is broken in this rung, tried by another program, as another user if the tests are run by root."""
    folder.mkdir()
    if other and (reason := await asyncio.to_thread(why_not_nobody, folder)):
        pytest.skip(reason)
    tests = Path(__file__).parents[1]
    command = [sys.executable, str(tests / "support" / "promises.py"), rung, str(folder)]
    if forbid:
        command = [sys.executable, str(tests / "support" / "forbidden.py"), forbid, *command]
    given = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    env = given | {"PYTHONPATH": str(tests), "HOME": str(folder), "TMPDIR": "/tmp"}
    command = as_nobody(command, writable=folder) if other else command
    call = functools.partial(subprocess.run, command, capture_output=True, text=True, timeout=90, env=env, cwd=folder)
    done = await asyncio.to_thread(call)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout))


# -- what is left, and said


def run_program(
    *before: str, environment: dict[str, str], script: Script, folder: Path, flags: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """One task of the installed program, behind another program."""
    return subprocess.run(
        [*before, str(OI_TUI), "run", *script.arguments, *flags, "do it"],
        env={name: value for name, value in environment.items() if name != "OI_TUI_SANDBOX"},
        cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, start_new_session=True,
    )  # fmt: skip


def forbidding(how: str) -> tuple[str, ...]:
    return (sys.executable, str(Path(__file__).parents[1] / "support" / "forbidden.py"), how)


def test_S27_without_bubblewrap_the_program_runs_code_in_its_own_sandbox(
    clean_env: dict[str, str], script: Script, tmp_path: Path
) -> None:
    if reason := why_no_rung("space"):
        pytest.skip(reason)
    folder, programs = tmp_path / "home" / "work", tmp_path / "programs"
    for made in (folder, programs):
        made.mkdir(parents=True)
    (programs / "bash").symlink_to(shutil.which("bash") or "bash")
    script.write("```python\nopen('made', 'w')\nopen('../outside', 'w')  # into memory\n```\n", "Done.")
    alone = clean_env | {"PATH": str(programs)}
    done = run_program(environment=alone, script=script, folder=folder, flags=("--yes",))
    assert done.returncode == 0, done.stderr
    assert [path.name for path in folder.iterdir()] == ["made"]
    assert not (folder.parent / "outside").exists()
    assert "It runs in a sandbox" in script.requests[0]["messages"][0]["content"]


async def test_S20_a_rung_that_was_removed_is_not_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = tmp_path / "programs"
    for folder in (tmp_path / "work", programs):
        folder.mkdir()
    bwrap = programs / "bwrap"
    bwrap.symlink_to(shutil.which("bwrap") or "bwrap")
    monkeypatch.setenv("PATH", str(programs))
    wanted = profile(tmp_path / "work", make_home(tmp_path / "home"))
    if not why_no_rung("bubblewrap"):
        assert (await find_rung(wanted)).rung == LADDER[os.geteuid() == 0]
    bwrap.unlink()
    if not why_no_rung("space"):
        assert (await find_rung(wanted)).rung == LADDER[1]


@pytest.mark.parametrize("how", ["limit", "filter"])
def test_S27_where_there_are_no_namespaces_nothing_runs_until_the_lock_is_chosen(
    clean_env: dict[str, str], script: Script, tmp_path: Path, how: str
) -> None:
    folder = tmp_path / "home" / "work"
    folder.mkdir(parents=True)
    script.write("```python\nopen('made', 'w').write('x'); print('it ran')\n```\n", "Done.")
    refused = run_program(*forbidding(how), environment=clean_env, script=script, folder=folder, flags=("--yes",))
    assert refused.returncode == 4, refused.stderr
    assert "OI_TUI_SANDBOX_RUNG=lock" in refused.stderr
    assert script.requests == []
    assert list(folder.iterdir()) == []
    chosen = clean_env | {"OI_TUI_SANDBOX_RUNG": "lock"}
    done = run_program(*forbidding(how), environment=chosen, script=script, folder=folder, flags=("--yes",))
    assert done.returncode == 0, done.stderr
    assert [path.name for path in folder.iterdir()] == ["made"]
    assert "protects files elsewhere and the network, not .git and .env of this folder" in done.stderr
    assert "sandbox" not in done.stderr.replace("OI_TUI_SANDBOX", "")


def test_S27_the_lock_is_never_called_a_sandbox_and_never_enough_for_auto(tmp_path: Path) -> None:
    chosen = profile(tmp_path, tmp_path / "home", rung="lock")
    confinement = Launch(cwd=tmp_path, sandbox=chosen).confine("python")
    assert not confinement.sandboxed
    assert confinement.offline
    assert confinement.reach is not None
    assert confinement.reach.kept == ()
    words = (chosen.describe(), chosen.tell_model(), describe_sandbox(SandboxSection(rung="lock")))
    assert not any("sandbox" in said for said in words)
    assert ".git" in words[0]


# -- older systems: their interface is forced, it is not such a kernel that runs


@pytest.mark.parametrize("version", range(8))
async def test_S27_older_versions_of_landlock_are_understood_or_refused_not_run_on_such_a_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    if reason := why_no_rung("lock"):
        pytest.skip(reason)
    monkeypatch.setattr(rungs, "NEWEST", version)
    (tmp_path / "work").mkdir()
    home = make_home(tmp_path / "home")

    async def why(name: str) -> str:
        wanted: Profile = profile(tmp_path / "work", home, rung=name)
        return await try_rung(next(rung for rung in LADDER if rung.name == name), wanted)

    for name in ("bubblewrap", "space"):
        if not why_no_rung(name):
            assert await why(name) == "", name
    refused = await why("lock")
    if version >= 6:
        assert refused == ""
    elif version >= 2:
        assert "processes outside can be signalled" in refused
    else:
        assert "no Landlock, or one that is too old" in refused
