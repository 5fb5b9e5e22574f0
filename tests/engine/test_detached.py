"""V14 without a terminal: an engine that goes on without its front end, what is told again, bounded and refused."""

import asyncio
import os
import socket
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import cast

import pytest

from oi_tui.app.engine.core.blocks import CodeBlock, NoticeBlock, UserBlock
from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.errors import OiTuiError, StoreError
from oi_tui.app.engine.core.events import (
    CodeFinished,
    CodeStarted,
    DecisionRequested,
    InputRequested,
    OutputAdded,
    SessionOpened,
    TurnEnded,
    TurnStarted,
)
from oi_tui.app.engine.core.extractions import ExtractionFound
from oi_tui.app.engine.core.protocol import Batch, Detached, DraftKept, Failed, Hello
from oi_tui.app.engine.core.protocol_lines import encode_message
from oi_tui.app.engine.core.settings import DetachSection, LoopSection, ModelSection, Settings
from oi_tui.app.engine.core.values import ApprovalMode
from oi_tui.app.engine.core.verbs import Close, Decide, Detach, KeepDraft, Open, Submit
from oi_tui.app.engine.files import engine_sockets
from oi_tui.app.engine.files.engine_sockets import MOST, Peer, engine_folder, is_own, listen_for
from oi_tui.app.engine.files.paths import own_dirs, private_dir
from oi_tui.app.engine.log.log import Log
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.session.engine import Engine
from oi_tui.app.engine.session.line import Line
from oi_tui.app.engine.session.open_session import OpenSession
from oi_tui.app.engine.session.outbox import Send
from oi_tui.app.engine.session.services import Services
from oi_tui.app.engine.session.wire import Exchange
from oi_tui.app.engine.structured.answer_schema import AnswerSchema
from oi_tui.app.engine.structured.typed_fields import typed_schema
from oi_tui.app.engine.testing import FakeKernel, FakeKernels, FakeModel, FakeModels
from oi_tui.app.engine.transcript.event_log import fold_events
from oi_tui.app.frontend.attaching import AttachedClient, LiveSession, live_session, live_sessions
from oi_tui.app.frontend.client import LINE_LIMIT, StreamClient
from oi_tui.app.frontend.past_client import READ_ONLY, PastClient
from oi_tui.app.opening import survives_hangup
from support.capability_runs import OI_TUI
from support.extractions import GatedModel, begin
from support.front import Front
from support.kinds import narrow

CODE = "I run it.\n```python\nprint(1)\n```"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder of this test alone."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


class Connected(StreamClient):
    """A front end of an engine in this process."""

    async def _end(self) -> None:
        pass

    async def _obituary(self) -> str:
        return "The engine closed the connection."


class Visitor(AttachedClient):
    """A front end that comes later. The engine is in this process: nobody waits for its end."""

    async def _end(self) -> None:
        pass


class House:
    """An engine with what stands for model and kernels, and the front ends that come to it."""

    def __init__(self, tmp_path: Path, model: FakeModel, setup: Configure) -> None:
        self.path = tmp_path / "sessions.db"
        self.model = model
        self.kernel = FakeKernel()
        self.setup = setup
        self.exchange = Exchange(self._make)
        self.serving: asyncio.Task[None]
        self.clients: list[StreamClient] = []

    def _make(self, setup: Configure, send: Send) -> Engine:
        kernels = FakeKernels(python=self.kernel)
        log = Log(store=Store(self.path))
        made = Services(
            setup=setup,
            models=FakeModels(self.model),
            make_kernels=lambda _: kernels,
            send=send,
            log=log,
            read_schema=lambda given: AnswerSchema(typed_schema(given)),
        )
        return Engine(made)

    @property
    def current(self) -> OpenSession:
        """The session of its engine."""
        return narrow(narrow(self.exchange._engine, Engine).current_session, OpenSession)

    async def begin(self) -> Front:
        ours, theirs = socket.socketpair()
        self.serving = asyncio.create_task(self.exchange.serve(await Line.on(theirs)))
        reader, writer = await asyncio.open_connection(sock=ours, limit=LINE_LIMIT)
        writer.write(encode_message(Hello(version=1)) + encode_message(self.setup))
        client = Connected(reader, writer)
        self.clients.append(client)
        await client.send(Open())
        return Front(client)

    async def detach(self, front: Front) -> str:
        """Leave the engine to itself; the id of its session."""
        await front.client.send(Detach())
        told = narrow(await front.until(lambda reply: isinstance(reply, Detached | Failed)), Detached)
        assert not told.taken_over
        await front.client.close()
        return told.session_id

    async def until_state(self, session_id: str, state: str | None) -> LiveSession | None:
        """The session, once it is in this state; None: once it has ended."""
        async with asyncio.timeout(20):
            while True:
                live = await asyncio.to_thread(live_session, session_id)
                if (None if live is None else live.state) == state:
                    return live
                await asyncio.sleep(0.01)

    async def attach(self, session_id: str, *, take_over: bool = False, outlives: bool = False) -> Front:
        live = await asyncio.to_thread(live_session, session_id)
        assert live is not None
        client = await Visitor.attach(live, take_over=take_over, outlives=outlives)
        self.clients.append(client)
        await client.send(Open(session_id=session_id))
        return Front(client)


