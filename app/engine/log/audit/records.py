"""The records of the audit log, as values. A record says what was done and who approved it, not what it was about.

A source is named by its SHA-256 and its block: the text is in the session, where the user can delete it, so a secret in
it is in one place only. Texts in records (reasons, rules, file names) are redacted.
"""

import msgspec

from oi_tui.app.engine.core.outcomes import Decider, Verdict
from oi_tui.app.engine.core.values import ApprovalMode, Language, Level, Value


class Surroundings(Value, frozen=True, kw_only=True):
    """What applies to everything that runs in a session, as far as known beforehand."""

    cwd: str
    sandbox: str
    """`read-only`, `workspace-write`, `danger-full-access` (which is none)."""
    proof: str = ""
    """What the sandbox must prove before a kernel counts as started; "" without a sandbox."""
    profile_sha256: str = ""
    """Digest of all that the sandbox allows."""
    network: str = "full"
    """`none`, `hosts`, `full`."""
    policy: str = ""
    """Mode below which no decision goes."""
    program: str = ""
    """Which oi-tui wrote this."""


class Record(Value, frozen=True, kw_only=True):
    """Base of all records."""


class SessionBegan(Record, frozen=True, kw_only=True, tag=True):
    """A session was opened; comes again each time."""

    surroundings: Surroundings
    model: str
    approval: ApprovalMode
    resumed: bool = False
    heads_seq: int = 0
    """The last line of `heads.jsonl` at that time, by number and hash: so one file vouches for the other."""
    heads_sha256: str = ""


class SettingsWere(Record, frozen=True, kw_only=True, tag=True):
    """Model or approval mode are these from now on."""

    model: str
    approval: ApprovalMode
    api_base: str = ""


class InstructionsWere(Record, frozen=True, kw_only=True, tag=True):
    """The person's own instructions to the model are these from now on."""

    sha256: str = ""
    """Of their text, "" where they are those of the settings."""


class DecisionWasMade(Record, frozen=True, kw_only=True, tag=True):
    """Whether code may run, by whom."""

    block_id: str
    language: Language = ""
    tool: str = ""
    """Of a call; for code, `language` says it."""
    sha256: str
    """Of the source that was decided about, edited where the person edited it."""
    verdict: Verdict
    decider: Decider
    request_id: str | None = None
    latency: float | None = None
    """Seconds from the question to the answer; None where nobody was asked."""
    reason: str = ""
    """The rule that allowed or denied it, or the person's reason."""
    why: str = ""
    """Why the person was asked, beyond the mode."""
    labels: tuple[str, ...] = ()
    """The risks shown to the user."""
    origin: str = ""
    """Who brought the tool, where somebody was asked; "" is the program itself."""
    proposed_sha256: str = ""
    """Of what the model had proposed, where the person edited it."""


class RunBegan(Record, frozen=True, kw_only=True, tag=True):
    """Written, and on disk, before the kernel was given the source."""

    block_id: str
    language: Language = ""
    tool: str = ""
    sha256: str
    generation: int
    author: str
    """`assistant` or `user`: whose code it is."""
    caller: str = ""
    """The block whose run called it, "" where none did."""
    origin: str = ""
    """Who brought the tool; "" for code, and for tools of the program itself."""
    again: bool = False
    """It ran before and is repeated at the person's wish."""
    cwd: str
    sandbox: str
    network: str
    approval: ApprovalMode
    verdict: str = ""
    """By which it may run; "" for the person's own code, about which nobody is asked."""
    decider: str = ""
    rule: str = ""
    request_id: str | None = None
    proof: str = ""


class RunWasRefused(Record, frozen=True, kw_only=True, tag=True):
    """A run did not start because it could not be recorded; written as soon as that is possible again."""

    block_id: str
    language: Language = ""
    tool: str = ""
    sha256: str
    why: str


class RunEnded(Record, frozen=True, kw_only=True, tag=True):
    """How the run came out."""

    block_id: str
    sha256: str
    status: str
    """`ok`, `error`, `interrupted`, `died`; of a run that is repeated also `same`, `differs`;
    `left` where the session was left before it ended."""
    duration: float
    """Seconds."""
    exit_code: int | None = None
    error: str = ""
    """Name of the exception."""
    output_characters: int = 0
    """Of text that was passed on, and of results and tracebacks."""
    dropped_characters: int = 0
    interrupts: int = 0
    questions: int = 0
    """How often the code asked for a line."""


class FilesWereLeft(Record, frozen=True, kw_only=True, tag=True):
    """Files that were found after a run."""

    block_id: str
    changed: int
    """Files that are new or changed since the run began."""
    later: tuple[str, ...] = ()
    """Those of them that others run or obey later, outside of any sandbox."""
    later_count: int = 0
    """How many there are of these; not all of them need be named."""
    entries: int = 0
    """How many entries were looked at."""
    cut: str = ""
    """Why not all were looked at, "" if all were."""


