"""Rows S6 and S26: code cannot make what others obey in the folder, and nothing of ours stands in it for that: the
person's own programs work there as if we were not."""

import asyncio
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.core.events import OutputAdded
from oi_tui.app.engine.kernels.base import Kernel
from oi_tui.app.engine.sandbox import guarding, seccomp
from oi_tui.app.engine.sandbox.profile import Profile
from support import bpf
from support.enclosure import attempt, make_home, profile
from support.runs import collect, interrupted
from support.unprivileged import ROOT

kernels = [pytest.mark.kernel, pytest.mark.asyncio(loop_scope="module"), pytest.mark.sandbox]

Enclosed = Callable[..., Kernel]

GUARDED = (".envrc", ".git", ".mcp.json", ".oi", ".vscode")
PROGRAMS = ROOT / "tests" / "support"
MACHINES = sorted(seccomp.MACHINES)
ASKED = 0x7FC00000


@pytest.fixture
def empty(tmp_path: Path) -> Profile:
    """A sandbox around a folder in which there is nothing yet."""
    if reason := guarding.guard_obstacle():
        pytest.skip(f"There can be no guard of names here, NOT TESTED: {reason}")
    (tmp_path / "work").mkdir()
    return profile(tmp_path / "work", make_home(tmp_path / "home"))


def sandboxed(test: Callable[..., object]) -> Callable[..., object]:
    """In each kind of sandbox that has a guard."""
    for mark in kernels:
        test = mark(test)
    return test


# -- code ------------------------------------------------------------------------------------------------


@sandboxed
async def test_S6_no_way_is_known_to_make_a_guarded_name(enclosed: Enclosed, empty: Profile) -> None:
    run = await collect(enclosed(empty), (PROGRAMS / "name_attacks.py").read_text(encoding="utf-8"))
    assert run.finished.status == "ok", run.events
    assert json.loads(run.text()) == []
    if shutil.which("git") is None:
        pytest.skip("All went well; what git does in a sandbox is NOT TESTED: there is no git.")


@sandboxed
async def test_S26_what_programs_do_with_files_works_as_without_a_guard(enclosed: Enclosed, empty: Profile) -> None:
    run = await collect(enclosed(empty), (PROGRAMS / "ordinary_work.py").read_text(encoding="utf-8"))
    assert run.finished.status == "ok", run.events
    assert json.loads(run.text()) == []


@sandboxed
async def test_S6_in_each_folder_that_may_be_written_and_nowhere_else(
    enclosed: Enclosed, empty: Profile, tmp_path: Path
) -> None:
    more = tmp_path / "more"
    more.mkdir()
    kernel = enclosed(profile(empty.workspace, empty.home, writable=(more,)))
    for name in GUARDED:
        for folder in (empty.workspace, more):
            assert await attempt(kernel, f"os.mkdir({str(folder / name)!r})") == "EPERM"
        assert await attempt(kernel, f"os.makedirs('sub/{name}/x'); os.mkdir('/tmp/{name}')") == "done"


ENDLESS = {
    "files": "print('on', flush=True)\nwhile True:\n    open('f', 'w').close(); os.mkdir('d'); os.rmdir('d')",
    "a pipe that nobody reads": "os.mkfifo('pipe')\nprint('on', flush=True)\nopen('pipe', 'w')",
}


@sandboxed
@pytest.mark.parametrize("what", ENDLESS)
async def test_S26_code_that_makes_files_can_be_interrupted(enclosed: Enclosed, empty: Profile, what: str) -> None:
    kernel = enclosed(empty, "python")
    run, _ = await interrupted(kernel, f"import os\n{ENDLESS[what]}", lambda event: isinstance(event, OutputAdded))
    assert run.error.name == "KeyboardInterrupt"
    assert await attempt(kernel, "open('after', 'w').close()") == "done"


# -- the person ------------------------------------------------------------------------------------------


def git(folder: Path, *arguments: str) -> str:
    if shutil.which("git") is None:
        pytest.skip("there is no git")
    who = ("-c", "user.name=a", "-c", "user.email=b")
    return subprocess.check_output(["git", "-C", str(folder), *who, *arguments], text=True, stderr=subprocess.STDOUT)


@sandboxed
@pytest.mark.parametrize("language", ["python", "shell"])
async def test_S26_while_a_kernel_lives_there_is_nothing_in_the_folder_that_nobody_made(
    enclosed: Enclosed, empty: Profile, language: str
) -> None:
    kernel = enclosed(empty, language)
    await kernel.start()
    assert list(empty.workspace.iterdir()) == []
    await collect(kernel, "open('made', 'w').close()" if language == "python" else "touch made")
    await kernel.restart()
    assert [path.name for path in empty.workspace.iterdir()] == ["made"]
    await kernel.close()
    assert [path.name for path in empty.workspace.iterdir()] == ["made"]


