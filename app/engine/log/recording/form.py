"""The file: JSON lines, the first of which says what it is; each other one says when something happened, and what.

What goes in: the person's words and decisions, the deltas of the model, the events of the kernels. What comes out: the
events of the session, in the batches in which a front end got them. Secrets that are known are withheld, and what was
typed where a password was asked for is not in it.

A secret may come a character at a time. So lines are held back until the answer, the run and the blocks that they are
pieces of have come to their ends: what a program that was killed had not written is lost with it.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import msgspec

from oi_tui.app.engine.core.chat_model import Delta
from oi_tui.app.engine.core.errors import ModelErrorKind, StoreError
from oi_tui.app.engine.core.events import (
    AnyEvent,
    CodeFinished,
    CodeStarted,
    ExecutionFinished,
    ExecutionStarted,
    OutputTailMoved,
    ProseFinished,
    ProseStarted,
    SessionOpened,
    TurnEnded,
)
from oi_tui.app.engine.core.values import ApprovalMode, Language, Value
from oi_tui.app.engine.core.verbs import AnyVerb
from oi_tui.app.engine.kernels.base import RunResult
from oi_tui.app.engine.log.recording.strands import Strands, StreamItem
from oi_tui.app.engine.log.recording.version_one import upgrade
from oi_tui.app.engine.secrets.redaction import Redactor
from oi_tui.app.engine.transcript.event_log import extend
from oi_tui.app.engine.transcript.transcript import Transcript

VERSION = 2

LARGEST = 1_000_000_000
"""Bytes of a recording that is read."""


class Header(Value, frozen=True, kw_only=True):
    """The first line."""

    format: Literal["oi-tui/recording"]
    version: int
    created: float
    """Unix time in seconds."""
    program: str = ""
    cwd: str = ""
    approve: ApprovalMode = "ask"
    max_steps: int = 20


class Asked(Value, frozen=True, kw_only=True, tag=True):
    """The person asked for something, decided or answered."""

    verb: AnyVerb


class ModelBegan(Value, frozen=True, kw_only=True, tag=True):
    """The model was asked."""


class ModelSaid(Value, frozen=True, kw_only=True, tag=True):
    """A piece of its answer."""

    delta: Delta


class ModelFailed(Value, frozen=True, kw_only=True, tag=True):
    """It raised instead."""

    kind: ModelErrorKind
    title: str
    hint: str = ""
    details: str = ""


class KernelRunBegan(Value, frozen=True, kw_only=True, tag="KernelBegan"):
    """A kernel was given a source."""

    language: Language
    source: str


class KernelSaid(Value, frozen=True, kw_only=True, tag=True):
    """Something came of it; which block it belongs to is left out."""

    event: AnyEvent | RunResult
    late: bool = False
    """After its end."""


class KernelFailed(Value, frozen=True, kw_only=True, tag=True):
    """It could not run anything."""

    title: str
    hint: str = ""
    details: str = ""


class Told(Value, frozen=True, kw_only=True, tag=True):
    """A front end was told of these."""

    events: tuple[AnyEvent, ...]
    replay: bool = False
    further: bool = False
    more: bool = False


Happening = Asked | ModelBegan | ModelSaid | ModelFailed | KernelRunBegan | KernelSaid | KernelFailed | Told


class RecordingLine(Value, frozen=True, kw_only=True):
    """One line but the first."""

    at: float
    """Seconds since the recording began."""
    what: Happening


SHORT = 40
"""Characters of a text that is likely to come again."""

TextOrigin = Literal["model", "kernel"]

_encoder = msgspec.json.Encoder()


class Tape:
    """A recording that is being written. What cannot be written ends it, and nothing else: `trouble` says why."""

    def __init__(self, path: Path, header: Header, redactor: Redactor, clock: Callable[[], float]) -> None:
        """StoreError if the file is there already, or cannot be made."""
        self._redactor = redactor
        self._strands = Strands(redactor)
        self._held: list[RecordingLine | None] = []
        self._open: set[str] = set()
        """What goes on: the answer of the model, the run of a kernel, blocks that a front end is told of by id."""
        self._redone: dict[str, str] = {}
        """Short texts that were looked at already: each line has the same few names in it."""
        self._tails: dict[tuple[str, str], int] = {}
        """By block (or "") and stream: which of the held lines has its end."""
        self._clock = clock
        self._begun = clock()
        self.trouble = ""
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreError(f"{path} cannot be recorded to: {error.strerror}.", hint="Name a new file.") from error
        self._file = open(descriptor, "wb")  # noqa: SIM115 # closed by `close`
        self._write(msgspec.to_builtins(header))

    def put(self, what: Happening) -> None:
        """It happened now."""
        match what:
            case ModelBegan() | KernelRunBegan() | Asked():
                self._settle()  # what follows goes on with nothing of before
        self._follow(what)
        self._hold(RecordingLine(at=round(self._clock() - self._begun, 4), what=what))
        match what:
            case Told(events=[*_, TurnEnded()]):
                self._settle()

    def over(self, source: TextOrigin) -> None:
        """The answer or the run has come to its end, or was left."""
        self._open.discard(source)

    def close(self) -> None:
        """Idempotent."""
        self._open.clear()
        self._settle()
        self._file.close()

    def _follow(self, what: Happening) -> None:
        match what:
            case ModelBegan():
                self._open.add("model")
            case KernelRunBegan():
                self._open.add("kernel")
            case Told():
                for event in what.events:
                    match event:
                        case ProseStarted() | CodeStarted() | ExecutionStarted():
                            self._open.add(f"block {event.block_id}")
                        case ProseFinished() | CodeFinished() | ExecutionFinished():
                            self._open.discard(f"block {event.block_id}")
                        case TurnEnded() | SessionOpened():
                            self._open.intersection_update(("model", "kernel"))
                        case _:
                            pass
            case _:
                pass

    def _hold(self, line: RecordingLine) -> None:
        """Of the ends of a stream only the newest: a flood moves it many times, and each is long."""
        place = len(self._held)
        self._held.append(line)
        for piece in _pieces(line.what):
            match piece:
                case OutputTailMoved():
                    key = (piece.block_id, piece.name)
                    before = self._tails.get(key, place)
                    if before != place:
                        self._held[before] = _without_tail(self._held[before], *key)
                    self._tails[key] = place
                case _:
                    pass

    def _settle(self) -> None:
        """Write what is held, if nothing of it goes on."""
        if self._open:
            return
        lines = [line for line in self._held if line is not None]
        cleaned = iter(self._strands.cleaned([piece for line in lines for piece in _pieces(line.what)]))
        for line in lines:
            self._write(msgspec.to_builtins(_with_pieces(line, cleaned)))
        self._held.clear()
        self._tails.clear()
        self._redone.clear()  # another secret may be learned

    def _write(self, line: Any) -> None:
        if self.trouble or self._file.closed:
            return
        try:
            self._file.write(_encoder.encode(self._redacted(line)) + b"\n")
            self._file.flush()
        except OSError as error:
            self.trouble = f"The recording ends here: {error.strerror}."

    def _redacted(self, value: Any) -> Any:
        match value:
            case str():
                if (known := self._redone.get(value)) is not None:
                    return known
                text = self._redactor.redact(value).text.encode(errors="backslashreplace").decode()
                if len(value) <= SHORT:
                    self._redone[value] = text
                return text
            case dict():
                return {key: self._redacted(content) for key, content in value.items()}
            case list() | tuple():
                return [self._redacted(content) for content in value]
            case _:
                return value


def _pieces(what: Happening) -> tuple[StreamItem | None, ...]:
    """What may be a part of something longer; None where all such begins anew."""
    match what:
        case ModelBegan() | KernelRunBegan():
            return (None,)
        case ModelSaid():
            return (what.delta,)
        case KernelSaid():
            return (what.event,)
        case Told():
            return what.events
        case _:
            return ()


def _with_pieces(line: RecordingLine, pieces: Iterator[Any]) -> RecordingLine:
    """The line with as many of these as it has pieces."""
    what = line.what
    match what:
        case ModelSaid():
            what = msgspec.structs.replace(what, delta=next(pieces))
        case KernelSaid():
            what = msgspec.structs.replace(what, event=next(pieces))
        case Told():
            what = msgspec.structs.replace(what, events=tuple(islice(pieces, len(what.events))))
        case ModelBegan() | KernelRunBegan():
            next(pieces)
        case _:
            pass
    return msgspec.structs.replace(line, what=what)


def _without_tail(line: RecordingLine | None, block_id: str, name: str) -> RecordingLine | None:
    match line:
        case RecordingLine(what=Told() as told):
            events = tuple(
                event
                for event in told.events
                if not (isinstance(event, OutputTailMoved) and (event.block_id, event.name) == (block_id, name))
            )
            return msgspec.structs.replace(line, what=msgspec.structs.replace(told, events=events))
        case _:
            return None


class Recording(Value, frozen=True, kw_only=True):
    """A recording that was read."""

    header: Header
    lines: tuple[RecordingLine, ...]

    def told(self) -> Iterator[tuple[float, Told]]:
        """What a front end was told, and when."""
        for line in self.lines:
            if isinstance(line.what, Told):
                yield line.at, line.what


def read_recording(path: Path) -> Recording:
    """StoreError, with the number of the line, if it is no recording; a last line that was cut off is left out."""
    try:
        if path.stat().st_size > LARGEST:
            raise StoreError(f"{path} is larger than {LARGEST:,} bytes.")
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}.") from error
    header = _header(lines[0], path)
    recording = Recording(header=header, lines=tuple(_lines(lines[1:-1], path, header.version)))
    _require_sense(recording, path)
    return recording


def _header(line: bytes, path: Path) -> Header:
    try:
        header = msgspec.json.decode(line, type=Header)
    except (msgspec.DecodeError, RecursionError) as error:
        raise StoreError(
            f"{path} is no recording.", hint="`oi-tui run --record FILE` makes one.", details=str(error)
        ) from error
    if header.version > VERSION:
        raise StoreError(f"{path} was made by a newer oi-tui.", hint="Update oi-tui.")
    return header


def _require_sense(recording: Recording, path: Path) -> None:
    """Whoever plays it folds it, and says when it was made: what then goes wrong is said before."""
    try:
        datetime.fromtimestamp(recording.header.created).astimezone()
        transcript = Transcript()
        for _, told in recording.told():
            if told.replay and not told.further:
                transcript = Transcript()
            extend(transcript, told.events)
    except (ValueError, OverflowError, OSError) as error:
        raise StoreError(f"{path} was made at no time that there is.", details=str(error)) from error
    except StoreError as error:
        raise StoreError(f"{path}: what was told in this recording makes no sense.", details=error.details) from error


def _lines(lines: Iterable[bytes], path: Path, version: int) -> Iterator[RecordingLine]:
    decoder = msgspec.json.Decoder(RecordingLine)
    for number, line in enumerate(lines, 2):
        try:
            yield decoder.decode(line if version > 1 else upgrade(line))
        except (msgspec.DecodeError, RecursionError) as error:
            raise StoreError(f"{path}, line {number}: this is no line of a recording.", details=str(error)) from error
