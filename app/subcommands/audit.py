"""`oi-tui audit`: decisions and runs, and whether their log is unchanged."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from oi_tui.app.engine.core.errors import AuditError, StoreError
from oi_tui.app.engine.text.safe import safe_text, visible_text
from oi_tui.app.flags import words
from oi_tui.app.terminal.echo import echo

if TYPE_CHECKING:
    from oi_tui.app.engine.core.events import AnyEvent
    from oi_tui.app.engine.log.audit.verify import LogReport


@click.group()
def audit() -> None:
    """The audit log: decisions and runs, session by session."""


@audit.command("show")
@click.argument("session", required=False, type=words)
@click.option("--json", "as_json", is_flag=True, help="Print the log lines as they are, one JSON object each.")
def audit_show(session: str | None, as_json: bool) -> None:
    """Print the log of SESSION (the beginning of its id); without it, of the newest session."""
    import datetime

    from oi_tui.app.engine.log.audit.account import in_words
    from oi_tui.app.engine.log.audit.log import session_of
    from oi_tui.app.engine.log.audit.records import RunBegan, decode

    path = _choose_log(session)
    lines = [line for line in _read(path).split(b"\n") if line]
    if as_json:
        for number, line in enumerate(lines, 1):
            echo(json.dumps(_parse(line, number)))
        return
    echo(f"Session {session_of(path)} · {path}")
    sources = _first_lines(session_of(path))
    for number, line in enumerate(lines, 1):
        entry = decode(line)
        if entry is None:
            echo(f"line {number} cannot be read: see `oi-tui audit verify`")
            continue
        when = datetime.datetime.fromtimestamp(entry.at, datetime.UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")
        source = sources.get(entry.record.sha256, "") if isinstance(entry.record, RunBegan) else ""
        said = in_words(entry.record) + (f" · {source}" if source else "")
        echo(f"{when}  {' '.join(safe_text(said).split())}")


@audit.command("verify")
@click.argument("session", required=False, type=words)
@click.option("--all", "everything", is_flag=True, help="All sessions: the same as without SESSION.")
def audit_verify(session: str | None, everything: bool) -> None:
    """Verify that the log of SESSION (default: every log) is unchanged. Exit code 0: yes; 1: no.

    Finds lines that were changed, removed, added or moved, a missing end, and a session whose code differs from what
    ran. Does not detect somebody with your permissions who rewrote all the files.
    """
    from oi_tui.app.engine.files.paths import audit_dir
    from oi_tui.app.engine.log.audit.account import verdict_in_words
    from oi_tui.app.engine.log.audit.verify import verify_folder

    if everything and session is not None:
        raise click.UsageError("Name a session, or --all.")
    verdicts = verify_folder(audit_dir())
    if session is not None:
        meant = [verdict for verdict in verdicts[:-1] if session and verdict.name.startswith(session)]
        if len(meant) != 1:  # one whose log is gone counts: the heads know of it
            raise _unclear(session, len(meant))
        verdicts = (*meant, verdicts[-1])
    elif len(verdicts) == 1 and not verdicts[0].lines:
        _choose_log(None)  # reported as missing
    intact = True
    for verdict in map(_with_disagreements, verdicts):
        for line in verdict_in_words(verdict):
            echo(line)
        intact = intact and verdict.intact
    sys.exit(0 if intact else 1)


def _with_disagreements(report: "LogReport") -> "LogReport":
    """The findings about a log, and where the text of its session differs from what ran."""
    from oi_tui.app.engine.files.paths import audit_dir
    from oi_tui.app.engine.log.audit.agreement import disagreements
    from oi_tui.app.engine.log.audit.log import logs, session_of
    from oi_tui.app.engine.log.audit.verify import Finding

    path = next((path for path in logs(audit_dir()) if session_of(path) == report.name), None)
    if path is None:
        return report
    try:
        found = list(disagreements(_read(path), _kept_events(report.name)))
    except StoreError as error:
        found = [Finding(1, "rewritten", f"it cannot be compared with its session: {error.title}")]
    return report._replace(findings=(*report.findings, *found))


def _choose_log(session: str | None) -> Path:
    """The log that is meant; AuditError if it is none, or several."""
    from oi_tui.app.engine.files.paths import audit_dir
    from oi_tui.app.engine.log.audit.log import logs, session_of

    there = logs(audit_dir())
    if not there:
        raise AuditError(f"There is no audit log in {audit_dir()} yet.", hint="The first run starts one.")
    if session is None:
        return max(there, key=lambda path: path.stat().st_mtime)
    found = [path for path in there if session and session_of(path).startswith(session)]
    if len(found) != 1:
        raise _unclear(session, len(found))
    return found[0]


def _unclear(session: str, count: int) -> AuditError:
    what = f"{count} audit logs" if count else "no audit log"
    return AuditError(f"There is {what} of a session that begins with {session!r}.", hint="See `oi-tui sessions`.")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise AuditError(f"The audit log {path} cannot be read: {error.strerror}.") from error


def _parse(line: bytes, number: int) -> object:
    try:
        return json.loads(line)
    except ValueError:
        return {"line": number, "unreadable": line.decode(errors="backslashreplace")}


def _first_lines(session_id: str) -> dict[str, str]:
    """The first lines of the session's sources by their hash, as far as the session is still there."""
    from oi_tui.app.engine.core.events import CallFinished, CodeFinished, DecisionMade
    from oi_tui.app.engine.log.audit.fold import source_digest

    try:
        events = _kept_events(session_id)
    except StoreError:
        return {}
    sources = {event.source for event in events if isinstance(event, CodeFinished | CallFinished | DecisionMade)}
    return {source_digest(source): visible_text(source).text.strip().split("\n")[0][:80] for source in sources}


def _kept_events(session_id: str) -> "tuple[AnyEvent, ...]":
    """What is kept of a session; nothing if it was deleted, and with it what it was about. StoreError if it cannot be
    read."""
    from oi_tui.app.data_files import open_store

    store = open_store()
    try:
        store.record(session_id)
    except StoreError:
        store.close()
        return ()
    try:
        return store.load(session_id)
    finally:
        store.close()
