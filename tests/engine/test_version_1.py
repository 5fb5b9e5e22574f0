"""What the first version wrote is opened, verified, shown and played by this one as if nothing had changed."""

import shutil
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from oi_tui.app.engine.core.events import AnyEvent, ConversationCleared, ExecutionFinished, OutputAdded
from oi_tui.app.engine.log.audit.account import in_words
from oi_tui.app.engine.log.audit.auditor import Auditor
from oi_tui.app.engine.log.audit.log import find_log, logs
from oi_tui.app.engine.log.audit.records import Surroundings, decode
from oi_tui.app.engine.log.audit.verify import verify_folder
from oi_tui.app.engine.log.recording.form import read_recording
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.transcript.event_log import fold_events
from support.resimulation import comparable, resimulate

WRITTEN = Path(__file__).parents[1] / "evidence" / "version_1"
BLOCKS: dict[str, list[Any]] = msgspec.json.decode((WRITTEN / "blocks.json").read_bytes())
FIRST, FORK, REMOVED, TWICE = "cd613e30d8f1", "a11d459a2f97", "81f9c1f66c0f", "e1fab9d78c7e"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A copy, with the rights that the program gives to its files."""
    folder = tmp_path / "version_1"
    shutil.copytree(WRITTEN, folder)
    for path in folder.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return folder


@pytest.fixture
def store(data: Path) -> Iterator[Store]:
    with closing(Store(data / "sessions.db")) as opened:
        while opened.tidy(1.0):
            pass
        yield opened


def brief(value: Any) -> Any:
    """What it says, without what that version did not know and this one has nothing to say of."""
    match value:
        case {"type": "notice", "wait": 0.0, **rest}:
            return brief({"type": "notice", **rest})
        case str() if len(value) > 1000:
            return f"{len(value)} characters"
        case dict():
            return {key: brief(content) for key, content in value.items()}
        case list() | tuple():
            return [brief(content) for content in value]
        case _:
            return value


@pytest.mark.parametrize("session", [FIRST, FORK, TWICE])
def test_a_session_is_what_it_was(store: Store, session: str) -> None:
    assert brief(msgspec.to_builtins(fold_events(store.load(session)).blocks)) == BLOCKS[session]


def test_sessions_are_listed_and_found_as_they_were(store: Store) -> None:
    listed = [(record.id, record.title, record.tags, record.turns, record.parent_id) for record in store.sessions()]
    assert listed == [
        (FORK, "what if", (), 2, FIRST),
        (FIRST, "Numbers", ("plots", "sums"), 2, None),
    ]
    assert [record.id for record in store.sessions(archived=True)] == [TWICE]
    assert {(hit.session.id, hit.kind) for hit in store.search("drawn")} == {(FIRST, "answer")}
    assert [prompt.text for prompt in store.prompts(9)] == [
        "ask me", "keep it", "what if", "and now divide", "add the numbers below ten",
    ]  # fmt: skip


def test_what_was_removed_leaves_its_audit_and_the_fork_keeps_what_it_shared(store: Store, data: Path) -> None:
    store.remove(FIRST)
    assert brief(msgspec.to_builtins(fold_events(store.load(FORK)).blocks)) == BLOCKS[FORK]
    assert all(verdict.intact for verdict in verify_folder(data / "audit"))
    assert find_log(data / "audit", FIRST) is not None
    assert find_log(data / "audit", REMOVED) is not None


def test_its_audit_logs_verify_as_they_did(data: Path) -> None:
    found = [
        (v.name, v.lines, v.unsealed, [(f.line, f.kind) for f in v.findings]) for v in verify_folder(data / "audit")
    ]
    assert found == [
        (REMOVED, 11, 3, [(9, "interrupted write")]),
        (FORK, 5, 0, []),
        (FIRST, 25, 0, []),
        (TWICE, 20, 0, []),
        ("heads.jsonl", 26, 0, []),
    ]


@pytest.mark.parametrize("path", [path.name for path in logs(WRITTEN / "audit")])
def test_each_line_that_is_changed_is_found(data: Path, path: str) -> None:
    log = data / "audit" / path
    whole = log.read_bytes()
    for number, line in enumerate(whole.split(b"\n")[:-1]):
        at = whole.index(line) + len(line) // 2
        log.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        verdicts = {verdict.name: verdict for verdict in verify_folder(data / "audit")}
        sealed = verdicts[path[len("2023-11-14-") : -len(".jsonl")]]
        assert not sealed.intact or number == sealed.lines - 1 > sealed.lines - 1 - sealed.unsealed


def test_a_log_is_gone_on_with(data: Path) -> None:
    auditor = Auditor(data / "audit", Surroundings(cwd="/work", sandbox="danger-full-access"), TWICE)
    auditor.take(ConversationCleared())
    auditor.end()
    assert all(verdict.intact for verdict in verify_folder(data / "audit"))
    log = find_log(data / "audit", TWICE)
    assert log is not None
    assert log.read_bytes().count(b"\n") == 22


def test_its_audit_is_shown_in_the_words_that_it_had(data: Path, store: Store) -> None:
    shown: list[str] = []
    for path in logs(data / "audit"):
        for number, line in enumerate(path.read_bytes().splitlines(), 1):
            entry = decode(line)
            if entry is None:
                shown.append(f"line {number} cannot be read: see `oi-tui audit verify`")
                continue
            when = datetime.fromtimestamp(entry.at, UTC).strftime("%Y-%m-%d %H:%M:%S")
            shown.append(f"{when}  {in_words(entry.record)}")
    then = (WRITTEN / "shown.txt").read_text(encoding="utf-8").splitlines()
    assert len(shown) == len(then)
    for now, before in zip(shown, then, strict=True):
        assert before.startswith(now)  # behind it may stand the first line of the source


def test_its_recording_is_played_as_it_was() -> None:
    recording = read_recording(WRITTEN / "recording.jsonl")
    assert brief(msgspec.to_builtins(fold_events(list(recording.events())).blocks)) == BLOCKS["recording"]
    times = [at for at, _ in recording.batches()]
    assert times == sorted(times)
    assert times[-1] > times[0] > 0


def in_time(events: Iterable[AnyEvent]) -> Iterator[AnyEvent]:
    """Without what came when its run was over."""
    over: set[str] = set()
    for event in events:
        if isinstance(event, ExecutionFinished):
            over.add(event.block_id)
        if not (isinstance(event, OutputAdded) and event.block_id in over):
            yield event


async def test_the_loop_does_again_what_its_recording_tells_of() -> None:
    recording = read_recording(WRITTEN / "recording.jsonl")
    then = comparable(fold_events(list(in_time(recording.events()))).blocks)
    now = comparable(fold_events(await resimulate(recording)).blocks)
    assert now == then
