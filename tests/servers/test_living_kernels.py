"""Kernels on a server that outlive the program, or were started by somebody else: with the whole engine in a process of
its own, which is killed, and a second client at the same kernel."""

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from oi_tui.app.engine.core.blocks import CodeBlock, NoticeBlock
from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.events import ExecutionFinished, NoticeAdded, OutputAdded
from oi_tui.app.engine.core.kernel_looks import Inspect, VariablesFound
from oi_tui.app.engine.core.outputs import StreamOutput
from oi_tui.app.engine.core.protocol import Batch, Reply
from oi_tui.app.engine.core.settings import KernelSection, LoopSection, ModelSection, Settings
from oi_tui.app.engine.core.verbs import Close, Fork, Interrupt, Open, Run, UseKernel
from oi_tui.app.engine.kernels.remote.servers import KnownServer, known_servers
from oi_tui.app.frontend.client import ProcessClient
from support.front import Front
from support.jupyter_servers import (
    TOKEN,
    OtherClient,
    Serve,
    begin_kernel,
    begin_server,
    end_kernel,
    kernels_on,
    other_client,
)
from support.kernel_places import FindServer
from support.kinds import narrow, of

LINES = 4_000

FLOOD = f"import time\nfor n in range({LINES}):\n    print(f'line {{n:05}}')\n    time.sleep(0.001)"


@pytest.fixture(params=["server", pytest.param("gateway", marks=pytest.mark.thorough)])
def url(request: pytest.FixtureRequest, kernel_server: FindServer) -> str:
    return kernel_server(request.param).url


