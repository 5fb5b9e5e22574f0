"""What code changes in files is kept before it runs, and undone like the changes of tools."""

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

import pytest

from oi_tui.app.engine.core.blocks import Action, Block, CallBlock, CodeBlock, UserBlock
from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.core.events import AnyEvent, DecisionRequested, FilesWritten, NoticeAdded, TurnEnded
from oi_tui.app.engine.core.outputs import WrittenFiles
from oi_tui.app.engine.core.protocol import Batch
from oi_tui.app.engine.core.settings import ModelSection, Settings
from oi_tui.app.engine.core.tool_replies import ChangesFound
from oi_tui.app.engine.core.tool_verbs import ReadChanges, UndoChanges, UndoScope
from oi_tui.app.engine.core.values import Confinement, Reach
from oi_tui.app.engine.core.verbs import Decide, Fork, Open, Submit
from oi_tui.app.engine.kernels.base import RunResult
from oi_tui.app.engine.log.log import Log
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.policy.decision import Policy
from oi_tui.app.engine.policy.rules import Base
from oi_tui.app.engine.sandbox.profile import Profile
from oi_tui.app.engine.session.engine import Engine
from oi_tui.app.engine.session.outbox import Send
from oi_tui.app.engine.session.services import Services
from oi_tui.app.engine.testing import FakeKernel, FakeKernels, FakeModel, FakeModels, Happenings
from oi_tui.app.engine.tools.ties import ToolTies
from oi_tui.app.engine.tools.tool import Arguments, Capabilities, Tool, ToolOutput
from oi_tui.app.engine.workspace import folder_states, run_changes
from oi_tui.app.engine.workspace.checkpoints import Checkpoints
from oi_tui.app.engine.workspace.file_tools import file_tools
from oi_tui.app.engine.workspace.folder_states import FolderStates
from oi_tui.app.engine.workspace.kept_folder import COARSE, PAUSE, FileDifference, KeepLimits, KeptFolder
from oi_tui.app.engine.workspace.path_rules import PathRules
from oi_tui.app.engine.workspace.run_changes import RunChanges, keep_changes
from oi_tui.app.engine.workspace.undoing import Undoing
from oi_tui.app.frontend.client import LocalClient
from support.file_tools import Answers
from support.front import Front
from support.kinds import narrow
from support.tool_calls import answer, call

LIMITS = KeepLimits(files=1_000, file_bytes=1_000_000, folder_bytes=10_000_000)


class RunBench:
    """A folder in which code of one session runs: what it does is a function here."""

    def __init__(self, tmp_path: Path, *, limits: KeepLimits = LIMITS, session: str = "session") -> None:
        self.folder = tmp_path / "work"
        self.folder.mkdir(exist_ok=True)
        self.data = tmp_path / "data"
        self.checkpoints = Checkpoints(self.data)
        self.events: list[AnyEvent] = []
        self.blocks: list[Block] = [UserBlock(id="first", text="do it")]
        self.ties = ToolTies(
            session_id=lambda: session,
            blocks=lambda: self.blocks,
            emit=self.events.append,
            kernels=FakeKernels(),
            policy=lambda: Policy(base=Base(cwd=str(self.folder), home=str(tmp_path))),
        )
        self.profile = Profile(mode="workspace-write", workspace=self.folder, home=tmp_path / "home")
        self.changes: RunChanges = keep_changes(self.profile, self.checkpoints, limits, [self.data])(self.ties)
        self.undoing = Undoing(self.checkpoints, lambda: session, str(self.folder))

    @property
    def told(self) -> list[str]:
        return [event.title for event in self.events if isinstance(event, NoticeAdded)]

    def prompt(self, name: str) -> None:
        self.blocks.append(UserBlock(id=name, text=name))

    async def run(self, block: str, work: Callable[[], object], *named: str) -> WrittenFiles:
        """Code that does this; what is told of it."""
        self.blocks.append(CodeBlock(id=block, language="python"))
        await self.changes.begin(block, [str(self.folder / name) for name in named])
        work()
        found = await self.changes.end(block)
        assert found is not None
        return found

    async def write_by_tool(self, block: str, path: str, content: str) -> None:
        self.blocks.append(CallBlock(id=block, tool="write_file"))
        tools = {tool.name: tool for tool in file_tools(self.profile, self.checkpoints)(self.ties)}
        output = Answers()
        output.block_id = block
        await tools["write_file"].run({"path": path, "content": content}, output)

    def undo(self, scope: UndoScope, block: str = "", *, redo: bool = False, force: bool = False) -> list[str]:
        plan = self.undoing.plan(scope, block, redo=redo)
        return list(self.undoing.apply(plan, redo=redo, force=force).values())

    def write(self, name: str, content: str | bytes) -> Callable[[], object]:
        data = content.encode() if isinstance(content, str) else content

        def work() -> None:
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_bytes(data)

        return work

    @property
    def files(self) -> dict[str, bytes]:
        found = (path for path in self.folder.rglob("*") if path.is_file())
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in found}


