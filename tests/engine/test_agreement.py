"""Whoever rewrites a session in the store is found by what the audit log has of it."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from oi_tui.app.engine.core.blocks import Action, ActionBlock, Block
from oi_tui.app.engine.core.chat_model import ToolDelta
from oi_tui.app.engine.core.events import (
    AnyEvent,
    CallFinished,
    CallGrew,
    CallStarted,
    CodeFinished,
    CodeStarted,
    DecisionMade,
    DecisionRequested,
    ExecutionStarted,
)
from oi_tui.app.engine.core.verbs import Decide
from oi_tui.app.engine.log.audit.agreement import disagreements
from oi_tui.app.engine.log.audit.fold import AuditFold
from oi_tui.app.engine.log.audit.log import AuditLog, find_log
from oi_tui.app.engine.log.audit.records import AnyRecord, LogBody, Surroundings
from oi_tui.app.engine.testing import FakeModel
from support.tool_calls import answer, call, make
from support.turns import play

EDITED = "x = 'edited'"


def narrow_action(block: Block) -> ActionBlock:
    assert isinstance(block, Action)
    return block


def code(source: str, index: int) -> ToolDelta:
    arguments = msgspec.json.encode({"language": "python", "code": source}).decode()
    return ToolDelta(index=index, id=f"call-{index}", name="execute", arguments=arguments)


@pytest.fixture
async def written(tmp_path: Path) -> tuple[bytes, list[AnyEvent]]:
    """The log and the events of a session with a call, code as it was proposed, edited code, and code that was
    refused."""
    proposed = [*call(), code("x = 'as it was'", 1), code("x = 'to be edited'", 2), code("x = 'refused'", 3)]
    session = make(FakeModel(answer(*proposed), "Done."), approve="ask")
    fold, records = AuditFold(Surroundings(cwd="/work", sandbox="workspace-write"), str), list[AnyRecord]()

    def follow(event: AnyEvent) -> None:
        if isinstance(event, ExecutionStarted):
            records.append(fold.begin(event, narrow_action(session.transcript.block(event.block_id)), 0.0))
        elif (record := fold.take(event, 0.0)) is not None:
            records.append(record)
        if isinstance(event, DecisionRequested):
            edits, refuses = "edited" in event.source, "refused" in event.source
            verb = Decide(request_id=event.request_id, verdict="skip" if refuses else "edit" if edits else "run")
            session.decide(msgspec.structs.replace(verb, source=EDITED if edits else None, reason="no" * refuses))

    events = await play(session, session.run("go"), follow)
    log = AuditLog(tmp_path, "s1")
    log.add([LogBody(at=1.0, session="s1", record=record) for record in records])
    log.close()
    path = find_log(tmp_path, "s1")
    assert path is not None
    return path.read_bytes(), events


_events: msgspec.json.Decoder[AnyEvent] = msgspec.json.Decoder(AnyEvent)

Rewrite = Callable[[AnyEvent], AnyEvent]


def says(kinds: tuple[type[AnyEvent], ...], old: str, new: str) -> Rewrite:
    """Replaces a text in the events of these kinds, as somebody with a database editor would."""

    def rewrite(event: AnyEvent) -> AnyEvent:
        if not isinstance(event, kinds):
            return event
        text = msgspec.json.encode(event).replace(old.encode(), new.encode())
        return _events.decode(text)

    return rewrite


REWRITES: dict[str, Rewrite] = {
    "the decision": says((DecisionMade,), "hi", "ho"),
    "the call": says((CallFinished, CallGrew), "hi", "ho"),
    "the decision and the call": says((DecisionMade, CallFinished, CallGrew), "hi", "ho"),
    "the tool": says((CallStarted, CallFinished, DecisionRequested), "shout", "clock"),
    "the language": says((CodeStarted, CodeFinished, DecisionRequested), "python", "shell"),
    "the decision about code": says((DecisionMade,), "as it was", "as it might be"),
    "the code": says((CodeFinished,), "as it was", "as it might be"),
    "the decision and the code": says((DecisionMade, CodeFinished), "as it was", "as it might be"),
    "what was to be edited": says((CodeFinished,), "to be edited", "harmless"),
    "what it was edited to": says((DecisionMade,), "'edited'", "'harmless'"),
    "what was refused": says((DecisionMade, CodeFinished), "refused", "harmless"),
    "who decided": says((DecisionMade,), "person", "mode"),
    "the verdict": says((DecisionMade,), '"skip"', '"run"'),
    "whose code it is": says((CodeStarted,), "}", ',"author":"user"}'),
}


async def test_a_session_that_is_as_it_was_agrees(written: tuple[bytes, list[AnyEvent]]) -> None:
    log, events = written
    assert list(disagreements(log, events)) == []
    assert list(disagreements(log, [])) == []


@pytest.mark.parametrize("what", REWRITES)
async def test_a_session_that_was_rewritten_is_found(what: str, written: tuple[bytes, list[AnyEvent]]) -> None:
    log, events = written
    rewritten = list(map(REWRITES[what], events))
    assert rewritten != events
    assert {finding.kind for finding in disagreements(log, rewritten)} == {"rewritten"}


async def test_a_session_that_makes_no_sense_any_more_is_found(written: tuple[bytes, list[AnyEvent]]) -> None:
    log, events = written
    broken = [event for event in events if not isinstance(event, CodeStarted)]
    assert list(disagreements(log, broken))
