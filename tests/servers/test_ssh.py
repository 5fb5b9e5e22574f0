"""Kernels over ssh: a real sshd, the real ssh, a Jupyter server that is started there."""

import asyncio
import os
import pwd
import random
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import psutil
import pytest
import pytest_asyncio

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.core.events import NoticeAdded, OutputAdded
from oi_tui.app.engine.core.settings import KernelSection
from oi_tui.app.engine.kernels.jupyter import JupyterKernel
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.pool import Kernels
from oi_tui.app.engine.kernels.remote.kernel import remote_kernel
from oi_tui.app.engine.kernels.remote.servers import KnownServer
from oi_tui.app.engine.kernels.remote.site import open_site
from support.runs import collect
from support.sshd import Sshd, find_sshd, running_sshd, servers_of, tunnels_of

SERVERS = Path(os.environ.get("OI_TUI_SERVERS", ""))

Make = Callable[..., Awaitable[JupyterKernel]]


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    if not find_sshd() or not (SERVERS / "bin" / "jupyter").exists():
        pytest.skip("NOT TESTED: no sshd, or no Jupyter server; make check-servers says how to install them")
    if pwd.getpwuid(os.getuid()).pw_shell.endswith(("nologin", "false")):
        pytest.skip("NOT TESTED: the user of these tests has no login shell, which sshd needs")
    with running_sshd(tmp_path_factory.mktemp("sshd"), SERVERS / "bin") as running:
        yield running


@pytest_asyncio.fixture
async def make(sshd: Sshd, tmp_path: Path) -> AsyncIterator[Make]:
    """Starts a kernel on the machine `lab`."""
    async with AsyncExitStack() as stack:

        async def begin(*lines: str, url: str = "ssh://lab", start: bool = True, **more: str) -> JupyterKernel:
            settings = KernelSection(ssh_command=sshd.config(tmp_path.name, *lines))
            kernel = remote_kernel(Launch(cwd=tmp_path, settings=settings), KnownServer(url=url, **more))
            stack.push_async_callback(kernel.close)
            if start:
                await kernel.start()
            return kernel

        yield begin


def lines_of_all_processes() -> str:
    return "\n".join(" ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"]))


async def test_a_server_is_started_there_runs_code_and_is_stopped(make: Make, sshd: Sshd) -> None:
    kernel = await make()
    assert kernel.place == "python3 on lab"
    assert not kernel.confinement.sandboxed
    assert (await collect(kernel, "import os\nprint(6 * 7, os.getcwd())")).text() == f"42 {sshd.home}\n"
    (server,) = servers_of(sshd)
    state = next(sshd.home.glob(".local/share/oi-tui/ssh/*"))
    token = (state / "token").read_text()
    assert state.stat().st_mode & 0o777 == 0o700
    assert (state / "token").stat().st_mode & 0o777 == (state / "state").stat().st_mode & 0o777 == 0o600
    assert len(token) >= 32
    assert token not in lines_of_all_processes()
    assert (await collect(kernel, f"print({token!r} in str(dict(os.environ)))")).text() == "False\n"
    await kernel.close()
    assert not server.is_running()
    assert not tunnels_of(sshd)
    assert not (state / "token").exists()


async def test_each_line_of_a_flood_comes_once_while_ssh_is_killed(make: Make, sshd: Sshd) -> None:
    kernel = await make(python=str(SERVERS))
    chance = random.Random(7)
    flood = "import time\nfor number in range(4000):\n    print('n', number)\n    if not number % 100: time.sleep(0.05)"
    events: list[object] = []
    running = asyncio.create_task(kernel.run(flood, "b", events.append))
    killed = 0
    async with asyncio.timeout(100):
        for _ in range(6):
            await asyncio.wait([running], timeout=chance.uniform(0.1, 0.4))  # a random moment
            for tunnel in tunnels_of(sshd):
                tunnel.kill()
                killed += 1
        result = await running
    text = "".join(str(event.output.text) for event in events if isinstance(event, OutputAdded))  # type: ignore[union-attr] # a flood of text
    numbers = [int(line.split()[1]) for line in text.splitlines()]
    assert killed >= 2
    assert result.status == "ok"
    assert numbers == sorted(set(numbers))
    named = [event.title for event in events if isinstance(event, NoticeAdded) and "never came" in event.title]
    assert len(numbers) == 4000 or named
    assert (await collect(kernel, "print('still', number)")).text() == "still 3999\n"


async def test_a_server_that_is_killed_there_is_told_and_the_next_one_is_fresh(make: Make, sshd: Sshd) -> None:
    kernel = await make()
    await collect(kernel, "x = 1")
    running = asyncio.create_task(collect(kernel, "import time\ntime.sleep(60)"))
    (server,) = servers_of(sshd)
    server.send_signal(signal.SIGKILL)
    run = await running
    assert run.finished.status == "died"
    assert "gone from the server" in run.finished.detail
    assert (await collect(kernel, "print('x' in dir())")).text() == "False\n"


async def test_a_server_with_kernels_stays_and_is_found_again(make: Make, sshd: Sshd, tmp_path: Path) -> None:
    launch = Launch(cwd=tmp_path, settings=KernelSection(ssh_command=sshd.config("kept")))
    known = KnownServer(url="ssh://lab")
    async with open_site(known, launch) as site:
        kept = await site.start("python3")
    (server,) = servers_of(sshd)
    kernel = await make()
    assert servers_of(sshd) == [server]
    await kernel.close()
    assert servers_of(sshd) == [server]
    async with open_site(known, launch) as site:
        assert (await site.look_up(kept)) is not None
        await site.remove(kept)
    assert servers_of(sshd) == []


