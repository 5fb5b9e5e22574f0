"""What a kernel can do wrong, row by row (K1 to K37), with real kernels; bare and enclosed ones where they differ.

Rows that need little time share a kernel. Rows with a room of their own: late output (K18, K19) in
`tests/kernels/test_late_output.py`, silence (K23, K24) in `test_signs_of_life.py`, stubborn code (K20, K34) in
`test_kernel_ends.py`, what messages may say (K27, K28) in `test_hostile_messages.py`.
"""

import asyncio
import os
import resource
import shutil
import signal
import sys
import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
import pytest_asyncio

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.core.events import (
    AnyEvent,
    InputRequested,
    NoticeAdded,
    OutputAdded,
    OutputDropped,
    OutputsCleared,
    OutputTailMoved,
)
from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.core.settings import KernelSection
from oi_tui.app.engine.kernels.base import InterruptMeans, Kernel, RunResult
from oi_tui.app.engine.kernels.jupyter import JupyterKernel
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.liveness import STOPPED, LivenessTimeouts
from oi_tui.app.engine.kernels.message_desk import FRAME_LIMIT
from oi_tui.app.engine.kernels.processes import OomCheck, cause_of_end
from oi_tui.app.engine.kernels.spec import LAUNCH_IPYKERNEL
from oi_tui.app.engine.sandbox.profile import Limits, Profile
from oi_tui.app.engine.testing import asks
from support.enclosure import processes_with, profile
from support.kernel_places import ELSEWHERE, kernel_at
from support.runs import LIMIT, collect, interrupted, prints, started

pytestmark = [pytest.mark.kernel, pytest.mark.asyncio(loop_scope="module")]

CAP = 50_000

QUICK = KernelSection(interrupt_step=1.0, output_cap=CAP)

PLACES = [
    pytest.param("bare", id="bare"),
    pytest.param("enclosed", id="enclosed", marks=pytest.mark.sandbox),
]

IN_A_SANDBOX = [pytest.param("bare", id="bare", marks=pytest.mark.thorough), PLACES[1]]
"""For what happens alike without a sandbox: `make check-all` sees to that."""

Make = Callable[..., JupyterKernel]


@pytest_asyncio.fixture(loop_scope="module")
async def make(
    request: pytest.FixtureRequest, tmp_path: Path, usual: Profile, kernel_environ: dict[str, str]
) -> AsyncIterator[Make]:
    """Makes Python kernels that end with the test: "bare", "enclosed" or elsewhere."""
    made: list[JupyterKernel] = []

    def make(place: str = "bare", settings: KernelSection = QUICK, **options: Any) -> JupyterKernel:
        where: dict[str, Any] = {"cwd": tmp_path}
        if place == "enclosed":
            where = {"cwd": usual.workspace, "sandbox": usual}
        launch = Launch(settings=settings, **{"environ": kernel_environ, **where, **options})
        made.append(kernel_at(request, place, launch))
        return made[-1]

    yield make
    for kernel in made:
        await kernel.close()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory, kernel_environ: dict[str, str]) -> AsyncIterator[Kernel]:
    """A bare kernel for all that does not end one."""
    cwd, spill = (tmp_path_factory.mktemp(name) for name in ("cwd", "spill"))
    kernel = JupyterKernel(Launch(cwd=cwd, settings=QUICK, environ=kernel_environ, spill_dir=spill))
    await kernel.start()
    yield kernel
    await kernel.close()


# -- ends --------------------------------------------------------------------------------------------------

ENDS = {
    "import os\nos._exit(1)": "ended with exit code 1",
    "exit()": "ended with exit code 0",
    "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)": "was killed (signal 9)",
}
"""What the code does, and what is said of it."""

CRASHES = {
    "import ctypes\nctypes.string_at(0)": "invalid memory access (signal 11)",
    "import os\nos.abort()": "aborted (signal 6)",
}

DIED = "died and was restarted by the server"

ENDS_ELSEWHERE = dict(zip(ENDS, (DIED, "its state is lost", DIED), strict=True))
"""Of `exit()` the server tells nothing before we end the kernel, or does."""

