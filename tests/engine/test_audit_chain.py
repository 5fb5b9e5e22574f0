"""The file below the audit log: lines that name the one before, whatever happens to whoever writes them."""

import fcntl
import multiprocessing
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from oi_tui.app.engine.core.errors import AuditError
from oi_tui.app.engine.log.audit.chain import PIECE, ChainFile, ChainLink, ChainState, chain_line, digest, origin

FIRST = origin("test")


def body(text: str) -> bytes:
    return b'{"said":"%s"}' % text.encode()


def add(file: ChainFile, *texts: str) -> ChainState:
    states: list[ChainState] = []

    def compose(state: ChainState) -> list[bytes]:
        states.append(state)
        return [body(text) for text in texts]

    file.append(compose)
    return states[0]


def is_a_chain(data: bytes) -> bool:
    """Every line, torn ones too, is named by the next one that was composed."""
    before = FIRST
    for line in data.split(b"\n")[:-1]:
        whole = line.startswith(b'{"seq":') and line.endswith(b"}")
        if whole and not line.startswith(b'{"seq":%d,"prev":"%s"' % (before.seq + 1, before.sha256.encode())):
            return False
        before = ChainLink(before.seq + 1, digest(line))
    return True


@contextmanager
def no_file_larger_than(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_each_line_names_the_one_before_and_only_its_owner_can_read_the_file(tmp_path: Path) -> None:
    file = ChainFile(tmp_path / "private" / "log", FIRST)
    add(file, "one", "two")
    add(file, "three")
    file.close()
    one = chain_line(body("one"), FIRST)
    two = chain_line(body("two"), ChainLink(1, digest(one)))
    three = chain_line(body("three"), ChainLink(2, digest(two)))
    assert file.path.read_bytes() == b"\n".join((one, two, three, b""))
    assert file.path.stat().st_mode & 0o777 == 0o600
    assert file.path.parent.stat().st_mode & 0o777 == 0o700


def test_a_file_is_gone_on_with_where_it_ended(tmp_path: Path) -> None:
    for text in ("one", "two", "three"):
        file = ChainFile(tmp_path / "log", FIRST)
        add(file, text)
        file.close()
    data = (tmp_path / "log").read_bytes()
    assert data.count(b"\n") == 3
    assert is_a_chain(data)


class Counted:
    """Reads as the system does, and counts the bytes."""

    def __init__(self) -> None:
        self.bytes = 0

    def __call__(self, descriptor: int, length: int, start: int) -> bytes:
        data = os.pread(descriptor, length, start)
        self.bytes += len(data)
        return data


@pytest.mark.parametrize("lines", [1, 50, 5_000])
def test_to_go_on_with_a_file_its_end_is_read_and_no_more(tmp_path: Path, lines: int) -> None:
    first = ChainFile(tmp_path / "log", FIRST)
    add(first, *(f"{number:0300}" for number in range(lines)))
    read = Counted()
    again = ChainFile(tmp_path / "log", FIRST, read=read)
    assert again.look() == first.look() == ChainLink(lines, digest(first.path.read_bytes().split(b"\n")[-2]))
    assert read.bytes <= PIECE
    assert add(again, "more").last.seq == lines
    assert read.bytes <= PIECE  # what it wrote itself it knows
    assert is_a_chain(first.path.read_bytes())
    again.close()
    first.close()


@pytest.mark.parametrize("end", [b"", b"\n", b"garbage\n\nmore\n", b'{"seq":12', b"x" * 3 * PIECE, b"x\n" * PIECE])
@pytest.mark.parametrize("longest", [10, PIECE - 100, 3 * PIECE])
def test_the_end_of_a_file_is_understood_as_by_who_read_all_of_it(tmp_path: Path, longest: int, end: bytes) -> None:
    first = ChainFile(tmp_path / "log", FIRST)
    add(first, "one", "y" * longest)
    with first.path.open("ab") as file:
        file.write(end)
    again = ChainFile(tmp_path / "log", FIRST)
    assert again.look() == first.look()
    assert add(again, "more").torn == len(end.rpartition(b"\n")[2])
    assert ChainFile(tmp_path / "log", FIRST).look() == again.look() == first.look()
    again.close()
    first.close()


def test_a_file_in_which_no_line_says_its_place_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"not\nours\n" * PIECE)
    path.chmod(0o600)
    file = ChainFile(path, FIRST)
    assert file.look() == ChainLink(2 * PIECE, digest(b"ours"))
    file.close()


