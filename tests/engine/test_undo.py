"""Changes of files taken back and made again: by block, by turn, by session, after a restart, and never over what the
person did since."""

import os
import stat
from pathlib import Path

import pytest

from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.core.events import NoticeAdded
from oi_tui.app.engine.core.settings import LoopSection, ModelSection, Settings
from oi_tui.app.engine.core.tool_replies import ChangesFound
from oi_tui.app.engine.core.tool_verbs import ReadChanges, UndoChanges, UndoScope
from oi_tui.app.engine.core.verbs import Open
from oi_tui.app.engine.log.log import Log
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.policy.decision import Policy
from oi_tui.app.engine.policy.rules import Base
from oi_tui.app.engine.sandbox.profile import Profile
from oi_tui.app.engine.session.engine import Engine
from oi_tui.app.engine.session.outbox import Send
from oi_tui.app.engine.session.services import Services
from oi_tui.app.engine.testing import FakeKernels, FakeModel, FakeModels
from oi_tui.app.engine.workspace.checkpoints import Checkpoints, KeptChange
from oi_tui.app.engine.workspace.file_tools import file_tools
from oi_tui.app.engine.workspace.undoing import Undoing
from oi_tui.app.frontend.client import LocalClient
from support.file_tools import Answers, FileBench
from support.front import Front
from support.kinds import narrow
from support.tool_calls import answer, call


class UndoBench(FileBench):
    """A folder whose changes are kept, block by block."""

    def __init__(self, folder: Path, data: Path) -> None:
        self.checkpoints = Checkpoints(data)
        super().__init__(folder, checkpoints=self.checkpoints)
        self.undoing = Undoing(self.checkpoints, lambda: "session", str(folder))

    async def change(self, block: str, path: str, content: str) -> None:
        """A file written by this block."""
        output = Answers()
        output.block_id = block
        await self.call("write_file", output, path=path, content=content)

    def undo(self, scope: UndoScope, block: str = "", *, redo: bool = False, force: bool = False) -> list[str]:
        """What could not be brought back."""
        plan = self.undoing.plan(scope, block, redo=redo)
        return list(self.undoing.apply(plan, redo=redo, force=force).values())

    def files(self) -> dict[str, str]:
        """All there are."""
        found = (path for path in self.folder.rglob("*") if path.is_file())
        return {str(path.relative_to(self.folder)): path.read_text() for path in found}


@pytest.fixture
def bench(tmp_path: Path) -> UndoBench:
    folder = tmp_path / "work"
    folder.mkdir()
    bench = UndoBench(folder, tmp_path / "data")
    bench.prompts("first", "a", "b", "second", "c")
    return bench


async def test_f11_changes_are_undone_by_block_by_turn_and_by_session(bench: UndoBench) -> None:
    (bench.folder / "x").write_text("0\n")
    await bench.change("a", "x", "1\n")
    await bench.change("b", "y", "1\n")
    await bench.change("c", "x", "2\n")
    assert bench.undo("block", "c") == []
    assert bench.files() == {"x": "1\n", "y": "1\n"}
    assert bench.undo("turn", "a") == []
    assert bench.files() == {"x": "0\n"}
    with pytest.raises(OiTuiError, match="nothing to be undone"):
        bench.undo("session")


async def test_f11_all_of_a_session_is_undone_and_made_again(bench: UndoBench) -> None:
    (bench.folder / "x").write_text("0\n")
    (bench.folder / "x").chmod(0o755)
    for block, path, content in (("a", "x", "1\n"), ("b", "d/y", "1\n"), ("c", "x", "2\n")):
        await bench.change(block, path, content)
    assert bench.undo("session") == []
    assert bench.files() == {"x": "0\n"}
    assert (bench.folder / "x").stat().st_mode & 0o777 == 0o755
    assert bench.undo("session", redo=True) == []
    assert bench.files() == {"x": "2\n", "d/y": "1\n"}
    assert bench.undo("turn") == [], "without a block it is the last turn that changed something"
    assert bench.files() == {"x": "1\n", "d/y": "1\n"}


async def test_f12_what_was_changed_since_stays_unless_the_person_insists(bench: UndoBench) -> None:
    (bench.folder / "x").write_text("0\n")
    await bench.change("a", "x", "1\n")
    await bench.change("a", "y", "1\n")
    (bench.folder / "x").write_text("mine\n")
    assert bench.undo("turn") == ["x was changed since by somebody else"]
    assert bench.files() == {"x": "mine\n"}
    assert bench.undo("turn", force=True) == []
    assert bench.files() == {"x": "0\n"}
    assert bench.undo("turn", redo=True) == []
    assert bench.files()["x"] == "mine\n", "what was overwritten by force comes back, too"


async def test_f12_an_earlier_turn_is_not_undone_over_a_later_one(bench: UndoBench) -> None:
    await bench.change("a", "x", "1\n")
    await bench.change("c", "x", "2\n")
    assert bench.undo("turn", "a") == ["x was changed since by somebody else"]
    assert bench.files() == {"x": "2\n"}


async def test_f12_undo_goes_through_no_link(bench: UndoBench, tmp_path: Path) -> None:
    await bench.change("a", "d/x", "1\n")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").write_text("1\n")
    (bench.folder / "d" / "x").unlink()
    (bench.folder / "d").rmdir()
    (bench.folder / "d").symlink_to(outside)
    assert len(bench.undo("turn", force=True)) == 1
    assert (outside / "x").read_text() == "1\n"