@pytest.fixture
def bench(tmp_path: Path) -> RunBench:
    return RunBench(tmp_path)


async def test_f16_what_code_changed_made_and_deleted_comes_back_with_mode_and_time(bench: RunBench) -> None:
    folder = bench.folder
    bench.write("a.txt", "one\n")()
    bench.write("b.bin", bytes(range(256)))()
    (folder / "b.bin").chmod(0o750)
    os.utime(folder / "b.bin", ns=(1_000_000_000, 1_000_000_000))

    def work() -> None:
        (folder / "a.txt").write_text("two\n")
        (folder / "b.bin").unlink()
        bench.write("out/deep/c.txt", "new\n")()

    found = await bench.run("r1", work)
    assert (found.undoable, found.lost, found.deleted) == (3, 0, ("b.bin",))
    assert bench.undo("block", "r1") == []
    assert bench.files == {"a.txt": b"one\n", "b.bin": bytes(range(256))}
    state = (folder / "b.bin").stat()
    assert (state.st_mode & 0o777, state.st_mtime_ns) == (0o750, 1_000_000_000)
    assert not (folder / "out").exists(), "folders that came with a file go with it"
    assert bench.undo("block", "r1", redo=True) == []
    assert bench.files == {"a.txt": b"two\n", "out/deep/c.txt": b"new\n"}


async def test_f16_code_and_tools_are_undone_together_in_order(bench: RunBench) -> None:
    bench.write("x", "0\n")()
    await bench.run("r1", bench.write("x", "1\n"))
    await bench.write_by_tool("t1", "x", "2\n")
    bench.prompt("second")
    await bench.run("r2", bench.write("x", "3\n"))
    assert [(one.block, one.maker) for one in bench.checkpoints.changes("session")] == [
        ("r1", "code"),
        ("t1", "tool"),
        ("r2", "code"),
    ]
    assert bench.undo("turn") == []
    assert bench.files == {"x": b"2\n"}
    assert bench.undo("turn", "r1") == []
    assert bench.files == {"x": b"0\n"}


async def test_f16_what_the_person_wrote_before_a_run_is_what_comes_back(bench: RunBench) -> None:
    bench.write("x", "0\n")()
    await bench.run("r1", bench.write("y", "1\n"))
    bench.write("x", "mine\n")()
    await bench.run("r2", bench.write("x", "2\n"))
    assert bench.undo("block", "r2") == []
    assert bench.files["x"] == b"mine\n"
    bench.write("y", "mine\n")()
    assert bench.undo("block", "r1") == ["y was changed since by somebody else"]
    assert bench.files["y"] == b"mine\n"


async def test_f16_a_file_changed_in_the_moment_of_its_reading_is_seen(bench: RunBench) -> None:
    for number in range(20):
        bench.write("x", f"{number:04}")()
        os.utime(bench.folder / "x", ns=(1, 1))
        await bench.run(f"r{number}", bench.write("x", f"{number:04}+"[:4].replace("0", "_")))
        assert bench.undo("block", f"r{number}") == []
        assert bench.files["x"] == f"{number:04}".encode()


async def test_f16_a_tool_that_code_calls_is_counted_once(bench: RunBench) -> None:
    bench.write("x", "0\n")()
    bench.blocks.append(CodeBlock(id="r1", language="python"))
    await bench.changes.begin("r1", [])
    await bench.write_by_tool("t1", "x", "1\n")
    await bench.changes.end("r1")
    assert [one.block for one in bench.checkpoints.changes("session")] == ["t1"]
    bench.blocks.append(CodeBlock(id="r2", language="python"))
    await bench.changes.begin("r2", [])
    await bench.write_by_tool("t2", "x", "2\n")
    bench.write("x", "3\n")()
    await bench.changes.end("r2")
    assert bench.undo("block", "r2") == []
    assert bench.files == {"x": b"2\n"}


async def test_f16_of_runs_within_runs_each_has_its_own(bench: RunBench) -> None:
    for block in ("outer", "inner"):
        bench.blocks.append(CodeBlock(id=block, language="python"))
    await bench.changes.begin("outer", [])
    bench.write("a", "1\n")()
    await bench.changes.begin("inner", [])
    bench.write("b", "1\n")()
    await bench.changes.end("inner")
    bench.write("c", "1\n")()
    await bench.changes.end("outer")
    assert [(one.block, one.rest) for one in bench.checkpoints.changes("session")] == [
        ("outer", "a"),
        ("inner", "b"),
        ("outer", "c"),
    ]