async def test_where_there_is_no_jupyter_it_is_told_how_to_install_it(make: Make, sshd: Sshd) -> None:
    profile = sshd.home / ".profile"
    usual = profile.read_text()
    for name in (".profile", ".bash_profile", ".zprofile"):
        (sshd.home / name).write_text("PATH=/usr/bin:/bin\n")
    try:
        kernel = await make(start=False)
        with pytest.raises(KernelError, match="lab has no Jupyter server") as told:
            await kernel.start()
        assert "pip install --user jupyter_server ipykernel" in told.value.hint
        python = sshd.folder / "bare" / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text('#!/bin/sh\nexec /usr/bin/env python3 -S -I "$@"\n')
        python.chmod(0o755)
        kernel = await make(start=False, python=str(python))
        with pytest.raises(KernelError, match=r"/bare/bin/python on lab has no Jupyter server") as told:
            await kernel.start()
        assert f"{python} -m pip install jupyter_server" in told.value.hint
        kernel = await make(start=False, python=str(sshd.home / "nosuch"))
        with pytest.raises(KernelError, match=r"no Python environment .*nosuch on lab"):
            await kernel.start()
    finally:
        for name in (".profile", ".bash_profile", ".zprofile"):
            (sshd.home / name).write_text(usual)


async def test_where_sockets_may_not_be_forwarded_a_port_with_a_token_does(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, sshd: Sshd
) -> None:
    folder = tmp_path_factory.mktemp("strict")
    with running_sshd(folder, SERVERS / "bin", "AllowStreamLocalForwarding no") as strict:
        settings = KernelSection(ssh_command=strict.config("strict"))
        kernel = remote_kernel(Launch(cwd=tmp_path, settings=settings), KnownServer(url="ssh://lab"))
        try:
            assert (await collect(kernel, "print(6 * 7)")).text() == "42\n"
            (server,) = servers_of(strict)
            assert "--ServerApp.port=0" in server.cmdline()
            (state,) = strict.home.glob(".local/share/oi-tui/ssh/*-port-*")
            assert (state / "token").read_text() not in lines_of_all_processes()
        finally:
            await kernel.close()
        assert servers_of(strict) == []


async def test_shell_code_runs_there_too(sshd: Sshd, tmp_path: Path) -> None:
    launch = Launch(cwd=tmp_path, settings=KernelSection(ssh_command=sshd.config("shell")))
    kernels = Kernels(launch, server=KnownServer(url="ssh://lab"))
    try:
        python, shell = await asyncio.gather(
            collect(kernels.get("python"), "import os; print(os.getcwd())"), collect(kernels.get("shell"), "pwd")
        )
        assert python.text() == shell.text() == f"{sshd.home}\n"
        assert len(servers_of(sshd)) == 1
    finally:
        await kernels.close()
    assert servers_of(sshd) == []


async def test_a_connection_that_the_person_shares_is_used_and_left_as_it_was(make: Make, sshd: Sshd) -> None:
    shared = "ControlPath /tmp/oi-tui-test-%C"
    command = sshd.config("master", shared).split()
    master = await asyncio.create_subprocess_exec(*command, "-M", "-N", "lab")
    try:
        check = (*command, "-O", "check", "lab")
        async with asyncio.timeout(20):
            while await (await asyncio.create_subprocess_exec(*check, stderr=asyncio.subprocess.DEVNULL)).wait():
                await asyncio.wait([asyncio.ensure_future(master.wait())], timeout=0.05)  # nobody tells
        # With this alone there is no way in.
        kernel = await make(shared, f"IdentityFile {sshd.folder}/other", url=f"ssh://lab{SERVERS}")
        assert (await collect(kernel, "print(6 * 7)")).text() == "42\n"
        await kernel.close()
        assert servers_of(sshd) == []
        assert master.returncode is None
        listening = [c for c in psutil.Process(master.pid).net_connections("unix") if "oi-tui-test" not in str(c.laddr)]
        assert [connection for connection in listening if str(connection.laddr).endswith("/ssh")] == []
    finally:
        master.terminate()
        await master.wait()


@pytest.mark.parametrize(
    ("lines", "words", "hint"),
    [
        ("IdentityFile {folder}/other", "a key is missing", "ssh lab"),
        ("UserKnownHostsFile /dev/null", "does not know the host key of lab", "compare the key"),
        ("UserKnownHostsFile {folder}/forged", "host key of lab is not the one", "ssh-keygen -R"),
        ("HostName host.invalid", "finds no machine called lab", "name"),
        ("Port 9", "lab cannot be reached over ssh", "port"),
    ],
)
async def test_what_ssh_would_ask_or_refuse_is_told(make: Make, sshd: Sshd, lines: str, words: str, hint: str) -> None:
    forged = (sshd.folder / "other.pub").read_text()
    (sshd.folder / "forged").write_text(f"[127.0.0.1]:{sshd.port} {forged}")
    kernel = await make(lines.format(folder=sshd.folder), start=False)
    with pytest.raises(KernelError, match=words) as told:
        await kernel.start()
    assert hint in told.value.hint
    assert "\x1b" not in told.value.details
