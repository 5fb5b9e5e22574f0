"""A recording while it is written.

A secret may come a character at a time. So lines are held back until the answer and the blocks that they are pieces of
have come to their ends: what a program that was killed had not written is lost with it.
"""

import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from oi_tui.app.engine.core.errors import StoreError
from oi_tui.app.engine.core.events import (
    AnyEvent,
    CallFinished,
    CallStarted,
    CodeFinished,
    CodeStarted,
    ExecutionFinished,
    ExecutionStarted,
    OutputTailMoved,
    ProseFinished,
    ProseStarted,
    SessionOpened,
    ThoughtFinished,
    ThoughtStarted,
    TurnEnded,
)
from oi_tui.app.engine.log.recording.form import Asked, Happening, Header, ModelBegan, RecordingLine, Told
from oi_tui.app.engine.log.recording.strands import Strands
from oi_tui.app.engine.secrets.redaction import Redactor

SHORT = 40
"""Characters of a text that is likely to come again."""

_MODEL = "the answer of the model"

_encoder = msgspec.json.Encoder()
_log = logging.getLogger(__name__)


class Tape:
    """A recording that is being written. What cannot be written ends it, and nothing else: `trouble` says why."""

    def __init__(self, path: Path, header: Header, redactor: Redactor, clock: Callable[[], float]) -> None:
        """StoreError if the file is there already, or cannot be made."""
        self._redactor = redactor
        self._strands = Strands(redactor)
        self._held: list[tuple[float, Happening] | None] = []
        self._open: set[str] = set()
        """Open strands: the answer of the model, and ids of blocks."""
        self._redone: dict[str, str] = {}
        """Short texts that were looked at already: each line has the same few names in it."""
        self._tails: dict[tuple[str, str], int] = {}
        """By block and stream: which of the held lines has its end."""
        self._clock = clock
        self._begun = clock()
        self._has_session = False
        self.trouble = ""
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreError(f"{path} cannot be recorded to: {error.strerror}.", hint="Name a new file.") from error
        self._file = open(descriptor, "wb")  # noqa: SIM115 # closed by `close`
        self._write([header])

    def begin(self, past: Sequence[AnyEvent]) -> None:
        """A session is opened, in which this was before."""
        last = len(past) - 1
        for number, event in enumerate(past):
            self.put(Told(events=(event,), replay=True, further=number > 0, more=number < last))
        if not past and self._has_session:
            self.put(Told(events=(), replay=True))
        self._has_session = True

    def append(self, event: AnyEvent) -> None:
        self.put(Told(events=(event,)))

    def put(self, what: Happening) -> None:
        """So did this; of events one at a time."""
        match what:
            case ModelBegan() | Asked():
                self._settle()  # the next line continues none of the earlier strands
                if isinstance(what, ModelBegan):
                    self._open.add(_MODEL)
            case Told(events=(event,)):
                self._follow(event)
            case _:
                pass
        self._held.append((round(self._clock() - self._begun, 4), what))
        match what:
            case Told(events=(TurnEnded(),)):
                self._settle()
            case _:
                pass

    def end_answer(self) -> None:
        """The answer of the model has come to its end, or was left."""
        self._open.discard(_MODEL)

    def close(self) -> None:
        self._open.clear()
        self._settle()
        self._file.close()

    def _follow(self, event: AnyEvent) -> None:
        match event:
            case ProseStarted() | ThoughtStarted() | CodeStarted() | CallStarted() | ExecutionStarted():
                self._open.add(event.block_id)
            case ProseFinished() | ThoughtFinished() | CodeFinished() | CallFinished() | ExecutionFinished():
                self._open.discard(event.block_id)
            case TurnEnded() | SessionOpened():
                self._open.intersection_update((_MODEL,))
            case OutputTailMoved():
                # Only the newest end of a stream: a flood moves it many times, and each is long.
                key = (event.block_id, event.name)
                if (before := self._tails.get(key)) is not None:
                    self._held[before] = None
                self._tails[key] = len(self._held)
            case _:
                pass

    def _settle(self) -> None:
        """Write the held pieces if none of their strands is open."""
        if self._open:
            return
        held = [line for line in self._held if line is not None]
        cleaned = self._strands.clean([what for _, what in held])
        self._write([RecordingLine(at=at, what=what) for (at, _), what in zip(held, cleaned, strict=True)])
        self._held.clear()
        self._tails.clear()
        self._redone.clear()  # another secret may be learned

    def _write(self, lines: Sequence[Header | RecordingLine]) -> None:
        if self.trouble or self._file.closed:
            return
        try:
            for line in lines:
                self._file.write(_encoder.encode(self._redact(msgspec.to_builtins(line))) + b"\n")
            self._file.flush()
        except OSError as error:
            self.trouble = f"The recording ends here: {error.strerror}."
            _log.error("%s", self.trouble)

    def _redact(self, value: Any) -> Any:
        match value:
            case str():
                if (known := self._redone.get(value)) is not None:
                    return known
                text = self._redactor.redact(value).text.encode(errors="backslashreplace").decode()
                if len(value) <= SHORT:
                    self._redone[value] = text
                return text
            case dict():
                return {key: self._redact(content) for key, content in value.items()}
            case list() | tuple():
                return [self._redact(content) for content in value]
            case _:
                return value
