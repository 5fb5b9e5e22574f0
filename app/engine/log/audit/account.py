"""The records of an audit log in words, one line each. Text from outside is raw: sanitise it before showing it."""

from typing import assert_never

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
    LinesWereLost,
    NetworkWasRefused,
    NoticeWasGiven,
    RefusalsWereCounted,
    RunBegan,
    RunEnded,
    RunWasRefused,
    SecretsWereWithheld,
    SessionBegan,
    SessionLeft,
    SettingsWere,
    WriteWasInterrupted,
)
from oi_tui.app.engine.log.audit.verify import Finding, LogReport
from oi_tui.app.engine.text.words import plural, quantity, some_names

SHORT = 12
"""Digits of a hash that are shown; the whole of it is in the file."""

VERDICTS = {
    "run": "may run",
    "edit": "may run, edited",
    "always": "may run, from now on too",
    "skip": "is refused",
    "stop": "is not run, and the turn ends",
}
WHO = {"person": "decided by the person", "mode": "by the mode", "grant": "by an earlier “always”", "rule": "by rule"}
ENDS = {"interrupting": "interrupted by the person", "restarting": "restarted by the person", "dead": "is dead"}


def in_words(record: AnyRecord) -> str:
    """One line. The first digits of its hash name the source."""
    match record:
        case SessionBegan():
            return _join(
                "the session was opened again" if record.resumed else "the session began",
                record.surroundings.cwd,
                _sandbox(record.surroundings.sandbox, record.surroundings.network, record.surroundings.proof),
                f"approval: {record.approval}",
                record.model,
            )
        case SettingsWere():
            return _join(f"settings: approval {record.approval}", record.model, record.api_base)
        case InstructionsWere():
            return f"instructions of the person: {record.sha256[:SHORT] or 'those of the settings'}"
        case DecisionWasMade():
            return _decision(record)
        case RunBegan():
            does = "repeats" if record.again else "runs"
            return _join(
                f"{_name(record) or f'{record.language} {record.generation}'} {does} {record.sha256[:SHORT]}",
                f"{'called' if record.tool else 'typed'} by the person" if record.author == "user" else "",
                "called by code that runs" if record.caller else "",
                _sandbox(record.sandbox, record.network, record.proof),
            )
        case RunEnded():
            return _end(record)
        case RunWasRefused():
            return _join(f"{record.sha256[:SHORT]} was not run", record.why)
        case FilesWereLeft():
            names = some_names(record.later, len(record.later), record.later_count - len(record.later))
            changed = f"{record.changed} {plural(record.changed, 'file')} changed"
            return _join(changed, f"run later: {names}" if names else "", record.cut)
        case NetworkWasRefused():
            return f"the sandbox refused the network: {record.host} · {record.why}"
        case RefusalsWereCounted():
            return _refusals(record)
        case KernelBegan():
            return _join(f"{record.language} {record.generation} started", _sandbox(record.sandbox, "", record.proof))
        case KernelWasStopped():
            return _join(f"{record.language} {record.generation} {ENDS.get(record.how, record.how)}", record.detail)
        case InputWasAsked():
            return "the code asked for a password" if record.password else "the code asked for a line"
        case InputWasAnswered():
            return "no answer: the run was stopped" if record.cancelled else "the person answered"
        case SecretsWereWithheld():
            return f"withheld from the model: {record.count} × {', '.join(record.names)}"
        case NoticeWasGiven():
            return f"{record.level}: {record.title}"
        case ConversationWasCleared():
            return "the conversation was cleared"
        case WriteWasInterrupted():
            return f"the line before this one has no end ({record.characters} bytes of it are there)"
        case LinesWereLost():
            return f"lines up to {record.seq} had vanished from the log while it was open"
        case SessionLeft():
            return "the session was closed"
        case _:
            assert_never(record)


def verdict_in_words(verdict: LogReport) -> list[str]:
    """The findings about one file: a summary line, and one line for each finding."""
    lines = f"{verdict.lines} {plural(verdict.lines, 'line')}"
    state = "intact" if verdict.intact else "NOT AS IT WAS WRITTEN"
    tail = f"the last {verdict.unsealed} not sealed yet" if verdict.unsealed else ""
    return [f"{verdict.name}: {_join(state, lines, tail)}", *map(_finding, verdict.findings)]


def _finding(finding: Finding) -> str:
    return f"  line {finding.line}, {finding.kind}: {finding.what}"


def _name(record: DecisionWasMade | RunBegan) -> str:
    """The name of the tool, "" for code."""
    return f"tool {record.tool}" if record.tool else ""


def _decision(record: DecisionWasMade) -> str:
    after = f" after {record.latency:.1f} s" if record.latency is not None else ""
    return _join(
        f"{_name(record) or record.language} {record.sha256[:SHORT]} {VERDICTS[record.verdict]}",
        f"{WHO[record.decider]}{after}",
        record.reason,
        record.why,
        ", ".join(record.labels),
        f"proposed was {record.proposed_sha256[:SHORT]}" if record.proposed_sha256 else "",
    )


def _end(record: RunEnded) -> str:
    return _join(
        f"{record.sha256[:SHORT]} ended: {record.status} after {record.duration:.2f} s",
        record.error,
        f"exit code {record.exit_code}" if record.exit_code is not None else "",
        f"{record.output_characters:,} characters of output" if record.output_characters else "",
        f"{record.dropped_characters:,} more dropped" if record.dropped_characters else "",
        f"interrupted {record.interrupts} times" if record.interrupts > 1 else "",
    )


def _refusals(record: RefusalsWereCounted) -> str:
    hosts = ", ".join(f"{host} × {count:,}" for host, count in record.hosts)
    more = record.count - sum(count for _, count in record.hosts)
    after = " after the run had ended" if record.late else ""
    times = quantity(record.count, "time")
    return f"the network was refused {times}{after}: {hosts}" + (f" and {more:,} more" if more else "")


def _sandbox(sandbox: str, network: str, proof: str) -> str:
    if sandbox == "danger-full-access":
        return "no sandbox"
    held = sandbox if sandbox.startswith("lock ") else f"sandbox {sandbox}"
    return ", ".join(part for part in (held, f"network {network}" if network else "", proof) if part)


def _join(*parts: str) -> str:
    return " · ".join(part for part in parts if part)
