"""Whatever is done to a log that was written in order is found, and what was not done is not claimed."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oi_tui.app.engine.log.audit.chain import ChainFile, origin
from oi_tui.app.engine.log.audit.log import HEADS, HEADS_NAME, AuditLog
from oi_tui.app.engine.log.audit.records import LogBody, NoticeWasGiven, SessionBegan, Surroundings
from oi_tui.app.engine.log.audit.verify import Finding, LogLines, verify_folder, verify_session
from support.fuzzing import examples

NAME = "session"
LINES = 12


def notices(count: int) -> list[LogBody]:
    titles = [f"notice {number} – “ä”" for number in range(count)]
    return [LogBody(at=1.5, session=NAME, record=NoticeWasGiven(level="info", title=title)) for title in titles]


def written(folder: Path, *, seal: bool = True) -> AuditLog:
    log = AuditLog(folder, NAME, clock=lambda: 1e9)
    for number, body in enumerate(notices(LINES)):
        log.add([body])
        if seal and number % 4 == 3:
            log.seal()
    log.close()
    return log


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, LogLines]:
    """A log, all of it sealed, and the heads."""
    folder = tmp_path_factory.mktemp("audit")
    return written(folder).path.read_bytes(), LogLines((folder / HEADS).read_bytes())


def findings(data: bytes, heads: LogLines) -> tuple[Finding, ...]:
    return verify_session(NAME, data, heads).findings


def kinds(data: bytes, heads: LogLines) -> list[tuple[int, str]]:
    return [(finding.line, finding.kind) for finding in findings(data, heads)]


def joined(lines: Sequence[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def test_what_nobody_touched_is_intact(original: tuple[bytes, LogLines]) -> None:
    data, heads = original
    verdict = verify_session(NAME, data, heads)
    assert (verdict.findings, verdict.lines, verdict.unsealed) == ((), LINES, 0)


@given(data=st.data())
@examples(400)
def test_any_byte_that_is_changed_put_in_or_taken_out_is_found(
    original: tuple[bytes, LogLines], data: st.DataObject
) -> None:
    log, heads = original
    place = data.draw(st.integers(0, len(log) - 1))
    taken = data.draw(st.integers(0, min(300, len(log) - place)))
    put = data.draw(st.binary(max_size=40))
    changed = log[:place] + put + log[place + taken :]
    if changed != log:
        assert not verify_session(NAME, changed, heads).intact


@given(data=st.data())
@examples(400)
def test_any_lines_that_are_taken_out_moved_or_repeated_are_found(
    original: tuple[bytes, LogLines], data: st.DataObject
) -> None:
    log, heads = original
    lines = log.splitlines()
    chosen = data.draw(st.lists(st.sampled_from(lines), max_size=LINES + 3) | st.permutations(lines))
    if chosen != lines:
        assert not verify_session(NAME, joined(chosen), heads).intact


@given(length=st.integers(0, 100_000))
@examples(300)
def test_any_end_that_is_cut_off_is_found(original: tuple[bytes, LogLines], length: int) -> None:
    log, heads = original
    length %= len(log)
    assert not verify_session(NAME, log[:length], heads).intact


def test_what_was_done_is_said_with_its_line(original: tuple[bytes, LogLines]) -> None:
    log, heads = original
    lines = log.splitlines()
    assert kinds(log.replace(b"notice 4", b"notice X"), heads) == [(5, "edited")]
    assert kinds(log.replace(b"notice 0", b"notice X"), heads) == [(1, "edited")]
    assert kinds(log.replace(b"notice 11", b"notice X"), heads) == [(12, "edited")]
    assert kinds(log.replace(lines[6], b"nonsense"), heads) == [(7, "unreadable")]
    assert kinds(joined(lines[:5]), heads)[-1] == (6, "cut off")
    assert (4, "missing") in kinds(joined([*lines[:3], *lines[5:]]), heads)
    assert (4, "missing") in kinds(joined([*lines[:3], lines[4], lines[3], *lines[5:]]), heads)
    assert (5, "reordered") in kinds(joined([*lines[:3], lines[4], lines[3], *lines[5:]]), heads)
    assert (4, "reordered") in kinds(joined([*lines[:3], lines[2], *lines[3:]]), heads)


def test_the_log_of_another_session_is_not_taken_for_this_one(original: tuple[bytes, LogLines]) -> None:
    log, _ = original
    verdict = verify_session("other", log, LogLines(b""))
    assert [(finding.line, finding.kind) for finding in verdict.findings] == [(1, "edited")]


def test_a_write_that_was_interrupted_is_said_and_is_no_forgery(tmp_path: Path) -> None:
    path = written(tmp_path, seal=False).path
    path.write_bytes(path.read_bytes()[:-20])
    heads = LogLines(b"")
    torn = verify_session(NAME, path.read_bytes(), heads)
    assert [(f.line, f.kind, f.is_benign) for f in torn.findings] == [(LINES, "interrupted write", True)]
    assert torn.intact
    again = AuditLog(tmp_path, NAME)
    again.add(notices(1))
    again.seal()
    again.close()
    verdict = verify_session(NAME, path.read_bytes(), LogLines((tmp_path / HEADS).read_bytes()))
    assert [(f.line, f.kind) for f in verdict.findings] == [(LINES, "interrupted write")]
    assert (verdict.intact, verdict.lines) == (True, LINES + 2)


def test_a_line_that_was_known_to_be_whole_cannot_have_been_an_interrupted_write(tmp_path: Path) -> None:
    path = written(tmp_path).path
    path.write_bytes(path.read_bytes()[:-1])
    again = AuditLog(tmp_path, NAME)
    again.add(notices(1))
    again.seal()
    again.close()
    verdict = verify_session(NAME, path.read_bytes(), LogLines((tmp_path / HEADS).read_bytes()))
    assert [(f.line, f.kind) for f in verdict.findings] == [(LINES, "cut off")]


def test_lines_behind_the_last_head_are_counted_as_not_sealed(tmp_path: Path) -> None:
    log = AuditLog(tmp_path, NAME)
    log.add(notices(2))
    log.seal()
    log.add(notices(3))
    log.close()
    verdict = verify_session(NAME, log.path.read_bytes(), LogLines((tmp_path / HEADS).read_bytes()))
    assert (verdict.intact, verdict.unsealed) == (True, 3)


def test_an_end_that_was_cut_off_and_written_anew_is_found(tmp_path: Path) -> None:
    path = written(tmp_path).path
    lines = path.read_bytes().splitlines()
    path.write_bytes(joined(lines[:-3]))
    again = AuditLog(tmp_path, NAME)
    again.add(notices(5))
    again.seal()
    again.close()
    verdict = verify_session(NAME, path.read_bytes(), LogLines((tmp_path / HEADS).read_bytes()))
    assert [(f.line, f.kind) for f in verdict.findings] == [(LINES, "edited")]


def test_lines_that_vanish_while_the_log_is_open_are_a_finding(tmp_path: Path) -> None:
    log = AuditLog(tmp_path, NAME)
    log.add(notices(4))
    log.path.write_bytes(joined(log.path.read_bytes().splitlines()[:2]))
    log.add(notices(1))
    log.close()
    assert kinds(log.path.read_bytes(), LogLines(b"")) == [(3, "lost")]


def began(log: AuditLog) -> LogBody:
    head = log.newest_head()
    where = Surroundings(cwd="/", sandbox="danger-full-access")
    record = SessionBegan(surroundings=where, model="m", approval="ask", heads_seq=head.seq, heads_sha256=head.sha256)
    return LogBody(at=1.0, session="later", record=record)


def test_opening_a_log_does_not_read_all_heads_there_ever_were(tmp_path: Path) -> None:
    log = written(tmp_path)
    for _ in range(300):
        log.seal()
    log.close()
    size, read = (tmp_path / HEADS).stat().st_size, 0

    def counted(descriptor: int, length: int, start: int) -> bytes:
        nonlocal read
        data = os.pread(descriptor, length, start)
        read += len(data)
        return data

    again = AuditLog(tmp_path, "another", read=counted)
    again.add([began(again)])
    again.seal()
    again.close()
    assert read < size / 3
    assert all(verdict.intact for verdict in verify_folder(tmp_path))


def test_heads_that_were_cut_off_are_found_by_the_log_of_a_later_session(tmp_path: Path) -> None:
    written(tmp_path)
    later = AuditLog(tmp_path, "later")
    later.add([began(later)])
    later.close()
    assert all(verdict.intact for verdict in verify_folder(tmp_path))
    heads = tmp_path / HEADS
    heads.write_bytes(joined(heads.read_bytes().splitlines()[:1]))
    wrong = [verdict for verdict in verify_folder(tmp_path) if not verdict.intact]
    assert [verdict.name for verdict in wrong] == ["later"]
    assert "heads.jsonl" in wrong[0].findings[0].what


def test_a_session_that_begins_while_the_logs_are_read_is_no_forgery(tmp_path: Path) -> None:
    written(tmp_path)
    before = LogLines((tmp_path / HEADS).read_bytes())
    meanwhile = AuditLog(tmp_path, "meanwhile")
    meanwhile.add([LogBody(at=1.0, session="meanwhile", record=NoticeWasGiven(level="info", title="x"))])
    meanwhile.seal()
    meanwhile.close()
    later = AuditLog(tmp_path, "later")
    later.add([began(later)])
    later.close()
    log = later.path.read_bytes()
    assert verify_session("later", log, before, LogLines((tmp_path / HEADS).read_bytes())).intact
    assert not verify_session("later", log, before).intact


def test_a_log_that_is_gone_is_missed(tmp_path: Path) -> None:
    written(tmp_path).path.unlink()
    wrong = [verdict for verdict in verify_folder(tmp_path) if not verdict.intact]
    assert [(verdict.name, verdict.findings[0].kind) for verdict in wrong] == [(NAME, "missing")]


def test_an_edited_head_is_found(tmp_path: Path) -> None:
    written(tmp_path)
    file = ChainFile(tmp_path / HEADS, origin(HEADS_NAME))
    file.path.write_bytes(file.path.read_bytes().replace(b'"log_seq":4', b'"log_seq":3', 1))
    assert not all(verdict.intact for verdict in verify_folder(tmp_path))


@pytest.mark.skipif(sys.platform != "linux", reason="the name of a descriptor is asked of /proc")
def test_a_head_is_written_when_all_that_it_speaks_of_is_on_disk(tmp_path: Path) -> None:
    synced: list[tuple[str, bytes, bytes]] = []

    def sync(descriptor: int) -> None:
        name = Path(os.readlink(f"/proc/self/fd/{descriptor}")).name
        heads = tmp_path / HEADS
        synced.append((name, log.path.read_bytes(), heads.read_bytes() if heads.exists() else b""))

    log = AuditLog(tmp_path, NAME, sync=sync)
    log.add(notices(2))
    assert synced == []
    log.seal()
    log.close()
    assert synced == [(log.path.name, log.path.read_bytes(), b"")]
    assert log.path.read_bytes().count(b"\n") == 2
    assert (tmp_path / HEADS).read_bytes().count(b"\n") == 1
