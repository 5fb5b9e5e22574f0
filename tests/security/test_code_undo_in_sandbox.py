"""What real kernels do to files in each kind of sandbox, and without one, is undone; also what a killed engine left."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.events import FilesWritten, NoticeAdded
from oi_tui.app.engine.core.settings import LoopSection, ModelSection, Settings
from oi_tui.app.engine.core.tool_verbs import UndoChanges
from oi_tui.app.engine.core.verbs import Open
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.pool import Kernels
from oi_tui.app.engine.log.log import Log
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.policy.decision import Policy
from oi_tui.app.engine.policy.rules import Base
from oi_tui.app.engine.sandbox.profile import Profile
from oi_tui.app.engine.sandbox.rungs import LADDER
from oi_tui.app.engine.session.engine import Engine
from oi_tui.app.engine.session.outbox import Send
from oi_tui.app.engine.session.services import Services
from oi_tui.app.engine.testing import FakeModel, FakeModels
from oi_tui.app.engine.workspace.checkpoints import Checkpoints
from oi_tui.app.engine.workspace.kept_folder import KeepLimits
from oi_tui.app.engine.workspace.run_changes import keep_changes
from oi_tui.app.frontend.client import LocalClient
from support.enclosure import make_home, profile, why_no_rung
from support.front import Front

pytestmark = pytest.mark.kernel

LIMITS = KeepLimits(files=1_000, file_bytes=1_000_000, folder_bytes=10_000_000)

IN_PYTHON = """
import os, pathlib
pathlib.Path("notes.md").write_text("mine is gone\\n")
os.remove("data.bin")
os.makedirs("out/plots")
pathlib.Path("out/plots/a.txt").write_text("made\\n")
"""


@asynccontextmanager
async def session_in(tmp_path: Path, sandbox: Profile, *answers: str) -> AsyncIterator[Front]:
    """An engine with real kernels whose sessions and checkpoints are in `tmp_path`."""
    kept = Checkpoints(tmp_path / "data" / "checkpoints")
    setup = Configure(
        settings=Settings(model=ModelSection(name="fake/model", titles=False), loop=LoopSection(approve="auto")),
        cwd=str(sandbox.workspace),
        api_key="k3y",
        can_ask=True,
    )

    def made(send: Send) -> Engine:
        return Engine(
            Services(
                setup=setup,
                models=FakeModels(FakeModel(*answers)),
                make_kernels=lambda ties: Kernels(Launch(cwd=sandbox.workspace, sandbox=sandbox)),
                send=send,
                log=Log(store=Store(tmp_path / "data" / "sessions.db", on_remove=kept.forget)),
                policy=Policy(base=Base(cwd=str(sandbox.workspace), home=str(sandbox.home))),
                checkpoints=kept,
                keep_changes=keep_changes(sandbox, kept, LIMITS, [tmp_path / "data"]),
            )
        )

    client = LocalClient(made)
    try:
        yield Front(client)
    finally:
        await client.close()


def files_of(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@pytest.mark.parametrize("name", ["none", *(rung.name for rung in LADDER)])
async def test_f16_what_kernels_did_is_undone_on_each_rung(name: str, tmp_path: Path) -> None:
    if name != "none" and (reason := why_no_rung(name)):
        pytest.skip(reason)
    (tmp_path / "data").mkdir(mode=0o700)
    (work := tmp_path / "work").mkdir()
    home = make_home(tmp_path / "home")
    mode = {"mode": "danger-full-access"} if name == "none" else {"rung": name}
    sandbox = profile(work, home, **mode)
    (work / "notes.md").write_text("mine\n")
    (work / "data.bin").write_bytes(bytes(range(256)))
    (work / "data.bin").chmod(0o640)
    before = files_of(work)
    shell = "printf more >> notes.md && mv out/plots/a.txt b.txt"
    async with session_in(tmp_path, sandbox, f"```python\n{IN_PYTHON}```", f"```shell\n{shell}\n```", "Done.") as front:
        await front.client.send(Open())
        await front.turn("go")
        told = [event.written for event in front.events if isinstance(event, FilesWritten)]
        assert [(one.undoable, one.lost, one.deleted) for one in told] == [
            (3, 0, ("data.bin",)),
            (3, 0, ("out/plots/a.txt",)),
        ]
        after = files_of(work)
        assert after == {"notes.md": b"mine is gone\nmore", "b.txt": b"made\n"}
        await front.client.send(UndoChanges(scope="block"))
        assert (await front.until_event(NoticeAdded)).title.startswith("Undone: 3 files (")
        assert files_of(work) == {"notes.md": b"mine is gone\n", "out/plots/a.txt": b"made\n"}
        await front.client.send(UndoChanges(scope="session"))
        assert (await front.until_event(NoticeAdded)).title.startswith("Undone: 3 files (")
        assert files_of(work) == before
        assert (work / "data.bin").stat().st_mode & 0o777 == 0o640
        assert not (work / "out").exists()
