"""Writes the audit log of one session, and lets nothing run before it is recorded.

While nothing is about to run, a record that cannot be written waits in memory: a full disk must not end a conversation.
The log starts with the first record worth keeping; a session where nothing happens leaves none.
"""

import contextlib
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from oi_tui.app.engine.core.blocks import ActionBlock
from oi_tui.app.engine.core.errors import AuditError
from oi_tui.app.engine.core.events import AnyEvent, ExecutionStarted
from oi_tui.app.engine.log.audit.fold import AuditFold, runs_in_keys, source_digest
from oi_tui.app.engine.log.audit.log import AuditLog
from oi_tui.app.engine.log.audit.records import (
    AnyRecord,
    DecisionWasMade,
    LogBody,
    NoticeWasGiven,
    RunBegan,
    RunWasRefused,
    SessionBegan,
    SessionLeft,
    SettingsWere,
    Surroundings,
)
from oi_tui.app.engine.log.audit.refusals import Refusals
from oi_tui.app.engine.sandbox.hosts import Refusal
from oi_tui.app.engine.secrets.redaction import Redactor

_log = logging.getLogger(__name__)

LONGEST = 500
"""Characters of one piece of text in a record."""

WAITING = 1000
"""Records that wait for a disk that can be written; what comes then is counted."""


class Auditor:
    """Writes the audit log of one session, until `end`."""

    def __init__(
        self,
        folder: Path,
        surroundings: Surroundings,
        session_id: str,
        *,
        redactor: Redactor | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._folder = folder
        self._redactor = redactor
        self._clock = clock
        self._withheld = 0
        self._where = msgspec.structs.replace(surroundings, cwd=self._say(surroundings.cwd))
        self._session = session_id
        self._over = False
        self._fold = AuditFold(self._where, self._say)
        self._log: AuditLog | None = None
        self._waiting: list[LogBody] = []
        self._uncounted = 0
        """Records that did not even find room to wait."""
        # Before any kernel starts, because a sandbox can hide only existing files. `admit` reports a failure.
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    @property
    def path(self) -> Path | None:
        """Path of the log, None as long as nothing was written."""
        return self._log.path if self._log is not None else None

    def obstacle(self) -> str:
        """Why nothing could be written down, as far as can be seen before something is; "" if nothing is in the way."""
        if not self._folder.is_dir():
            return f"the folder {self._folder} could not be made"
        return "" if os.access(self._folder, os.W_OK | os.X_OK) else f"the folder {self._folder} cannot be written in"

    def end(self) -> None:
        """The session is left: what can be written is. Idempotent."""
        if self._over:
            return
        for left in self._fold.leave(self._clock()):
            self._put(left)
        if self._log is not None:
            self._put(SessionLeft())
            self._try(seal=True)
        if self._log is not None:
            self._log.close()
        self._over, self._log, self._waiting, self._uncounted = True, None, [], 0

    def take(self, event: AnyEvent) -> None:
        """Something happened. A run is not taken here but by `admit`, before it happens."""
        record = self._fold.take(event, self._clock())
        if record is None or self._over:
            return
        self._put(record)
        if self._log is not None or not isinstance(record, SessionBegan | SettingsWere | NoticeWasGiven):
            self._try(seal=_is_final(record))

    def admit(self, event: ExecutionStarted, block: ActionBlock) -> None:
        """Returns when the record of this run, and all before it, are on disk; AuditError if that cannot be: it must
        not begin then."""
        if self._over:
            raise AuditError("Nothing is run whose session was left.")
        try:
            self._put(self._fold.begin(event, block, self._clock()))
            self._write(seal=True)
        except AuditError as error:
            self._fold.refuse(block.id)
            self._waiting = [body for body in self._waiting if not isinstance(body.record, RunBegan)]
            sha256, why = source_digest(block.source), self._say(error.title)
            self._put(RunWasRefused(block_id=block.id, sha256=sha256, why=why, **runs_in_keys(block, self._say)))
            raise AuditError(f"Not run: {error.title}", hint=error.hint, details=error.details) from error

    def note_files(self, block_id: str, *, changed: int, later: tuple[str, ...], entries: int, cut: str) -> None:
        """Record the files that were found after a run."""
        self._put(self._fold.files_record(block_id, changed=changed, later=later, entries=entries, cut=cut))
        self._try(seal=True)

    def note_refusal(self, block_id: str, refusal: Refusal) -> None:
        """The sandbox did not let code reach a host: once for each of them in a run."""
        self._put(self._fold.refusal_record(block_id, refusal))
        self._try(seal=False)

    def note_refusals(self, block_id: str, refusals: Refusals, *, late: bool) -> None:
        """How often, when the run is over."""
        self._put(self._fold.refusals_record(block_id, refusals, late=late))
        self._try(seal=late)  # otherwise a look at the folders follows

    # -- writing ---------------------------------------------------------------------------------------

    def _put(self, record: AnyRecord) -> None:
        withheld, self._withheld = self._withheld, 0
        if self._over:
            return
        if len(self._waiting) >= WAITING and not isinstance(record, RunBegan):
            self._uncounted += 1
            return
        self._waiting.append(LogBody(at=self._clock(), session=self._session, withheld=withheld, record=record))

    def _try(self, *, seal: bool) -> None:
        """Write what waits, if possible; a failure is reported when code is about to run."""
        try:
            self._write(seal=seal)
        except AuditError as error:
            _log.warning("%s", error.title)

    def _write(self, *, seal: bool) -> None:
        if self._log is None:
            self._log = AuditLog(self._folder, self._session, self._clock)
        bodies = [self._complete(body, self._log) for body in self._waiting]
        if self._uncounted:
            title = f"{self._uncounted} records could not be written, and are nowhere."
            lost = NoticeWasGiven(level="error", title=title)
            bodies.append(LogBody(at=self._clock(), session=self._session, record=lost))
        self._log.add(bodies)
        self._waiting, self._uncounted = [], 0
        if seal:
            self._log.seal()

    def _complete(self, body: LogBody, log: AuditLog) -> LogBody:
        if not isinstance(body.record, SessionBegan):
            return body
        head = log.newest_head()
        began = msgspec.structs.replace(body.record, heads_seq=head.seq, heads_sha256=head.sha256)
        return msgspec.structs.replace(body, record=began)

    def _say(self, text: str) -> str:
        """Text for the log: without secrets, of bounded length, valid UTF-8."""
        if self._redactor is not None:
            text, names = self._redactor.redact(text)
            self._withheld += len(names)
        if len(text) > LONGEST:
            text = f"{text[:LONGEST]}…"
        return text.encode(errors="backslashreplace").decode()


def _is_final(record: AnyRecord) -> bool:
    """Whether nothing need follow it: after a decision to run comes the run, after a run a look at what it left."""
    return isinstance(record, DecisionWasMade) and record.verdict in ("skip", "stop")
