"""The one door: what happens in a session goes through here, once, in order. Each session has a door of its own."""

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from oi_tui.app.engine.core.blocks import ActionBlock
from oi_tui.app.engine.core.chat_model import Model
from oi_tui.app.engine.core.errors import AuditError, SettingsError, StoreError
from oi_tui.app.engine.core.events import AnyEvent, ExecutionStarted
from oi_tui.app.engine.core.values import SessionVerb
from oi_tui.app.engine.core.verbs import Answer, AnyVerb, KeepDraft, UseModel
from oi_tui.app.engine.core.widget_controls import OperateWidget
from oi_tui.app.engine.log.audit.audit_hook import AuditHook, AuditTrail, Note
from oi_tui.app.engine.log.recording.form import Asked
from oi_tui.app.engine.log.recording.tape import Tape
from oi_tui.app.engine.log.recording.tapped_model import TappedModel
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.log.writer import LogWriter
from oi_tui.app.engine.sandbox.hosts import Refusal


class Log:
    """Where one engine keeps what happens: the text, the evidence, a recording; None where that is not kept."""

    def __init__(
        self, *, store: Store | None = None, trail: AuditTrail | None = None, tape: Tape | None = None
    ) -> None:
        self.store = store
        self.trail = trail
        self.tape = tape

    def session(self, forked_from: "SessionLog | None" = None) -> "SessionLog":
        """The log of a session about to open; a fork takes over the kernels of the session it leaves."""
        return SessionLog(self, forked_from)

    def require_one_session(self) -> None:
        """SettingsError where a second one, beside the first, cannot be kept: a recording is of one at a time."""
        if self.tape is not None:
            hint = "Open it in another oi-tui, or leave the session that is being recorded first."
            raise SettingsError("This engine makes a recording, which is of one session at a time.", hint=hint)

    def ask(self, verb: AnyVerb) -> None:
        """Record a verb of the user. Keys, drafts and lines for running code are not recorded, nor the session id: a
        recording is of one session."""
        if isinstance(verb, SessionVerb):
            verb = msgspec.structs.replace(verb, session_id="")
        match verb:
            case _ if self.tape is None:
                pass
            case UseModel() | KeepDraft():
                pass
            case Answer():
                self.tape.put(Asked(verb=Answer(request_id=verb.request_id, text="")))
            case OperateWidget(value=str()):  # it may be a password
                self.tape.put(Asked(verb=msgspec.structs.replace(verb, value="")))
            case _:
                self.tape.put(Asked(verb=verb))

    def close(self) -> None:
        """The engine ends. Idempotent."""
        if self.tape is not None:
            self.tape.close()


class SessionLog:
    """One session's, from `begin` to `end`: what comes before or after that is kept nowhere. Only `seal` raises."""

    def __init__(self, log: Log, forked_from: "SessionLog | None" = None) -> None:
        self._store, self._trail, self._tape = log.store, log.trail, log.tape
        self._audit: AuditHook | None = None
        self._audit_before = None if forked_from is None else forked_from._audit
        self._writer: LogWriter | None = None
        self._open = False
        self._note: Note | None = None

    def begin(
        self, session_id: str, past: Sequence[AnyEvent], *, note: Note, gave_up: Callable[[StoreError], None]
    ) -> None:
        """The session is open; `past` holds the earlier events. `note` shows a problem to the user; `gave_up` is called
        once if nothing more can be saved."""
        self._open = True
        if self._trail is not None:
            self._audit, self._audit_before = self._trail.begin(session_id, note, self._audit_before), None
        if self._store is not None:
            self._writer = LogWriter(self._store, session_id, gave_up)
        if self._tape is not None:
            self._note = note
            self._tape.begin(past)

    def obstacle(self) -> str:
        """Why no run could be written down, so that none will begin; "" if nothing is seen to be in the way."""
        return "" if self._audit is None else self._audit.auditor.obstacle()

    def append(self, event: AnyEvent) -> None:
        if not self._open:
            return
        if self._audit is not None:
            self._audit.take(event)
        if self._writer is not None:
            self._writer.append(event)
            if isinstance(event, ExecutionStarted):
                self._writer.write_due()  # code may end this program
        if self._tape is not None:
            self._tape.append(event)
            if self._tape.trouble:
                # Later: the event itself must arrive before the notice about it.
                asyncio.get_running_loop().call_soon(self._tell_trouble, self._tape.trouble)
                self._tape = None

    def _tell_trouble(self, trouble: str) -> None:
        if self._open and self._note is not None:
            self._note("warning", trouble, "", "")

    def listen(self, model: Model) -> Model:
        """The same model; what it says is recorded as it says it."""
        return model if self._tape is None else TappedModel(model, self._tape)

    async def seal(self, started: ExecutionStarted, block: ActionBlock) -> None:
        """Returns when this run, and what led to it, is on disk; AuditError if it must not begin, because it is not.

        Code may end the whole machine, so both files are waited for, at the same time. The loop waits for the audit
        log itself: to wait for it in a thread takes longer, but where the disk is very busy.
        """
        if self._trail is not None and self._audit is None:
            raise AuditError("Nothing is run before the audit log has a session.")
        if self._writer is not None:
            self._writer.write_due()
            self._writer.begin_sync()
        if self._audit is not None:
            self._audit.seal(started, block)
        if self._writer is not None:
            await self._writer.sync()

    def note_refusal(self, refusal: Refusal) -> None:
        """The sandbox did not let code of this session reach a host."""
        if self._audit is not None:
            self._audit.note_refusal(refusal)

    async def keep(self) -> None:
        """Write down, until cancelled."""
        if self._writer is not None:
            await self._writer.keep()
        await asyncio.Event().wait()

    def write(self) -> StoreError | None:
        """Have on disk what has happened so far: somebody is going to read it there. What went wrong, if anything."""
        return None if self._writer is None else self._writer.write()

    def unwritten(self) -> list[AnyEvent] | None:
        """Events that are not in the store yet; None if nothing can be written there."""
        return None if self._writer is None else self._writer.unwritten

    async def end(self) -> StoreError | None:
        """The session is left: everything is written down, or what to tell if that cannot be."""
        if self._audit is not None:
            await self._audit.end()
        error = None if self._writer is None else await self._writer.finish()
        self._open = False
        return error
