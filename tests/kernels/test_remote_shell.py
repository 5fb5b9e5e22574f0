"""A shell in a terminal of a server: a line that loses, repeats and mixes, terminals that are killed or cannot be had.

That it is a shell like the local one, test_shell_kernel.py shows for both; tests/servers has real servers.
"""

import asyncio
import base64
import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.core.settings import KernelSection
from oi_tui.app.engine.core.values import PackageHome
from oi_tui.app.engine.kernels.in_terminal_line import LONGEST_FRAME, Head, Link
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.pool import Kernels
from oi_tui.app.engine.kernels.remote.servers import KnownServer
from oi_tui.app.engine.kernels.remote.terminal import remote_shell
from oi_tui.app.engine.kernels.shell_kernel import ShellKernel
from oi_tui.app.engine.sandbox.profile import Profile
from support.runs import LIMIT, collect, started
from support.terminal_server import TerminalServer

Made = tuple[TerminalServer, ShellKernel]
Make = Callable[..., Awaitable[Made]]


@pytest_asyncio.fixture
async def make(tmp_path: Path) -> AsyncIterator[Make]:
    """Makes a server and a shell in a terminal of it, not started."""
    ends: list[ShellKernel | TerminalServer] = []

    async def build(*shell: str, start_timeout: float = 20.0) -> Made:
        server = TerminalServer(*([shell] if shell else []))
        settings = KernelSection(start_timeout=start_timeout, interrupt_step=0.5)
        kernel = remote_shell(
            Launch(cwd=tmp_path, settings=settings), KnownServer(url=await server.open(), token="a-token")
        )
        ends[:0] = [kernel, server]
        return server, kernel

    yield build
    for made in ends:
        await made.close()


async def test_a_shell_elsewhere_says_where_it_is_and_leaves_no_terminal(make: Make) -> None:
    server, kernel = await make()
    assert (kernel.place, kernel.elsewhere, kernel.confinement.sandboxed) == ("a terminal of 127.0.0.1", True, False)
    assert (await collect(kernel, "echo hello")).text() == "hello\n"
    assert len(server.terminals) == 1
    await kernel.close()
    assert server.terminals == {}


async def test_K40_nothing_is_lost_or_doubled_where_the_connection_drops(make: Make) -> None:
    server, kernel = await make()
    await kernel.start()
    chance, dropped = random.Random(7), 0
    count = "for i in $(seq 3000); do echo $i; [ $((i % 100)) = 0 ] && sleep 0.02; done; echo end >&2"
    running = asyncio.create_task(collect(kernel, count))
    async with asyncio.timeout(LIMIT):
        while not running.done():
            await asyncio.wait([running], timeout=chance.uniform(0.02, 0.2))  # a random moment
            dropped += server.drop()
        run = await running
    assert dropped
    assert run.text() == "".join(f"{number}\n" for number in range(1, 3001))
    assert (run.text("stderr"), run.finished.status) == ("end\n", "ok")
    assert (await collect(kernel, "echo still here")).text() == "still here\n"
    assert kernel.generation == 1


async def test_what_others_write_on_the_terminal_is_passed_over(make: Make) -> None:
    server, kernel = await make()
    await kernel.start()
    server.noise = "\r\nBroadcast message from root: \x1b[2J\x07 0123456789abcdef:AAAA;\r\n"
    assert (await collect(kernel, "seq 20000 | tail -n 1; exit 4")).text() == "20000\n"


async def test_a_terminal_that_is_killed_there_is_told_and_the_next_one_is_fresh(make: Make) -> None:
    server, kernel = await make()
    running = await started(kernel, "echo ready; sleep 100")
    server.end(next(iter(server.terminals)))
    async with asyncio.timeout(LIMIT):
        result = await running
    assert result.status == "died"
    assert "was ended on the server" in result.detail
    assert (await collect(kernel, "echo well")).text() == "well\n"
    assert kernel.generation == 2