def write_many(path: Path, name: str) -> None:
    file = ChainFile(path, FIRST)
    for number in range(50):
        add(file, f"{name}{number}", f"{name}{number} again")
    file.close()


def test_several_processes_that_write_at_the_same_time_make_one_chain(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("fork")
    writers = [spawn.Process(target=write_many, args=(tmp_path / "log", name)) for name in "abc"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(30)
        assert writer.exitcode == 0
    data = (tmp_path / "log").read_bytes()
    assert data.count(b"\n") == 300
    assert is_a_chain(data)


def test_two_writers_in_one_process_take_turns_and_make_one_chain(tmp_path: Path) -> None:
    one, other = (ChainFile(tmp_path / "log", FIRST) for _ in range(2))
    for number in range(20):
        add(one, f"one {number}")
        add(other, f"other {number}", "and another")
    one.close()  # which lets go of nothing that the other has
    add(other, "the last")
    other.close()
    data = (tmp_path / "log").read_bytes()
    assert data.count(b"\n") == 61
    assert is_a_chain(data)


@pytest.mark.parametrize("cut", [1, 2, 30])
def test_a_line_without_an_end_is_told_of_left_as_it_is_and_named_by_the_next(tmp_path: Path, cut: int) -> None:
    file = ChainFile(tmp_path / "log", FIRST)
    add(file, "one", "two")
    file.close()
    whole = file.path.read_bytes()
    file.path.write_bytes(whole[:-cut])
    again = ChainFile(tmp_path / "log", FIRST)
    state = add(again, "three")
    assert state.torn == len(whole[:-cut].rpartition(b"\n")[2])
    assert state.last.seq == 2
    assert add(again, "four").torn == 0
    data = again.path.read_bytes()
    assert data.startswith(whole[:-cut] + b"\n")
    assert is_a_chain(data)
    again.close()


def test_a_full_disk_is_an_error_in_plain_words_and_the_file_is_gone_on_with_when_there_is_room(tmp_path: Path) -> None:
    file = ChainFile(tmp_path / "log", FIRST)
    add(file, "one")
    with no_file_larger_than(file.path.stat().st_size + 40):
        with pytest.raises(AuditError, match="disk is full"):
            add(file, "two")
        with pytest.raises(AuditError, match="could not be written"):
            add(file, "two")
    assert add(file, "two").torn == 40
    assert is_a_chain(file.path.read_bytes())
    file.close()


@pytest.mark.parametrize("how", ["cut", "removed", "replaced"])
def test_lines_that_vanish_while_the_file_is_open_are_told_of(tmp_path: Path, how: str) -> None:
    file = ChainFile(tmp_path / "log", FIRST)
    add(file, "one", "two")
    last = add(file, "three").last
    match how:
        case "cut":
            os.truncate(file.path, 150)
        case "removed":
            file.path.unlink()
        case _:
            other = tmp_path / "other"
            other.write_bytes(file.path.read_bytes().replace(b"three", b"never") + b"more\n" * 3)
            other.chmod(0o600)
            other.replace(file.path)
    state = add(file, "four")
    assert state.lost is not None
    assert state.lost.seq == last.seq + 1
    assert b"four" in file.path.read_bytes()
    file.close()


def test_a_true_copy_in_its_place_is_no_loss(tmp_path: Path) -> None:
    file = ChainFile(tmp_path / "log", FIRST)
    add(file, "one", "two")
    copy = tmp_path / "copy"
    copy.write_bytes(file.path.read_bytes())
    copy.chmod(0o600)
    copy.replace(file.path)
    assert add(file, "three").lost is None
    assert is_a_chain(file.path.read_bytes())
    file.close()


def test_a_link_a_pipe_or_a_file_open_to_others_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "open").touch()
    (tmp_path / "open").chmod(0o644)
    (tmp_path / "folder").mkdir()
    for name in ("link", "pipe", "open", "folder"):
        with pytest.raises(AuditError):
            add(ChainFile(tmp_path / name, FIRST), "one")
    assert not (tmp_path / "elsewhere").exists()


def test_a_file_that_another_program_holds_for_ever_is_an_error_and_not_a_wait(tmp_path: Path) -> None:
    file = ChainFile(tmp_path / "log", FIRST, patience=0.05)
    add(file, "one")
    held = os.open(file.path, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    with pytest.raises(AuditError, match="held by another program"):
        add(file, "two")
    os.close(held)
    add(file, "two")
    file.close()
