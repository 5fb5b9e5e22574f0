"""Whether a log is unchanged: a pure look at its lines and at the heads kept of it.

It finds any line that was changed, removed, inserted or moved; an end that was cut off or rewritten, if a head knows
it; a missing log. It cannot find that the owner of the account rewrote all files consistently. Nothing on this machine
could; a copy elsewhere could.
"""

from collections.abc import Iterable, Sequence, Set
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from oi_tui.app.engine.core.errors import AuditError
from oi_tui.app.engine.core.values import Value
from oi_tui.app.engine.log.audit.chain import ChainLink, digest, origin
from oi_tui.app.engine.log.audit.log import HEADS, HEADS_NAME, logs, session_of

FindingKind = Literal[
    "edited", "missing", "reordered", "cut off", "lost", "unreadable", "interrupted write", "rewritten"
]


class Finding(NamedTuple):
    """A fault of a log, and its place."""

    line: int
    """From 1 on."""
    kind: FindingKind
    what: str

    @property
    def is_benign(self) -> bool:
        """A write that did not come to its end changes nothing that was in the log."""
        return self.kind == "interrupted write"


class LogReport(NamedTuple):
    """The findings about one file."""

    name: str
    lines: int
    unsealed: int
    """Lines behind the last head, of a session that is open or was killed: nobody would notice if they were cut off."""
    findings: tuple[Finding, ...]

    @property
    def intact(self) -> bool:
        """Nothing was changed, as far as this machine can know."""
        return all(finding.is_benign for finding in self.findings)


class _Kind(Value, frozen=True, kw_only=True):
    type: str = ""
    heads_seq: int = 0
    heads_sha256: str = ""


class _Line(Value, frozen=True, kw_only=True):
    """What the chain is about, whatever else a newer oi-tui may write."""

    seq: int
    prev: str
    record: _Kind = _Kind()
    session: str = ""
    log_seq: int = 0
    log_sha256: str = ""


_decoder: msgspec.json.Decoder[_Line] = msgspec.json.Decoder(_Line)


class LogLines:
    """The lines of a file, with what can be read of them."""

    def __init__(self, data: bytes) -> None:
        self.raw = data.split(b"\n")
        self.open_end = self.raw.pop() != b""
        if self.open_end:
            self.raw.append(data.rpartition(b"\n")[2])
        self.read = [_read(line) for line in self.raw]
        self.links = [ChainLink(number, digest(line)) for number, line in enumerate(self.raw, 1)]

    def is_torn(self, index: int) -> bool:
        """Whether this line has no end: it is the last, or the next one says so."""
        if index == len(self.raw) - 1:
            return self.open_end
        after = self.read[index + 1]
        return (
            after is not None
            and after.record.type == "WriteWasInterrupted"
            and after.prev == self.links[index].sha256
            and after.seq == index + 2
        )


def verify_session(name: str, log: bytes, heads: LogLines, later: LogLines | None = None) -> LogReport:
    """One log, whose session is `name`, and what the heads say of it.

    Sessions may be at work: `heads` were read before the log, which may know of some that only `later` ones have.
    """
    lines = LogLines(log)
    there = [line for line in heads.read if line is not None and line.session == name and line.log_seq > 0]
    seals = [ChainLink(line.log_seq, line.log_sha256) for line in there]
    sealed = max((seal.seq for seal in seals), default=0)
    found = _chain(lines, origin(name), frozenset(seals))
    found = _with(found, _against(lines.links, seals, "the heads know"))
    began = [line.record for line in lines.read if line is not None and line.record.heads_seq > 0]
    vouched = [ChainLink(record.heads_seq, record.heads_sha256) for record in began]
    for finding in _against((later or heads).links, vouched, "this log knows"):
        found.append(finding._replace(what=f"of {HEADS}: {finding.what}"))
    return LogReport(name, len(lines.raw), max(len(lines.raw) - sealed, 0), tuple(found))