async def test_f17_what_is_too_large_is_named_before_and_stays(tmp_path: Path) -> None:
    bench = RunBench(tmp_path, limits=LIMITS._replace(file_bytes=1_000))
    bench.write("big.bin", bytes(5_000))()
    bench.write("small", "0\n")()
    named = [str(bench.folder / name) for name in ("big.bin", "small", "none")]
    assert await bench.changes.remarks(named) == ("big.bin (5.0 kB) cannot be undone",)

    def work() -> None:
        bench.write("big.bin", bytes(6_000))()
        bench.write("small", "1\n")()
        bench.write("made.bin", bytes(7_000))()

    found = await bench.run("r1", work)
    assert (found.undoable, found.lost) == (2, 1)
    assert bench.undo("block", "r1") == ["big.bin was not kept as it was"]
    assert {name: len(data) for name, data in bench.files.items()} == {"big.bin": 6_000, "small": 2}
    assert bench.undo("block", "r1", redo=True) == ["made.bin was not kept as it was"]


async def test_f17_a_large_file_that_somebody_changed_since_is_not_deleted(tmp_path: Path) -> None:
    bench = RunBench(tmp_path, limits=LIMITS._replace(file_bytes=1_000))
    await bench.run("r1", bench.write("made.bin", bytes(5_000)))
    bench.write("made.bin", bytes(5_001))()
    assert bench.undo("block", "r1") == ["made.bin was changed since by somebody else"]
    assert "made.bin" in bench.files


async def test_f17_in_a_folder_that_is_too_large_what_is_named_is_kept_and_the_rest_is_said(tmp_path: Path) -> None:
    bench = RunBench(tmp_path, limits=LIMITS._replace(files=10))
    for number in range(12):
        bench.write(f"f{number}", "0\n")()
    bench.write("sub/x", "0\n")()
    found = await bench.run("r1", lambda: [bench.write(f"f{n}", "1\n")() for n in range(3)], "f0", "sub")
    assert found.undoable == 1
    assert await bench.changes.remarks([]) == ("other changes of files cannot be undone: more than 10 files here",)
    assert bench.undo("block", "r1") == []
    assert [bench.files[f"f{n}"] for n in range(3)] == [b"0\n", b"1\n", b"1\n"]
    await bench.run("r2", lambda: shutil.rmtree(bench.folder / "sub"), "sub")
    assert bench.undo("block", "r2") == []
    assert bench.files["sub/x"] == b"0\n"


async def test_f17_a_folder_that_a_run_makes_too_large_is_undone_once_more(tmp_path: Path) -> None:
    bench = RunBench(tmp_path, limits=LIMITS._replace(files=10))
    found = await bench.run("r1", lambda: [bench.write(f"f{n}", "1\n")() for n in range(20)])
    assert found.undoable == 20
    assert bench.undo("block", "r1") == []
    assert bench.files == {}


def test_f17_a_look_ends_within_a_folder_that_holds_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(60):
        (tmp_path / f"f{number}").touch()
    monkeypatch.setattr(folder_states, "AT_ONCE", 7)
    state = FolderStates(str(tmp_path)).look(20)
    assert (state.cut, len(state.files)) == ("more than 20 files", 21)
    assert FolderStates(str(tmp_path)).look(60).cut == ""
    (tmp_path / ".gitignore").write_text("f*\n")
    ignored = FolderStates(str(tmp_path)).look(20)
    assert (ignored.cut, sorted(ignored.files)) == ("", [".gitignore"])
    monkeypatch.setattr(folder_states, "SECONDS", -1)
    assert "takes longer" in FolderStates(str(tmp_path)).look(20).cut


async def test_f17_more_than_a_folder_may_have_is_not_kept_the_oldest_first(tmp_path: Path) -> None:
    bench = RunBench(tmp_path, limits=LIMITS._replace(folder_bytes=2_500))
    for number in range(4):
        bench.write(f"f{number}", bytes(1_000))()
        os.utime(bench.folder / f"f{number}", (number, number))

    def work() -> None:
        for path in list(bench.folder.iterdir()):
            path.unlink()

    found = await bench.run("r1", work)
    assert (found.undoable, found.lost) == (2, 2)
    bench.undo("block", "r1")
    assert sorted(bench.files) == ["f2", "f3"]


