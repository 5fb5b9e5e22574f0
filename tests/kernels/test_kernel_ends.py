"""Kernels that end, hang, or never come up: each is told in words, within bounded time, and the next run works."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
import pytest

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.core.settings import KernelSection
from oi_tui.app.engine.kernels.jupyter import JupyterKernel
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.pool import Kernels
from oi_tui.app.engine.kernels.processes import ProcessSession, cause_of_end
from oi_tui.app.engine.kernels.spec import KernelSpec
from oi_tui.app.engine.kernels.worker import WorkerKernel
from support.enclosure import processes_with
from support.kernel_places import PLACES
from support.runs import abandon, collect, started

pytestmark = [pytest.mark.kernel, pytest.mark.asyncio(loop_scope="module")]

MakePython = Callable[..., JupyterKernel]

STUBBORN = """\
print('ready', flush=True)
while True:
    try:
        while True: pass
    except BaseException: pass
"""

DEAF = f"import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n{STUBBORN}"


@pytest.mark.parametrize("place", PLACES)
async def test_R3_an_end_between_runs_is_told_with_the_next_run(make_python: MakePython, place: str) -> None:
    kernel = make_python(place=place)
    pid = int((await collect(kernel, "import os\nos.getpid()")).result)
    os.kill(pid, signal.SIGKILL)
    # A server looks every three seconds whether its kernels live, and tells that in words of its own.
    async with asyncio.timeout(5 if kernel.elsewhere else 2):
        while kernel.state != "dead":  # noqa: ASYNC110  # nobody is told until the next run
            await asyncio.sleep(0.02)
    run = await collect(kernel, "1")
    assert run.finished.status == "ok"
    assert ("was restarted by the server" if kernel.elsewhere else "was killed (signal 9)") in run.finished.detail


@pytest.mark.parametrize("place", PLACES)
async def test_R11_k20_without_leave_to_restart_a_stubborn_cell_goes_on_and_keeps_its_state(
    make_python: MakePython, place: str
) -> None:
    kernel = make_python(KernelSection(interrupt_step=0.2), place=place)
    async with asyncio.timeout(20):
        running = await started(kernel, DEAF)
        assert await kernel.interrupt(restart=False) == "ignored"
        assert (kernel.state, kernel.generation) == ("busy", 1)
        assert await kernel.interrupt() == "restart"
        assert (await running).status == "interrupted"
    assert (kernel.state, kernel.generation) == ("idle", 2)


async def test_what_was_flushed_is_there_although_the_process_ends_at_once(make_python: MakePython) -> None:
    ends = "import os, sys, time\nprint('a')\ntime.sleep(0.25)\nprint('b')\nsys.stdout.flush()\nos._exit(3)"
    assert (await collect(make_python(), ends)).text() == "a\nb\n"


async def test_a_restart_under_a_run_ends_it(make_python: MakePython) -> None:
    kernel = make_python()
    async with asyncio.timeout(20):
        running = await started(kernel, STUBBORN)
        await kernel.restart()
        assert (await running).status == "interrupted"
    assert (kernel.state, kernel.generation) == ("idle", 2)


async def test_closing_ends_everything_that_the_kernel_started(make_python: MakePython) -> None:
    kernel = make_python()
    run = await collect(
        kernel,
        "import os, subprocess\n"
        "sleepers = [subprocess.Popen(['sleep', '600'], start_new_session=new) for new in (False, True)]\n"
        "' '.join(str(p) for p in (os.getpid(), *(s.pid for s in sleepers)))",
    )
    processes = [psutil.Process(int(pid)) for pid in run.result.strip("'").split()]
    await kernel.close()
    # Killed is not gone yet: on a busy machine a process dies when it gets a core again.
    alive = (await asyncio.to_thread(psutil.wait_procs, processes, timeout=5))[1]
    assert [process for process in alive if process.status() != "zombie"] == []
    await kernel.close()
    assert kernel.state == "cold"


async def test_what_left_the_session_before_its_leader_ended_is_ended_with_it() -> None:
    sleeper = "s.Popen(['sleep', '600'], start_new_session=True, stdout=s.DEVNULL)"
    script = f"import subprocess as s; print({sleeper}.pid, flush=True); input()"
    pipe = asyncio.subprocess.PIPE
    leader = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, stdin=pipe, stdout=pipe, start_new_session=True
    )
    async with asyncio.timeout(20):
        assert leader.stdout is not None
        child = psutil.Process(int(await leader.stdout.readline()))
        session = ProcessSession(leader.pid)
        session.note()
        await leader.communicate(b"\n")
    assert child.is_running()
    session.end()
    alive = (await asyncio.to_thread(psutil.wait_procs, [child], timeout=5))[1]
    assert [process for process in alive if process.status() != psutil.STATUS_ZOMBIE] == []


@pytest.mark.parametrize("place", PLACES)
async def test_k34_closing_over_a_stubborn_cell_kills_it_and_starts_nothing(
    make_python: MakePython, place: str
) -> None:
    kernel = make_python(KernelSection(interrupt_step=60), place=place)
    async with asyncio.timeout(10):
        running = await started(kernel, DEAF)
        interrupting = asyncio.create_task(kernel.interrupt())
        await asyncio.sleep(0)
        await kernel.close()
        assert (await running).status == "interrupted"
        await interrupting
    assert (kernel.state, kernel.generation) == ("cold", 1)


async def test_k34_a_stubborn_cell_that_is_abandoned_is_killed_and_no_kernel_started(make_python: MakePython) -> None:
    kernel = make_python(KernelSection(interrupt_step=60))
    async with asyncio.timeout(10):
        await abandon(await started(kernel, DEAF))
    assert (kernel.state, kernel.generation) == ("dead", 1)
    run = await collect(kernel, "1")
    assert "state was lost" in run.finished.detail


async def test_k34_closing_ends_the_abandoning_of_a_run(make_python: MakePython) -> None:
    kernel = make_python(KernelSection(interrupt_step=60))
    async with asyncio.timeout(10):
        running = await started(kernel, DEAF)
        await asyncio.gather(abandon(running), kernel.close())
    assert (kernel.state, kernel.generation) == ("cold", 1)


async def test_k34_closing_breaks_off_the_restart_of_a_stubborn_kernel(make_python: MakePython) -> None:
    kernel = make_python(KernelSection(interrupt_step=0.01))
    async with asyncio.timeout(10):
        running = await started(kernel, DEAF)
        interrupting = asyncio.create_task(kernel.interrupt())
        await running
        await kernel.close()  # the fresh one is being started
        assert await interrupting == "restart"
    assert (kernel.state, kernel.generation) == ("cold", 1)


async def test_closing_breaks_off_a_start(make_python: MakePython) -> None:
    argv = (sys.executable, "-c", "import signal; signal.pause()")
    kernel = make_python(KernelSection(start_timeout=60), spec=KernelSpec(name="mute", argv=argv))
    starting = asyncio.create_task(kernel.start())
    async with asyncio.timeout(10):
        await asyncio.sleep(0)
        await kernel.close()
        with pytest.raises(KernelError, match="closed"):
            await starting
        with pytest.raises(KernelError, match="closed"):
            await kernel.start()
        with pytest.raises(KernelError, match="closed"):
            await kernel.restart()
    assert (kernel.state, kernel.generation) == ("cold", 0)


@pytest.mark.parametrize("language", ["python", "shell"])
async def test_nothing_is_left_of_a_start_that_is_broken_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    with TemporaryDirectory(dir="/tmp") as folder:  # a short path, as sockets need it
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        kernel = Kernels(Launch(cwd=tmp_path)).get(language)
        starting = asyncio.create_task(kernel.start())
        async with asyncio.timeout(10):
            while not processes_with(folder):  # noqa: ASYNC110  # nobody tells that a process begins
                await asyncio.sleep(0.001)
            starting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await starting
        assert (os.listdir(folder), processes_with(folder), kernel.state) == ([], [], "dead")


async def test_a_process_that_is_ready_when_nobody_waits_for_it_any_more_is_ended(tmp_path: Path) -> None:
    ended = []

    class Ready:
        async def close(self, *, politely: bool) -> None:
            ended.append(politely)

    async def open_worker(_on_end: object) -> Ready:
        starting.cancel()
        return Ready()

    kernel = WorkerKernel("python", Launch(cwd=tmp_path), open_worker)  # type: ignore[arg-type]  # it only ends
    starting = asyncio.create_task(kernel.start())
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert (ended, kernel.state, kernel.generation) == ([False], "dead", 0)


async def test_what_a_kernel_started_ends_when_the_kernel_ends_by_itself(make_python: MakePython) -> None:
    kernel = make_python()
    run = await collect(kernel, "import os, subprocess\nsubprocess.Popen(['sleep', '600']).pid")
    child = psutil.Process(int(run.result))
    assert (await collect(kernel, "os._exit(1)")).finished.status == "died"
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


async def test_atexit_handlers_run_when_an_idle_kernel_is_closed(make_python: MakePython, tmp_path: Path) -> None:
    kernel = make_python()
    await collect(kernel, f"import atexit, pathlib\n_ = atexit.register(pathlib.Path({str(tmp_path / 'bye')!r}).touch)")
    await kernel.close()
    assert (tmp_path / "bye").exists()


async def test_k32_a_kernel_that_ends_while_it_starts_is_reported_with_its_last_lines(make_python: MakePython) -> None:
    source = "import sys; [print('line', n, flush=True) for n in range(30)]; sys.exit('No module named x')"
    argv = (sys.executable, "-c", source)
    kernel = make_python(spec=KernelSpec(name="broken", argv=argv))
    with pytest.raises(KernelError, match="broken") as caught:
        await kernel.start()
    assert "exit code 1" in caught.value.title
    assert caught.value.details.splitlines()[-1] == "No module named x"
    assert len(caught.value.details.splitlines()) == 20
    assert (kernel.state, kernel.generation) == ("dead", 0)


async def test_k32_a_kernel_that_never_answers_is_given_up(make_python: MakePython) -> None:
    argv = (sys.executable, "-c", "import signal; signal.pause()")
    kernel = make_python(KernelSection(start_timeout=0.3), spec=KernelSpec(name="mute", argv=argv))
    with pytest.raises(KernelError, match="did not answer"):
        await kernel.start()
    assert kernel.state == "dead"


@pytest.mark.parametrize("missing", ["folder", "program"])
async def test_k31_a_missing_folder_or_program_is_named(make_python: MakePython, tmp_path: Path, missing: str) -> None:
    gone = tmp_path / "gone"
    options = {"cwd": gone} if missing == "folder" else {"spec": KernelSpec(name="none", argv=(str(gone),))}
    with pytest.raises(KernelError, match="gone"):
        await make_python(**options).start()


async def test_only_one_run_at_a_time(make_python: MakePython) -> None:
    kernel = make_python()
    async with asyncio.timeout(20):
        first = await started(kernel, "print('ready', flush=True)\ninput()")
        with pytest.raises(KernelError, match="already"):
            await kernel.run("1", "c", lambda event: None)
        await abandon(first)


async def test_keys_are_not_in_the_kernels_environment(make_python: MakePython, kernel_environ: dict[str, str]) -> None:
    kernel = make_python(environ={**kernel_environ, "OPENAI_API_KEY": "k", "PLAIN": "p"})
    run = await collect(kernel, "import os\nsorted({'OPENAI_API_KEY', 'PLAIN'} & set(os.environ))")
    assert run.result == "['PLAIN']"


async def test_preloading_imports_the_usual_names_and_nothing_else(make_python: MakePython) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")
    kernel = make_python(preload=lambda: True)
    run = await collect(kernel, "sorted(n for n in globals() if n in {'np', 'pd', 'plt', 'numpy', 'e'})")
    assert run.result == "['np', 'pd', 'plt']"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (0, "ended with exit code 0"),
        (3, "ended with exit code 3"),
        (-9, "out of memory"),
        (137, "out of memory"),
        (-11, "invalid memory access"),
        (-15, "SIGTERM"),
        (255, "ended with exit code 255"),
    ],
)
async def test_k02_the_cause_of_an_end_is_said_in_words(code: int, words: str) -> None:
    assert words in cause_of_end(code)


async def test_every_code_has_words() -> None:
    """165 is no signal with a name, though it looks like one: words for it failed once, and the run never ended."""
    assert all(cause_of_end(code) for code in range(-70, 300))