def verify_heads(heads: LogLines) -> LogReport:
    """The file of heads by itself."""
    return LogReport(HEADS, len(heads.raw), 0, tuple(_chain(heads, origin(HEADS_NAME))))


def verify_folder(folder: Path, paths: Sequence[Path] = ()) -> tuple[LogReport, ...]:
    """These logs, or all there are and were, and the heads; AuditError if one cannot be read."""
    heads = LogLines(_content(folder / HEADS))
    known = paths or logs(folder)
    contents = {path: _content(path) for path in known}
    later = LogLines(_content(folder / HEADS))
    verdicts = [verify_session(session_of(path), log, heads, later) for path, log in contents.items()]
    if not paths:
        there = {session_of(path) for path in known}
        for name in dict.fromkeys(line.session for line in heads.read if line is not None and line.log_seq):
            if name not in there:
                gone = Finding(1, "missing", "the whole log is gone; the heads know of it")
                verdicts.append(LogReport(name, 0, 0, (gone,)))
    return (*verdicts, verify_heads(heads))


def _chain(lines: LogLines, first: ChainLink, seals: Set[ChainLink] = frozenset()) -> list[Finding]:
    """What the lines say of each other. A line that was sealed had an end then."""
    found: list[Finding] = []
    before, said = first, 0
    for index, (line, link) in enumerate(zip(lines.read, lines.links, strict=True)):
        number = index + 1
        if lines.is_torn(index):
            is_benign = Finding(number, "interrupted write", "it has no end: the program was ended while it wrote")
            cut = Finding(number, "cut off", "its end is gone, and the heads know that it had one")
            found.append(cut if link in seals else is_benign)
            said += 1
        elif line is None:
            found.append(Finding(number, "unreadable", "it is no line of a log: edited, or put in"))
            said += 1
        else:
            found.extend(_place(line, number, said, before, found))
            said = line.seq
        before = link
    return found


def _place(line: _Line, number: int, said: int, before: ChainLink, found: Sequence[Finding]) -> Iterable[Finding]:
    """Whether the line follows the one before, whose number was `said`."""
    if line.seq > said + 1:
        gone = f"line {said + 1}" if line.seq == said + 2 else f"lines {said + 1} to {line.seq - 1}"
        yield Finding(number, "missing", f"before it, {gone} of the log as it was written are gone")
    elif line.seq <= said:
        yield Finding(number, "reordered", f"it was line {line.seq}, and now follows what was line {said}")
    elif line.prev != before.sha256 and not any(earlier.line == number - 1 for earlier in found):
        if number == 1:
            yield Finding(1, "edited", "it is not the beginning of this session's log")
        else:
            yield Finding(number - 1, "edited", "it is not what the next line says it was")
    if line.record.type == "LinesWereLost":
        yield Finding(number, "lost", "when it was written, lines before it had vanished")


def _against(links: Sequence[ChainLink], seals: Sequence[ChainLink], who: str) -> list[Finding]:
    """The heads kept elsewhere, compared with the lines in this file."""
    found: dict[int, Finding] = {}
    beyond = max((seal.seq for seal in seals), default=0)
    if beyond > len(links):
        found[len(links) + 1] = Finding(len(links) + 1, "cut off", f"{who} of {beyond} lines, here it ends")
    for seal in seals:
        if seal.seq <= len(links) and links[seal.seq - 1] != seal:
            found[seal.seq] = Finding(seal.seq, "edited", f"{who} another line in this place")
    return list(found.values())


def _with(found: list[Finding], more: Iterable[Finding]) -> list[Finding]:
    """One finding a line is enough; that of the chain says more."""
    lines = {finding.line for finding in found if not finding.is_benign}
    return sorted((*found, *(finding for finding in more if finding.line not in lines)), key=lambda f: f.line)


def _read(line: bytes) -> _Line | None:
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise AuditError(f"The audit log {path} cannot be read: {error.strerror}.") from error
