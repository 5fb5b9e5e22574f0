"""Row S20 and row S6: a sandbox that cannot be had or does not hold is never pretended, and leaves nothing behind."""

import asyncio
import json
import os
import shlex
import shutil
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.kernels.base import Kernel
from oi_tui.app.engine.sandbox import rungs, space
from oi_tui.app.engine.sandbox.availability import look
from oi_tui.app.engine.sandbox.bubblewrap import find_bubblewrap
from oi_tui.app.engine.sandbox.profile import Profile
from support.enclosure import attempt, make_home, nothing_changes, profile, snapshot, why_no_rung
from support.runs import collect

pytestmark = [pytest.mark.kernel, pytest.mark.asyncio(loop_scope="module")]

Enclosed = Callable[..., Kernel]

LIMIT = 10.0


@pytest.fixture
def empty(tmp_path: Path) -> Profile:
    """A sandbox around a folder in which there is nothing yet."""
    (tmp_path / "work").mkdir()
    return profile(tmp_path / "work", make_home(tmp_path / "home"))


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the whole search path."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in ("bash", "sleep"):
        (folder / name).symlink_to(shutil.which(name) or name)
    monkeypatch.setenv("PATH", str(folder))
    return folder


def program(path: Path, text: str) -> None:
    """An executable script."""
    path.write_text(text)
    path.chmod(0o755)


# -- no sandbox ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["python", "shell"])
async def test_S20_where_bubblewrap_is_asked_for_and_missing_nothing_runs(
    enclosed: Enclosed, empty: Profile, programs: Path, language: str
) -> None:
    kernel = enclosed(replace(empty, rung="bubblewrap"), language)
    with pytest.raises(KernelError, match="bubblewrap is not installed") as raised:
        await collect(kernel, "1" if language == "python" else f"echo ran >{empty.workspace}/ran")
    assert "danger-full-access" in raised.value.hint
    assert kernel.generation == 0
    assert list(empty.workspace.iterdir()) == []


@pytest.mark.parametrize("language", ["python", "shell"])
async def test_S20_where_namespaces_are_forbidden_nothing_runs(
    enclosed: Enclosed, empty: Profile, programs: Path, language: str
) -> None:
    program(programs / "bwrap", "#!/bin/sh\necho 'bwrap: Creating new namespace failed: ENOSPC' >&2\nexit 1\n")
    kernel = enclosed(replace(empty, rung="bubblewrap"), language)
    with pytest.raises(KernelError, match="Creating new namespace failed"):
        await kernel.start()
    await kernel.close()
    assert list(empty.workspace.iterdir()) == []