async def test_f13_checkpoints_are_private_outlive_the_engine_and_go_with_their_session(
    bench: UndoBench, tmp_path: Path
) -> None:
    (bench.folder / "x").write_text("0\n")
    await bench.change("a", "x", "1\n")
    data = tmp_path / "data"
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (data, *data.rglob("*"))}
    assert modes == {0o700, 0o600}
    again = UndoBench(bench.folder, data)
    assert again.undo("session") == []
    assert bench.files() == {"x": "0\n"}
    for path in data.glob("contents/??/*"):
        os.utime(path, (0, 0))
    again.checkpoints.forget("session")
    assert again.checkpoints.changes("session") == []
    assert list(data.glob("contents/??/*")) == []


async def test_f13_checkpoints_are_bounded_in_size_and_age(tmp_path: Path) -> None:
    now = [1e9]
    kept = Checkpoints(tmp_path, most=2_500, days=1, clock=lambda: now[0])
    for number in range(5):
        before = kept.keep_content(bytes([number]) * 1_000)
        kept.add(KeptChange(0, "s", "t", "b", "/w", f"f{number}", before, None, 0o644, "tool", 0.0))
    kept.prune()
    assert [change.rest for change in kept.changes("s")] == ["f3", "f4"]
    now[0] += 90_000
    kept.prune()
    assert kept.changes("s") == []


def test_f13_deleting_a_session_drops_nothing_of_others_whatever_they_may_keep(tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path, most=5_000, days=365, clock=lambda: 1e9)
    for session in ("mine", "other"):
        before = kept.keep_content(session.encode() * 500)
        kept.add(KeptChange(0, session, "t", "b", "/w", "f", before, None, 0o644, "tool", 0.0))
    Checkpoints(tmp_path, most=10, days=30, clock=lambda: 1e9 + 100 * 86_400).forget("mine")
    assert kept.changes("mine") == []
    [change] = kept.changes("other")
    assert change.before is not None
    assert kept.content(change.before) == b"other" * 500


def test_f13_contents_that_another_engine_removes_meanwhile_do_not_stop_the_pruning(tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path, most=10)
    digest = kept.keep_content(b"0" * 100)
    gone = tmp_path / "contents" / "aa" / ("a" * 64)
    gone.parent.mkdir()
    gone.symlink_to("nowhere")  # listed, and not there when it is asked for
    os.utime(tmp_path / "contents" / digest[:2] / digest, (0, 0))
    kept.prune()
    assert kept.content(digest) is None


async def test_f13_a_damaged_checkpoint_brings_nothing_back(bench: UndoBench, tmp_path: Path) -> None:
    (bench.folder / "x").write_text("0\n")
    await bench.change("a", "x", "1\n")
    for path in (tmp_path / "data").glob("contents/??/*"):
        path.write_text("something else\n")
    assert bench.undo("turn", force=True) == ["x is no longer kept as it was"]
    assert bench.files() == {"x": "1\n"}


async def test_f13_nothing_is_written_where_no_checkpoint_can_be_kept(bench: UndoBench, tmp_path: Path) -> None:
    (bench.folder / "x").write_text("0\n")
    (tmp_path / "data").write_text("no folder\n")
    assert "Nothing was written" in await bench.failure("write_file", path="x", content="1\n")
    assert bench.files() == {"x": "0\n"}


async def test_f15_the_engine_shows_and_undoes_what_a_call_changed_and_tells_the_model(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "x").write_text("0\n")
    model = FakeModel(answer(*call('{"path": "x", "content": "1\\n"}', "write_file")), "Done.", "I see.")
    kept = Checkpoints(tmp_path / "data")
    profile = Profile(mode="workspace-write", workspace=folder, home=tmp_path)

    def made(send: Send) -> Engine:
        setup = Configure(
            settings=Settings(model=ModelSection(name="fake/model", titles=False), loop=LoopSection(approve="auto")),
            cwd=str(folder),
            api_key="k3y",
        )
        store = Store(tmp_path / "sessions.db", on_remove=kept.forget)
        tools = (file_tools(profile, kept),)
        policy = Policy(base=Base(cwd=str(folder), home=str(tmp_path)))
        return Engine(
            Services(
                setup=setup,
                models=FakeModels(model),
                make_kernels=lambda ties: FakeKernels(),
                send=send,
                log=Log(store=store),
                policy=policy,
                make_tools=tools,
                checkpoints=kept,
            )
        )

    client = LocalClient(made)
    try:
        front = Front(client)
        await client.send(Open())
        await front.turn("write it")
        assert (folder / "x").read_text() == "1\n"
        await client.send(ReadChanges(purpose="undo"))
        found = narrow(await front.until(lambda reply: isinstance(reply, ChangesFound)), ChangesFound)
        assert [(file.name, file.problem) for file in found.files] == [("x", "")]
        assert "-1\n+0" in found.files[0].diff
        (folder / "x").write_text("mine\n")
        await client.send(UndoChanges(shown=found.state))
        assert "nothing was done" in (await front.until_event(NoticeAdded)).title
        assert (folder / "x").read_text() == "mine\n"
        (folder / "x").write_text("1\n")
        await client.send(UndoChanges(shown=found.state))
        assert (await front.until_event(NoticeAdded)).title == "Undone: 1 file (x)."
        assert (folder / "x").read_text() == "0\n"
        await front.turn("and now?")
        assert "[The user undid changes of files: x.]" in str(model.requests[-1].messages)
    finally:
        await client.close()