@pytest.fixture(autouse=True)
def _known(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server is `cluster`, in a home of our own."""
    for name in ("DATA", "CONFIG", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.setenv("KERNEL_USERNAME", "tester")  # a gateway starts nothing for root
    monkeypatch.setenv("CLUSTER_TOKEN", TOKEN)
    know(url)


def know(url: str) -> None:
    """This is the server `cluster` from now on."""
    known_servers().put("cluster", KnownServer(url=f"{url}/", token_variable="CLUSTER_TOKEN"))


Begin = Callable[..., Awaitable["Engine"]]


class Engine(Front):
    """A front end of an engine in a process of its own."""

    def __init__(self, process: ProcessClient) -> None:
        super().__init__(process)
        self.process = process

    async def run(self, source: str) -> CodeBlock:
        """Run this as the person does; the block when it is over."""
        await self.client.send(Run(language="python", source=source))
        ended = await self.until_event(ExecutionFinished)
        return narrow(self.transcript.block(ended.block_id), CodeBlock)

    async def told(self, words: str) -> NoticeAdded:
        """The first notice with these words."""

        def says(reply: Reply) -> bool:
            return any(words in notice.title for notice in notices(reply))

        return next(notice for notice in notices(await self.until(says)) if words in notice.title)

    def kill(self) -> None:
        """As a power cut does."""
        os.kill(self.process.pid, signal.SIGKILL)

    async def vanish(self) -> None:
        """The front end dies, and the engine finds that out."""
        self.process._writer.close()
        async with asyncio.timeout(30):
            await asyncio.to_thread(self.process._process.wait)

    async def quit(self) -> None:
        """As a person does."""
        await self.client.send(Close())
        await self.client.close()


def notices(reply: Reply) -> list[NoticeAdded]:
    """Of what happens now: not of what was."""
    return of(NoticeAdded, reply.events) if isinstance(reply, Batch) and not reply.replay else []


def text_of(block: CodeBlock) -> str:
    return "".join(output.text for output in block.outputs if isinstance(output, StreamOutput))


@pytest.fixture
async def begin(tmp_path: Path) -> AsyncIterator[Begin]:
    """Starts an engine with these settings of kernels and opens a session in it, an old one if that is given."""
    begun: list[Engine] = []

    async def start(session_id: str | None = None, **kernel: object) -> Engine:
        settings = Settings(
            kernel=msgspec.convert(kernel, KernelSection),
            loop=LoopSection(approve="ask"),
            model=ModelSection(name="fake/none.json"),
        )
        setup = Configure(settings=settings, cwd=str(tmp_path))
        engine = Engine(await ProcessClient.start(setup, log=tmp_path / f"{len(begun)}.log"))
        begun.append(engine)
        await engine.client.send(Open(session_id=session_id))
        return engine

    yield start
    for engine in begun:
        await engine.client.close()


@pytest.fixture
async def foreign(url: str) -> AsyncIterator[tuple[str, OtherClient]]:
    """A kernel that somebody else started, and that client."""
    kernel_id = begin_kernel(url)
    async with other_client(url, kernel_id) as client:
        yield kernel_id, client
    end_kernel(url, kernel_id)


async def test_R17_a_killed_program_comes_back_to_its_kernel_and_to_the_run_that_went_on(
    begin: Begin, url: str
) -> None:
    first = await begin(server="cluster")
    await first.run("x = 41")
    (kernel_id,) = kernels_on(url)
    await first.client.send(Run(language="python", source=FLOOD))
    await first.until(lambda reply: isinstance(reply, Batch) and "line 00300" in str(reply.events))
    session_id = first.transcript.session_id
    first.kill()
    second = await begin(session_id)
    back = await second.told("Back at the kernel of this session")
    assert "may be missing" in back.hint
    ended = await second.until_event(ExecutionFinished)
    block = narrow(second.transcript.block(ended.block_id), CodeBlock)
    assert (ended.status, block.state, block.source) == ("ok", "ok", FLOOD)
    numbers = [int(number) for number in re.findall(r"line (\d{5})\n", text_of(block))]
    assert numbers == sorted(set(numbers)), "each line once, in order"
    assert numbers[-1] == LINES - 1
    missing = LINES - len(numbers)
    told = [one for one in second.transcript.blocks if isinstance(one, NoticeBlock) and "never came" in one.title]
    assert missing < 1_000 or told, f"{missing} lines are missing"
    assert "42" in str((await second.run("x + 1")).outputs)
    assert kernels_on(url) == [kernel_id]
    await second.quit()
    assert kernels_on(url) == [], "ours is ended with its session"


async def test_R17_a_kernel_is_on_record_before_code_runs_in_it(begin: Begin, url: str) -> None:
    first = await begin(server="cluster")
    await first.client.send(Run(language="python", source="print('begun', flush=True); import time; time.sleep(60)"))
    await first.until_event(OutputAdded)
    first.kill()
    second = await begin(first.transcript.session_id)
    await second.told("Back at the kernel of this session")
    await second.client.send(Interrupt(session_id=second.transcript.session_id))
    ended = await second.until_event(ExecutionFinished)
    assert ended.status == "interrupted"
    await second.quit()
    assert kernels_on(url) == []


async def test_R17_a_kernel_that_is_gone_is_said_once_and_the_next_is_fresh(begin: Begin, url: str) -> None:
    first = await begin(server="cluster")
    await first.run("x = 41")
    first.kill()
    end_kernel(url, kernels_on(url)[0])
    second = await begin(first.transcript.session_id)
    gone = await second.told("The kernel of this session is gone")
    assert "variables of earlier runs are gone" in gone.hint
    assert "NameError" in str((await second.run("x")).outputs)
    assert sum("session is gone" in one.title for one in second.transcript.blocks if isinstance(one, NoticeBlock)) == 1
    await second.quit()


async def test_R17_a_restarted_process_is_not_taken_for_the_one_that_was(begin: Begin, url: str) -> None:
    first = await begin(server="cluster")
    await first.run("x = 41")
    first.kill()
    (kernel_id,) = kernels_on(url)
    async with other_client(url, kernel_id) as other:
        await other.run("import os, threading; threading.Timer(0.2, os._exit, (1,)).start()")
        await other.until_gone()
    second = await begin(first.transcript.session_id)
    await second.told("The kernel of this session is gone")
    assert "NameError" in str((await second.run("x")).outputs)
    assert kernel_id not in kernels_on(url)
    await second.quit()


async def test_R17_a_server_that_is_gone_does_not_keep_the_session_from_opening(begin: Begin, url: str) -> None:
    first = await begin(server="cluster")
    await first.run("x = 41")
    first.kill()
    ours = kernels_on(url)
    closed = "http://127.0.0.1:9"  # nobody listens there
    known = known_servers()
    file = Path(os.environ["XDG_DATA_HOME"], "oi-tui", "living_kernels.toml")
    file.write_text(file.read_text().replace(url, closed))
    know(closed)
    async with asyncio.timeout(30):
        second = await begin(first.transcript.session_id)
        await second.told("there is no way to it")
    assert known.find("cluster").url.startswith(closed)
    file.write_text(file.read_text().replace(closed, url))
    second.kill()
    know(url)
    third = await begin(first.transcript.session_id)
    await third.told("Back at the kernel of this session")
    assert "41" in str((await third.run("x")).outputs)
    assert kernels_on(url) == ours
    await third.quit()


async def test_R17_a_kernel_is_kept_if_the_person_says_so_or_did_not_quit(begin: Begin, url: str) -> None:
    first = await begin(server="cluster", keep=True)
    await first.run("x = 41")
    await first.quit()
    kept = kernels_on(url)
    assert len(kept) == 1
    second = await begin(first.transcript.session_id)
    await second.told("Back at the kernel of this session")
    assert "41" in str((await second.run("x")).outputs)
    await second.vanish()
    assert kernels_on(url) == kept, "a front end that is gone is no quitting"
    third = await begin(first.transcript.session_id)
    await third.told("Back at the kernel of this session")
    await third.quit()
    assert kernels_on(url) == []


async def test_R17_a_run_goes_on_in_a_kept_kernel_when_the_person_quits(begin: Begin, url: str) -> None:
    first = await begin(server="cluster", keep=True)
    await first.client.send(Run(language="python", source=FLOOD))
    await first.until(lambda reply: isinstance(reply, Batch) and "line 00300" in str(reply.events))
    await first.quit()
    second = await begin(first.transcript.session_id)
    await second.told("Back at the kernel of this session")
    ended = await second.until_event(ExecutionFinished)
    block = narrow(second.transcript.block(ended.block_id), CodeBlock)
    numbers = [int(number) for number in re.findall(r"line (\d{5})\n", text_of(block))]
    assert (block.state, numbers) == ("ok", sorted(set(numbers)))
    assert numbers[-1] == LINES - 1
    await second.quit()
    assert kernels_on(url) == []


async def test_a_fork_goes_on_in_the_kernel_and_is_the_one_that_comes_back(begin: Begin, url: str) -> None:
    first = await begin(server="cluster")
    block = await first.run("x = 41")
    old = first.transcript.session_id
    await first.client.send(Fork(block_id=block.id))
    await first.told("Forked")
    await first.run("y = 1")
    first.kill()
    second = await begin(first.transcript.session_id)
    await second.told("Back at the kernel of this session")
    assert "42" in str((await second.run("x + y")).outputs)
    assert old not in Path(os.environ["XDG_DATA_HOME"], "oi-tui", "living_kernels.toml").read_text()
    await second.quit()
    assert kernels_on(url) == []


async def test_kernels_of_a_server_are_listed_and_ended_by_their_id(
    begin: Begin, url: str, foreign: tuple[str, OtherClient], clean_env: dict[str, str], tmp_path: Path
) -> None:
    first = await begin(server="cluster", keep=True)
    await first.run("x = 41")
    await first.quit()
    (ours,) = set(kernels_on(url)) - {foreign[0]}

    ours_alone = {name: value for name, value in os.environ.items() if name.startswith(("XDG_", "CLUSTER_"))}

    async def call(*arguments: str) -> tuple[int, str]:
        program = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "oi_tui.app.cli", "kernels", *arguments),
            env=clean_env | ours_alone,
            cwd=tmp_path,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        async with asyncio.timeout(60):
            said, _ = await program.communicate()
        assert program.returncode is not None
        return program.returncode, said.decode()

    code, listed = await call("list", "cluster")
    assert code == 0
    assert f"cluster@{ours[:8]}" in listed
    assert f"cluster@{foreign[0][:8]}" in listed
    assert "cluster:python3" in listed
    refused, why = await call("stop", f"cluster@{foreign[0][:8]}")
    assert refused == 2
    assert "was started by somebody else" in why
    assert foreign[0] in kernels_on(url)
    assert (await call("stop", f"cluster@{ours[:8]}"))[0] == 0
    assert kernels_on(url) == [foreign[0]]


async def test_R17_the_kernel_that_is_in_use_is_not_left_for_itself(begin: Begin, url: str) -> None:
    engine = await begin(server="cluster")
    await engine.run("x = 41")
    (kernel_id,) = kernels_on(url)
    for agreed in (False, True):
        await engine.client.send(UseKernel(name=f"cluster@{kernel_id[:8]}", agreed=agreed))
        await engine.told("Code runs in that kernel already")
    assert "41" in str((await engine.run("x")).outputs)
    assert kernels_on(url) == [kernel_id]
    await engine.quit()


async def test_R17_a_kernel_that_was_not_come_back_to_is_ended_when_the_person_changes_to_another(
    begin: Begin, url: str
) -> None:
    first = await begin(server="cluster")
    await first.run("x = 41")
    first.kill()
    know("http://127.0.0.1:9")  # nobody listens there
    file = Path(os.environ["XDG_DATA_HOME"], "oi-tui", "living_kernels.toml")
    record = file.read_text()
    file.write_text(record.replace(url, "http://127.0.0.1:9"))
    second = await begin(first.transcript.session_id)
    await second.told("there is no way to it")
    await second.client.send(UseKernel(name="oi-tui"))
    left = await second.told("may still be running")
    assert "oi-tui kernels stop cluster@" in left.hint
    second.kill()
    know(url)
    file.write_text(record)
    third = await begin(first.transcript.session_id, server="cluster")
    await third.told("Back at the kernel of this session")
    await third.client.send(UseKernel(name="oi-tui"))
    await third.told("Code now runs in Python")
    assert kernels_on(url) == []
    await third.quit()


async def test_the_kernelspecs_of_a_server_are_languages_there(
    begin: Begin, serve: Serve, tmp_path_factory: pytest.TempPathFactory
) -> None:
    specs = tmp_path_factory.mktemp("specs")
    place = specs / "kernels" / "other-1.10"
    place.mkdir(parents=True)
    argv = ["python", "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (place / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": "Other", "language": "Otherlang"}))
    url = begin_server("server", serve, JUPYTER_PATH=str(specs))
    know(url)
    engine = await begin(server="cluster")
    await engine.client.send(Run(language="otherlang", source="print(6 * 7)"))
    ended = await engine.until_event(ExecutionFinished)
    block = narrow(engine.transcript.block(ended.block_id), CodeBlock)
    assert (block.language, text_of(block), block.place) == ("other-1.10", "42\n", "other-1.10 on 127.0.0.1")
    assert len(kernels_on(url)) == 1
    await engine.quit()
    assert kernels_on(url) == []


async def test_R18_somebody_elses_kernel_is_attached_to_after_a_yes_and_survives_us(
    begin: Begin, url: str, foreign: tuple[str, OtherClient]
) -> None:
    kernel_id, other = foreign
    await other.run("theirs = 41")
    name = f"cluster@{kernel_id[:6]}"
    ours = await begin()
    await ours.client.send(UseKernel(name=name))
    refused = await ours.told("Somebody else started")
    assert "counts up its In [n]" in refused.details
    await ours.client.send(UseKernel(name=name, agreed=True))
    await ours.told("Code now runs in kernel")
    await ours.client.send(Inspect(on=True))
    assert "42" in str((await ours.run("mine = theirs + 1\nprint(mine)")).outputs)
    await ours.until(
        lambda reply: isinstance(reply, VariablesFound) and {"theirs", "mine"} <= {row.name for row in reply.variables}
    )
    # What comes of theirs is not mixed into ours.
    async with asyncio.timeout(30):
        running = asyncio.ensure_future(ours.run("import time\nfor n in range(3):\n    print('ours', n)"))
        await other.run("print('theirs'); display('theirs')")
        block = await running
    assert text_of(block) == "ours 0\nours 1\nours 2\n"
    assert "theirs" not in text_of(block)
    await ours.quit()
    assert kernel_id in kernels_on(url)
    async with asyncio.timeout(30):
        assert (await other.run("assert mine == 42"))["content"]["status"] == "ok"


async def test_R18_a_run_waits_for_theirs_can_be_taken_back_and_never_interrupts_it(
    begin: Begin, foreign: tuple[str, OtherClient]
) -> None:
    kernel_id, other = foreign
    ours = await begin(server=f"cluster@{kernel_id}", attach=True)
    await ours.run("1")
    request = await other.send("import time\nfor n in range(40):\n    time.sleep(0.1)\nprint('whole')")
    await other.until(request, lambda message: message["msg_type"] == "execute_input")
    await ours.client.send(Run(language="python", source="taken_back = True"))
    await ours.told("Others use this kernel too")
    await ours.client.send(Interrupt(session_id=ours.transcript.session_id, turn=True))
    assert (await ours.until_event(ExecutionFinished)).status == "interrupted"
    waiting = asyncio.ensure_future(ours.run("print('after')"))
    async with asyncio.timeout(30):
        reply = await other.until(request, lambda message: message["msg_type"] == "execute_reply")
        assert reply["content"]["status"] == "ok", "theirs went on"
        assert text_of(await waiting) == "after\n"
        assert "NameError" in str((await ours.run("taken_back")).outputs)
    await ours.quit()


async def test_R18_a_headless_start_at_somebody_elses_kernel_needs_a_flag(
    begin: Begin, foreign: tuple[str, OtherClient]
) -> None:
    engine = await begin(server=f"cluster@{foreign[0]}")
    failed = await engine.until(lambda reply: "Somebody else started" in str(reply))
    assert "--attach" in str(failed)


@pytest.mark.parametrize("keep", [False, True])
async def test_R17_who_quits_while_the_program_comes_back_to_a_run_loses_nothing_that_was_to_be_kept(
    begin: Begin, url: str, keep: bool
) -> None:
    first = await begin(server="cluster", keep=keep)
    await first.run("x = 41")
    await first.client.send(Run(language="python", source=FLOOD))
    await first.until(lambda reply: isinstance(reply, Batch) and "line 00300" in str(reply.events))
    first.kill()
    second = await begin(first.transcript.session_id, keep=keep)
    await second.told("Back at the kernel of this session")
    await second.quit()
    assert len(kernels_on(url)) == keep
    third = await begin(first.transcript.session_id, server="cluster", keep=False)
    back = await third.told("Back at the kernel of this session" if keep else "Code runs in")  # past what was before
    if "continues there" in back.hint:  # else it was over before anybody listened again, and that is said
        ended = await third.until_event(ExecutionFinished)
        block = narrow(third.transcript.block(ended.block_id), CodeBlock)
        numbers = [int(number) for number in re.findall(r"line (\d{5})\n", text_of(block))]
        assert (block.state, numbers[-1]) == ("ok", LINES - 1)
        assert numbers == sorted(set(numbers)), "each line once, in order"
    elif keep:
        assert "how it ended is not known" in back.hint
    assert ("41" if keep else "NameError") in str((await third.run("x")).outputs)
    await third.quit()
    assert kernels_on(url) == []