@asynccontextmanager
async def house(
    tmp_path: Path,
    *answers: str,
    approve: ApprovalMode = "auto",
    outlives: bool = False,
    loop: LoopSection | None = None,
    idle_limit: float = 60.0,
    chunk: int = 5,
) -> AsyncIterator[House]:
    settings = Settings(
        model=ModelSection(name="fake/model", titles=False),
        loop=loop or LoopSection(approve=approve),
        detach=DetachSection(idle_limit=idle_limit),
    )
    setup = Configure(settings=settings, cwd=str(tmp_path), outlives=outlives)
    made = House(tmp_path, FakeModel(*answers, chunk=chunk), setup)
    try:
        yield made
    finally:
        if not made.serving.done():
            made.serving.cancel()
        await asyncio.wait([made.serving], timeout=20)
        for client in made.clients:
            await client.close()
        assert live_sessions() == []


async def test_V14_a_question_waits_undecided_and_is_asked_again_with_all_that_was(tmp_path: Path) -> None:
    async with house(tmp_path, CODE, "Done.", approve="ask") as engine:
        front = await engine.begin()
        with pytest.raises(AssertionError, match="nothing to detach"):  # of what has nothing in it
            await engine.detach(front)
        await front.client.send(Submit(text="go"))
        asked = await front.until_event(DecisionRequested)
        await front.client.send(Detach())
        await front.until(lambda reply: isinstance(reply, Detached))
        await front.client.send(KeepDraft(text="half a sentence"))
        await front.client.close()
        session_id = front.transcript.session_id
        live = await engine.until_state(session_id, "waiting for approval")
        assert live is not None
        assert (live.attached, live.cwd, live.settings) == (False, str(tmp_path), engine.setup.settings)
        folder = engine_folder()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert [stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()] == [0o600]
        assert engine.kernel.ran == []

        back = await engine.attach(session_id)
        await back.until_event(DecisionRequested)
        assert back.transcript.pending_decision == asked
        assert DraftKept(text="half a sentence") in back.replies
        await back.client.send(Decide(request_id=asked.request_id, verdict="run"))
        assert (await back.until_event(TurnEnded)).reason == "done"
        assert engine.kernel.ran == ["print(1)\n"] or engine.kernel.ran == ["print(1)"]
        await back.client.send(Close())
        await asyncio.wait_for(engine.serving, 20)
        with closing(Store(engine.path)) as store:
            assert fold_events(store.load(session_id)).blocks == back.transcript.blocks