WRITES = (
    *("open('.git/config', 'a')", "open('.git/config', 'r+')", "open('.git/config', 'w')", "open('.envrc', 'a')"),
    *(
        "open('.git/hooks/pre-commit', 'w')",
        "os.mkdir('.git/x')",
        "os.symlink('x', '.git/x')",
        "os.rename('.git', 'x')",
    ),
    *("os.truncate('.envrc', 3)", "os.truncate('.git/config', 3)", "os.symlink('.envrc', 'to'); os.truncate('to', 3)"),
    *("os.rename('.git/config', 'x')", "os.rename('mine', '.git/config')", "os.rename('mine', '.envrc')"),
    *("os.link('.git/config', 'x')", "os.link('mine', '.git/x')", "os.open('.envrc', os.O_RDONLY | os.O_TRUNC)"),
    "os.symlink('.git/config', 'way'); open('way', 'a')",
    "f = open('.git/config'); open(f'/proc/self/fd/{f.fileno()}', 'a')",
    "f = open('.git/config'); os.link(f'/proc/self/fd/{f.fileno()}', 'x', dst_dir_fd=os.open('.', os.O_RDONLY))",
    "f = os.open('.git', os.O_RDONLY); open('config', 'a', opener=lambda name, how: os.open(name, how, dir_fd=f))",
    "os.chdir('.git'); open('config', 'a')",
)


@sandboxed
async def test_S26_S6_the_person_makes_a_repository_while_a_kernel_lives_and_code_cannot_write_it(
    enclosed: Enclosed, empty: Profile
) -> None:
    work, kernel = empty.workspace, enclosed(empty)
    assert await attempt(kernel, "open('mine', 'w').close()") == "done"
    await asyncio.to_thread(git, work, "init", "-q")
    (work / ".envrc~").write_text("export A=1")
    (work / ".envrc~").rename(work / ".envrc")
    before = (work / ".git" / "config").read_text()
    for write in WRITES:
        assert await attempt(kernel, write) == "EPERM", write
        assert await attempt(kernel, f"os.chdir({str(work)!r})") == "done"
    assert await attempt(kernel, "open('.git/config').read(); open('.envrc').read(); os.listdir('.git')") == "done"
    assert await attempt(kernel, "os.makedirs('.git', exist_ok=True); os.mkdir('.git')") == "EEXIST"
    assert ((work / ".git" / "config").read_text(), (work / ".envrc").read_text()) == (before, "export A=1")
    await asyncio.to_thread(git, work, "add", ".")
    await asyncio.to_thread(git, work, "commit", "-qm", "first")
    await kernel.close()
    assert (await asyncio.to_thread(git, work, "status", "--porcelain")) == ""
    shutil.rmtree(work / ".git")


# -- where there is none ---------------------------------------------------------------------------------


@sandboxed
async def test_S26_where_the_system_allows_no_guard_the_folder_is_left_alone_all_the_same(
    enclosed: Enclosed, empty: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guarding, "NEEDED", (999, 0))
    kernel = enclosed(empty)
    await kernel.start()
    assert list(empty.workspace.iterdir()) == []
    assert await attempt(kernel, "os.mkdir('.git')") == "done"


@sandboxed
async def test_S20_a_guard_that_lets_names_be_made_is_found_out(
    enclosed: Enclosed, empty: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seccomp, "guard_program", lambda: bytes.fromhex("060000000000ff7f"))
    with pytest.raises(KernelError, match=r"names: .*/\.git could be made"):
        await enclosed(empty).start()
    assert list(empty.workspace.iterdir()) == []


def test_S6_a_system_that_allows_no_guard_is_known_by_what_it_says() -> None:
    assert guarding.guard_obstacle("5.14.0-x", "1\n") == ""
    assert "5.14" in guarding.guard_obstacle("5.4.0-150-generic", "0")
    assert "Yama" in guarding.guard_obstacle("6.8.0", "2\n")
    assert "Yama" in guarding.guard_obstacle("6.8.0", "3")


# -- parts -----------------------------------------------------------------------------------------------


def judged(machine: str, number: int, *arguments: int) -> int:
    return bpf.verdict(seccomp.guard_program(machine), number, arguments, mark=seccomp.MACHINES[machine].mark)


@pytest.mark.parametrize("machine", MACHINES)
def test_S6_each_call_that_makes_or_moves_a_name_is_asked_about(machine: str) -> None:
    known = seccomp.MACHINES[machine]
    assert bpf.reachable(seccomp.guard_program(machine))
    opening = {name: number for name, number in known.naming.items() if name in ("open", "openat")}
    for name, number in known.naming.items():
        if name not in opening:
            assert judged(machine, number) == ASKED, name
    for name, number in opening.items():
        before = [0] * (name == "openat")
        for flags in (os.O_CREAT, os.O_WRONLY, os.O_RDWR, os.O_TRUNC, os.O_CREAT | os.O_CLOEXEC, 1 << 40 | os.O_CREAT):
            assert judged(machine, number, *before, 0, flags) == ASKED, (name, flags)
        for flags in (0, os.O_CLOEXEC | os.O_NONBLOCK, os.O_PATH, os.O_PATH | os.O_CREAT):
            assert judged(machine, number, *before, 0, flags) == bpf.ALLOWED, (name, flags)
    assert judged(machine, 437) == judged(machine, 444) == bpf.FAILED | 38
    assert judged(machine, 3) == bpf.ALLOWED