class NetworkWasRefused(Record, frozen=True, kw_only=True, tag=True):
    """The sandbox did not let code reach a host, for the first time in this run."""

    block_id: str
    """Of what runs, or ran last."""
    host: str
    """With its port; if it is no host, the raw request."""
    why: str


class RefusalsWereCounted(Record, frozen=True, kw_only=True, tag=True):
    """How often the sandbox refused the network, when the run that asked for it is over."""

    block_id: str
    count: int
    hosts: tuple[tuple[str, int], ...] = ()
    """Each with how often; not all of them need be named."""
    late: bool = False
    """The run had ended when this was requested: it left a process behind."""


class KernelBegan(Record, frozen=True, kw_only=True, tag=True):
    """A kernel is of a new generation: it was started, or started again, and the sandbox (if any) was proven."""

    language: Language
    generation: int
    sandbox: str
    proof: str = ""


class KernelWasStopped(Record, frozen=True, kw_only=True, tag=True):
    """A kernel was interrupted or restarted by the person, or is dead."""

    language: Language
    generation: int
    how: str
    """`interrupting`, `restarting`, `dead`."""
    detail: str = ""
    block_id: str = ""
    """Of what ran."""


class InputWasAsked(Record, frozen=True, kw_only=True, tag=True):
    """Running code asked the person for a line. Neither the question nor the answer is kept."""

    block_id: str
    request_id: str
    password: bool = False


class InputWasAnswered(Record, frozen=True, kw_only=True, tag=True):
    """Code got its line, or (`cancelled`) the run was interrupted instead."""

    block_id: str
    request_id: str
    cancelled: bool = False


class SecretsWereWithheld(Record, frozen=True, kw_only=True, tag=True):
    """Secrets of a block were withheld from the model; recorded again when that changes."""

    block_id: str
    count: int
    names: tuple[str, ...] = ()
    """Of what: variables, or kinds of keys."""


class NoticeWasGiven(Record, frozen=True, kw_only=True, tag=True):
    """The person was shown a warning or an error."""

    level: Level
    title: str


class ConversationWasCleared(Record, frozen=True, kw_only=True, tag=True):
    """The model forgets everything before this; grants are void."""


class WriteWasInterrupted(Record, frozen=True, kw_only=True, tag=True):
    """The line before this one is incomplete: its writer was killed, or the disk was full."""

    characters: int


class LinesWereLost(Record, frozen=True, kw_only=True, tag=True):
    """While the log was open, lines that had been written vanished from it."""

    seq: int
    """Number of the last one."""
    sha256: str


class SessionLeft(Record, frozen=True, kw_only=True, tag=True):
    """The session was closed in order."""


AnyRecord = (
    SessionBegan
    | SettingsWere
    | InstructionsWere
    | DecisionWasMade
    | RunBegan
    | RunWasRefused
    | RunEnded
    | FilesWereLeft
    | NetworkWasRefused
    | RefusalsWereCounted
    | KernelBegan
    | KernelWasStopped
    | InputWasAsked
    | InputWasAnswered
    | SecretsWereWithheld
    | NoticeWasGiven
    | ConversationWasCleared
    | WriteWasInterrupted
    | LinesWereLost
    | SessionLeft
)
"""The closed union of what is written."""


class LogBody(Value, frozen=True, kw_only=True):
    """The content of one line, without its place in the chain."""

    at: float
    """Unix time in seconds."""
    session: str
    withheld: int = 0
    """How many secrets were taken out of this record."""
    record: AnyRecord


class LogEntry(LogBody, frozen=True, kw_only=True):
    """One line of an audit log, decoded and checked."""

    seq: int
    prev: str
    """SHA-256 of the line before."""


class Head(Value, frozen=True, kw_only=True):
    """A line of `heads.jsonl`: how far the log of a session went at that time, all of it on disk."""

    at: float
    session: str
    log_seq: int
    log_sha256: str


class Tear(Value, frozen=True, kw_only=True):
    """A line of `heads.jsonl` behind one that has no end, or behind lines that vanished."""

    at: float
    session: str
    record: WriteWasInterrupted | LinesWereLost


_bodies = msgspec.json.Encoder()
_entries: msgspec.json.Decoder[LogEntry] = msgspec.json.Decoder(LogEntry)


def encode(body: LogBody | Head | Tear) -> bytes:
    """A JSON object without its place in the chain."""
    return _bodies.encode(body)


def decode(line: bytes) -> LogEntry | None:
    """A record; None if the line is not one of ours, or of a newer oi-tui."""
    try:
        return _entries.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