SERVER_LOOKS = 3
"""Seconds after which a server looks again whether its kernels live (`KernelRestarter.time_to_dead`). Nobody else can
tell: to the WebSocket a kernel that is gone is one that says nothing."""


@pytest.mark.parametrize("place", [*PLACES, *ELSEWHERE])
async def test_R3_k01_k02_every_end_is_told_with_its_cause_within_two_seconds_and_the_next_run_is_fresh(
    make: Make, place: str
) -> None:
    await assert_told(make(place), ENDS if place in ("bare", "enclosed") else ENDS_ELSEWHERE)


@pytest.mark.parametrize("place", PLACES)
async def test_k01_a_crash_is_told_with_its_cause_too(make: Make, place: str) -> None:
    await assert_told(make(place), CRASHES)


async def assert_told(kernel: JupyterKernel, ends: dict[str, str]) -> None:
    """The kernel is ended in each of these ways."""
    for number, (source, how) in enumerate(ends.items(), 1):
        await kernel.start()
        async with asyncio.timeout(2 + (SERVER_LOOKS if kernel.elsewhere else 0)):
            run = await collect(kernel, f"import time\nprint('before', flush=True)\ntime.sleep(0.1)\n{source}")
        assert run.text() == "before\n"
        assert (run.finished.status, kernel.state, kernel.generation) == ("died", "dead", number)
        assert how in run.finished.detail
    again = await collect(kernel, "1 + 1")
    assert (again.result, again.finished) == ("2", RunResult(status="ok"))  # it was told once already


WITHOUT_SOCKETS = """
import os, signal
before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt that comes before they are closed would prevent it
print('on')
os.closerange(3, 256)
signal.signal(signal.SIGINT, before)
"""


async def test_k02_a_kernel_without_its_sockets_does_not_hang_for_ever(make: Make) -> None:
    kernel = make()
    await kernel.start()
    interrupting: list[asyncio.Task[InterruptMeans]] = []

    def interrupt(event: AnyEvent) -> None:
        if isinstance(event, OutputAdded) and not interrupting:
            interrupting.append(asyncio.create_task(kernel.interrupt()))

    async with asyncio.timeout(LIMIT):
        await kernel.run(WITHOUT_SOCKETS, "c", interrupt)
        await asyncio.gather(*interrupting)
    assert (await collect(kernel, "1 + 1")).result == "2"
    assert kernel.generation == 2


@pytest.mark.parametrize("code", [-9, 137])
async def test_k03_the_end_by_lack_of_memory_is_said_as_certainly_as_it_is_known(tmp_path: Path, code: int) -> None:
    counted = tmp_path / "vmstat"
    unknown = OomCheck(counted)
    counted.write_text("nr_free_pages 1\noom_kill 3\n")
    witness = OomCheck(counted)
    assert (unknown.has_run_out, witness.has_run_out) == (None, False)
    assert "most often a sign of being out of memory" in cause_of_end(code, unknown.has_run_out)
    assert "memory" not in cause_of_end(code, witness.has_run_out)
    counted.write_text("nr_free_pages 1\noom_kill 4\n")
    assert "because it was out of memory" in cause_of_end(code, witness.has_run_out)


@pytest.mark.parametrize("leave", ["exit()", "import asyncio; asyncio.get_running_loop().stop()"], ids=["exit", "stop"])
async def test_k04_an_exit_after_ok_is_an_end_that_keeps_what_was_there(make: Make, leave: str) -> None:
    kernel = make()
    await kernel.start()
    run = await collect(kernel, f"print('kept')\n{leave}")
    assert run.text() == "kept\n"
    if kernel.state != "dead":  # stop() says ok, and nothing of an end: the run that meets it is told
        run = await collect(kernel, "1")
    assert run.finished.status == "died"
    assert (await collect(kernel, "1 + 1")).result == "2"
    assert kernel.generation == 2


async def test_k05_sys_exit_is_an_ordinary_error(shared: Kernel) -> None:
    run = await collect(shared, "import sys\nsys.exit(3)")
    assert (run.error.name, run.finished) == ("SystemExit", RunResult(status="error"))
    assert (await collect(shared, "'alive'")).result == "'alive'"


