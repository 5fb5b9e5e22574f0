"""The engine as a process of its own: what one side does when the other is gone."""

import asyncio
import os
import signal
import socket
import sqlite3
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path

import msgspec
import psutil
import pytest

from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.events import (
    AnyEvent,
    DecisionMade,
    DecisionRequested,
    OutputAdded,
    SessionOpened,
    TurnEnded,
)
from oi_tui.app.engine.core.protocol import PROTOCOL_VERSION, Batch, Failed, Hello, Reply, Request
from oi_tui.app.engine.core.protocol_lines import decode_reply, encode_message
from oi_tui.app.engine.core.settings import LoopSection, ModelSection, Settings
from oi_tui.app.engine.core.verbs import Decide, Interrupt, Leave, Open, Submit
from oi_tui.app.engine.log.audit.verify import verify_folder
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.transcript.transcript import Transcript
from oi_tui.app.frontend.client import EngineLost, ProcessClient
from support.enclosure import UNENCLOSED
from support.kinds import Kind, of
from support.many import many
from support.openai_server import OpenAIServer, Turn
from support.script import Script

pytestmark = pytest.mark.kernel

SLEEP = "```python\nprint('begun', flush=True)\nimport time\ntime.sleep(60)\n```"


class Front:
    """Follows one engine process."""

    def __init__(self, client: ProcessClient) -> None:
        self.client = client
        self.transcript = Transcript()
        self.replies = client.replies()

    async def until(self, kind: type[Kind]) -> Kind:
        """Fold batches up to the first event of this kind."""
        async with asyncio.timeout(60):
            async for reply in self.replies:
                if isinstance(reply, Batch):
                    for event in reply.events:
                        self.transcript.apply(event)
                    if found := of(kind, reply.events):
                        return found[0]
        raise AssertionError(f"the replies ended before {kind.__name__}")


