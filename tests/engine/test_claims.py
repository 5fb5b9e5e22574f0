"""A session is open in one program at a time: a second one that went on with it would spoil its log for both."""

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path

import pytest

from oi_tui.app.engine.core.events import ExecutionStarted, SessionOpened, TurnEnded
from oi_tui.app.engine.core.library_replies import SessionEdited
from oi_tui.app.engine.core.library_verbs import EditSession
from oi_tui.app.engine.core.protocol import Failed
from oi_tui.app.engine.core.verbs import Fork, Interrupt, Open, Submit
from oi_tui.app.engine.log.store import Claims, SessionOpenElsewhere, Store
from oi_tui.app.engine.testing import FakeKernel, FakeKernels, FakeModel
from oi_tui.app.engine.transcript.event_log import fold_events
from support.front import Front, engine
from support.terminal import Terminal

CODE = "Run.\n```python\nx\n```\n"
OI_TUI = str(Path(sys.executable).with_name("oi-tui"))

HOLD = """
import sys
from pathlib import Path
from oi_tui.app.engine.log.store import Claims
Claims(Path(sys.argv[1])).take("abc")
print("taken", flush=True)
sys.stdin.read()
"""


@contextmanager
def holder(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another program that has the session "abc" open until its input ends."""
    command = [sys.executable, "-c", HOLD, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"taken\n"
        try:
            yield other
        finally:
            other.kill()


@asynccontextmanager
async def running(folder: Path) -> AsyncIterator[Front]:
    """An engine in whose session code runs until it is interrupted."""
    kernel = FakeKernel()
    kernel.blocked = True
    async with engine(folder, FakeModel(CODE, "after"), kernels=FakeKernels(python=kernel)) as front:
        await front.client.send(Open())
        await front.client.send(Submit(text="run for ever"))
        await front.until_event(ExecutionStarted)
        yield front


def begun(env: dict[str, str], *arguments: str) -> subprocess.Popen[bytes]:
    """The program, beginning to do this."""
    null, pipe = subprocess.DEVNULL, subprocess.PIPE
    return subprocess.Popen([OI_TUI, *arguments], env=env, stdin=null, stdout=null, stderr=pipe)


def opened(front: Front, session_id: str) -> bool:
    return any(isinstance(event, SessionOpened) and event.session_id == session_id for event in front.events)


async def test_what_is_open_elsewhere_is_refused_before_anything_is_left_or_written(tmp_path: Path) -> None:
    async with running(tmp_path) as first, engine(tmp_path, FakeModel("One.", "Two.")) as second:
        taken = first.transcript.session_id
        await second.client.send(Open())
        await second.turn("mine")
        await second.client.send(Open(session_id=taken))
        failed = await second.until(lambda reply: isinstance(reply, Failed))
        assert isinstance(failed, Failed)
        assert (failed.title, failed.fatal) == ("This session is open in another oi-tui.", False)
        await second.turn("still mine")  # the session that was open is, still
        await first.client.send(Interrupt(turn=True))
        await first.until_event(TurnEnded)
        await first.client.close()
        with closing(Store(tmp_path / "sessions.db")) as store:
            ended = [event for event in store.load(taken) if isinstance(event, TurnEnded)]
        assert [event.reason for event in ended] == ["interrupted"]
        await second.client.send(Open(session_id=taken))  # left there: it can be opened here
        await second.until(lambda _: opened(second, taken))


async def test_a_program_that_begins_with_it_is_told_and_ends_with_the_code_of_the_store(tmp_path: Path) -> None:
    async with running(tmp_path) as first, engine(tmp_path, FakeModel()) as second:
        await second.client.send(Open(session_id=first.transcript.session_id))
        failed = await second.until(lambda reply: isinstance(reply, Failed))
        assert isinstance(failed, Failed)
        assert (failed.fatal, failed.exit_code) == (True, 5)
        assert "fork it there" in failed.hint


async def test_a_fork_leaves_the_session_that_it_comes_from_free_for_others(tmp_path: Path) -> None:
    async with engine(tmp_path, FakeModel("One.", "Two.")) as first, engine(tmp_path, FakeModel("Three.")) as second:
        await first.client.send(Open())
        await first.turn("first")
        old = first.transcript.session_id
        await first.client.send(Fork(block_id=first.transcript.blocks[0].id))
        await first.turn("on the branch")
        await second.client.send(Open(session_id=old))
        await second.turn("on the trunk")
        assert lock_files(tmp_path) == {f"{first.transcript.session_id}.lock", f"{old}.lock"}
    assert lock_files(tmp_path) == set()


def lock_files(folder: Path) -> set[str]:
    return set(os.listdir(folder / "open"))


async def test_deleting_what_is_open_elsewhere_is_refused_other_changes_are_not(tmp_path: Path) -> None:
    async with running(tmp_path) as first, engine(tmp_path, FakeModel()) as second:
        taken = first.transcript.session_id
        await second.client.send(Open())
        await second.client.send(EditSession(session_id=taken, title="Renamed"))
        await second.until(lambda reply: isinstance(reply, SessionEdited))
        await second.client.send(EditSession(session_id=taken, deleted=True))
        failed = await second.until(lambda reply: isinstance(reply, Failed))
        assert isinstance(failed, Failed)
        assert failed.title == "This session is open in another oi-tui."
        await first.client.send(EditSession(session_id=taken, deleted=True))  # one's own is another matter
        await first.until(lambda reply: isinstance(reply, SessionEdited))


async def test_the_commands_refuse_it_too_and_its_log_is_untouched(
    tmp_path: Path, clean_env: dict[str, str], terminal: Callable[..., Terminal]
) -> None:
    data = Path(clean_env["XDG_DATA_HOME"]) / "oi-tui"
    data.mkdir(parents=True)
    async with running(data) as first:
        taken = first.transcript.session_id
        await first.client.send(EditSession(session_id=taken, title="Running"))
        await first.until(lambda reply: isinstance(reply, SessionEdited))
        with closing(Store(data / "sessions.db")) as store:
            before = store.count(taken)
        commands = (["run", "--resume", taken, "go on"], ["sessions", "rm", "--yes", taken])
        started = [begun(clean_env, *arguments) for arguments in commands]
        screen = terminal([OI_TUI, "--resume", taken], env=clean_env, cwd=tmp_path)
        for process in started:
            _, said = process.communicate(timeout=60)
            assert process.returncode == 5
            assert said.startswith("✗ This session is open in another oi-tui.\n".encode())
        screen.wait_for("Press n, f, l or q:")
        assert "“Running” is open in another oi-tui." in screen.screen
        for offered in ("new session", "fork: continue a copy here", "look only (read-only)"):
            assert offered in screen.screen
        screen.send("\x1b[A")  # an arrow is no Escape, and other letters are no answer
        screen.send("x")
        screen.send("\x1b")
        assert screen.wait_exit(60) == 5
        assert "This session is open in another oi-tui." in screen.screen
        with closing(Store(data / "sessions.db")) as store:
            assert store.count(taken) == before
            assert fold_events(store.load(taken)).turn_open
        shown = begun(clean_env, "sessions", "show", taken)  # looking does no harm
        assert shown.communicate(timeout=60)[1] == b""


def test_a_claim_ends_with_its_program_however_that_ends(tmp_path: Path) -> None:
    claims = Claims(tmp_path / "open")
    with holder(tmp_path / "open") as other:
        with pytest.raises(SessionOpenElsewhere):
            claims.take("abc")
        with pytest.raises(SessionOpenElsewhere):
            claims.require_free("abc", 0)
        claims.take("another")
        other.send_signal(signal.SIGKILL)
        other.wait(timeout=30)
    assert lock_files(tmp_path) == {"abc.lock", "another.lock"}
    claims.take("abc")
    claims.keep_only({"another"})
    assert lock_files(tmp_path) == {"another.lock"}
    claims.keep_only()
    assert lock_files(tmp_path) == set()


def test_a_program_that_is_just_leaving_is_waited_for(tmp_path: Path) -> None:
    with holder(tmp_path / "open") as other, ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(Claims(tmp_path / "open").take, "abc", 60.0)
        assert other.stdin is not None
        other.stdin.close()
        waiting.result(timeout=60)


def test_of_many_that_want_it_one_has_it(tmp_path: Path) -> None:
    inside: list[int] = []

    def again_and_again(number: int) -> None:
        claims = Claims(tmp_path / "open")
        for _ in range(8):
            claims.take("abc", 60.0)
            inside.append(number)
            assert inside == [number]
            inside.remove(number)
            claims.keep_only()

    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(again_and_again, number) for number in range(4)]:
            done.result(timeout=60)
    assert lock_files(tmp_path) == set()


def test_no_name_of_a_session_leads_out_of_the_folder(tmp_path: Path) -> None:
    claims = Claims(tmp_path / "open")
    for name in ("../x", "..", "/etc/x", "a/b"):
        claims.take(name)
    assert len(lock_files(tmp_path)) == 4
    assert os.listdir(tmp_path) == ["open"]


async def test_where_there_are_no_locks_sessions_are_open_without(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "open").write_text("no folder")
    async with engine(tmp_path, FakeModel("One.")) as front:
        await front.client.send(Open())
        await front.turn("hello")
    assert "is open without a lock" in caplog.text