async def test_f18_secrets_what_git_ignores_and_links_are_not_kept(bench: RunBench, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("theirs\n")
    bench.write(".gitignore", "*.log\n/build/\n")()
    for name in (".env", "a.log", "build/b", "node_modules/c", "venv/pyvenv.cfg", "venv/d", "kept"):
        bench.write(name, "secret\n")()
    (bench.folder / "link").symlink_to(outside)

    def work() -> None:
        for name in (".env", "a.log", "build/b", "node_modules/c", "venv/d", "kept", "link"):
            bench.write(name, "gone\n")()

    found = await bench.run("r1", work)
    assert {one.rest for one in bench.checkpoints.changes("session")} == {".env", "kept"}
    assert (found.undoable, found.lost) == (1, 1)
    contents = list(bench.data.glob("contents/??/*"))
    assert sorted({path.read_bytes() for path in contents}) == [b"*.log\n/build/\n", b"gone\n", b"secret\n"]
    assert {path.stat().st_mode & 0o777 for path in contents} == {0o600}


async def test_f18_a_file_that_git_ignores_from_now_on_was_not_deleted(bench: RunBench) -> None:
    bench.write("a.log", "1\n")()
    found = await bench.run("r1", bench.write(".gitignore", "*.log\n"))
    assert [one.rest for one in bench.checkpoints.changes("session")] == [".gitignore"]
    assert found.deleted == ()


async def test_f18_a_folder_that_became_a_link_leads_nowhere(bench: RunBench, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").write_text("theirs\n")
    bench.write("d/x", "mine\n")()

    def work() -> None:
        shutil.rmtree(bench.folder / "d")
        (bench.folder / "d").symlink_to(outside)

    await bench.run("r1", work)
    assert b"theirs\n" not in {path.read_bytes() for path in bench.data.glob("contents/??/*")}
    assert len(bench.undo("block", "r1", force=True)) == 1
    assert (outside / "x").read_text() == "theirs\n"


async def test_f18_a_second_run_reads_only_what_changed(bench: RunBench, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(50):
        bench.write(f"f{number}", f"{number}\n")()
    read: list[int] = []
    keep = Checkpoints.keep_content

    def count(self: Checkpoints, data: bytes, *, sync: bool = True) -> str:
        read.append(1)
        return keep(self, data, sync=sync)

    monkeypatch.setattr(Checkpoints, "keep_content", count)
    await asyncio.sleep(0.02)
    await bench.run("r1", lambda: None)
    assert len(read) == 50
    read.clear()
    await bench.run("r2", bench.write("f7", "changed\n"))
    assert len(read) == 1
    read.clear()
    again = RunBench(bench.folder.parent, session="other")
    await asyncio.sleep(0.02)
    await again.run("r1", lambda: None)
    assert len(read) <= 1, "what another session kept is kept"


async def test_f19_after_a_kill_in_the_middle_of_a_run_undo_is_there(bench: RunBench, tmp_path: Path) -> None:
    bench.write("x", "0\n")()
    bench.blocks.append(CodeBlock(id="r1", language="python"))
    await bench.changes.begin("r1", [])
    bench.write("x", "1\n")()
    bench.checkpoints.note_run(
        str(bench.folder), bench.checkpoints.open_runs(str(bench.folder))[0][0]._replace(engine="1:0.00")
    )
    again = RunBench(tmp_path)
    await again.changes.recover()
    assert again.told == ["oi-tui ended during a run: since that began, 1 file changed. " + SINCE]
    assert again.undo("block", "r1") == []
    assert again.files == {"x": b"0\n"}
    once_more = RunBench(tmp_path)
    await once_more.changes.recover()
    assert once_more.told == []


SINCE = "/undo shows what, also what somebody else changed meanwhile."


async def test_f19_a_failure_before_the_changes_are_noted_loses_none_of_them(
    bench: RunBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_changes: object) -> int:
        raise OiTuiError("The disk is full.")

    bench.write("x", "0\n")()
    bench.blocks.append(CodeBlock(id="r1", language="python"))
    await bench.changes.begin("r1", [])
    bench.write("x", "1\n")()
    with monkeypatch.context() as patch:
        patch.setattr(bench.checkpoints, "add", fail)
        assert await bench.changes.end("r1") is None
    (open_run, _at), *_ = bench.checkpoints.open_runs(str(bench.folder))
    bench.checkpoints.note_run(str(bench.folder), open_run._replace(engine="1:0.00"))
    again = RunBench(tmp_path)
    await again.changes.recover()
    assert again.told == ["oi-tui ended during a run: since that began, 1 file changed. " + SINCE]
    assert again.undo("block", "r1") == []
    assert again.files == {"x": b"0\n"}


async def test_f17_what_another_engine_pruned_is_kept_again_before_the_next_run(bench: RunBench) -> None:
    for name in ("x", "y"):
        bench.write(name, name * 1_000)()
    await bench.run("r1", lambda: None)
    for path in (bench.data / "contents").glob("??/*"):
        os.utime(path, (1, 1))
    Checkpoints(bench.data, most=10).prune()
    assert not list((bench.data / "contents").glob("??/*"))

    def work() -> None:
        for name in ("x", "y"):
            (bench.folder / name).unlink()

    found = await bench.run("r2", work)
    assert found.undoable == 2
    assert bench.undo("block", "r2") == []
    assert bench.files == {"x": b"x" * 1_000, "y": b"y" * 1_000}


async def test_f17_what_went_because_more_came_than_may_be_kept_is_said(tmp_path: Path) -> None:
    bench = RunBench(tmp_path)
    bench.checkpoints = Checkpoints(bench.data, most=5_000)
    bench.changes = keep_changes(bench.profile, bench.checkpoints, LIMITS, [bench.data])(bench.ties)
    for number in range(6):
        await bench.run(f"r{number}", bench.write("x", bytes([number]) * 1_900))
    said = "can no longer be undone: no more is kept than undo.disk_mb says."
    assert all(text.endswith(said) for text in bench.told)
    assert sum(int(text.split()[0]) for text in bench.told) == 5
    assert [one.block for one in bench.checkpoints.changes("session")] == ["r5"]


async def test_f17_files_that_were_not_looked_at_before_a_run_are_not_taken_for_its_own(tmp_path: Path) -> None:
    bench = RunBench(tmp_path, limits=LIMITS._replace(files=10))
    [folder] = bench.changes._folders
    now = 0.0
    folder._clock = lambda: now

    def work() -> None:
        nonlocal now
        now = PAUSE + 1  # the folder is looked at again when the run ends
        for number in range(5):
            (bench.folder / f"mine{number}").unlink()
        bench.write("mine9", "changed")()

    for number in range(12):
        bench.write(f"mine{number}", "precious")()
    assert (await bench.run("r1", work)).undoable == 0
    with pytest.raises(OiTuiError, match="nothing to be undone"):
        bench.undo("block", "r1")
    assert len(bench.files) == 7


async def test_f18_what_git_ignored_until_a_run_is_not_taken_for_its_own(bench: RunBench) -> None:
    bench.write(".gitignore", "data/\n")()
    bench.write("data/mine", "precious")()
    await bench.run("r1", lambda: None)
    os.utime(bench.folder / "data" / "mine")
    pass_ticks(bench.folder / "data" / "mine")

    def work() -> None:
        bench.write(".gitignore", "")()
        bench.write("made", "1")()
        (bench.folder / "made").rename(bench.folder / "moved")

    assert (await bench.run("r2", work)).undoable == 2
    assert bench.undo("block", "r2") == []
    assert bench.files == {".gitignore": b"data/\n", "data/mine": b"precious"}


def replace_whole(path: Path, content: str) -> None:
    """As `sed -i` and editors write: the file is another one afterwards."""
    beside = path.with_name(".beside")
    beside.write_text(content)
    beside.replace(path)


@pytest.mark.parametrize("write", [Path.write_text, replace_whole], ids=["in place", "as another file"])
async def test_f18_what_git_ignored_until_a_run_that_changes_it_too_is_not_deleted(
    bench: RunBench, write: Callable[[Path, str], object]
) -> None:
    bench.write(".gitignore", "data/\n*.log\n")()
    bench.write("data/mine", "precious")()
    bench.write("mine.log", "precious")()
    bench.write("mine.tmp", "precious")()
    await bench.run("r1", lambda: None)
    pass_ticks(bench.folder / "mine.log")

    def work() -> None:
        (bench.folder / ".gitignore").write_text("")
        write(bench.folder / "data" / "mine", "changed")
        write(bench.folder / "mine.log", "changed")
        bench.write("made", "1")()

    found = await bench.run("r2", work)
    assert (found.undoable, found.lost) == (2, 2)
    assert bench.undo("block", "r2") == ["data/mine was not kept as it was", "mine.log was not kept as it was"]
    assert bench.files == {
        ".gitignore": b"data/\n*.log\n",
        "data/mine": b"changed",
        "mine.log": b"changed",
        "mine.tmp": b"precious",
    }


async def test_f18_a_file_that_a_run_moved_out_of_what_git_ignores_is_not_deleted(bench: RunBench) -> None:
    bench.write(".gitignore", "*.log\n")()
    bench.write("mine.log", "precious")()
    await bench.run("r1", lambda: None)
    pass_ticks(bench.folder / "mine.log")
    await bench.run("r2", lambda: (bench.folder / "mine.log").rename(bench.folder / "mine.txt"))
    assert bench.undo("block", "r2") == ["mine.txt was not kept as it was"]
    assert bench.files["mine.txt"] == b"precious"


def test_f18_an_ignore_file_that_came_since_the_last_look_holds(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*.tmp\n")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "a.log").touch()
    states = FolderStates(str(tmp_path))
    assert sorted(states.look(10).files) == [".gitignore", "inner/a.log"]
    (tmp_path / "inner" / ".gitignore").write_text("*.log\n")
    assert sorted(states.look(10).files) == [".gitignore", "inner/.gitignore"]
    (tmp_path / "inner" / ".gitignore").unlink()
    assert sorted(states.look(10).files) == [".gitignore", "inner/a.log"]


def test_f18_names_that_git_ignores_and_that_are_gone_are_not_remembered(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*.log\n")
    states = FolderStates(str(tmp_path))

    def look(run: int) -> int:
        for number in range(500):
            (tmp_path / f"{run:03}-{number:0100}.log").touch()
        states.look(10)
        for path in tmp_path.glob("*.log"):
            path.unlink()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        first = look(0)
        assert max(look(run) for run in range(1, 8)) - first < 300_000
    finally:
        tracemalloc.stop()


async def test_f16_a_folder_that_a_run_moved_is_back_in_its_place_alone(bench: RunBench) -> None:
    bench.write("here/mine", "precious")()
    await bench.run("r1", lambda: None)
    pass_ticks(bench.folder / "here" / "mine")
    await bench.run("r2", lambda: (bench.folder / "here").rename(bench.folder / "there"))
    assert bench.undo("block", "r2") == []
    assert bench.files == {"here/mine": b"precious"}


def pass_ticks(path: Path) -> None:
    """Until a run that begins now begins after the last change of this file, also by a coarse clock."""
    end = time.monotonic() + 10
    while time.time_ns() < path.stat().st_ctime_ns + 2 * COARSE:
        assert time.monotonic() < end, "the clock stands still"


async def test_f19_a_recovery_without_the_list_of_files_takes_nothing_for_its_own(
    bench: RunBench, tmp_path: Path
) -> None:
    bench.write("mine", "precious")()
    bench.blocks.append(CodeBlock(id="r1", language="python"))
    await bench.changes.begin("r1", [])
    with closing(sqlite3.connect(tmp_path / "data" / "index.db")) as database, database:
        database.execute("UPDATE folders SET engine = '999999:1'")
        database.execute("DELETE FROM files")  # as where there is too much: another folder's are newer
    (bench.folder / "mine").write_text("changed")
    second = RunBench(tmp_path)
    await second.changes.recover()
    with pytest.raises(OiTuiError, match="nothing to be undone"):
        second.undo("session")
    assert second.files == {"mine": b"changed"}


async def test_f19_a_run_of_a_living_engine_is_left_to_it(bench: RunBench, tmp_path: Path) -> None:
    bench.blocks.append(CodeBlock(id="r1", language="python"))
    await bench.changes.begin("r1", [])
    bench.write("x", "1\n")()
    other = RunBench(tmp_path, session="other")
    await other.changes.recover()
    assert other.checkpoints.changes("session") == []
    await bench.changes.end("r1")
    assert [one.rest for one in bench.checkpoints.changes("session")] == ["x"]


async def test_f19_a_fork_undoes_what_it_shares(bench: RunBench) -> None:
    bench.write("x", "0\n")()
    await bench.run("r1", bench.write("x", "1\n"))
    await bench.run("r2", bench.write("y", "1\n"))
    bench.checkpoints.share("session", "fork", {"r1"})
    fork = Undoing(bench.checkpoints, lambda: "fork", str(bench.folder))
    assert fork.apply(fork.plan("session")) == {}
    assert bench.files == {"x": b"0\n", "y": b"1\n"}


async def test_f19_a_deleted_session_leaves_nothing(bench: RunBench) -> None:
    bench.write("x", "0\n")()
    await bench.run("r1", bench.write("x", "1\n"))
    for path in bench.data.glob("contents/??/*"):
        os.utime(path, (0, 0))
    bench.checkpoints.forget("session")
    assert list(bench.data.glob("contents/??/*")) == []
    assert bench.checkpoints.load_files(str(bench.folder)) == {}
    with pytest.raises(OiTuiError, match="nothing to be undone"):
        bench.undo("session")


async def test_f19_where_nothing_can_be_kept_code_runs_and_it_is_said_once(tmp_path: Path) -> None:
    bench = RunBench(tmp_path)
    (tmp_path / "data").write_text("no folder\n")
    for block in ("r1", "r2"):
        bench.blocks.append(CodeBlock(id=block, language="python"))
        await bench.changes.begin(block, [])
        assert await bench.changes.end(block) is None
    assert len(bench.told) == 1
    assert bench.told[0].startswith("What code changes in files cannot be undone: Cannot write in ")


async def test_f16_what_a_process_writes_after_its_run_is_offered_and_not_undone_by_itself(bench: RunBench) -> None:
    bench.write("x", "0\n")()
    bench.write("mine", "0\n")()
    left: list[subprocess.Popen[bytes]] = []
    late = "import sys, pathlib; sys.stdin.read(1); pathlib.Path('x').write_text('late'); print('written', flush=True)"
    late += "; sys.stdin.read()"

    def work() -> None:
        pipe = subprocess.PIPE
        left.append(subprocess.Popen([sys.executable, "-c", late], stdin=pipe, stdout=pipe, cwd=bench.folder))
        bench.write("y", "1\n")()

    await bench.run("r1", work)
    (process,) = left
    try:
        assert process.stdin is not None
        process.stdin.write(b".")
        process.stdin.flush()
        assert process.stdout is not None
        assert await asyncio.to_thread(process.stdout.readline) == b"written\n"
        await bench.changes.catch_up()
    finally:
        process.communicate()
    assert bench.undo("block", "r1") == ["x was changed after the run, by what it started or by somebody else"]
    assert bench.files == {"x": b"late", "mine": b"0\n"}
    assert bench.undo("block", "r1", force=True) == []
    assert bench.files == {"x": b"0\n", "mine": b"0\n"}
    bench.write("mine", "1\n")()
    await bench.changes.catch_up()
    with pytest.raises(OiTuiError, match="nothing to be undone"):
        bench.undo("block", "r1")


def counts_of(front: Front) -> list[tuple[int, int, int]]:
    """Of each block that changed files: how many can be undone, are undone, and are lost."""
    written = [block.written for block in front.transcript.blocks if isinstance(block, Action)]
    return [(one.undoable, one.undone, one.lost) for one in written if one is not None]


async def test_f17_f19_a_question_names_what_cannot_be_undone_and_a_fork_undoes_what_it_shares(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "big").write_bytes(bytes(2_000))
    (folder / "x").write_text("0\n")
    code = "open('big', 'w').write('1')\nopen('x', 'w').write('1')"

    def write(source: str) -> Happenings:
        for name in ("big", "x"):
            (folder / name).write_text("1\n")
        return [RunResult(status="ok")]

    kept = Checkpoints(tmp_path / "data")
    sandbox = Profile(mode="workspace-write", workspace=folder, home=tmp_path)
    setup = Configure(settings=Settings(model=ModelSection(name="fake/model", titles=False)), cwd=str(folder))

    def made(send: Send) -> Engine:
        return Engine(
            Services(
                setup=setup,
                models=FakeModels(FakeModel(f"```python\n{code}\n```", "Done.")),
                make_kernels=lambda ties: FakeKernels(python=FakeKernel(write)),
                send=send,
                log=Log(store=Store(tmp_path / "sessions.db", on_remove=kept.forget)),
                policy=Policy(base=Base(cwd=str(folder), home=str(tmp_path))),
                checkpoints=kept,
                keep_changes=keep_changes(sandbox, kept, LIMITS._replace(file_bytes=1_000), [tmp_path / "data"]),
            )
        )

    client = LocalClient(made)
    try:
        front = Front(client)
        await client.send(Open())
        await client.send(Submit(text="write"))
        asked = await front.until_event(DecisionRequested)
        assert asked.labels[-1] == "big (2.0 kB) cannot be undone"
        await client.send(Decide(request_id=asked.request_id, verdict="run"))
        await front.until_event(TurnEnded)
        (told,) = (event.written for event in front.events if isinstance(event, FilesWritten))
        assert (told.undoable, told.lost) == (1, 1)
        old = front.transcript.session_id
        await client.send(Fork(block_id=asked.block_id, place="after"))
        await front.until(lambda reply: isinstance(reply, Batch) and front.transcript.session_id != old)
        await client.send(ReadChanges(scope="session", purpose="undo"))
        found = narrow(await front.until(lambda reply: isinstance(reply, ChangesFound)), ChangesFound)
        assert [(file.name, file.problem) for file in found.files] == [("big", "was not kept as it was"), ("x", "")]
        await client.send(UndoChanges(scope="session", shown=found.state))
        assert (await front.until_event(NoticeAdded)).title == "Undone: 1 file of 2 (x)."
        assert (folder / "x").read_text() == "0\n"
    finally:
        await client.close()


@pytest.mark.parametrize(
    ("writes", "confinement", "undoable"),
    [
        (True, Confinement(), 2),
        (True, Confinement(sandboxed=True, reach=Reach(writes=("/",))), 2),
        (True, Confinement(sandboxed=True, reach=Reach(reads=("/",))), 0),
        (False, Confinement(), 0),
    ],
    ids=["without a sandbox", "in one that lets it write", "in one that does not", "that says it only reads"],
)
async def test_f16_what_somebody_elses_tool_did_to_files_is_undone(
    tmp_path: Path, writes: bool, confinement: Confinement, undoable: int
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "big").write_bytes(bytes(2_000))
    (folder / "x").write_text("0\n")

    async def stamp(arguments: Arguments, output: ToolOutput) -> str:
        for name in ("big", "x", "y"):
            (folder / name).write_text("1\n")
        return "stamped"

    brought = Tool(
        name="stamp",
        description="Stamps files.",
        schema={"type": "object", "properties": {"path": {"type": "string"}}},
        run=stamp,
        origin="plugin lab",
        capabilities=Capabilities(writes=writes),
        confinement=confinement,
    )
    kept = Checkpoints(tmp_path / "data")
    sandbox = Profile(mode="workspace-write", workspace=folder, home=tmp_path)
    setup = Configure(settings=Settings(model=ModelSection(name="fake/model", titles=False)), cwd=str(folder))

    def made(send: Send) -> Engine:
        return Engine(
            Services(
                setup=setup,
                models=FakeModels(FakeModel(answer(*call('{"path": "big"}', "stamp")), "Done.")),
                make_kernels=lambda ties: FakeKernels(),
                send=send,
                log=Log(store=Store(tmp_path / "sessions.db", on_remove=kept.forget)),
                policy=Policy(base=Base(cwd=str(folder), home=str(tmp_path))),
                make_tools=(lambda ties: [brought],),
                checkpoints=kept,
                keep_changes=keep_changes(sandbox, kept, LIMITS._replace(file_bytes=1_000), [tmp_path / "data"]),
            )
        )

    client = LocalClient(made)
    try:
        front = Front(client)
        await client.send(Open())
        await client.send(Submit(text="stamp"))
        asked = await front.until_event(DecisionRequested)
        assert ("big (2.0 kB) cannot be undone" in asked.labels) is bool(undoable)
        await client.send(Decide(request_id=asked.request_id, verdict="run"))
        await front.until_event(TurnEnded)
        told = [event.written for event in front.events if isinstance(event, FilesWritten)]
        assert [one.undoable for one in told if one.undoable] == [undoable] * bool(undoable)
        if undoable:
            await client.send(ReadChanges(scope="block", block_id=asked.block_id, purpose="undo"))
            found = narrow(await front.until(lambda reply: isinstance(reply, ChangesFound)), ChangesFound)
            await client.send(UndoChanges(scope="block", block_id=asked.block_id, shown=found.state))
            assert (await front.until_event(NoticeAdded)).title == "Undone: 2 files of 3 (x, y)."
            assert ((folder / "x").read_text(), (folder / "y").exists()) == ("0\n", False)
            assert counts_of(front) == [(0, 2, 1)]
            await client.send(UndoChanges(redo=True))
            await front.until(lambda reply: counts_of(front) == [(2, 0, 1)])
    finally:
        await client.close()


async def test_f19_a_look_that_hangs_holds_up_one_run_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_changes, "PATIENCE", 0.05)
    release, looks = threading.Event(), list[str]()

    class Hanging(KeptFolder):
        """On a disk that does not answer."""

        def refresh(
            self, named: Iterable[str] = (), *, grown: bool = False, since: float = 0.0
        ) -> list[FileDifference]:
            looks.append("look")
            release.wait(20)
            return []

    bench = RunBench(tmp_path)
    folder = Hanging(str(bench.folder), bench.checkpoints, LIMITS, PathRules(bench.profile).view)
    changes = RunChanges(bench.checkpoints, [folder], lambda: "session", lambda: bench.blocks, bench.told.append)
    try:
        for block in ("r1", "r2"):
            bench.blocks.append(CodeBlock(id=block, language="python"))
            await changes.begin(block, [])
            assert await changes.end(block) is None
        assert looks == ["look"]
        assert await changes.remarks([]) == ("it took too long to find out which changes of files can be undone",)
    finally:
        release.set()
        await changes.rest()