@pytest.fixture
def setup(script: Script, tmp_path: Path, clean_env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Configure:
    """An engine's settings, in a home of its own."""
    for name in list(os.environ):
        monkeypatch.delenv(name)
    for name, value in clean_env.items():
        monkeypatch.setenv(name, value)
    settings = Settings(
        model=ModelSection(name=script.name),
        loop=LoopSection(approve="auto"),
        sandbox=UNENCLOSED,
    )
    return Configure(settings=settings, cwd=str(tmp_path), api_key="s3cret-key")


@asynccontextmanager
async def engine(setup: Configure, log: Path) -> AsyncIterator[Front]:
    client = await ProcessClient.start(setup, log=log)
    try:
        yield Front(client)
    finally:
        await client.close()


def descendants(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


async def gone(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Those still alive after a bounded wait."""
    _, alive = await asyncio.to_thread(psutil.wait_procs, processes, 10)
    return alive


async def written(session_id: str, kind: type[AnyEvent]) -> None:
    """Wait until the log has an event of this kind: what is on the way to it when an engine is killed is lost."""
    path = Path(os.environ["XDG_DATA_HOME"]) / "oi-tui" / "sessions.db"
    asked = "SELECT count(*) FROM events WHERE session_id = ? AND json_extract(event, '$.type') = ?"
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as log:
        for _ in range(500):
            if log.execute(asked, (session_id, kind.__name__)).fetchone()[0]:
                return
            await asyncio.sleep(0.02)
    raise AssertionError(f"{kind.__name__} was not written down")


async def test_a_turn_runs_through_the_engine_process_and_it_ends_cleanly(
    setup: Configure, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    openai_server.script(Turn(text="```python\nprint(6 * 7)\n```"), Turn(text="42."))
    model = ModelSection(name="openai/scripted", api_base=openai_server.url)
    settings = msgspec.structs.replace(setup.settings, model=model)
    async with engine(msgspec.structs.replace(setup, settings=settings), tmp_path / "engine.log") as front:
        await front.client.send(Open())
        await front.client.send(Submit(text="multiply"))
        assert await front.until(TurnEnded) == TurnEnded(reason="done")
        pid = front.client.pid
        children = descendants(pid)
        assert children
    assert await gone(children) == []
    assert not psutil.pid_exists(pid)
    assert "s3cret-key" not in (tmp_path / "engine.log").read_text()


async def test_two_sessions_work_at_once_in_one_engine_process_and_one_is_left(
    setup: Configure, script: Script, tmp_path: Path
) -> None:
    script.write(SLEEP)
    client = await ProcessClient.start(setup, log=tmp_path / "engine.log")
    try:
        async with many(client) as front:
            one, other = await front.open(), await front.open()
            for session_id in (one, other):
                await front.send(Submit(session_id=session_id, text="sleep"))
            for session_id in (one, other):
                await front.until_event(session_id, OutputAdded)
            kernels = descendants(client.pid)
            await front.send(Leave(session_id=one))
            await front.send(Interrupt(session_id=one, turn=True))
            await front.until(lambda: front.failures)
            assert not front.failures[0].fatal
            assert front.of(other, TurnEnded) == []
            await front.send(Interrupt(session_id=other, turn=True))
            ended = await front.until_event(other, TurnEnded)
            assert isinstance(ended, TurnEnded)
            assert ended.reason == "interrupted"
    finally:
        await client.close()
    assert await gone(kernels) == []
    folder = Path(os.environ["XDG_STATE_HOME"]) / "oi-tui" / "audit"
    reports = {report.name: report.intact for report in verify_folder(folder)}
    assert reports[one]
    assert reports[other]


async def test_an_engine_that_is_killed_is_said_and_another_goes_on_with_the_session(
    setup: Configure, script: Script, tmp_path: Path
) -> None:
    script.write(SLEEP)
    async with engine(setup, tmp_path / "engine.log") as front:
        await front.client.send(Open())
        await front.client.send(Submit(text="remember the word crunk"))
        await front.until(OutputAdded)
        session_id = front.transcript.session_id
        children = descendants(front.client.pid)
        os.kill(front.client.pid, signal.SIGKILL)
        with pytest.raises(EngineLost, match="SIGKILL"):
            await front.until(TurnEnded)
        before = front.transcript.blocks
    assert await gone(children) == []
    script.write("Welcome back.")
    async with engine(setup, tmp_path / "engine.log") as front:
        await front.client.send(Open(session_id=session_id))
        opened = await front.until(TurnEnded)
        assert opened.reason == "engine_lost"
        assert [type(block) for block in front.transcript.blocks[: len(before)]] == [type(block) for block in before]
        await front.client.send(Submit(text="what was the word?"))
        await front.until(TurnEnded)
    assert "crunk" in str(script.requests[-1])


@pytest.mark.parametrize("how", ["close", "kill"])
async def test_when_the_front_end_is_gone_the_engine_saves_and_ends(
    setup: Configure, script: Script, tmp_path: Path, how: str
) -> None:
    script.write(SLEEP)
    client = await ProcessClient.start(setup, log=tmp_path / "engine.log")
    front = Front(client)
    await client.send(Open())
    await client.send(Submit(text="sleep"))
    await front.until(OutputAdded)
    session_id = front.transcript.session_id
    processes = [psutil.Process(client.pid), *descendants(client.pid)]
    if how == "close":
        client._writer.transport.abort()  # as the kernel does when a front end dies
    else:
        os.kill(client.pid, signal.SIGTERM)
    alive = await gone(processes[1:])
    assert alive == []
    await client.close()
    store = Store(Path(os.environ["XDG_DATA_HOME"]) / "oi-tui" / "sessions.db")
    events = store.load(session_id)
    store.close()
    assert events[-1] == TurnEnded(reason="interrupted", detail="The program was closed.")
    assert any(isinstance(event, OutputAdded) for event in events)


@pytest.mark.parametrize(
    ("killed", "moment", "words"),
    [
        ("front", DecisionRequested, "not decided: the program ended"),
        # The engine ends what it has while the kernel is on its way: whatever comes first, it never ran.
        ("front", DecisionMade, "approved, not started: "),
        ("engine", OutputAdded, "cut off: the program ended"),
    ],
)
async def test_what_was_open_when_either_side_was_killed_is_no_refusal_and_no_interrupt_to_the_model(
    setup: Configure, script: Script, tmp_path: Path, killed: str, moment: type[AnyEvent], words: str
) -> None:
    script.write(SLEEP)
    asking = msgspec.structs.replace(setup.settings, loop=LoopSection(approve="ask"))
    client = await ProcessClient.start(msgspec.structs.replace(setup, settings=asking), log=tmp_path / "engine.log")
    front = Front(client)
    await client.send(Open())
    await client.send(Submit(text="sleep"))
    question = await front.until(DecisionRequested)
    assert isinstance(question, DecisionRequested)
    if moment is not DecisionRequested:
        await client.send(Decide(request_id=question.request_id, verdict="run"))
        await front.until(moment)
    session_id = front.transcript.session_id
    await written(session_id, moment)
    processes = [psutil.Process(client.pid), *descendants(client.pid)]
    if killed == "front":
        client._writer.transport.abort()  # as the kernel does when a front end dies
    else:
        os.kill(client.pid, signal.SIGKILL)
    assert await gone(processes[1:]) == []
    await client.close()
    script.write("Welcome back.")
    async with engine(setup, tmp_path / "engine.log") as front:
        await front.client.send(Open(session_id=session_id))
        await front.until(SessionOpened)
        assert front.transcript.pending_decision is None
        await front.client.send(Submit(text="go on"))
        await front.until(TurnEnded)
    told = str(script.requests[-1]["messages"])
    assert f"[{words}" in told
    assert "refused" not in told
    assert "by the user" not in told


async def test_L3_stopping_stops_the_cell_and_not_only_the_stream(
    setup: Configure, script: Script, tmp_path: Path
) -> None:
    steps = [
        f"adding {n}\n```python\nimport time\nopen('log','a').write('{n}')\n"
        f"print({n}, flush=True)\ntime.sleep(60 * ({n} == 3))\n```"
        for n in range(1, 6)
    ]
    script.write(*steps)
    async with engine(setup, tmp_path / "engine.log") as front:
        await front.client.send(Open())
        await front.client.send(Submit(text="count"))
        for _ in range(3):
            await front.until(OutputAdded)
        async with asyncio.timeout(5):
            await front.client.send(Interrupt(turn=True))
            ended = await front.until(TurnEnded)
        assert ended.reason == "interrupted"
        kernels = [p for p in descendants(front.client.pid) if "ipykernel" in " ".join(p.cmdline())]
        assert kernels, "the kernel lives on, only the cell was stopped"
    assert (tmp_path / "log").read_text() == "123"
    assert len(script.requests) == 3


async def test_another_version_is_refused_in_plain_words(setup: Configure, tmp_path: Path) -> None:
    replies = await _talk([Hello(version=PROTOCOL_VERSION + 1)])
    assert isinstance(replies[0], Hello)
    assert isinstance(replies[1], Failed)
    assert replies[1].fatal


async def test_lines_that_are_no_protocol_are_refused_or_skipped(setup: Configure, tmp_path: Path) -> None:
    replies = await _talk(
        [Hello(version=PROTOCOL_VERSION), setup, b'{"type":"Nonsense"}\n', b"\xff\xfe\n", Open()], SessionOpened
    )
    failed = [reply for reply in replies if isinstance(reply, Failed)]
    assert [reply.fatal for reply in failed] == [False, False]


async def _talk(lines: Sequence[Request | bytes], until: type[SessionOpened] | None = None) -> list[Reply]:
    """Write raw lines to an engine process; its replies up to the end, or to an event."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "oi_tui.app.cli", "engine", "--fd", str(theirs.fileno()), pass_fds=[theirs.fileno()]
        )
    reader, writer = await asyncio.open_connection(sock=ours)
    for line in lines:
        writer.write(line if isinstance(line, bytes) else encode_message(line))
    replies: list[Reply] = []
    async with asyncio.timeout(60):
        while line := await reader.readline():
            replies.append(decode_reply(line))
            if until and isinstance(replies[-1], Batch) and any(isinstance(e, until) for e in replies[-1].events):
                break
        writer.close()
        await process.wait()
    return replies
