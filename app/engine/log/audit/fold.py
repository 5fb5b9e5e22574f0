"""What the events of a session come to in the audit log: a fold that keeps no source and no output."""

from collections.abc import Callable

import msgspec

from oi_tui.app.engine.core.blocks import ActionBlock, CallBlock
from oi_tui.app.engine.core.encoding import text_digest
from oi_tui.app.engine.core.events import (
    AnyEvent,
    CallFinished,
    CallStarted,
    CodeFinished,
    CodeStarted,
    ConversationCleared,
    DecisionMade,
    DecisionRequested,
    ExecutionFinished,
    ExecutionStarted,
    InputAnswered,
    InputRequested,
    InstructionsChanged,
    KernelChanged,
    NoticeAdded,
    OutputAdded,
    OutputDropped,
    OutputTailMoved,
    OutputUpdated,
    RerunFinished,
    SecretsWithheld,
    SessionOpened,
    SettingsChanged,
    TurnEnded,
)
from oi_tui.app.engine.core.outputs import ErrorOutput, Output, StreamOutput
from oi_tui.app.engine.core.values import FRESH_KERNEL, ApprovalMode, Language
from oi_tui.app.engine.log.audit.records import (
    AnyRecord,
    ConversationWasCleared,
    DecisionWasMade,
    FilesWereLeft,
    InputWasAnswered,
    InputWasAsked,
    InstructionsWere,
    KernelBegan,
    KernelWasStopped,
    NetworkWasRefused,
    NoticeWasGiven,
    RefusalsWereCounted,
    RunBegan,
    RunEnded,
    SecretsWereWithheld,
    SessionBegan,
    SettingsWere,
    Surroundings,
)
from oi_tui.app.engine.log.audit.refusals import Refusals
from oi_tui.app.engine.sandbox.hosts import Refusal

NAMED = 50
"""Files or secrets that one record names."""


class _Known(msgspec.Struct):
    """The known facts about an action until its run is over."""

    language: Language = ""
    tool: str = ""
    sha256: str = ""
    asked: DecisionRequested | None = None
    asked_at: float = 0.0
    decision: DecisionMade | None = None


class _Run(msgspec.Struct):
    """A run so far."""

    block_id: str
    sha256: str
    begun: float
    error: str = ""
    characters: int = 0
    behind: dict[str, int] = msgspec.field(default_factory=dict)
    """Characters of each stream that came after its beginning."""
    dropped: int = 0
    interrupts: int = 0
    questions: int = 0


