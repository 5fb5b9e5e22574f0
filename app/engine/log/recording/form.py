"""The file format: JSON lines. The first line describes the recording; each other line is one happening with its time.

It holds the session's events with their times, nothing merged, and the session's input: the user's words and decisions,
the deltas of the model. Known secrets are withheld, and text typed at a password prompt is not in it.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec

from oi_tui.app.engine.core.chat_model import Delta
from oi_tui.app.engine.core.errors import ModelErrorKind, StoreError
from oi_tui.app.engine.core.events import AnyEvent
from oi_tui.app.engine.core.protocol import FRAME, REPLAYED
from oi_tui.app.engine.core.values import ApprovalMode, Value
from oi_tui.app.engine.core.verbs import AnyVerb
from oi_tui.app.engine.transcript.coalesce import coalesce
from oi_tui.app.engine.transcript.event_log import extend
from oi_tui.app.engine.transcript.transcript import Transcript

VERSION = 1

LARGEST = 1_000_000_000
"""Bytes of a recording that is read."""


class Header(Value, frozen=True, kw_only=True):
    """First line of a recording: its format, and the settings that a replay needs."""

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
    """The model raised an error instead of continuing its answer."""

    kind: ModelErrorKind
    title: str
    hint: str = ""
    details: str = ""


class Told(Value, frozen=True, kw_only=True, tag=True):
    """This happened in the session (`replay`: before the session was opened; see `protocol.Batch`)."""

    events: tuple[AnyEvent, ...]
    replay: bool = False
    further: bool = False
    more: bool = False


class _KernelBegan(Value, frozen=True, kw_only=True, tag="KernelBegan"):
    """Earlier programs wrote down what a kernel gave, beside the events that say the same."""


class _KernelSaid(Value, frozen=True, kw_only=True, tag="KernelSaid"):
    """So did this line."""


class _KernelFailed(Value, frozen=True, kw_only=True, tag="KernelFailed"):
    """Earlier programs wrote down that a kernel could not start; the events say it too."""


Happening = Asked | ModelBegan | ModelSaid | ModelFailed | Told
_Redundant = _KernelBegan | _KernelSaid | _KernelFailed


class RecordingLine(Value, frozen=True, kw_only=True):
    """One line but the first."""

    at: float
    """Seconds since the recording began."""
    what: Happening


class _AnyLine(Value, frozen=True, kw_only=True):
    """Any line of a file."""

    at: float
    what: Happening | _Redundant


class Recording(Value, frozen=True, kw_only=True):
    """A recording that was read."""

    header: Header
    lines: tuple[RecordingLine, ...]

    def batches(self) -> Iterator[tuple[float, Told]]:
        """The batches a front end received, with their times."""
        begun: float | None = None
        events: list[AnyEvent] = []
        batch = Told(events=())
        for line in self.lines:
            if not isinstance(told := line.what, Told):
                continue
            if begun is not None and not _is_at_once(batch, told, line.at - begun, len(events)):
                yield begun, msgspec.structs.replace(batch, events=tuple(coalesce(events)))
                begun, events = None, []
            if begun is None:
                begun, batch = line.at, told
            events += told.events
            batch = msgspec.structs.replace(batch, more=told.more)
        if begun is not None:
            yield begun, msgspec.structs.replace(batch, events=tuple(coalesce(events)))

    def events(self) -> Iterator[AnyEvent]:
        """The events of the session, from the last replay on."""
        told = [what for _, what in self.batches()]
        begin = max((number for number, what in enumerate(told) if what.replay and not what.further), default=0)
        for what in told[begin:]:
            yield from what.events


def _is_at_once(batch: Told, told: Told, seconds: float, count: int) -> bool:
    """Whether this reply belongs to a batch of `count` events that began `seconds` ago."""
    if told.replay != batch.replay or count >= REPLAYED:
        return False
    return told.further if told.replay else seconds < FRAME


def read_recording(path: Path) -> Recording:
    """StoreError, with the number of the line, if it is no recording; a last line that was cut off is left out."""
    try:
        if path.stat().st_size > LARGEST:
            raise StoreError(f"{path} is larger than {LARGEST:,} bytes.")
        if not path.is_file():
            raise StoreError(f"{path} is no plain file, but a device, a pipe or a folder.")  # which may have no end
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}.") from error
    header = _header(lines[0], path)
    recording = Recording(header=header, lines=tuple(_lines(lines[1:-1], path)))
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
    """Fold it once: a defect is reported before the replay starts."""
    try:
        datetime.fromtimestamp(recording.header.created).astimezone()
        transcript = Transcript()
        for _, told in recording.batches():
            if told.replay and not told.further:
                transcript = Transcript()
            extend(transcript, told.events)
    except (ValueError, OverflowError, OSError) as error:
        raise StoreError(f"{path} has an impossible date.", details=str(error)) from error
    except StoreError as error:
        raise StoreError(f"{path}: the events of this recording make no sense.", details=error.details) from error


def _lines(lines: Iterable[bytes], path: Path) -> Iterator[RecordingLine]:
    decoder = msgspec.json.Decoder(_AnyLine)
    for number, line in enumerate(lines, 2):
        try:
            read = decoder.decode(line)
        except (msgspec.DecodeError, RecursionError) as error:
            raise StoreError(f"{path}, line {number}: this is no line of a recording.", details=str(error)) from error
        if not isinstance(read.what, _Redundant):
            yield RecordingLine(at=read.at, what=read.what)
