"""Rows S11 to S19 and S24: what code in a sandbox can do to the system around it, tried by real kernels."""

import asyncio
import contextlib
import functools
import os
import platform
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from oi_tui.app.engine.kernels.base import Kernel, RunResult
from oi_tui.app.engine.sandbox import seccomp
from oi_tui.app.engine.sandbox.profile import Profile
from support.enclosure import attempt, processes_with, profile
from support.runs import collect, interrupted, prints
from support.unprivileged import as_nobody, why_not_nobody

pytestmark = [pytest.mark.sandbox, pytest.mark.kernel, pytest.mark.asyncio(loop_scope="module")]

Enclosed = Callable[..., Kernel]

CALL = (
    "import ctypes; libc = ctypes.CDLL(None, use_errno=True); "
    "libc.{call} < 0 or print('worked'); raise OSError(ctypes.get_errno(), '')"
)
"""A call of the C library, as a statement that raises what it said."""

LIMIT = 10.0


async def gone(mark: str) -> None:
    """Wait until no process has the mark on its command line."""
    async with asyncio.timeout(LIMIT):
        while processes_with(mark):  # noqa: ASYNC110  # nobody tells when somebody else's process is gone
            await asyncio.sleep(0.01)


async def run_as_nobody(
    program: str, folder: Path, *arguments: str, environ: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """The Python program, told of a folder of its own first, by another user where the tests are run by root."""
    folder.mkdir()
    if reason := await asyncio.to_thread(why_not_nobody, folder):
        pytest.skip(reason)
    command = as_nobody([sys.executable, "-c", program, str(folder), *arguments], writable=folder)
    env = environ | {"PYTHONPATH": str(Path(__file__).parents[1]), "HOME": str(folder)}
    run = functools.partial(subprocess.run, command, capture_output=True, text=True, timeout=60, cwd=folder, env=env)
    return await asyncio.to_thread(run)


async def test_S11_code_has_no_rights_whoever_started_it(python: Kernel) -> None:
    found = (await collect(python, "print(open('/proc/self/status').read())")).text()
    status = dict(line.split(":\t", 1) for line in found.splitlines() if ":\t" in line)
    assert {name: status[name].strip() for name in ("CapEff", "CapPrm", "CapBnd", "CapInh", "CapAmb")} == dict.fromkeys(
        ("CapEff", "CapPrm", "CapBnd", "CapInh", "CapAmb"), "0" * 16
    )
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")


@pytest.mark.parametrize(
    "call",
    [
        "mount(b'none', b'/usr', None, 0x21, None)",
        "mount(b'none', b'/', None, 0x21, None)",
        "mount(b'tmpfs', b'/tmp', b'tmpfs', 0, None)",
        "umount2(b'/tmp', 0)",
        "unshare(0x10000000)",
        "unshare(0x00020000)",
        "chroot(b'/tmp')",
        "setns(0, 0)",
    ],
)
async def test_S12_nothing_can_be_mounted_and_no_namespace_made(python: Kernel, call: str) -> None:
    assert await attempt(python, CALL.format(call=call)) == "EPERM"


async def test_S12_no_device_can_be_made(python: Kernel) -> None:
    assert await attempt(python, "os.mknod('disk', 0o60600, os.makedev(8, 0))") in ("EPERM", "EACCES")
    assert await attempt(python, "os.mknod('/dev/disk', 0o60600, os.makedev(8, 0))") in ("EPERM", "EACCES", "EROFS")


async def test_S12_a_nested_sandbox_cannot_be_made(shell: Kernel) -> None:
    run = await collect(shell, "bwrap --unshare-user --bind / / true; unshare -Ur true")
    assert run.finished.status == "error"


async def test_S13_no_key_and_nothing_unusual_is_in_any_environment(python: Kernel, shell: Kernel) -> None:
    run = await collect(python, "import os\nprint(sorted(os.environ))")
    assert "OPENAI_API_KEY" not in run.text()
    assert "INNOCENT" not in run.text()
    everywhere = await collect(shell, "cat /proc/[0-9]*/environ | tr '\\0' '\\n'")
    assert "PATH=" in everywhere.text()
    assert "a-key" not in everywhere.text()
    assert "a-value" not in everywhere.text()


async def test_S13_variables_can_be_passed_on_by_name(enclosed: Enclosed, project: Path, home: Path) -> None:
    kernel = enclosed(profile(project, home, environment=("INNOCENT",)))
    assert (await collect(kernel, "import os\nos.environ['INNOCENT']")).result == "'a-value'"


LOOK_AT_PROC = """
import os
tried, opened = 0, []
for folder, folders, files in os.walk("/proc"):
    folders[:] = [name for name in folders if not name.isdecimal() and name not in ("self", "thread-self")]
    for path in (os.path.join(folder, name) for name in files):
        tried += 1
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
            opened.append(path)
        except OSError:
            pass
print(tried > 500, opened)
"""
"""What can be opened for writing there, beside what belongs to a process. Nothing is ever written."""


@pytest.mark.parametrize(
    "options", [{"mode": "workspace-write"}, {"mode": "read-only"}, {"mode": "workspace-write", "network": "full"}]
)
async def test_S24_no_setting_of_the_system_can_be_opened_for_writing(
    enclosed: Enclosed, project: Path, home: Path, options: dict[str, str]
) -> None:
    kernel = enclosed(profile(project, home, **options))
    assert (await collect(kernel, LOOK_AT_PROC)).text() == "True []\n"


AS_ANOTHER_USER = """
import asyncio, sys
from pathlib import Path
from oi_tui.app.engine.kernels.jupyter import JupyterKernel
from oi_tui.app.engine.kernels.launch import Launch
from support.enclosure import make_home, make_project, profile
from support.runs import collect

async def main(folder, source):
    home = make_home(Path(folder, "home"))
    chosen = profile(make_project(home / "work"), home)
    kernel = JupyterKernel(Launch(cwd=chosen.workspace, sandbox=chosen))
    print((await collect(kernel, source)).text(), end="")
    await kernel.close()

asyncio.run(main(*sys.argv[1:]))
"""


async def test_S24_no_setting_of_the_system_can_be_opened_for_writing_by_another_user_than_root(
    tmp_path: Path, kernel_environ: dict[str, str]
) -> None:
    finished = await run_as_nobody(AS_ANOTHER_USER, tmp_path / "own", LOOK_AT_PROC, environ=kernel_environ)
    assert finished.stdout == "True []\n", finished.stderr


@pytest.fixture(scope="module")
def bait(home: Path) -> Iterator[dict[str, object]]:
    """Sockets on which programs of this machine listen: in the home folder, in /tmp, without a path, on ports."""
    with ExitStack() as stack:
        addresses: dict[str, object] = {}
        engine = home / ".local" / "state" / "oi-tui" / "engines" / "host" / "0123456789ab.01234567"
        engine.parent.mkdir(parents=True)
        for name, address in {
            "home": str(home / ".agent.sock"),
            "engine": f"{engine}",
            "tmp": f"/tmp/oi-tui-{uuid.uuid4().hex[:8]}.sock",
            "abstract": f"\0oi-tui-{uuid.uuid4().hex}",
        }.items():
            listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(address)
            listener.listen()
            addresses[name] = address
            if not address.startswith("\0"):
                stack.callback(os.unlink, address)
        port = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        yield addresses | {"port": port.getsockname(), "udp": udp.getsockname()}


@pytest.mark.parametrize("where", ["home", "engine", "tmp", "abstract"])
async def test_S15_sockets_of_this_machine_are_out_of_reach(
    python: Kernel, bait: dict[str, object], where: str
) -> None:
    with socket.socket(socket.AF_UNIX) as here:
        here.connect(str(bait[where]))  # from outside it works
    outcome = await attempt(python, f"socket.socket(socket.AF_UNIX).connect({bait[where]!r})")
    assert outcome in ("ENOENT", "ECONNREFUSED", "EPERM", "EACCES")


async def test_S15_sockets_without_a_path_stay_out_of_reach_with_the_full_network(
    enclosed: Enclosed, project: Path, home: Path, bait: dict[str, object]
) -> None:
    kernel = enclosed(profile(project, home, network="full"))
    reached = await attempt(kernel, f"socket.create_connection({bait['port']!r})")
    assert reached == "done"  # that is what it is for
    apart = await attempt(kernel, f"socket.socket(socket.AF_UNIX).connect({bait['abstract']!r})")
    if apart == "done":
        pytest.skip("this kernel has no Landlock that keeps sockets apart")
    assert apart == "EPERM"


@pytest.mark.parametrize("path", ["/run/docker.sock", "/var/run/docker.sock", "/run/dbus/system_bus_socket"])
async def test_S15_usual_sockets_are_not_there(python: Kernel, path: str) -> None:
    assert await attempt(python, f"os.stat({path!r})") == "ENOENT"


async def test_S16_no_port_of_this_machine_can_be_reached(python: Kernel, bait: dict[str, object]) -> None:
    with socket.create_connection(bait["port"]):  # type: ignore[arg-type]  # it is an address
        pass
    assert await attempt(python, f"socket.create_connection({bait['port']!r})") == "ECONNREFUSED"
    send = "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect({0!r}); s.send(b'x'); s.send(b'x')"
    assert await attempt(python, send.format(bait["udp"])) == "ECONNREFUSED"
    assert await attempt(python, send.format(("192.0.2.1", 9))) == "ENETUNREACH"
    assert await attempt(python, "socket.create_connection(('192.0.2.1', 80), 5)") == "ENETUNREACH"


async def test_S16_no_name_can_be_resolved(python: Kernel) -> None:
    outcome = await attempt(python, "socket.getaddrinfo('example.org', 80)")
    assert "gaierror" in outcome or outcome == "EAI_AGAIN"


@pytest.mark.parametrize(
    "made",
    [
        "AF_VSOCK, socket.SOCK_STREAM",
        "AF_PACKET, socket.SOCK_RAW",
        "AF_PACKET, socket.SOCK_DGRAM",
        "AF_INET, socket.SOCK_RAW, 1",
        "AF_INET6, socket.SOCK_RAW, 58",
        "AF_ALG, socket.SOCK_SEQPACKET",
        "AF_BLUETOOTH, socket.SOCK_RAW, 1",
    ],
)
async def test_S16_odd_sockets_cannot_be_made(python: Kernel, made: str) -> None:
    family, rest = made.split(", ", 1)
    assert await attempt(python, f"socket.socket(getattr(socket, {family!r}, 31), {rest})") == "EPERM"


@pytest.mark.parametrize(
    "name",
    [
        *("ptrace", "keyctl", "add_key", "request_key", "bpf", "userfaultfd", "perf_event_open", "io_uring_setup"),
        *("process_vm_readv", "open_by_handle_at", "kexec_load", "init_module", "fsopen", "move_mount", "unshare"),
        *("pidfd_getfd", "mount_setattr", "fanotify_init"),
    ],
)
async def test_S17_calls_that_lead_out_are_denied(python: Kernel, name: str) -> None:
    number = seccomp.MACHINES[platform.machine()].calls[name]
    assert await attempt(python, CALL.format(call=f"syscall({number}, 0, 0, 0, 0, 0)")) == "EPERM"


async def test_S17_nobody_types_into_a_terminal(python: Kernel, shell: Kernel) -> None:
    push = "import fcntl, os, termios; fcntl.ioctl({0}, termios.TIOCSTI, b'x')"
    assert await attempt(python, push.format("os.openpty()[1]")) == "EPERM"
    run = await collect(shell, f'python -c "{push.format(0)}" </dev/tty')
    assert "PermissionError" in run.text("stderr")


async def test_S17_threads_and_subprocesses_work(python: Kernel) -> None:
    source = (
        "import concurrent.futures, multiprocessing, subprocess, sys, threading\n"
        "with concurrent.futures.ThreadPoolExecutor(4) as pool: print(sum(pool.map(int, range(10))))\n"
        "print(subprocess.run(['echo', 'child'], capture_output=True, text=True).stdout.strip())\n"
        "with multiprocessing.get_context('fork').Pool(2) as pool: print(pool.map(abs, [-1, -2]))\n"
    )
    assert (await collect(python, source)).text() == "45\nchild\n[1, 2]\n"


def above_all(mark: str) -> set[int]:
    """The child of ours (bubblewrap) under which the processes with this mark run."""
    ours = {child.pid for child in psutil.Process().children()}
    above: set[int] = set()
    for pid in processes_with(mark):
        with contextlib.suppress(psutil.NoSuchProcess):
            above |= {parent.pid for parent in psutil.Process(pid).parents()}
    return above & ours


@pytest.mark.parametrize("end", ["close", "restart", "kill"])
@pytest.mark.parametrize("language", ["light", "shell"])
async def test_S18_nothing_outlives_the_sandbox(enclosed: Enclosed, usual: Profile, language: str, end: str) -> None:
    mark = f"oi-tui-orphan-{uuid.uuid4().hex}"
    kernel = enclosed(usual, language)
    start = f"setsid nohup bash -c 'exec -a {mark} sleep 600' >/dev/null 2>&1 &"
    await collect(kernel, start if language == "shell" else f"import os\nos.system({start!r})")
    async with asyncio.timeout(LIMIT):
        while not processes_with(mark):  # noqa: ASYNC110  # it has to be there before it can be gone
            await asyncio.sleep(0.01)
    if end == "close":
        await kernel.close()
    elif end == "restart":
        await kernel.restart()
    else:
        async with asyncio.timeout(LIMIT):
            while not (above := above_all(mark)):  # noqa: ASYNC110  # a process that is just becoming another has none
                await asyncio.sleep(0.01)
        os.kill(above.pop(), signal.SIGKILL)
    await gone(mark)


async def test_S18_nothing_outlives_the_program_that_made_the_sandbox(usual: Profile) -> None:
    mark = f"oi-tui-orphan-{uuid.uuid4().hex}"
    program = (
        "import asyncio, sys\nfrom pathlib import Path\n"
        "from oi_tui.app.engine.kernels.launch import Launch\n"
        "from oi_tui.app.engine.kernels.shell_kernel import ShellKernel\n"
        "from oi_tui.app.engine.sandbox.profile import Profile\n"
        "async def main(work, home, mark):\n"
        "    sandbox = Profile(mode='workspace-write', workspace=Path(work), home=Path(home))\n"
        "    kernel = ShellKernel(Launch(cwd=Path(work), sandbox=sandbox))\n"
        "    start = f\"setsid nohup bash -c 'exec -a {mark} sleep 600' >/dev/null 2>&1 & sleep 600\"\n"
        "    await kernel.run(start, 'c', lambda event: None)\n"
        "asyncio.run(main(*sys.argv[1:]))\n"
    )
    argv = (sys.executable, "-c", program, str(usual.workspace), str(usual.home), mark)
    victim = await asyncio.create_subprocess_exec(*argv)
    try:
        async with asyncio.timeout(LIMIT):
            while len(processes_with(mark)) < 2:  # noqa: ASYNC110  # the orphan, beside who has it started
                await asyncio.sleep(0.01)
    finally:
        victim.kill()
        await victim.wait()
    await gone(mark)


BOMB = """
import asyncio, sys
from pathlib import Path
from oi_tui.app.engine.kernels.jupyter import JupyterKernel
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.sandbox.profile import Limits
from support.enclosure import attempt, make_home, make_project, profile
from support.runs import collect

async def main(folder, mark):
    home = make_home(Path(folder, "home"))
    chosen = profile(make_project(home / "work"), home, limits=Limits(processes=60))
    kernel = JupyterKernel(Launch(cwd=chosen.workspace, sandbox=chosen))
    sleeper = f"subprocess.Popen(['{mark}', '600'], executable='sleep')"
    print(await attempt(kernel, f"import subprocess; kept = [{sleeper} for _ in range(400)]"))
    print((await collect(kernel, "1 + 1")).result)
    print((await collect(kernel, "10 < len(list(__import__('pathlib').Path('/proc').glob('[0-9]*'))) < 60")).result)
    await kernel.close()

asyncio.run(main(*sys.argv[1:]))
"""


async def test_S19_a_fork_bomb_meets_a_limit_and_the_kernel_lives(
    tmp_path: Path, kernel_environ: dict[str, str]
) -> None:
    """As another user where the tests are run by root, whom the system holds to no number of processes."""
    mark = f"oi-tui-bomb-{uuid.uuid4().hex}"
    finished = await run_as_nobody(BOMB, tmp_path / "own", mark, environ=kernel_environ)
    assert finished.stdout.split() == ["EAGAIN", "2", "True"], finished.stderr
    await gone(mark)


async def test_processes_outside_are_invisible(python: Kernel) -> None:
    run = await collect(python, "import os\nprint(*[name for name in os.listdir('/proc') if name.isdecimal()])")
    assert "1" in run.text().split()
    assert len(run.text().split()) <= 5


async def test_no_descriptor_of_ours_is_left_open(python: Kernel, shell: Kernel) -> None:
    run = await collect(python, "import os, subprocess\nsubprocess.run(['ls', '-l', f'/proc/{os.getpid()}/fd'])")
    assert "socket:" in run.text()
    assert "memfd" not in run.text()
    assert "memfd" not in (await collect(shell, "ls -l /proc/self/fd /proc/$$/fd")).text()


async def test_R1_an_interrupt_reaches_the_cell_and_nothing_else(python: Kernel) -> None:
    await collect(python, "kept = 41")
    run, means = await interrupted(python, "print('ready', flush=True)\nwhile True: pass", prints("ready"))
    assert (means, run.finished) == ("signal", RunResult(status="interrupted"))
    assert (await collect(python, "kept + 1")).result == "42"


async def test_R1_the_second_interrupt_reaches_subprocesses(python: Kernel) -> None:
    source = "import subprocess\nprint('ready', flush=True)\nsubprocess.run(['sleep', '600'])"
    run, _ = await interrupted(python, source, prints("ready"))
    assert run.finished.status == "interrupted"


async def test_R1_an_interrupt_stops_a_job_of_the_shell(shell: Kernel) -> None:
    run, means = await interrupted(shell, "kept=41; echo ready; sleep 600", prints("ready"))
    assert (means, run.finished.status) == ("signal", "interrupted")
    assert (await collect(shell, "echo $kept")).text() == "41\n"


@pytest.mark.parametrize("language", ["light", "shell"])
async def test_K2_a_kernel_that_is_killed_has_died(enclosed: Enclosed, usual: Profile, language: str) -> None:
    kernel = enclosed(usual, language)
    run = await collect(kernel, "kill -9 $$" if language == "shell" else "import os\nos.kill(os.getpid(), 9)")
    assert run.finished.status == "died"
    assert "killed (signal 9)" in run.finished.detail
    assert (await collect(kernel, "echo again" if language == "shell" else "print('again')")).text() == "again\n"


async def test_a_question_of_running_code_can_be_answered(python: Kernel, shell: Kernel) -> None:
    assert (await collect(python, "input('name? ')", "somebody")).result == "'somebody'"
    run = await collect(shell, "printf 'name? ' >/dev/tty; read name </dev/tty; echo $name", "somebody")
    assert run.text().endswith("somebody\n")