FORK = """\
import os
pid = os.fork()
print('both', flush=True)
if pid == 0: os._exit(0)
_ = os.waitpid(pid, 0)
_kernel = get_ipython().kernel
_kernel.session.send(_kernel.iopub_socket, 'status', {'execution_state': 'idle'}, parent=_kernel.get_parent())
print('end')
"""


async def test_k06_a_fork_prints_twice_and_a_second_idle_changes_nothing(shared: Kernel) -> None:
    run = await collect(shared, FORK)
    assert sorted(run.text().split())[:2] == ["both", "both"]  # what is printed behind a false idle may come late
    following = await collect(shared, "1 + 1")
    assert (following.result, following.text()) == ("2", "")


@pytest.mark.sandbox
async def test_k07_an_enclosed_kernel_may_not_have_more_processes_than_the_profile_says(
    make: Make, usual: Profile, home: Path
) -> None:
    # That a fork bomb meets the limit is S19, which has to be somebody else than root; here it is seen that it is set.
    kernel = make("enclosed", sandbox=profile(usual.workspace, home, limits=Limits(processes=60)))
    run = await collect(kernel, "import resource\nresource.getrlimit(resource.RLIMIT_NPROC)")
    hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    assert run.result == "(60, 60)" or hard != resource.RLIM_INFINITY > 60


# -- floods ------------------------------------------------------------------------------------------------

FLOODS = {
    "k08-big-lines": "while True: print('x' * 1_000_000)",
    "k09-small-prints": "while True: print('x')",
    "k10-descriptor": "import os\nwhile True: os.write(1, b'x' * 4096)",
    "k10-subprocess": "import subprocess\nsubprocess.run(['yes', 'x' * 100])",
}


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
async def test_k08_k09_k10_a_flood_is_bounded_and_can_be_interrupted(shared: Kernel, flood: str) -> None:
    def beyond(event: object) -> bool:
        return isinstance(event, OutputTailMoved) and event.tail.left_out_characters > 100_000

    run, means = await interrupted(shared, flood, beyond)
    assert run.finished.status == "interrupted" or flood.endswith("100])")  # yes ends, and the cell with it
    assert means in ("signal", "second_signal")
    assert len(run.text()) <= CAP
    assert len(run.tail().text) <= CAP
    assert sum(isinstance(event, OutputTailMoved) for event in run.events) < 400
    assert (await collect(shared, "print('clean')")).text() == "clean\n"


async def test_k11_k12_a_flood_of_displays_is_bounded_and_the_end_is_not_lost_in_it(shared: Kernel) -> None:
    run = await collect(
        shared,
        "from IPython.display import display, HTML\n"
        "for number in range(1_500): display(HTML('x'))\n"
        "for number in range(500): _ = display('u', display_id='d', update=number > 0)\n"
        "'result'",
    )
    assert run.finished == RunResult(status="ok")
    assert len(run.outputs) <= CAP // 100
    assert any(isinstance(event, OutputDropped) for event in run.events)


async def test_k13_k14_a_message_beyond_the_limit_is_dropped_and_counted_and_the_next_run_is_heard(
    shared: Kernel,
) -> None:
    size = FRAME_LIMIT + 1_000_000
    run = await collect(shared, f"'x' * {size}")
    (capped,) = (event for event in run.events if isinstance(event, OutputDropped))
    assert capped.characters >= size
    assert run.finished == RunResult(status="ok")
    assert (await collect(shared, "print('heard')")).text() == "heard\n"


DEEP = """\
import sys
_before = sys.getrecursionlimit()
sys.setrecursionlimit(9500)
def deeper(n): return 1 / 0 if n == 9000 else deeper(n + 1)
deeper(0)
"""


async def test_k15_the_error_of_a_deep_recursion_is_short_and_soon_there(shared: Kernel) -> None:
    run = await collect(shared, DEEP)  # within its limit of time; it took a minute before
    assert run.error.name == "ZeroDivisionError"
    assert len(run.error.traceback) < 50
    assert "frames are left out" in "".join(run.error.traceback)
    own = await collect(
        shared, "sys.setrecursionlimit(_before)\nlen(__import__('traceback').extract_tb(sys.last_traceback))"
    )
    assert int(own.result) > 9_000  # the person's own traceback is whole


