"""After a run, the model is told which files it left, or that nothing came of it."""

import os
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.events import FilesWritten
from oi_tui.app.engine.core.outputs import WrittenFile, WrittenFiles
from oi_tui.app.engine.core.settings import LoopSection
from oi_tui.app.engine.files import written_files
from oi_tui.app.engine.files.written_files import find_written_files
from oi_tui.app.engine.kernels.base import RunResult
from oi_tui.app.engine.secrets.redaction import Redactor
from oi_tui.app.engine.testing import FakeKernel, FakeKernels, FakeModel, Happenings, stdout_output
from oi_tui.app.engine.text.mime import NOTHING
from oi_tui.app.engine.transcript.from_blocks import events_of_blocks
from oi_tui.app.engine.transcript.transcript import Transcript
from support.kinds import of
from support.turns import play


def look(folder: Path, since: float = 0.0) -> WrittenFiles:
    found = find_written_files(str(folder), since)
    assert found is not None
    return found


def test_L28_texts_are_told_with_their_first_lines_and_other_files_without(tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_text("a,b\n1,2\n3,4\n5,6\n")
    (tmp_path / "plot.png").write_bytes(b"\x89PNG\0\xff")
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    (tmp_path / "wide.txt").write_text("é" * 1_000)
    assert {file.name: (file.size, file.begins) for file in look(tmp_path).files} == {
        "out.csv": (16, "a,b\n1,2\n3,4"),
        "plot.png": (6, ""),
        "latin.txt": (4, ""),
        "wide.txt": (2_000, "é" * written_files.BEGINNING),
    }


def test_L28_what_is_older_hidden_or_of_others_is_not_told(tmp_path: Path) -> None:
    for name in (".env", ".git/config", "node_modules/a/index.js", "venv/pyvenv.cfg", "venv/x.py", "data/in/a.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "link.txt").symlink_to(tmp_path / "data/in/a.txt")
    os.mkfifo(tmp_path / "pipe")
    assert [file.name for file in look(tmp_path).files] == ["data/in/a.txt"]
    assert look(tmp_path, time.time() + 60) == WrittenFiles()


def test_L28_a_folder_that_became_a_link_while_we_looked_is_not_read_through(tmp_path: Path) -> None:
    secret, folder = tmp_path / "secret", tmp_path / "folder"
    secret.mkdir()
    (secret / "a.txt").write_text("mine")
    folder.mkdir()
    (folder / "sub").symlink_to(secret)
    (folder / "b.txt").symlink_to(secret / "a.txt")
    assert written_files.beginning_of(str(tmp_path), "secret/a.txt") == "mine"
    assert written_files.beginning_of(str(folder), "sub/a.txt") == ""
    assert written_files.beginning_of(str(folder), "b.txt") == ""


def test_L28_of_many_files_five_are_named_and_a_name_is_one_line(tmp_path: Path) -> None:
    for number in range(8):
        (tmp_path / f"{number}\n\x1b[31m{number}.txt").write_text("x")
    found = look(tmp_path)
    assert (len(found.files), found.more) == (5, 3)
    assert all(file.name.isprintable() for file in found.files)


def test_L28_a_folder_too_large_to_look_at_gives_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(8):
        (tmp_path / f"{number}.txt").write_text("x")
    monkeypatch.setattr(written_files, "ENTRIES", 5)
    assert find_written_files(str(tmp_path), time.time() + 60) is None
    found = look(tmp_path)
    assert len(found.files) == 5


async def run_once(tmp_path: Path, write: str, printed: str = "", text: str = "hello") -> tuple[str, CodeBlock]:
    """What the model is told of a run that writes this file and prints this; and the block."""

    def script(source: str) -> Happenings:
        if write:
            (tmp_path / write).write_text(text)
        return [stdout_output(printed)] * bool(printed) + [RunResult(status="ok")]

    model = FakeModel("```python\nsave()\n```", "Done.")
    session = Session(
        kernels=FakeKernels(python=FakeKernel(script)),
        settings=LoopSection(approve="auto"),
        model=model,
        find_written=partial(find_written_files, str(tmp_path)),
        redactor=Redactor({"TOKEN": "hunter2-hunter2"}),
    )
    events = await play(session, session.run("save it"))
    (block,) = (block for block in session.transcript.blocks if isinstance(block, CodeBlock))
    assert len(of(FilesWritten, events)) == (block.written is not None)
    again = Transcript()
    for event in events_of_blocks(session.transcript.blocks):
        again.apply(event)
    assert [one.written for one in again.blocks if isinstance(one, CodeBlock)] == [block.written]
    return model.requests[1].messages[-1].text, block


async def test_L28_the_model_is_told_what_was_written_without_secrets(tmp_path: Path) -> None:
    told, block = await run_once(tmp_path, "notes.txt", "saved\n", text="key hunter2-hunter2\nok")
    assert block.written == WrittenFiles(
        files=(WrittenFile(name="notes.txt", size=22, begins="key hunter2-hunter2\nok"),)
    )
    assert 'saved\n[files written:\nnotes.txt (22 bytes): "key ' in told
    assert "hunter2" not in told
    (other := tmp_path / "other").mkdir()
    told, _ = await run_once(other, "server.pem", text="anything")
    assert "server.pem (8 bytes)]" in told


async def test_L28_or_that_nothing_came_of_it(tmp_path: Path) -> None:
    told, block = await run_once(tmp_path, "")
    assert NOTHING in told
    assert block.written == WrittenFiles()
    told, block = await run_once(tmp_path, "", "something")
    assert "[" not in told.split("something", 1)[1]
    assert block.written is None


async def test_L28_a_look_that_hangs_holds_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oi_tui.app.engine.agent.written_look.LOOKING", 0.01)
    release = threading.Event()

    def hang(since: float) -> None:
        release.wait(10)

    model = FakeModel("```python\n1\n```", "Done.")
    kernels = FakeKernels(python=FakeKernel({"1": [RunResult(status="ok")]}))
    session = Session(kernels=kernels, settings=LoopSection(approve="auto"), model=model, find_written=hang)
    try:
        events = await play(session, session.run("go"))
    finally:
        release.set()
    assert not of(FilesWritten, events)
    assert "[no output]" in model.requests[1].messages[-1].text


def test_L28_folders_of_oi_tui_are_not_looked_into(tmp_path: Path) -> None:
    for name in ("work/a.txt", "state/audit/log.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("x")
    found = find_written_files(str(tmp_path), 0.0, own={str(tmp_path / "state")})
    assert found is not None
    assert [file.name for file in found.files] == ["work/a.txt"]