class AuditFold:
    """Folds the events of one session into records. `say` makes text fit for the log: secrets withheld, nothing that
    cannot be written."""

    def __init__(self, surroundings: Surroundings, say: Callable[[str], str]) -> None:
        self._where = surroundings
        self._say = say
        self._approval: ApprovalMode = "ask"
        self._settings: tuple[str, ApprovalMode, str] = ("", "ask", "")
        """Model, approval mode and server, as last recorded."""
        self._actions: dict[str, _Known] = {}
        self._runs: dict[str, _Run] = {}
        """By block, the innermost last: one that runs may have called another."""
        self._generations: dict[Language, int] = {}

    def take(self, event: AnyEvent, now: float) -> AnyRecord | None:
        """The record of this event, None where there is nothing to say. `now` is Unix time."""
        match event:
            case SessionOpened():
                self._approval = event.approval
                self._settings = (event.model, event.approval, "")
                return SessionBegan(
                    surroundings=self._where,
                    model=self._say(event.model),
                    approval=event.approval,
                    resumed=event.resumed,
                )
            case SettingsChanged():
                if (settings := (event.model, event.approval, event.api_base)) == self._settings:
                    return None
                self._settings, self._approval = settings, event.approval
                server = self._say(event.api_base)
                return SettingsWere(model=self._say(event.model), approval=event.approval, api_base=server)
            case InstructionsChanged():
                return InstructionsWere(sha256=source_digest(event.text) if event.text is not None else "")
            case ConversationCleared():
                self._actions.clear()
                return ConversationWasCleared()
            case NoticeAdded(level="warning" | "error"):
                return NoticeWasGiven(level=event.level, title=self._say(event.title))
            case SecretsWithheld():
                names = tuple(map(self._say, dict.fromkeys(event.names)))[:NAMED]
                return SecretsWereWithheld(block_id=event.block_id, count=len(event.names), names=names)
            case KernelChanged():
                return self._kernel(event)
            case CodeStarted() | CodeFinished() | CallStarted() | CallFinished() | DecisionRequested() | DecisionMade():
                return self._decide(event, now)
            case TurnEnded():
                self._actions.clear()
                return None
            case _:
                return self._follow(event, now)

    def files_record(
        self, block_id: str, *, changed: int, later: tuple[str, ...], entries: int, cut: str
    ) -> FilesWereLeft:
        """The record of the files that were found after a run."""
        named = tuple(map(self._say, later[:NAMED]))
        return FilesWereLeft(
            block_id=block_id, changed=changed, later=named, later_count=len(later), entries=entries, cut=cut
        )

    def refusal_record(self, block_id: str, refusal: Refusal) -> NetworkWasRefused:
        """The network was asked for in vain."""
        return NetworkWasRefused(block_id=block_id, host=self._say(refusal.host), why=refusal.why)

    def refusals_record(self, block_id: str, refusals: Refusals, *, late: bool) -> RefusalsWereCounted:
        hosts = tuple((self._say(name), count) for name, count in refusals.counts.items())
        return RefusalsWereCounted(block_id=block_id, count=refusals.total, hosts=hosts, late=late)

    def refuse(self, block_id: str) -> None:
        """A run that was about to start does not."""
        self._runs.pop(block_id, None)

    def leave(self, now: float) -> list[RunEnded]:
        """The session is left. What runs is of no concern to anybody any more."""
        left = [self._end(run.block_id, "left", now - run.begun) for run in reversed(tuple(self._runs.values()))]
        return [record for record in left if record is not None]

    # -- before a run ----------------------------------------------------------------------------------

    def _decide(
        self,
        event: CodeStarted | CodeFinished | CallStarted | CallFinished | DecisionRequested | DecisionMade,
        now: float,
    ) -> AnyRecord | None:
        match event:
            case CodeStarted():
                self._actions[event.block_id] = _Known(language=event.language)
                return None
            case CallStarted():
                self._actions[event.block_id] = _Known(tool=event.tool)
                return None
            case CodeFinished():
                known = self._action(event.block_id)
                known.language, known.sha256 = event.language, source_digest(event.source)
                return None
            case CallFinished():
                known = self._action(event.block_id)
                known.tool, known.sha256 = event.tool, source_digest(event.source)
                return None
            case DecisionRequested():
                known = self._action(event.block_id)
                known.language, known.tool, known.sha256 = event.language, event.tool, event.sha256
                known.asked, known.asked_at = event, now
                return None
            case DecisionMade():
                return self._decision_record(event, now)

    def _decision_record(self, event: DecisionMade, now: float) -> DecisionWasMade:
        known, sha256 = self._action(event.block_id), source_digest(event.source)
        asked, proposed = known.asked, known.sha256
        known.decision, known.sha256 = event, sha256
        if event.verdict in ("skip", "stop"):
            self._actions.pop(event.block_id, None)
        return DecisionWasMade(
            block_id=event.block_id,
            language=self._say(known.language),
            tool=self._say(known.tool),
            sha256=sha256,
            verdict=event.verdict,
            decider=event.decider,
            request_id=event.request_id,
            latency=round(now - known.asked_at, 3) if asked is not None else None,
            reason=self._say(event.reason),
            why=self._say(asked.why) if asked is not None else "",
            labels=tuple(map(self._say, asked.labels)) if asked is not None else (),
            origin=self._say(asked.origin) if asked is not None else "",
            proposed_sha256=proposed if proposed != sha256 else "",
        )

    def begin(self, event: ExecutionStarted, block: ActionBlock, now: float) -> RunBegan:
        """The record of a run that is about to start: the source its kernel gets, not the one in the events."""
        known, where = self._action(event.block_id), self._where
        # Most tools run in the engine's process, whatever the kernels run in; and some kernels on another machine.
        if (isinstance(block, CallBlock) and not event.place) or event.elsewhere:
            where = msgspec.structs.replace(where, sandbox="danger-full-access", network="full", proof="")
        elif event.apart and event.apart != FRESH_KERNEL:
            sandbox = where.sandbox.replace("read-only", "workspace-write")
            network = "hosts" if event.apart_hosts else "full"
            where = msgspec.structs.replace(where, cwd=self._say(event.apart), sandbox=sandbox, network=network)
        elif isinstance(block, CallBlock):  # in a kernel that may be held to less than those of code
            if event.reads_only:
                where = msgspec.structs.replace(where, sandbox=where.sandbox.replace("workspace-write", "read-only"))
            if event.offline:
                where = msgspec.structs.replace(where, network="none")
        decision, sha256 = known.decision, source_digest(block.source)
        self._runs[event.block_id] = _Run(event.block_id, sha256, now)
        return RunBegan(
            block_id=event.block_id,
            **runs_in_keys(block, self._say),
            sha256=sha256,
            generation=event.generation,
            author=block.author,
            caller=block.caller,
            origin=self._say(event.origin),
            again=block.duration is not None,
            cwd=where.cwd,
            sandbox=where.sandbox,
            network=where.network,
            approval=self._approval,
            verdict=decision.verdict if decision is not None else "",
            decider=decision.decider if decision is not None else "",
            rule=self._say(decision.reason) if decision is not None else "",
            request_id=decision.request_id if decision is not None else None,
            proof=where.proof,
        )

    # -- during a run and after it ---------------------------------------------------------------------

    def _follow(self, event: AnyEvent, now: float) -> AnyRecord | None:
        run = self._runs.get(getattr(event, "block_id", ""))
        match event:
            case OutputAdded() | OutputUpdated() if run is not None:
                run.characters += _characters(event.output)
                if isinstance(event.output, ErrorOutput):
                    run.error = event.output.name
            case OutputDropped() if run is not None:
                run.dropped += event.characters
            case OutputTailMoved() if run is not None:
                run.behind[event.name] = event.tail.left_out_characters + len(event.tail.text)
            case InputRequested():
                if run is not None:
                    run.questions += 1
                return InputWasAsked(block_id=event.block_id, request_id=event.request_id, password=event.password)
            case InputAnswered():
                return InputWasAnswered(block_id=event.block_id, request_id=event.request_id, cancelled=event.cancelled)
            case ExecutionFinished():
                return self._end(event.block_id, event.status, event.duration, event.exit_code)
            case RerunFinished():
                return self._end(event.block_id, event.outcome, now - run.begun if run is not None else 0.0)
            case _:
                pass
        return None

    def _end(self, block_id: str, status: str, duration: float, exit_code: int | None = None) -> RunEnded | None:
        """None for a run that never began: why it did not is in a notice."""
        run = self._runs.pop(block_id, None)
        self._actions.pop(block_id, None)
        if run is None:
            return None
        return RunEnded(
            block_id=block_id,
            sha256=run.sha256,
            status=status,
            duration=round(duration, 4),
            exit_code=exit_code,
            error=self._say(run.error),
            output_characters=run.characters + sum(run.behind.values()),
            dropped_characters=run.dropped,
            interrupts=run.interrupts,
            questions=run.questions,
        )

    def _kernel(self, event: KernelChanged) -> AnyRecord | None:
        language = self._say(event.language)
        match event.state:
            case "interrupting" | "restarting" | "dead":
                run = next(reversed(self._runs.values()), None)
                if run is not None and event.state == "interrupting":
                    run.interrupts += 1
                return KernelWasStopped(
                    language=language,
                    generation=event.generation,
                    how=event.state,
                    detail=self._say(event.detail),
                    block_id=run.block_id if run is not None else "",
                )
            case "idle" | "busy" if event.generation > self._generations.get(event.language, 0):
                self._generations[event.language] = event.generation
                where = self._where
                held = ("danger-full-access", "") if event.elsewhere else (where.sandbox, where.proof)
                return KernelBegan(language=language, generation=event.generation, sandbox=held[0], proof=held[1])
            case _:
                return None

    def _action(self, block_id: str) -> _Known:
        return self._actions.setdefault(block_id, _Known())


def runs_in_keys(block: ActionBlock, say: Callable[[str], str]) -> dict[str, str]:
    """The language or tool in the form of records: `{"language": "python"}` or `{"tool": "clock"}`."""
    return {"tool": say(block.tool)} if isinstance(block, CallBlock) else {"language": say(block.language)}


def source_digest(source: str) -> str:
    """SHA-256 of a source, as in `DecisionRequested`."""
    return text_digest(source)


def _characters(output: Output) -> int:
    match output:
        case StreamOutput():
            return len(output.text)
        case ErrorOutput():
            return sum(map(len, output.traceback))
        case _:
            return sum(len(content) for content in output.data.values() if isinstance(content, str))
