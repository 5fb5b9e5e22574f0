"""Sees all that happens in a session: writes it down before it can matter, looks at what a run left behind, and tells
what the sandbox refused it."""

import asyncio
import hashlib
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from oi_tui.app.engine.core.blocks import ActionBlock
from oi_tui.app.engine.core.events import AnyEvent, ExecutionFinished, ExecutionStarted, RerunFinished, RerunStarted
from oi_tui.app.engine.core.values import Level
from oi_tui.app.engine.log.audit.auditor import Auditor
from oi_tui.app.engine.log.audit.records import Surroundings
from oi_tui.app.engine.log.audit.refusals import Refusals
from oi_tui.app.engine.policy.decision import Policy
from oi_tui.app.engine.sandbox.hosts import Refusal
from oi_tui.app.engine.sandbox.profile import Profile
from oi_tui.app.engine.secrets.redaction import Redactor
from oi_tui.app.engine.trust.change_scan import ChangeScan, FolderScanner, ScanResult, describe_scan

PROOF = "self-test passed"
"""Of every kernel that runs in a sandbox: one that fails it does not start."""

Note = Callable[[Level, str, str, str], None]
"""Puts a notice into the transcript: how loud, title, hint, details."""


class AuditHook:
    """Audits one session, from its opening until `end`."""

    def __init__(self, auditor: Auditor, watch: FolderScanner, note: Note, *, sandboxed: bool) -> None:
        self.auditor = auditor
        self.watch = watch
        """What it knows of the folders stays true as long as the kernels of the session live."""
        self._note: Note | None = note
        self._sandboxed = sandboxed
        self._aftermath: ChangeScan | None = ChangeScan(watch, self._note_changes)
        self._told_cut = False
        self._ran = ""
        """The block that runs, or ran last."""
        self._running: list[str] = []
        """Blocks whose runs are not over; what others called is behind them."""
        self._refusals = Refusals()

    def seal(self, started: ExecutionStarted, block: ActionBlock) -> None:
        """A run is about to begin; AuditError if it must not, because it could not be written down."""
        self.auditor.admit(started, block)

    def take(self, event: AnyEvent) -> None:
        self.auditor.take(event)
        match event:
            case ExecutionStarted() | RerunStarted():
                self._tell_refusals()  # what came late
                self._ran = event.block_id
                self._running.append(event.block_id)
            case ExecutionFinished() | RerunFinished():
                self._tell_refusals()
                if event.block_id in self._running:
                    self._running.remove(event.block_id)
                self._ran = self._running[-1] if self._running else self._ran
            case _:
                pass
        if self._aftermath is not None:
            self._aftermath.follow(event)

    def note_refusal(self, refusal: Refusal) -> None:
        """The sandbox did not let code reach a host. As often as code likes."""
        if self._note is not None and self._refusals.add(refusal):
            self.auditor.note_refusal(self._ran, refusal)

    async def end(self) -> None:
        """The session is left, when the last look has come to its end. Idempotent."""
        if self._aftermath is not None:
            await self._aftermath.rest()
        self._tell_refusals()
        self._aftermath = self._note = None
        self._ran, self._running = "", []
        self.auditor.end()

    def _tell_refusals(self) -> None:
        refusals, self._refusals = self._refusals, Refusals()
        if not refusals.total:
            return
        late = not self._running
        self.auditor.note_refusals(self._ran, refusals, late=late)
        # Later: the event itself must arrive before the notice about it.
        asyncio.get_running_loop().call_soon(self._say, *refusals.describe(late=late))

    def _say(self, title: str, hint: str, details: str) -> None:
        if self._note is not None:
            self._note("warning", title, hint, details)

    def _note_changes(self, block_id: str, left: ScanResult) -> None:
        self.auditor.note_files(block_id, changed=left.changed, later=left.later, entries=left.entries, cut=left.cut)
        if self._note is None:
            return
        if left.later:
            title, details = describe_scan(left, sandboxed=self._sandboxed)
            self._note("warning", title, "Look at them before you let anything use them.", details)
        if left.cut and not self._told_cut:
            self._told_cut = True
            title = "This folder is too large to look at all of it after each run for files that run later."
            self._note("info", title, f"{left.cut.capitalize()}.", "")


class AuditTrail(msgspec.Struct, frozen=True, kw_only=True):
    """The audit of all sessions of an engine: each has a log of its own in one folder."""

    folder: Path
    surroundings: Surroundings
    make_watch: Callable[[], FolderScanner]
    """One for all kernels of a session, and for those that it leaves to a fork."""
    sandboxed: bool
    redactor: Redactor | None = None
    clock: Callable[[], float] = time.time

    def begin(self, session_id: str, note: Note, after: AuditHook | None = None) -> AuditHook:
        """A session is opened; if it takes over kernels, `after` is the hook of the session that had them."""
        auditor = Auditor(self.folder, self.surroundings, session_id, redactor=self.redactor, clock=self.clock)
        watch = self.make_watch() if after is None else after.watch
        return AuditHook(auditor, watch, note, sandboxed=self.sandboxed)


def make_audit_trail(
    profile: Profile,
    policy: Policy,
    *,
    cwd: str,
    folder: Path,
    own: Iterable[Path] = (),
    redactor: Redactor | None = None,
    program: str = "",
) -> AuditTrail:
    """One whose logs are in `folder`; what is in the folders of our `own` is no run's doing."""
    roots, home = (profile.writes, None) if profile.encloses else ((profile.workspace,), profile.home)
    surroundings = Surroundings(
        cwd=cwd,
        sandbox=f"lock {profile.mode}" if profile.encloses and profile.is_weaker else profile.mode,
        proof=PROOF if profile.encloses else "",
        profile_sha256=hashlib.sha256(repr(profile).encode(errors="backslashreplace")).hexdigest(),
        network=profile.network if profile.encloses else "full",
        policy=policy.mode,
        program=program,
    )
    passed_over = tuple(own)
    return AuditTrail(
        folder=folder,
        surroundings=surroundings,
        make_watch=lambda: FolderScanner(roots, home, own=passed_over),
        sandboxed=profile.encloses,
        redactor=redactor,
    )
