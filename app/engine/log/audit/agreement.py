"""Whether a session still says what ran: its text against the digests that the audit log has of it.

The log holds no text, and the session none of the log's hashes: what joins them is the digest of each source. So who
rewrites a session in the store is found, though the log was never touched.
"""

from collections.abc import Iterable, Iterator

from oi_tui.app.engine.core.events import AnyEvent, CallFinished, CodeFinished, DecisionMade
from oi_tui.app.engine.log.audit.fold import source_digest
from oi_tui.app.engine.log.audit.records import RunBegan, decode
from oi_tui.app.engine.log.audit.verify import Finding


def disagreements(log: bytes, events: Iterable[AnyEvent]) -> Iterator[Finding]:
    """The runs of a log whose block says something else in the session now. A block that is not there says nothing: it
    may have been left behind by a fork, or never been written down."""
    said: dict[str, set[str]] = {}
    for event in events:
        if isinstance(event, CodeFinished | CallFinished | DecisionMade):
            said.setdefault(event.block_id, set()).add(source_digest(event.source))
    for number, line in enumerate(log.split(b"\n"), 1):
        entry = decode(line) if line else None
        if entry is None or not isinstance(entry.record, RunBegan):
            continue
        ran = entry.record
        if ran.block_id in said and ran.sha256 not in said[ran.block_id]:
            yield Finding(number, "rewritten", "the session has another source for this run than the one that ran")
