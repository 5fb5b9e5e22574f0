"""What of a person's work would be lost if files were written anew, read off git's index without running git."""

import contextlib
import os
import shutil
import struct
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oi_tui.app.engine.policy.losses import Target
from oi_tui.app.engine.trust.git_index import WrongIndex, find_entries
from oi_tui.app.engine.trust.unsaved_work import CHANGED, UNKNOWN, UNTRACKED, UnsavedWork

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed: its index is not compared")


def git(folder: Path, *words: str, **more: str) -> None:
    alone = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "HOME": str(folder), **more}
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, env={**os.environ, **alone})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository with a file of each kind."""
    (tmp_path / "src").mkdir()
    for name in ("clean.md", "changed.md", "staged.md", "src/clean.py", "src/changed.py"):
        (tmp_path / name).write_text(f"first of {name}")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "a")
    (tmp_path / "changed.md").write_text("work of a week")
    (tmp_path / "src" / "changed.py").write_text("work of a day!")
    (tmp_path / "staged.md").write_text("second of staged.md")
    git(tmp_path, "add", "staged.md")
    (tmp_path / "new.md").write_text("only here")
    (tmp_path / "empty.md").touch()
    return tmp_path


def lost(folder: Path, *names: str, work: UnsavedWork | None = None, **more: bool | str) -> dict[str, str]:
    targets = [Target(str(folder / name), **more) for name in names]  # type: ignore[arg-type]  # the fields of Target
    return {os.path.relpath(loss.path, folder): loss.why for loss in (work or UnsavedWork()).find_losses(targets)}


NAMES = (
    "clean.md",
    "changed.md",
    "staged.md",
    "new.md",
    "empty.md",
    "missing.md",
    "src",
    "src/clean.py",
    "src/changed.py",
)
LOST = {"changed.md": CHANGED, "new.md": UNTRACKED, "src/changed.py": CHANGED}


@needs_git
@pytest.mark.parametrize("version", ["2", "3", "4"])
@pytest.mark.parametrize("split", [False, True])
def test_U28_what_git_does_not_have_as_it_is_would_be_lost(folder: Path, version: str, split: bool) -> None:
    if version == "3":
        git(folder, "update-index", "--skip-worktree", "src/clean.py")  # which needs the second flags
    else:
        git(folder, "update-index", "--index-version", version)
    if split:
        git(folder, "update-index", "--split-index")
    else:
        assert (folder / ".git" / "index").read_bytes()[4:8] == struct.pack(">I", int(version))
    assert lost(folder, *NAMES) == LOST
    many = [f"missing_{number}.md" for number in range(20)]
    for name in many:
        (folder / name).write_text("x")
    assert lost(folder, *NAMES, *many) == LOST | dict.fromkeys(many, UNTRACKED)


@needs_git
def test_what_was_copied_or_touched_but_is_the_same_is_not_lost(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("copy") / "copy"
    shutil.copytree(folder, other)
    for path in other.glob("*.md"):
        os.utime(path, (1, 1))
    assert lost(other, *NAMES) == LOST


@needs_git
def test_a_change_that_keeps_size_and_time_right_after_the_index_was_written_is_found(folder: Path) -> None:
    before = (folder / "clean.md").stat()
    (folder / "clean.md").write_text("other of clean.md")
    os.utime(folder / "clean.md", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert lost(folder, "clean.md") == {"clean.md": CHANGED}


@needs_git
def test_what_is_in_the_middle_of_a_merge_or_only_named_would_be_lost(folder: Path) -> None:
    git(folder, "add", "-N", "new.md")
    assert lost(folder, "new.md") == {"new.md": CHANGED}
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "b")
    git(folder, "checkout", "-qb", "other", "HEAD~1")
    (folder / "clean.md").write_text("theirs")
    git(folder, "commit", "-qam", "c")
    (folder / "clean.md").write_text("mine")
    git(folder, "commit", "-qam", "d")
    git(folder, "checkout", "-q", "HEAD~1")
    (folder / "clean.md").write_text("ours")
    git(folder, "commit", "-qam", "e")
    with pytest.raises(subprocess.CalledProcessError):
        git(folder, "merge", "other")
    assert lost(folder, "clean.md") == {"clean.md": CHANGED}


@needs_git
def test_further_working_trees_modules_and_sha256_are_known(tmp_path: Path) -> None:
    main, other = tmp_path / "main", tmp_path / "other"
    main.mkdir()
    git(main, "init", "-q", "--object-format=sha256")
    for name in ("a.md", "b.md"):
        (main / name).write_text(name)
    git(main, "add", "-A")
    git(main, "commit", "-qm", "a")
    git(main, "worktree", "add", "-q", "../other")
    for tree in (main, other):
        (tree / "b.md").write_text("changed")
        assert lost(tree, "a.md", "b.md") == {"b.md": CHANGED}
    git(other, "update-index", "--index-version", "4")
    assert lost(other, "a.md", "b.md") == {"b.md": CHANGED}


@needs_git
def test_patterns_folders_trees_and_links_lead_to_the_files_that_are_meant(folder: Path) -> None:
    assert lost(folder, "*.md", pattern=True) == {"changed.md": CHANGED, "new.md": UNTRACKED}
    assert lost(folder, "**/*.py", pattern=True) == {"src/changed.py": CHANGED}
    assert lost(folder, "src", source="/elsewhere/changed.py") == {"src/changed.py": CHANGED}
    assert lost(folder, "changed.md", source="/elsewhere/x") == {"changed.md": CHANGED}
    (folder / "backup" / "src").mkdir(parents=True)
    (folder / "backup" / "src" / "changed.py").touch()
    assert lost(folder, ".", source=str(folder / "backup" / "src"), tree=True) == {"src/changed.py": CHANGED}
    assert lost(folder, "src", source=str(folder / "backup" / "src"), tree=True) == {"src/changed.py": CHANGED}
    assert lost(folder, "src", moved=True) == {"src/changed.py": CHANGED}
    (folder / "link.md").symlink_to("changed.md")
    assert lost(folder, "link.md") == {"changed.md": CHANGED}


def test_outside_of_a_repository_and_beside_a_stand_in_for_one_nothing_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("x")
    assert lost(tmp_path, "a.md") == {}
    (tmp_path / ".git").mkdir()
    assert lost(tmp_path, "a.md") == {}
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    assert lost(tmp_path, "a.md") == {"a.md": UNTRACKED}


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _file(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def _folder(path: Path) -> None:
    path.mkdir()


BROKEN = (
    *(b"", b"DIRC", b"\0" * 100, b"DIRC\0\0\0\2\xff\xff\xff\xff", b"DIRC\0\0\0\4\xff\xff\xff\xff" + b"\xff" * 1_000),
    *(b"DIRC\0\0\0\4\xff\xff\xff\xff" + b"\0" * 100_000, b"DIRC\0\0\0\2\0\0\0\1" + b"\0" * 62 + b"a.md\0"),
)


@pytest.mark.parametrize("make", [_fifo, _device, _folder, *(partial(_file, data=data) for data in BROKEN)])
def test_an_index_that_is_none_knows_no_file(tmp_path: Path, make: Callable[[Path], object]) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").touch()
    (tmp_path / "a.md").write_text("x")
    make(tmp_path / ".git" / "index")
    assert lost(tmp_path, "a.md") == {"a.md": UNTRACKED}


@pytest.mark.parametrize("text", ["", "gitdir:", "gitdir: /dev/zero", "gitdir: \0", "gitdir: .", "x" * 100_000])
def test_a_file_that_leads_to_no_repository_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.md").write_text("x")
    (tmp_path / ".git").write_text(text)
    assert lost(tmp_path, "a.md") == {}


def test_paths_that_no_system_takes_end_nothing(tmp_path: Path) -> None:
    for name in ("a\0b", "x" * 5_000, "\udcff", "/".join("ab") * 2_000):
        assert UnsavedWork().find_losses([Target(f"{tmp_path}/{name}")]) is not None
        UnsavedWork().list_files([Target(f"{tmp_path}/{name}")])


def big_index(files: int, version: int) -> bytes:
    """An index of so many files, the way git writes it."""
    made, before = [struct.pack(">4sII", b"DIRC", version, files)], b""
    for number in range(files):
        name = b"src/package_%03d/module_%06d.py" % (number // 300, number)
        head = struct.pack(">10I", 1, 0, 1, 0, 0, 0, 0o100644, 0, 0, 5) + b"\1" * 20 + struct.pack(">H", len(name))
        if version == 4:
            same = next((place for place, (a, b) in enumerate(zip(before, name, strict=False)) if a != b), 0)
            strip = len(before) - same
            assert strip < 128
            made.append(head + bytes([strip]) + name[same:] + b"\0")
        else:
            entry = head + name
            made.append(entry + b"\0" * (8 - len(entry) % 8))
        before = name
    return b"".join(made)


@pytest.mark.parametrize("version", [2, 4])
def test_an_index_of_100_000_files_is_searched_in_a_fraction_of_a_second(version: int) -> None:
    data = big_index(100_000, version)
    wanted = {b"src/package_333/module_099999.py", b"src/package_000/module_000000.py", b"y", b"odule_099999.py"}
    begun = time.process_time()
    found = find_entries(data, wanted)
    spent = time.process_time() - begun
    assert found.keys() == {b"src/package_333/module_099999.py", b"src/package_000/module_000000.py"}
    begun = time.process_time()
    assert find_entries(data, wanted | {b"%d" % number for number in range(2_000)}) == found
    spent = max(spent, time.process_time() - begun)
    assert spent < 2, f"{spent:.3f} s"


def test_what_is_no_index_is_said() -> None:
    for data in (b"", b"x" * 200, b"DIRC\0\0\0\1\0\0\0\0", b"DIRC\0\0\0\4\0\0\0\5" + b"\x80" * 500):
        with pytest.raises(WrongIndex):
            find_entries(data, [b"a"])
    with pytest.raises(WrongIndex):
        find_entries(b"DIRC\0\0\0\2\0\0\0\5" + b"\x80" * 500, [b"%d" % number for number in range(100)])


@given(st.binary(max_size=400), st.sampled_from((2, 3, 4)), st.integers(1, 20))
def test_whatever_an_index_holds_it_is_read_or_refused(rest: bytes, version: int, names: int) -> None:
    with contextlib.suppress(WrongIndex):
        find_entries(struct.pack(">4sII", b"DIRC", version, 9) + rest, [b"%d" % number for number in range(names)])


@needs_git
def test_what_cannot_be_looked_at_in_time_or_number_counts_as_lost(folder: Path) -> None:
    ticks = iter(range(1_000))
    slow = UnsavedWork(seconds=2, clock=lambda: next(ticks))
    assert UNKNOWN in lost(folder, "clean.md", "staged.md", work=slow).values()
    few = UnsavedWork(files=2).find_losses([Target(str(folder / "*.md"), pattern=True)])
    assert [loss.path for loss in few if not loss.path] == [""]
