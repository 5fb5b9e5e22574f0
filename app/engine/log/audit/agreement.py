"""Whether a session still says what ran: its text against the digests that the audit log has of it.

The log holds no text, and the session none of the log's hashes: what joins them is the digest of each source. So who
rewrites a session in the store is found, though the log was never touched.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from oi_tui.app.engine.core.blocks import Action, ActionBlock
from oi_tui.app.engine.core.events import AnyEvent, DecisionMade, ExecutionStarted, RerunStarted
from oi_tui.app.engine.log.audit.fold import source_digest
from oi_tui.app.engine.log.audit.records import DecisionWasMade, RunBegan, decode
from oi_tui.app.engine.log.audit.verify import Finding
from oi_tui.app.engine.transcript.transcript import Transcript


class _Said(NamedTuple):
    """The facts about a run or decision that log and session both have."""

    what: str
    """Tool or language."""
    source: str
    """Digest; of a decision, the digest of the proposed source."""
    by: tuple[str, ...]
    """Whose code it is; of a decision its verdict, who made it, and the digest of the source that it was made about."""


def disagreements(log: bytes, events: Iterable[AnyEvent]) -> Iterator[Finding]:
    """The runs and decisions of a log that contradict the session. A missing block is no contradiction: a fork may have
    left it behind, or it may never have been saved."""
    runs: dict[str, set[_Said]] = {}
    decisions: dict[str, set[_Said]] = {}
    transcript = Transcript()
    try:
        for event in events:
            _take(event, transcript, runs, decisions)
            transcript.apply(event)
    except Exception as error:
        # Boundary: a session may have been rewritten to anything.
        yield Finding(1, "rewritten", f"what is written of the session makes no sense: {error!r}")
    for block in transcript.blocks:
        if isinstance(block, Action):
            runs.setdefault(block.id, {_run_of(block)})
    for number, line in enumerate(log.split(b"\n"), 1):
        entry = decode(line) if line else None
        match entry.record if entry is not None else None:
            case RunBegan() as ran:
                known = _Said(_runs_in(ran), ran.sha256, (ran.author,))
                if runs.get(ran.block_id, {known}) != {known}:
                    what = "the session has another source for this run than the one that ran"
                    yield Finding(number, "rewritten", what)
            case DecisionWasMade() as made:
                by = (made.verdict, made.decider, made.sha256)
                known = _Said(_runs_in(made), made.proposed_sha256 or made.sha256, by)
                if decisions.get(made.block_id, {known}) != {known}:
                    what = "the session has another decision in this place than the one that was made"
                    yield Finding(number, "rewritten", what)
            case _:
                pass


def _take(
    event: AnyEvent, transcript: Transcript, runs: dict[str, set[_Said]], decisions: dict[str, set[_Said]]
) -> None:
    """Compare one event with the audit log, before it changes anything; an event of an unknown block is a
    difference."""
    if not isinstance(event, ExecutionStarted | RerunStarted | DecisionMade):
        return
    block = transcript.block(event.block_id) if transcript.has(event.block_id) else None
    if not isinstance(block, Action):
        runs[event.block_id] = {_Said("", "", ())}
    elif isinstance(event, DecisionMade):
        by = (event.verdict, event.decider, source_digest(event.source))
        decisions.setdefault(block.id, set()).add(_Said(block.runs_in, source_digest(block.source), by))
    else:
        runs.setdefault(block.id, set()).add(_run_of(block))


def _run_of(block: ActionBlock) -> _Said:
    return _Said(block.runs_in, source_digest(block.source), (block.author,))


def _runs_in(record: RunBegan | DecisionWasMade) -> str:
    """The language or tool, as a block names it."""
    return f"tool {record.tool}" if record.tool else record.language