async def test_V14_a_second_terminal_is_refused_or_takes_over_and_the_first_is_told(tmp_path: Path) -> None:
    async with house(tmp_path, "Hello.") as engine:
        first = await engine.begin()
        await first.turn("hi")
        session_id = await engine.detach(first)
        second = await engine.attach(session_id)
        await second.until_event(TurnEnded)
        refused = await engine.attach(session_id)
        failed = narrow(await refused.until(lambda reply: isinstance(reply, Failed)), Failed)
        assert (failed.title, failed.fatal) == ("Another terminal shows this session.", True)
        await refused.client.close()
        third = await engine.attach(session_id, take_over=True)
        told = narrow(await second.until(lambda reply: isinstance(reply, Detached)), Detached)
        assert told.taken_over
        await second.client.close()
        await third.turn("again")
        shown = [block.text for block in third.transcript.blocks if isinstance(block, UserBlock)]
        assert shown == ["hi", "again"]
        await third.client.close()  # quits: the engine ends
        await asyncio.wait_for(engine.serving, 20)


@pytest.fixture
def stand_in() -> Iterator[subprocess.Popen[bytes]]:
    """A process that may be taken for an engine's, which is in this one."""
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


async def test_V14_a_front_end_that_is_refused_or_was_hung_up_on_does_not_kill_the_engine(
    tmp_path: Path, stand_in: subprocess.Popen[bytes]
) -> None:
    async with house(tmp_path, "Hello.") as engine:
        first = await engine.begin()
        await first.turn("hi")
        session_id = await engine.detach(first)
        second = await engine.attach(session_id)
        await second.until_event(TurnEnded)
        live = await asyncio.to_thread(live_session, session_id)
        assert live is not None
        for take_over in (False, True):
            late = await AttachedClient.attach(live, take_over=take_over, outlives=False)
            os.close(late._process)
            late._process = os.pidfd_open(stand_in.pid)
            if take_over:  # and does not hear that another one does so after it
                await second.until(lambda reply: isinstance(reply, Detached))
                third = await engine.attach(session_id, take_over=True)
                await third.until_event(TurnEnded)
            else:
                for _ in range(100_000):
                    if getattr(late._reader, "_buffer"):  # noqa: B009 - the answer is there, and nobody has read it
                        break
                    await asyncio.sleep(0)
                await late.send(Open(session_id=session_id))  # as every front end does, refused or not
                await Front(late).until(lambda reply: isinstance(reply, Failed))
            async with asyncio.timeout(3):
                await late.close()
            assert stand_in.poll() is None


async def test_V14_of_two_that_take_over_from_one_that_does_not_read_the_last_one_stays(tmp_path: Path) -> None:
    async with house(tmp_path, "x" * 400_000, chunk=1_000) as engine:
        first = await engine.begin()
        await first.turn("hi")
        session_id = await engine.detach(first)
        stopped = await engine.attach(session_id)
        cast(asyncio.ReadTransport, narrow(stopped.client, Visitor)._writer.transport).pause_reading()
        both = [engine.attach(session_id, take_over=True, outlives=True) for _ in range(2)]
        fronts = dict(enumerate(await asyncio.gather(*both)))
        ends = {asyncio.create_task(front.until_event(TurnEnded)): number for number, front in fronts.items()}
        done, _ = await asyncio.wait(ends, timeout=20)
        stayed = [fronts[ends[task]] for task in done if task.exception() is None]
        assert len(stayed) == len(done) - 1 == 1, "one of them was told that the other one is there"
        await engine.detach(stayed[0])
        back = await engine.attach(session_id)
        await back.until_event(TurnEnded)


@pytest.mark.parametrize("outlives", [False, True])
async def test_V14_a_line_that_is_lost_ends_the_engine_unless_it_was_told_to_outlive_it(
    tmp_path: Path, outlives: bool
) -> None:
    async with house(tmp_path, "Hello.", outlives=outlives) as engine:
        front = await engine.begin()
        await front.turn("hi")
        narrow(front.client, Connected)._writer.transport.abort()
        if not outlives:
            await asyncio.wait_for(engine.serving, 20)
            return
        session_id = front.transcript.session_id
        await engine.until_state(session_id, "idle")
        back = await engine.attach(session_id)  # by a terminal whose loss is the end
        await back.until_event(TurnEnded)
        assert back.transcript.blocks == front.transcript.blocks
        narrow(back.client, AttachedClient)._writer.transport.abort()
        await asyncio.wait_for(engine.serving, 20)