@pytest.mark.parametrize(("status", "why"), [(404, "has no terminals"), (403, "allows no terminals")])
async def test_K40_a_server_without_terminals_is_said_and_the_shell_is_never_the_local_one(
    make: Make, tmp_path: Path, status: int, why: str
) -> None:
    server, kernel = await make()
    server.refusal = status
    with pytest.raises(KernelError, match=why):
        await kernel.start()
    known = KnownServer(url=server.url, token="a-token")
    kernels = Kernels(Launch(cwd=tmp_path), server=known)
    told = await kernels.settle()
    assert told is not None
    assert why in told.title
    assert await kernels.settle() is None  # told once
    assert "shell" not in kernels.languages
    assert "No shell" in kernels.surroundings
    with pytest.raises(KernelError, match=why):
        await kernels.get("shell").start()
    chosen = Kernels(Launch(cwd=tmp_path, settings=KernelSection(shell="here")), server=known)
    assert await chosen.settle() is None
    assert not chosen.get("shell").elsewhere
    assert "own machine" in chosen.surroundings
    await kernels.close()


async def test_a_terminal_that_has_no_shell_is_said_with_what_it_says(make: Make) -> None:
    _, kernel = await make("sh", "-c", "echo Closed for today; cat >/dev/null", start_timeout=1.0)
    with pytest.raises(KernelError, match="within 1 second") as caught:
        await kernel.start()
    assert "Closed for today" in caught.value.details


def link_pair(lose: Callable[[], bool]) -> tuple[Link, Link, list[bytes], Callable[[], None]]:
    """Two ends of a line that loses what `lose` says, what comes out at the second, and what carries."""
    lines: tuple[list[str], list[str]] = ([], [])
    came: list[bytes] = []
    first = Link("m", lines[0].append, lambda head, body: None)

    def take(head: Head, body: bytes) -> None:
        came.append(body)

    second = Link("m", lines[1].append, take)

    def carry() -> None:
        for line, end in ((lines[0], second), (lines[1], first)):
            texts, line[:] = line[:], []
            for text in texts:
                if not lose():
                    end.feed(text)

    return first, second, came, carry


@given(st.lists(st.binary(max_size=50), max_size=30), st.integers())
def test_K40_what_is_put_in_comes_out_once_and_in_order(bodies: list[bytes], seed: int) -> None:
    chance = random.Random(seed)
    first, _, came, carry = link_pair(lambda: chance.random() < 0.3)
    for body in bodies:
        first.put({}, body)
        carry()
    for _ in range(200):
        if came == bodies and not first.in_flight:
            break
        first.repeat()
        carry()
    assert came == bodies
    assert first.in_flight == 0


@given(st.text(max_size=300) | st.lists(st.sampled_from(("m:", ";", "AAAA", "eyJuIjoxfQA=", "\0"))).map("".join))
def test_what_is_no_frame_is_passed_over(text: str) -> None:
    came: list[bytes] = []
    link = Link("m", lambda frame: None, lambda head, body: came.append(body))
    link.feed(text)
    link.feed(";m:" + "A" * (LONGEST_FRAME + 10))
    sent: list[str] = []
    Link("m", sent.append, lambda head, body: None).put({}, b"whole")
    before = len(came)
    link.feed(f";{sent[0]}")
    assert came[before:] in ([b"whole"], [])
    assert len(came) <= 1


def test_a_shell_elsewhere_installs_nothing_into_an_environment_of_this_machine(tmp_path: Path) -> None:
    launch = Launch(cwd=tmp_path, sandbox=Profile(mode="workspace-write", workspace=tmp_path, home=Path.home()))
    confinement = remote_shell(launch, KnownServer(url="https://hub.example.org/")).confinement
    assert confinement.packages == PackageHome(place="a terminal of hub.example.org")
    assert (confinement.sandboxed, confinement.offline, confinement.reach) == (False, False, None)


def test_S31_however_often_the_other_end_asks_all_is_said_again_once(tmp_path: Path) -> None:
    said: list[str] = []
    link = Link("mark", said.append, lambda head, body: None)
    for _ in range(10):
        link.put({"do": "source"}, b"x" * 1_000)
    wish = base64.b64encode(json.dumps({"n": 0, "got": 0, "again": True}).encode() + b"\0").decode()
    said.clear()
    link.feed(f"mark:{wish};" * 1_000)
    assert len(said) == 10
