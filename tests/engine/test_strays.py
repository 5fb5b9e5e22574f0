"""A log that two programs wrote at once: what belongs to blocks that are not there changes nothing."""

import json
import os
from contextlib import closing
from pathlib import Path

import pytest

from oi_tui.app.engine.core.blocks import CodeBlock, ProseBlock, UserBlock
from oi_tui.app.engine.core.errors import StoreError
from oi_tui.app.engine.core.events import (
    ActiveLineChanged,
    AnyEvent,
    CodeFinished,
    CodeGrew,
    ConversationCleared,
    DecisionMade,
    DecisionRequested,
    ExecutionFinished,
    ExecutionStarted,
    FilesWritten,
    InputRequested,
    OutputAdded,
    OutputDropped,
    OutputKept,
    OutputsCleared,
    OutputTailMoved,
    ProseFinished,
    ProseGrew,
    ProseStarted,
    RerunFinished,
    RerunStarted,
    SecretsWithheld,
    SessionOpened,
)
from oi_tui.app.engine.core.outputs import StreamOutput, Tail, WholeOutput, WrittenFiles
from oi_tui.app.engine.core.verbs import Open
from oi_tui.app.engine.log.recording.form import read_recording
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.testing import FakeModel
from oi_tui.app.engine.transcript.event_log import extend, fold_events
from oi_tui.app.engine.transcript.fork_point import events_until
from oi_tui.app.engine.transcript.transcript import Transcript
from oi_tui.plugins.session_files import export_session
from support.front import engine
from support.sessions import code, printed, prose, recording, turn

GONE = "c1"
BEFORE = turn("u1", "first", prose("p1", "One."), code(GONE, "x", printed("a")))
AFTER = turn("u2", "second", prose("p2", "Two."))


def strays(block_id: str) -> list[AnyEvent]:
    """All that can be said of a block that is there."""
    return [
        ProseGrew(block_id=block_id, text="more"),
        ProseFinished(block_id=block_id),
        CodeGrew(block_id=block_id, text="more"),
        CodeFinished(block_id=block_id, language="python", source="more"),
        DecisionRequested(block_id=block_id, request_id="r", language="python", source="x", sha256=""),
        DecisionMade(block_id=block_id, verdict="run", source="y", decider="person"),
        ExecutionStarted(block_id=block_id, generation=1),
        ActiveLineChanged(block_id=block_id, line=1),
        OutputAdded(block_id=block_id, output=printed("b")),
        OutputsCleared(block_id=block_id),
        OutputTailMoved(block_id=block_id, name="stdout", tail=Tail(text="b")),
        OutputKept(block_id=block_id, whole=WholeOutput(path="/x")),
        OutputDropped(block_id=block_id, characters=1),
        InputRequested(block_id=block_id, request_id="i", prompt="?"),
        SecretsWithheld(block_id=block_id, names=("KEY",)),
        ExecutionFinished(block_id=block_id, status="ok", duration=0.1),
        FilesWritten(block_id=block_id, written=WrittenFiles()),
        RerunStarted(block_id=block_id, generation=1),
        RerunFinished(block_id=block_id, outcome="same"),
    ]


@pytest.mark.parametrize("stray", strays(GONE), ids=lambda stray: type(stray).__name__)
def test_what_belongs_to_a_block_that_is_gone_changes_nothing(stray: AnyEvent) -> None:
    clean = [*BEFORE, ConversationCleared(), *AFTER]
    transcript = fold_events([*BEFORE, ConversationCleared(), stray, *AFTER])
    assert transcript == fold_events(clean)
    assert (transcript.pending_decision, transcript.pending_input) == (None, None)
    assert transcript.strays == (0 if isinstance(stray, SecretsWithheld) else 1)


@pytest.mark.parametrize("stray", strays("u2"), ids=lambda stray: type(stray).__name__)
def test_nor_does_what_cannot_be_said_of_a_block_of_this_kind(stray: AnyEvent) -> None:
    before, after = fold_events(AFTER), fold_events([*AFTER, stray])
    assert after.blocks[1:] == before.blocks[1:]
    assert isinstance(after.blocks[0], UserBlock)
    assert (after.pending_decision, after.pending_input) == (None, None)


def test_text_that_waits_to_be_joined_is_not_lost_when_another_block_takes_the_id() -> None:
    running = [*BEFORE, OutputAdded(block_id=GONE, output=printed("b")), ProseStarted(block_id=GONE)]
    transcript = fold_events(running)
    assert [type(block) for block in transcript.blocks] == [UserBlock, ProseBlock, CodeBlock, ProseBlock]
    first = transcript.blocks[2]
    assert isinstance(first, CodeBlock)
    assert first.outputs == (StreamOutput(name="stdout", text="ab"),)


async def test_such_a_log_is_opened_gone_on_with_shown_and_exported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = [*BEFORE, ConversationCleared(), *strays(GONE), *AFTER]
    with closing(Store(tmp_path / "sessions.db")) as store:
        store.create("two", 1.0, "/work")
        store.append("two", [SessionOpened(session_id="two", created=1.0, cwd="/work", model="m", approval="ask")])
        store.append("two", log)
    async with engine(tmp_path, FakeModel("Three.")) as front:
        await front.client.send(Open(session_id="two"))
        await front.turn("third")
        told = front.transcript
    assert "events of blocks that are not there" in caplog.text
    with closing(Store(tmp_path / "sessions.db")) as store:
        events = store.load("two")
        assert {hit.session.id for hit in store.search("third")} == {"two"}
    assert fold_events(events) == told  # live is folded
    for form in ("ipynb", "md", "html", "lmc"):
        assert b"second" in export_session(events, form)
    place = events_until(events, "u2", "after")
    assert place is not None
    assert isinstance(fold_events(events[:place]).blocks[-1], UserBlock)
    assert events_until([*strays(GONE), *AFTER], GONE, "after") is None


def test_a_log_that_makes_no_sense_at_all_is_an_error_in_plain_words() -> None:
    with pytest.raises(StoreError, match="makes no sense"):
        extend(Transcript(), [ProseStarted(block_id="p"), ProseGrew(block_id="p", text=None)])  # type: ignore[arg-type]  # no type checker has seen a file


def test_a_recording_with_strays_is_read_and_one_of_no_time_is_refused(tmp_path: Path) -> None:
    assert read_recording(recording(tmp_path / "strays", *strays(GONE), *AFTER)).lines
    for number, created in enumerate((1e300, -1e300, 1e17)):
        path = tmp_path / f"{number}"
        head, *lines = recording(path, *AFTER).read_bytes().split(b"\n")
        path.write_bytes(b"\n".join([json.dumps(json.loads(head) | {"created": created}).encode(), *lines]))
        with pytest.raises(StoreError, match="impossible date"):
            read_recording(path)
        os.unlink(path)
