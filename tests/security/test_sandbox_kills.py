"""Row S25: whoever is killed, at whatever moment of the start of a kernel, under load: nothing is left of it.

The check kills eight times in each kind of sandbox, under the load of its own tests; `make soak` kills two hundred
times, beside programs that never rest. The seed is printed.
"""

import asyncio
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
import pytest

from oi_tui.app.engine.sandbox.keeper import YOUNG, make_folder, remove_tree, sweep
from support.enclosure import attempt, processes_with, why_no_rung
from support.kernel_kills import ENGINE, LIMIT, StartScene, busy_machine, kill_a_start, marked_kernel
from support.runs import collect

pytestmark = [pytest.mark.kernel, pytest.mark.timeout(540)]

KILLS = int(os.environ.get("OI_TUI_SOAK_KILLS", "8"))
SEED = int(os.environ.get("OI_TUI_SOAK_SEED", "20261122"))


@pytest.fixture(params=["bubblewrap", "space", "lock"])
def scene(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StartScene]:
    if reason := why_no_rung(request.param):
        pytest.skip(reason)
    with TemporaryDirectory(prefix="k-", dir="/tmp") as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        yield StartScene(tmp_path, Path(runtime), request.param)


@pytest.fixture
def busy() -> Iterator[None]:
    """Three programs beside us that never rest, in a soak."""
    with busy_machine() if "OI_TUI_SOAK_KILLS" in os.environ else nullcontext():
        yield


@pytest.mark.usefixtures("busy")
async def test_S25_a_kill_at_any_moment_of_a_start_leaves_nothing(scene: StartScene) -> None:
    for number in range(KILLS):
        await kill_a_start(scene, number, SEED)
    print(f"{scene.profile.rung}: {KILLS} kills (seed {SEED}), all was gone after {scene.slowest:.2f} s at most")


async def test_S25_bubblewrap_that_has_something_to_say_when_nobody_listens_any_more_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if reason := why_no_rung("bubblewrap"):
        pytest.skip(reason)
    with TemporaryDirectory(prefix="k-", dir="/tmp") as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        scene = StartScene(tmp_path, Path(runtime), "bubblewrap")
        programs = tmp_path / f"{scene.mark}-programs"
        programs.mkdir()
        os.mkfifo(ready := programs / "ready")
        os.mkfifo(go := programs / "go")
        held = f'#!/bin/bash\necho >{ready}\nread <{go}\nexec -a {scene.mark} {shutil.which("bwrap")} "$@"\n'
        (programs / "bwrap").write_text(held)
        (programs / "bwrap").chmod(0o755)
        monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
        tests = Path(__file__).parents[1]
        env = os.environ | {"PYTHONPATH": f"{tests}{os.pathsep}{Path(__file__).parent}"}
        given = (scene.work, scene.profile.home, "bubblewrap", "shell", scene.mark)
        victim = await asyncio.create_subprocess_exec(sys.executable, "-c", ENGINE, *map(str, given), env=env, cwd="/")
        async with asyncio.timeout(LIMIT):
            await asyncio.to_thread(ready.read_text)
        victim.kill()
        await victim.wait()
        assert scene.processes()  # it is held: who reads what it says is gone before it says anything
        await asyncio.to_thread(go.write_text, "\n")
        await scene.becomes_empty("after our end was gone before bubblewrap wrote to it")


@pytest.mark.parametrize("who", ["the first process", "who started it", "who started it, and then the engine closes"])
@pytest.mark.parametrize("rung_name", ["space", "lock"])
async def test_S18_what_was_detached_ends_also_if_a_process_of_ours_is_killed_from_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rung_name: str, who: str
) -> None:
    if reason := why_no_rung(rung_name):
        pytest.skip(reason)
    with TemporaryDirectory(prefix="k-", dir="/tmp") as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        scene = StartScene(tmp_path, Path(runtime), rung_name)
        made = marked_kernel(scene.profile, "shell", scene.mark)
        detached = f"{scene.mark}-detached"
        try:
            await collect(made, f"setsid bash -c 'exec -a {detached} sleep 600' >/dev/null 2>&1 & sleep 0.1")
            async with asyncio.timeout(LIMIT):
                while not (found := processes_with(detached)):  # noqa: ASYNC110  # nobody else tells
                    await asyncio.sleep(0.01)
            chain = [psutil.Process(found[0]), *psutil.Process(found[0]).parents()]
            ours = [
                process for process in chain if process.pid != os.getpid() and "launcher.py" in str(process.cmdline())
            ]
            first, starter = ours[0], ours[-1]
            assert first != starter
            (first if who == "the first process" else starter).kill()
            if who.endswith("closes"):
                await made.close()
            async with asyncio.timeout(LIMIT):
                while processes_with(detached):  # noqa: ASYNC110  # nobody else tells
                    await asyncio.sleep(0.01)
        finally:
            await made.close()
            for pid in processes_with(detached):
                os.kill(pid, signal.SIGKILL)
        await scene.becomes_empty("at the end")


# -- folders


def test_S28_folders_of_any_depth_are_removed(tmp_path: Path) -> None:
    top = tmp_path / "top"
    folder = os.open(tmp_path, os.O_RDONLY)
    name = "top"
    for _ in range(1_500):
        os.mkdir(name, dir_fd=folder)
        inner = os.open(name, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder, name = inner, "d"
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
        os.symlink("/etc", "link", dir_fd=folder)
    os.close(folder)
    (top / "closed").mkdir()
    (top / "closed" / "x").touch()
    (top / "closed").chmod(0)
    remove_tree(str(top))
    assert not top.exists()
    assert Path("/etc/passwd").exists()


@pytest.mark.sandbox
async def test_S28_what_code_puts_beside_its_sockets_is_bounded_and_not_on_this_machine(
    tmp_path: Path, rung: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with TemporaryDirectory(prefix="k-", dir="/tmp") as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        scene = StartScene(tmp_path, Path(runtime), rung)
        made = marked_kernel(scene.profile, "python", scene.mark)
        try:
            fill = "open('/run/oi-tui/full', 'wb').write(bytes(300_000_000))"
            assert await attempt(made, fill) == "ENOSPC"
            assert await attempt(made, "os.remove('/run/oi-tui/full')") == "done"
            deep = "os.chdir('/run/oi-tui'); [(os.mkdir('d'), os.chdir('d')) for _ in range(1500)]"
            await attempt(made, deep)
            assert list(Path(runtime).iterdir()) == []
        finally:
            await made.close()
        await scene.becomes_empty("at the end")


def test_S28_folders_of_programs_that_were_killed_are_swept_and_no_others(tmp_path: Path) -> None:
    held, dead, young, other = (tmp_path / f"oi-tui-{digit * 12}" for digit in "abcd")
    locks = [make_folder(str(path)) for path in (held, dead, young)]
    other.mkdir()
    other = other.rename(tmp_path / "oi-tui-of-somebody")
    os.close(locks[1])
    (dead / "deep").mkdir()
    sweep(str(tmp_path), now=time.time())
    assert dead.exists(), "it may just have been made"
    sweep(str(tmp_path), now=time.time() + YOUNG + 1)
    assert sorted(tmp_path.iterdir()) == sorted([held, young, other])
    for lock in (locks[0], locks[2]):
        os.close(lock)