async def test_V14_a_budget_holds_while_nobody_looks_and_nothing_piles_up(tmp_path: Path) -> None:
    loop = LoopSection(approve="auto", max_tokens=1_000, max_steps=100)
    answers = [f"Next.\n```python\nprint({number})\n```" for number in range(50)]
    async with house(tmp_path, *answers, loop=loop) as engine:
        front = await engine.begin()
        await front.client.send(Submit(text="go on for ever"))
        await front.until_event(OutputAdded)
        session_id = await engine.detach(front)
        await engine.until_state(session_id, "idle")
        assert engine.current._outbox._items == []
        back = await engine.attach(session_id)
        assert (await back.until_event(TurnEnded)).reason == "budget"
        assert back.transcript.usage.input_tokens + back.transcript.usage.output_tokens < 1_500


async def test_V14_a_detached_engine_ends_by_itself_when_it_had_nothing_to_do_for_its_time(tmp_path: Path) -> None:
    async with house(tmp_path, CODE, "Done.", approve="ask", idle_limit=0.2) as engine:
        front = await engine.begin()
        await front.client.send(Submit(text="go"))
        await front.until_event(DecisionRequested)
        session_id = await engine.detach(front)
        await asyncio.wait_for(engine.serving, 20)
        assert engine.kernel.ran == []
        with closing(Store(engine.path)) as store:
            assert store.load(session_id)[-1] == TurnEnded(reason="interrupted", detail="The program was closed.")


async def listed_sessions(data: Path) -> str:
    """What `oi-tui sessions` prints."""
    environ = {**os.environ, "XDG_DATA_HOME": str(data)}
    async with asyncio.timeout(30):
        listing = await asyncio.create_subprocess_exec(OI_TUI, "sessions", stdout=subprocess.PIPE, env=environ)
        printed, _ = await listing.communicate()
    return printed.decode()


async def test_E18_a_detached_engine_finishes_an_extraction_and_says_how_far_it_is_to_who_comes_back(
    tmp_path: Path,
) -> None:
    async with house(tmp_path, idle_limit=0.2) as engine:
        engine.model = model = GatedModel()
        engine.path = private_dir(tmp_path / "data" / "oi-tui") / "sessions.db"
        front = await engine.begin()
        await front.until_event(SessionOpened)
        await front.client.send(begin(tmp_path))
        async with asyncio.timeout(20):
            await model.wait_for_requests(1)
        session_id = await engine.detach(front)
        assert await engine.until_state(session_id, "running")
        ended, _ = await asyncio.wait([engine.serving], timeout=1.0)
        assert not ended, "it has something to do"
        assert session_id in await listed_sessions(tmp_path / "data"), "it can be found, though nobody asked anything"
        back = await engine.attach(session_id, outlives=True)
        found = await back.until(lambda reply: isinstance(reply, ExtractionFound))
        assert narrow(found, ExtractionFound).is_open
        await engine.detach(back)
        for _ in range(6):
            model.gate.release()
        await asyncio.wait_for(engine.serving, 20)
        assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 6


async def test_what_is_not_written_down_is_told_from_memory(tmp_path: Path) -> None:
    async with house(tmp_path, "Hello.") as engine:
        front = await engine.begin()
        await front.turn("hi")
        session_id = await engine.detach(front)
        with closing(Store(engine.path)) as store:
            store.remove(session_id)
        back = await engine.attach(session_id)
        await back.until(lambda reply: isinstance(reply, Batch) and reply.replay)
        told = [block for block in back.transcript.blocks if not isinstance(block, NoticeBlock)]
        assert [getattr(block, "text", "") for block in told] == ["hi", "Hello."]


# -- sockets


def test_a_socket_that_nobody_listens_on_is_recognised_and_removed() -> None:
    listening, path = listen_for("abc")
    assert [live.state for live in live_sessions()] == [None]  # it is there, and says nothing
    listening.close()
    assert live_sessions() == []
    assert not path.exists()


def test_at_most_eight_are_detached_at_once_and_those_that_ended_do_not_count() -> None:
    listening = [listen_for(f"s{number}")[0] for number in range(MOST)]
    with pytest.raises(OiTuiError, match="8 sessions are detached already"):
        listen_for("one-more")
    listening.pop().close()
    listening.append(listen_for("one-more")[0])
    for one in listening:
        one.close()
    assert live_sessions() == []