# -- questions and interrupts --------------------------------------------------------------------------------


async def test_R4_k17_an_answer_that_comes_too_late_is_for_no_later_question(shared: Kernel) -> None:
    run, means = await interrupted(shared, "input('? ')", lambda event: isinstance(event, InputRequested))
    # A signal that meets ipykernel between its question and its waiting may take a second one, and the run ends "ok".
    assert means in ("signal", "second_signal")
    assert not any(isinstance(output, RichOutput) for output in run.outputs)
    await shared.answer("stale")
    assert (await collect(shared, "input('again? ')", "fresh")).result == "'fresh'"
    asked = await collect(shared, "from getpass import getpass\ngetpass('key: ') == 's3cret'", "s3cret")
    assert asks("key: ", password=True) in asked.events
    assert asked.result == "True"


ON = "import time\nprint('on', flush=True)\ntime.sleep(0.2)\n"
"""Code that never lets go of the interpreter's lock would hold up what was printed before it."""

STUCK = {
    "regex": f"{ON}import re\nre.match('(a+)+$', 'a' * 64 + 'b')",
    "bigint": f"{ON}_ = 3 ** (10 ** 9)",
    "join": f"{ON}import threading\nthreading.Event().wait()",
    "sleep": f"{ON}time.sleep(600)",
    "trapped": f"{ON}import subprocess\nsubprocess.run(['bash', '-c', 'trap : INT; sleep 600'])",
}


@pytest.mark.parametrize("source", STUCK.values(), ids=STUCK)
async def test_k22_r1_what_seems_stuck_can_be_interrupted_and_keeps_its_state(shared: Kernel, source: str) -> None:
    await collect(shared, "kept = 41")
    run, means = await interrupted(shared, source, prints("on"))
    assert run.finished.status == "interrupted"
    assert means in ("signal", "second_signal", "request")
    assert (await collect(shared, "kept + 1")).result == "42"


async def test_k25_interrupts_in_bursts_do_no_harm(shared: Kernel) -> None:
    for _ in range(10):
        assert await shared.interrupt() == "nothing_ran"
    async with asyncio.timeout(LIMIT):
        running = await started(shared, "print('ready', flush=True)\nwhile True: pass")
        means = await asyncio.gather(*(shared.interrupt() for _ in range(10)))
        assert (await running).status == "interrupted"
    assert set(means) <= {"signal", "second_signal", "nothing_ran"}
    assert (await collect(shared, "'alive'")).result == "'alive'"


DEAF = """\
import os, signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
os.system("setsid nohup bash -c 'exec -a {mark} sleep 600' >/dev/null 2>&1 &")
print('on', flush=True)
while True:
    try:
        while True: pass
    except BaseException: pass
"""


@pytest.mark.parametrize("place", PLACES)
async def test_k20_the_last_rung_of_the_ladder_ends_all_that_the_kernel_started(make: Make, place: str) -> None:
    mark = f"oi-tui-orphan-{uuid.uuid4().hex}"
    kernel = make(place, settings=KernelSection(interrupt_step=0.2))
    run, means = await interrupted(kernel, DEAF.format(mark=mark), prints("on"))
    assert (means, run.finished.status, kernel.generation) == ("restart", "interrupted", 2)
    assert ("state is lost" in run.finished.detail, kernel.state) == (True, "idle")
    if place == "bare":  # what left the session of a bare kernel cannot be found any more
        for pid in processes_with(mark):
            os.kill(pid, signal.SIGKILL)
    async with asyncio.timeout(LIMIT):
        while processes_with(mark):  # noqa: ASYNC110 - nobody tells of the end of a stranger
            await asyncio.sleep(0.02)
    assert (await collect(kernel, "1 + 1")).result == "2"


