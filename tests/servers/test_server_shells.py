"""A shell in a terminal of a real Jupyter Server; a real Enterprise Gateway, which has no terminals."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import httpx
import pytest
import pytest_asyncio

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.core.settings import KernelSection
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.pool import Kernels
from oi_tui.app.engine.kernels.remote.servers import KnownServer
from oi_tui.app.engine.kernels.remote.terminal import remote_shell
from oi_tui.app.engine.kernels.shell_kernel import ShellKernel
from oi_tui.app.engine.testing import asks
from support.runs import LIMIT, collect, interrupted, prints, started

TOKEN = "a-token-of-the-tests"

Serve = Callable[..., str]


@pytest.fixture(scope="module")
def url(serve: Serve) -> str:
    own = ("--allow-root", "--ip=127.0.0.1", "--port={port}", "--no-browser", f"--IdentityProvider.token={TOKEN}")
    return serve("jupyter-server", *own, health="/api")


@pytest.fixture
def launch(tmp_path: Path) -> Launch:
    settings = KernelSection(interrupt_step=1.0, output_cap=100_000)
    return Launch(cwd=tmp_path, settings=settings, spill_dir=tmp_path)


@pytest_asyncio.fixture
async def kernel(url: str, launch: Launch) -> AsyncIterator[ShellKernel]:
    made = remote_shell(launch, KnownServer(url=url, token=TOKEN))
    await made.start()
    yield made
    await made.close()


def terminals_on(url: str) -> list[str]:
    headers = {"Authorization": f"token {TOKEN}"}
    answer = httpx.get(f"{url}/api/terminals", headers=headers, trust_env=False, timeout=20)
    return [str(terminal["name"]) for terminal in answer.raise_for_status().json()]


async def test_state_streams_and_exit_codes_are_those_of_a_shell(kernel: ShellKernel, url: str) -> None:
    assert len(terminals_on(url)) == 1
    await collect(kernel, 'cd /usr; word=kept; greet() { echo "$word by $1"; }')
    run = await collect(kernel, r"pwd; greet me; echo err >&2; printf 'a\xffb\t\e[1m'; (exit 3)")
    assert (run.text(), run.text("stderr")) == ("/usr\nkept by me\na\ufffdb\t\x1b[1m", "err\n")
    assert (run.finished.status, run.finished.exit_code) == ("error", 3)
    assert (await collect(kernel, "cat; read -r line; echo $?")).text() == "1\n"
    await kernel.close()
    assert terminals_on(url) == []


async def test_a_question_and_a_password_are_asked_and_never_shown(kernel: ShellKernel) -> None:
    run = await collect(kernel, "printf 'Name? ' >/dev/tty; read name </dev/tty; echo Hello $name", "Ada")
    assert asks("Name? ") in run.events
    assert run.text() == "Hello Ada\n"
    hidden = await collect(kernel, "read -rs -p 'PIN: ' pin </dev/tty; echo ${#pin}", "secret")
    assert asks("PIN: ", password=True) in hidden.events
    assert hidden.text() == "6\n"
    assert "secret" not in repr(hidden.events)


async def test_an_interrupt_ends_the_job_by_ever_harder_means_and_keeps_the_shell(kernel: ShellKernel) -> None:
    await collect(kernel, "word=kept")
    run, means = await interrupted(kernel, "echo ready; sleep 100", prints("ready"))
    assert (run.finished.status, run.finished.exit_code, means) == ("interrupted", 130, "signal")
    run, means = await interrupted(kernel, "(trap '' INT; echo ready; sleep 100)", prints("ready"))
    assert (run.finished.status, means) == ("interrupted", "kill")
    assert (await collect(kernel, "echo $word")).text() == "kept\n"
    run, means = await interrupted(kernel, "trap '' INT; echo ready; while :; do :; done", prints("ready"))
    assert (run.finished.status, means) == ("interrupted", "restart")
    assert (await collect(kernel, "echo well")).text() == "well\n"


async def test_ten_megabytes_are_bounded_and_counted(kernel: ShellKernel) -> None:
    run = await collect(kernel, "yes | head -c 10000000; echo end")
    tail = run.tail()
    assert len(run.text()) + tail.left_out_characters + len(tail.text) == 10_000_004
    assert Path(run.whole.path).stat().st_size == 10_000_004


async def test_a_background_job_is_not_waited_for_and_ends_with_the_shell(kernel: ShellKernel) -> None:
    run = await collect(kernel, "sleep 600 & echo $!; nohup sleep 600 >/dev/null 2>&1 & echo $!")
    pids = run.text().split()
    assert len(pids) == 2
    assert all(Path("/proc", pid).exists() for pid in pids)
    await kernel.close()
    assert not any(Path("/proc", pid).exists() for pid in pids)


async def test_a_terminal_that_somebody_ends_is_told(kernel: ShellKernel, url: str) -> None:
    running = await started(kernel, "echo ready; sleep 100")
    headers = {"Authorization": f"token {TOKEN}"}
    async with httpx.AsyncClient(trust_env=False, headers=headers, timeout=20) as client:
        await client.delete(f"{url}/api/terminals/{terminals_on(url)[0]}")
    async with asyncio.timeout(LIMIT):
        result = await running
    assert result.status == "died"
    assert "was ended on the server" in result.detail
    assert (await collect(kernel, "echo well")).text() == "well\n"


async def test_a_gateway_has_no_terminals_and_that_is_said(serve: Serve, launch: Launch) -> None:
    flags = ("--ip=127.0.0.1", "--port={port}", f"--EnterpriseGatewayApp.auth_token={TOKEN}")
    gateway = serve("jupyter-enterprisegateway", *flags, health=f"/api?token={TOKEN}", place="gateway")
    kernels = Kernels(launch, server=KnownServer(url=gateway, token=TOKEN))
    told = await kernels.settle()
    assert told is not None
    assert "has no terminals" in told.title
    assert "shell" not in kernels.languages
    with pytest.raises(KernelError, match="has no terminals"):
        await kernels.get("shell").start()
    await kernels.close()


async def test_a_server_that_was_told_to_have_no_terminals_has_none(serve: Serve, launch: Launch) -> None:
    own = ("--allow-root", "--ip=127.0.0.1", "--port={port}", "--no-browser", f"--IdentityProvider.token={TOKEN}")
    url = serve("jupyter-server", *own, "--ServerApp.terminals_enabled=False", health="/api")
    kernels = Kernels(launch, server=KnownServer(url=url, token=TOKEN))
    told = await kernels.settle()
    assert told is not None
    assert "has no terminals" in told.title
    await kernels.close()


async def test_a_file_of_the_server_is_read_and_made(tmp_path: Path, serve: Serve, launch: Launch) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "sub folder").mkdir()
    (root / "sub folder" / "data ü%.csv").write_text("a,b\n1,2\n")
    (root / "plot.png").write_bytes(b"\x89PNG\r\n\x1a\nrest")
    (root / "large.bin").write_bytes(bytes(5_000_000))
    own = ("--allow-root", "--ip=127.0.0.1", "--port={port}", "--no-browser", f"--IdentityProvider.token={TOKEN}")
    url = serve("jupyter-server", *own, f"--ServerApp.root_dir={root}", health="/api")
    kernels = Kernels(launch, server=KnownServer(url=url, token=TOKEN))
    assert (await kernels.read_file("sub folder/data ü%.csv")).data == b"a,b\n1,2\n"
    assert (await kernels.read_file("/plot.png")).data == b"\x89PNG\r\n\x1a\nrest"
    for path, said in (("none.txt", "no file"), ("sub folder", "is a folder"), ("large.bin", "5,000,000 bytes")):
        with pytest.raises(KernelError, match=said):
            await kernels.read_file(path)
    assert await kernels.write_file("sub folder/out.bin", b"\0\xff\n") == "127.0.0.1"
    assert (root / "sub folder" / "out.bin").read_bytes() == b"\0\xff\n"
    with pytest.raises(KernelError, match="already"):
        await kernels.write_file("plot.png", b"other")
    with pytest.raises(KernelError, match="was not saved"):
        await kernels.write_file("no folder/out.bin", b"")
    assert (root / "plot.png").read_bytes().startswith(b"\x89PNG")
    await kernels.close()