def test_a_path_that_is_too_long_for_a_socket_works_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / ("long" * 30)))
    listening, path = listen_for("abc")
    assert len(os.fsencode(path)) > 120
    line = engine_sockets.connect_engine(path)
    assert line is not None
    line.close()
    listening.close()
    assert engine_sockets.connect_engine(path) is None


def test_a_folder_that_others_may_enter_is_not_used() -> None:
    engine_folder().mkdir(parents=True)
    engine_folder().chmod(0o755)
    with pytest.raises(OiTuiError, match="is not private"):
        listen_for("abc")


async def test_S15_another_user_is_not_let_in_not_even_root(tmp_path: Path) -> None:
    assert not is_own(Peer(1, os.getuid() + 1))
    if os.getuid() != 0:
        pytest.skip("NOT TESTED with a real process of another user: only root can start one")
    script = (
        "import os, socket, sys; os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)\n"
        "line = socket.socket(socket.AF_UNIX); line.connect(sys.argv[1])\n"
        "try: line.sendall(sys.argv[2].encode()); print(line.recv(1000))\n"
        "except ConnectionError: print(b'')"
    )
    async with house(tmp_path, "Hello.") as engine:
        front = await engine.begin()
        await front.turn("hi")
        await engine.detach(front)
        (path,) = engine_folder().iterdir()
        hello = encode_message(Hello(version=1)).decode()
        command = [sys.executable, "-I", "-S", "-c", script, path.name, hello]

        def try_it() -> subprocess.CompletedProcess[str]:
            return subprocess.run(command, cwd=path.parent, capture_output=True, text=True, timeout=30)

        refused = await asyncio.to_thread(try_it)
        assert "PermissionError" in refused.stderr
        path.parent.chmod(0o711)
        path.chmod(0o666)
        assert (await asyncio.to_thread(try_it)).stdout == "b''\n"


async def test_an_engine_of_another_version_is_said_and_can_be_ended() -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(encode_message(Hello(version=99)))
        await reader.read(100)
        writer.close()

    listening, _ = listen_for("abc")
    server = await asyncio.start_unix_server(greet, sock=listening)
    (live,) = await asyncio.to_thread(live_sessions)
    server.close()
    assert live.activity == "of another version"
    with pytest.raises(StoreError, match="is run by another version") as said:
        live.require_attachable()
    assert "oi-tui sessions stop abc" in said.value.hint
    assert await asyncio.to_thread(live_sessions) == []


def test_S15_the_sockets_are_in_a_folder_that_every_sandbox_hides() -> None:
    assert any(engine_folder().is_relative_to(hidden) for hidden in own_dirs())


async def test_a_session_that_is_only_looked_at_ends_where_the_record_does_and_sends_nothing() -> None:
    asked = DecisionRequested(request_id="d1", block_id="c1", language="python", source="x", sha256="")
    started = (TurnStarted(block_id="u1", text="hi"), CodeStarted(block_id="c1", language="python"))
    front = Front(PastClient("s1", (*started, CodeFinished(block_id="c1", language="python", source="x"), asked)))
    await front.client.send(Open())
    await front.client.send(Submit(text="more"))
    await front.client.close()
    with pytest.raises(AssertionError, match="the replies ended"):
        await front.until_event(InputRequested)
    assert not front.transcript.turn_open
    assert front.transcript.pending_decision is None
    code = narrow(front.transcript.blocks[1], CodeBlock)
    assert code.ending is not None
    assert code.ending.describe() == "not decided: the record ends here"
    assert [block.title for block in front.transcript.blocks if isinstance(block, NoticeBlock)] == [READ_ONLY] * 2


def test_a_lost_terminal_detaches_over_ssh_unless_said_otherwise() -> None:
    ssh = {"SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22"}
    assert survives_hangup(DetachSection(), ssh)
    assert not survives_hangup(DetachSection(), {})
    assert survives_hangup(DetachSection(on_hangup="always"), {})
    assert not survives_hangup(DetachSection(on_hangup="never"), ssh)