@pytest.mark.parametrize("place", IN_A_SANDBOX)
async def test_k23_a_kernel_that_was_stopped_is_told_and_woken_by_an_interrupt(make: Make, place: str) -> None:
    kernel = make(place, patience=LivenessTimeouts(pause=0.2, heart=0.6, start=0.4))
    source = "import os, signal\nkept = 41\nos.kill(os.getpid(), signal.SIGSTOP)\nwhile True: pass"
    run, means = await interrupted(
        kernel, source, lambda event: event == NoticeAdded(block_id="", level="warning", title=STOPPED)
    )
    assert run.finished.status == "interrupted"
    assert means in ("signal", "second_signal")
    assert (await collect(kernel, "kept + 1")).result == "42"


# -- forged and misplaced messages -----------------------------------------------------------------------------

FORGE = """\
_k = get_ipython().kernel
_own = _k.get_parent()
def _forge(kind, content, parent=_own):
    _k.session.send(_k.iopub_socket, kind, content, parent=parent)
"""


async def test_k29_forged_messages_are_only_words_and_do_nothing_outside_the_kernel(shared: Kernel) -> None:
    source = (
        f"{FORGE}"
        "_forge('execute_reply', {'status': 'ok', 'payload': [{'source': 'ask_exit', 'keepkernel': False}]})\n"
        "_forge('shutdown_reply', {'status': 'ok', 'restart': False})\n"
        "_forge('clear_output', {'wait': False})\n"
        "_say = _k.shell.payload_manager.write_payload\n"
        "_say({'source': 'set_next_input', 'text': 'evil()', 'replace': True})\n"
        "_say({'source': 'edit_magic', 'filename': '/etc/passwd', 'line_number': 1})\n"
        "print('on')"
    )
    run = await collect(shared, source)
    assert run.text() == "on\n"
    assert run.finished == RunResult(status="ok")
    assert OutputsCleared(block_id="") in run.events
    assert (await collect(shared, "print('alive')")).text() == "alive\n"


async def test_k29_a_forged_idle_does_not_end_a_run_that_goes_on(shared: Kernel) -> None:
    source = f"{FORGE}import time\n_forge('status', {{'execution_state': 'idle'}})\ntime.sleep(0.2)\nprint('still on')"
    told: list[AnyEvent] = []
    async with asyncio.timeout(LIMIT):
        assert await shared.run(source, "c", told.append) == RunResult(status="ok")
        # With a forged one the reply may overtake what is printed, which is late then.
        while not any(prints("still on")(event) for event in told):  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def test_k35_what_answers_another_request_or_none_is_not_taken_for_this_run(shared: Kernel) -> None:
    source = (
        f"{FORGE}"
        "_ident = _k._shell_parent_ident.get() if hasattr(_k, '_shell_parent_ident') else None\n"
        "_other = {**_own, 'header': {**_own['header'], 'msg_id': 'of-nobody'}}\n"
        "for parent in (_other, None):\n"
        "    _forge('stream', {'name': 'stdout', 'text': 'not mine'}, parent)\n"
        "    _forge('status', {'execution_state': 'idle'}, parent)\n"
        "    _k.session.send(_k.shell_stream, 'execute_reply', {'status': 'error'}, parent, _ident)\n"
        "print('mine')"
    )
    run = await collect(shared, source)
    assert (run.text(), run.finished) == ("mine\n", RunResult(status="ok"))


async def test_k30_what_utf8_cannot_express_is_replaced_in_every_output(shared: Kernel) -> None:
    source = "import sys\nprint('a\\ud800b')\nprint('c\\udfffd', file=sys.stderr)\nraise ValueError('e\\ud800f')"
    run = await collect(shared, source)
    assert (run.text(), run.text("stderr")) == ("a?b\n", "c?d\n")
    assert run.error.value == "e?f"


# -- starts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", IN_A_SANDBOX)
async def test_k31_a_workspace_that_was_deleted_is_named_and_the_kernel_starts_when_it_is_back(
    make: Make, tmp_path: Path, home: Path, place: str
) -> None:
    folder = (tmp_path if place == "bare" else home) / "deleted"
    folder.mkdir()
    options = {"sandbox": profile(folder, home)} if place == "enclosed" else {}
    kernel = make(place, cwd=folder, **options)
    await kernel.start()
    shutil.rmtree(folder)
    with pytest.raises(KernelError, match="deleted") as caught:
        await kernel.restart()
    assert "folder" in f"{caught.value.title} {caught.value.hint}"
    assert kernel.state == "dead"
    folder.mkdir()
    assert (await collect(kernel, "1 + 1")).result == "2"