@pytest.mark.parametrize("language", ["python", "shell"])
async def test_S20_a_bubblewrap_that_encloses_nothing_is_found_out(
    enclosed: Enclosed, empty: Profile, programs: Path, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It runs our first program as it stands on this machine, without any sandbox; without Landlock, at that.
    monkeypatch.setattr(rungs, "NEWEST", 0)
    source = shlex.quote(str(rungs.INSIDE_PROGRAM))
    text = f'#!/bin/bash\nwhile [ "$1" != -- ]; do shift; done; shift\nexec "${{@:1:3}}" {source} "${{@:5}}"\n'
    program(programs / "bwrap", text)
    kernel = enclosed(replace(empty, rung="bubblewrap"), language)
    with pytest.raises(KernelError, match="does not keep what it promises") as raised:
        await kernel.start()
    for broken in ("rights: ", "processes: ", "secrets: ", "network: ", *(["files: "] if os.getuid() == 0 else [])):
        assert broken in raised.value.title
    assert kernel.state == "dead"
    assert not list(Path("/usr").glob(".oi-tui-*"))


@pytest.mark.sandbox
async def test_S27_without_bubblewrap_the_sandbox_is_our_own(
    enclosed: Enclosed, empty: Profile, programs: Path, rung: str
) -> None:
    kernel = enclosed(replace(empty, rung="auto"))
    found = await look(replace(empty, rung="auto"))
    assert (found.works, found.rung) == (True, "space")
    assert await attempt(kernel, "open('/usr/x', 'w')") in ("EROFS", "EACCES")
    assert (await collect(kernel, "1 + 1")).result == "2"


WEAKENED = """\
#!/bin/sh
'''exec' {python} -IS "$0" "$@"
' '''
import os, sys
given = os.read(int(sys.argv[2]), 1 << 20).split(b"\\0")[:-1]
given = [part.decode() for part in given]
{change}
changed = os.memfd_create("changed", 0)
os.write(changed, b"".join(part.encode() + b"\\0" for part in given))
os.lseek(changed, 0, 0)
os.execv({real!r}, ["bwrap", "--args", str(changed), *sys.argv[3:]])
"""

WEAKNESSES = {
    "network: ": "given.insert(given.index('--unshare-all') + 1, '--share-net')",
    "system calls: ": "at = given.index('--seccomp'); del given[at : at + 2]",
    "processes: ": "given[0:1] = ['--unshare-net', '--unshare-ipc', '--unshare-uts']; given.remove('--as-pid-1')",
    "files: / can": "at = len(given) - given[::-1].index('--remount-ro') - 1; del given[at : at + 2]",
    "files: /dev can": "at = len(given) - given[::-1].index('/dev') - 1; del given[at - 1 : at + 1]",
    "files: /proc can": "at = given.index('/proc', given.index('--remount-ro')); del given[at - 1 : at + 1]",
    "/.vscode can be written": "at = given.index({work!r} + '/.vscode'); given[at - 1] = '--bind'",
    "/.oi can be written": "at = given.index({work!r} + '/.oi'); del given[at - 1 : at + 2]",
    "cannot be written": "at = given.index({work!r}); given[at - 1] = '--ro-bind'",
    "/.ssh can be read": "given += ['--ro-bind', {home!r} + '/.ssh', {home!r} + '/.ssh']",
    "secrets: {home} is visible": "at = given.index({home!r}); given[at - 5 : at + 1] = ['--bind', {home!r}, {home!r}]",
    "environment: ": "os.environ['EXTRA'] = '1'",
}
"""What can go wrong with one argument, and what has to be said then."""


@pytest.fixture
def one_wall(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Landlock, which would keep some of what is broken."""
    monkeypatch.setattr(rungs, "NEWEST", 0)


@pytest.mark.bubblewrap
@pytest.mark.parametrize("weakness", WEAKNESSES)
@pytest.mark.usefixtures("one_wall")
async def test_S20_S24_a_weakness_of_any_kind_is_found_before_anything_runs(
    enclosed: Enclosed, tmp_path: Path, programs: Path, weakness: str
) -> None:
    home = make_home(tmp_path / "home")
    work = tmp_path / "work"
    for name in (".vscode", ".oi"):
        (work / name).mkdir(parents=True)
    real = shutil.which("bwrap", path=os.defpath) or "bwrap"
    change = WEAKNESSES[weakness].replace("{work!r}", repr(str(work))).replace("{home!r}", repr(str(home)))
    program(programs / "bwrap", WEAKENED.format(python=shlex.quote(sys.executable), change=change, real=real))
    with pytest.raises(KernelError, match="does not keep what it promises") as raised:
        await enclosed(profile(work, home)).start()
    assert weakness.replace("{home}", str(home)) in raised.value.title


@pytest.mark.bubblewrap
async def test_S20_the_weaknesses_are_weaknesses_of_something_that_works(
    enclosed: Enclosed, empty: Profile, programs: Path
) -> None:
    real = shutil.which("bwrap", path=os.defpath) or "bwrap"
    program(programs / "bwrap", WEAKENED.format(python=shlex.quote(sys.executable), change="", real=real))
    assert (await collect(enclosed(empty), "1 + 1")).result == "2"


@pytest.mark.bubblewrap
async def test_S24_a_second_wall_keeps_settings_of_the_system_where_the_first_one_has_a_hole(
    enclosed: Enclosed, empty: Profile, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hole = (
        WEAKNESSES["files: /proc can"]
        + "; at = given.index('--proc'); given[at : at + 2] = ['--bind', '/proc', '/proc']"
    )
    real = shutil.which("bwrap", path=os.defpath) or "bwrap"
    program(programs / "bwrap", WEAKENED.format(python=shlex.quote(sys.executable), change=hole, real=real))
    with pytest.raises(KernelError, match="/proc can be written") as raised:
        await enclosed(empty).start()
    assert "core_pattern" not in raised.value.title


def space_network(plan: Any) -> None:
    plan["network"] = True


def space_calls(plan: Any) -> None:
    plan["filter"] = "06000000" + "0000ff7f"


def space_kind(path: str, kind: str) -> Callable[[Any], None]:
    def change(plan: Any) -> None:
        (entry,) = [entry for entry in plan["mounts"] if entry["path"].endswith(path)]
        entry |= {"kind": kind, "source": entry["source"] or entry["path"]}

    return change


def space_shows_ssh(plan: Any) -> None:
    (home,) = [entry["path"] for entry in plan["mounts"] if entry["path"].endswith("/home")]
    plan["mounts"].append({"path": f"{home}/.ssh", "kind": "READABLE", "source": f"{home}/.ssh", "size": 0})


SPACE_WEAKNESSES: dict[str, Callable[[Any], None]] = {
    "network: ": space_network,
    "system calls: ": space_calls,
    "/.vscode can be written": space_kind("/.vscode", "WRITABLE"),
    "/usr can be written": space_kind("/usr", "WRITABLE"),
    "cannot be written": space_kind("/work", "READABLE"),
    "/.ssh can be read": space_shows_ssh,
    "/home is visible": space_kind("/home", "WRITABLE"),
}


@pytest.mark.skipif(bool(why_no_rung("space")), reason=why_no_rung("space") or "-")
@pytest.mark.parametrize("weakness", SPACE_WEAKNESSES)
@pytest.mark.usefixtures("one_wall")
async def test_S20_S27_a_weakness_of_our_own_launcher_is_found_before_anything_runs(
    enclosed: Enclosed, tmp_path: Path, weakness: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if weakness == "/usr can be written" and os.getuid() != 0:
        pytest.skip("only root could write there in any case")

    def weakened(*given: Any, **named: Any) -> bytes:
        plan = json.loads(space.launcher_plan(*given, **named))
        SPACE_WEAKNESSES[weakness](plan)
        return json.dumps(plan).encode()

    monkeypatch.setattr(rungs, "launcher_plan", weakened)
    home = make_home(tmp_path / "home")
    (tmp_path / "work" / ".vscode").mkdir(parents=True)
    with pytest.raises(KernelError, match="does not keep what it promises") as raised:
        await enclosed(profile(tmp_path / "work", home, rung="space")).start()
    assert weakness in raised.value.title
    assert not list(Path("/usr").glob(".oi-tui-*"))


async def test_S20_a_bubblewrap_in_the_workspace_is_not_taken(empty: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = empty.workspace / "bin"
    planted.mkdir()
    program(planted / "bwrap", "#!/bin/sh\n")
    assert find_bubblewrap(empty, str(planted)) is None
    monkeypatch.chdir(planted)
    assert find_bubblewrap(empty, os.pathsep.join(("", ".", "bin"))) is None


@pytest.mark.bubblewrap
async def test_S20_an_older_or_broken_bubblewrap_says_why(enclosed: Enclosed, empty: Profile, programs: Path) -> None:
    program(programs / "bwrap", "#!/bin/sh\necho 'bwrap: Unknown option --disable-userns' >&2\nexit 1\n")
    with pytest.raises(KernelError, match="Unknown option"):
        await enclosed(empty).start()


@pytest.mark.sandbox
async def test_S20_where_there_is_a_sandbox_nothing_is_missing(empty: Profile) -> None:
    with nothing_changes(empty.workspace):
        assert (await look(empty)).works


# -- what is left ---------------------------------------------------------------------------------------


@pytest.mark.sandbox
async def test_S6_nothing_is_left_after_the_program_was_killed(empty: Profile) -> None:
    source = (
        "import asyncio, sys\nfrom pathlib import Path\n"
        "from oi_tui.app.engine.kernels.launch import Launch\n"
        "from oi_tui.app.engine.kernels.shell_kernel import ShellKernel\n"
        "from oi_tui.app.engine.sandbox.profile import Profile\n"
        "async def main(work, home):\n"
        "    sandbox = Profile(mode='workspace-write', workspace=Path(work), home=Path(home))\n"
        "    kernel = ShellKernel(Launch(cwd=Path(work), sandbox=sandbox))\n"
        "    await kernel.run('touch ready; sleep 600', 'c', lambda event: None)\n"
        "asyncio.run(main(*sys.argv[1:]))\n"
    )
    victim = await asyncio.create_subprocess_exec(sys.executable, "-c", source, str(empty.workspace), str(empty.home))
    try:
        async with asyncio.timeout(LIMIT):
            while not (empty.workspace / "ready").exists():  # noqa: ASYNC110  # nobody else tells
                await asyncio.sleep(0.01)
    finally:
        victim.send_signal(signal.SIGKILL)
        await victim.wait()
    assert [path.name for path in empty.workspace.iterdir()] == ["ready"]


@pytest.mark.sandbox
async def test_S4_what_the_person_has_is_as_it_was(enclosed: Enclosed, empty: Profile) -> None:
    (empty.workspace / ".git").mkdir()
    (empty.workspace / ".vscode").mkdir(mode=0o700)
    (empty.workspace / ".envrc").touch()
    before = snapshot(empty.workspace)
    kernel = enclosed(empty)
    assert await attempt(kernel, "os.mkdir('.git/hooks')") == "EROFS"
    await kernel.close()
    assert snapshot(empty.workspace) == before