PROGRAM = """\
import asyncio, sys
from pathlib import Path
from oi_tui.app.engine.kernels.jupyter import JupyterKernel
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.sandbox.profile import Profile
async def main(work, home, place):
    sandbox = Profile(mode='workspace-write', workspace=Path(work), home=Path(home)) if place == 'enclosed' else None
    kernel = JupyterKernel(Launch(cwd=Path(work), sandbox=sandbox))
    source = "import subprocess; subprocess.Popen(['sleep', '600']); print('on', flush=True); input()"
    await kernel.run(source, "c", lambda event: print(event, flush=True))
asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.parametrize("place", PLACES)
async def test_k33_nothing_is_left_of_a_kernel_when_the_engine_is_killed(
    usual: Profile, kernel_environ: dict[str, str], place: str
) -> None:
    argv = (sys.executable, "-c", PROGRAM, str(usual.workspace), str(usual.home), place)
    victim = await asyncio.create_subprocess_exec(*argv, stdout=asyncio.subprocess.PIPE, env=kernel_environ)
    assert victim.stdout is not None
    try:
        async with asyncio.timeout(LIMIT):
            while b"'on" not in await victim.stdout.readline():
                pass
        family = psutil.Process(victim.pid).children(recursive=True)
        kernels = [process for process in family if LAUNCH_IPYKERNEL in process.cmdline()]
        assert kernels
    finally:
        victim.kill()
        await victim.wait()
    left = kernels if place == "bare" else family  # outside a sandbox nobody ends what a killed kernel started
    async with asyncio.timeout(LIMIT):
        while any(process.is_running() and process.status() != "zombie" for process in left):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    for process in family:
        with_suppressed_kill(process)


def with_suppressed_kill(process: psutil.Process) -> None:
    """End what this test started, if it is still there."""
    if process.is_running():
        try:
            process.kill()
        except psutil.NoSuchProcess:
            return


SHADOWS = (
    "ipykernel_launcher",
    "ipykernel",
    "IPython",
    "random",
    "zmq",
    "sitecustomize",
    "usercustomize",
    "numpy",
    "pandas",
)


@pytest.mark.parametrize("place", IN_A_SANDBOX)
async def test_k36_no_module_of_the_workspace_is_run_when_a_kernel_starts(
    make: Make, tmp_path: Path, home: Path, place: str
) -> None:
    folder = tmp_path if place == "bare" else home / "shadows"
    folder.mkdir(exist_ok=True)
    for name in SHADOWS:
        (folder / f"{name}.py").write_text(f"open({str(folder / 'was-run')!r}, 'a').write({name!r} + ' ')\n")
    (folder / "mine.py").write_text("value = 42\n")
    options = {"sandbox": profile(folder, home)} if place == "enclosed" else {}
    kernel = make(place, cwd=folder, preload=lambda: True, **options)
    run = await collect(kernel, "1 + 1")
    assert run.result == "2"
    assert not (folder / "was-run").exists(), (folder / "was-run").read_text()
    assert (await collect(kernel, "import mine, os, sys\nmine.value, '' in sys.path")).result == "(42, True)"
    names = await collect(kernel, "[name for name in ('_path', '_sys') if name in globals()]")
    assert names.result == "[]"


async def test_k37_nothing_of_the_person_is_loaded_by_a_kernel_and_no_history_is_written(
    make: Make, tmp_path: Path, kernel_environ: dict[str, str]
) -> None:
    startup = tmp_path / ".ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "00.py").write_text("leaked = 1")
    kernel = make(environ={**kernel_environ, "HOME": str(tmp_path), "IPYTHONDIR": str(tmp_path / ".ipython")})
    run = await collect(kernel, "import os\n('leaked' in globals(), os.environ['IPYTHONDIR'])")
    private = run.result
    assert private.startswith("(False, ")
    assert str(tmp_path) not in private
    assert list((tmp_path / ".ipython").rglob("*.sqlite")) == []
