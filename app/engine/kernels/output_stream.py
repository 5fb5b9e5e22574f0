"""One run, as every kernel keeps it: what arrives is cleaned, capped and queued; it is over exactly once.

What arrives comes from a process that is not trusted: anything may be claimed, nothing may break us.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from oi_tui.app.engine.core.encoding import expressible
from oi_tui.app.engine.core.outputs import ErrorOutput, Output, RichOutput, StreamName, StreamOutput, WholeOutput
from oi_tui.app.engine.kernels.base import (
    Afterwards,
    DisplayUpdated,
    InputWanted,
    LineReached,
    OutputArrived,
    OutputCapped,
    OutputCleared,
    OutputFiled,
    RunEvent,
    RunFinished,
    SignsChanged,
    TailMoved,
)
from oi_tui.app.engine.kernels.json_cleaner import clean_json
from oi_tui.app.engine.kernels.output_cap import OutputCap
from oi_tui.app.engine.kernels.traceback_cap import ERROR_LIMIT, shorten_traceback

RICH_LIMIT = 32_000_000
"""Characters of pictures, HTML and the like that one run may show."""

RICH_COST = 100
"""What each display takes from the cap at least, so that their number is bounded as well."""

TAIL_INTERVAL = 1 / 8
"""Seconds between two looks at the end of a stream that went beyond the cap."""

UPDATE_LIMIT = 64_000_000
"""Characters of updates that one run may pass on as they come; after that only the last one of each display is."""

LATE_INTERVAL = 1 / 8
"""Seconds in which what comes after the end of a run is gathered before it is told."""

NAME_LIMIT = 1_000
"""Characters of the name of a display."""

ERRORS_LIMIT = 20
"""Errors of one run: a cell has one, and its background tasks may have some more."""


@dataclass
class DisplayCharge:
    """What a display took of the room that there is; an update that is no larger takes nothing more."""

    text: int = 0
    rich: int = 0


@dataclass
class DisplayChange:
    """An update in the queue; it may still be replaced by a newer one."""

    event: DisplayUpdated


@dataclass
class StreamText:
    """Text of a stream in the queue; more may join it."""

    name: StreamName
    pieces: list[str] = field(default_factory=list)


@dataclass
class TailDue:
    """The end of a stream is to be told, as it is when somebody reads this."""

    name: StreamName


class OutputStream:
    """A run from the moment it is handed to the kernel."""

    def __init__(self, source: str, cap: int, spill_dir: Path | None) -> None:
        self.interrupting = False
        """Whether somebody asked for the end of it."""
        self.ignores = False
        """Whether it went on nevertheless."""
        self.over = asyncio.Event()
        self.taken = False
        """Whether the kernel has begun with it, as far as it is known to say so."""
        self.told = False
        """Whether somebody has consumed it to its end."""
        self.afterwards: Afterwards | None = None
        """Told what comes after the end, once the end itself was told."""
        self._lines = source.count("\n") + 1
        self._cap = OutputCap(cap, spill_dir)
        self._rich_room = RICH_LIMIT
        self._update_room = UPDATE_LIMIT
        self._charged: dict[str, DisplayCharge] = {}
        """By display."""
        self._unseen: dict[str, DisplayChange] = {}
        """Those in the queue, by display."""
        self._kept: dict[str, DisplayUpdated] = {}
        """Last updates that are kept for the end."""
        self._filed: WholeOutput | None = None
        """What was told of the file."""
        self._moved: set[StreamName] = set()
        """Streams of which more came than was told."""
        self._tail_timer: asyncio.TimerHandle | None = None
        self._clear_before_next = False
        self._queue: deque[RunEvent | DisplayChange | StreamText | TailDue] = deque()
        self._news = asyncio.Event()
        self._errors = 0
        self._told_dropped = 0
        self._late_timer: asyncio.TimerHandle | None = None

    async def events(self) -> AsyncGenerator[RunEvent, None]:
        """Everything that happens, the end included."""
        while True:
            while self._queue:
                event = self._event_of(self._queue.popleft())
                if isinstance(event, RunFinished):
                    self.told = True
                    yield event
                    return
                if event is not None:
                    yield event
            self._news.clear()
            await self._news.wait()

    # -- what arrives --------------------------------------------------------------------------------

    def stream(self, name: StreamName, text: str) -> None:
        """Text; joins what is still queued of the same stream."""
        self._clear_if_due()
        if self.over.is_set() and self.afterwards is None:
            return
        shown = self._cap.admit(name, expressible(text))
        if self._cap.spill.whole is not self._filed:
            self._tell_file()
        if len(shown) < len(text):
            self._move_tail(name)
        if not shown:
            return
        match self._queue[-1] if self._queue else None:
            case StreamText(name=last, pieces=pieces) if last == name:
                pieces.append(shown)
            case _:
                self._put(StreamText(name, [shown]))

    def display(self, output: RichOutput) -> None:
        """A mime bundle, as far as it fits."""
        self._clear_if_due()
        output, charged = _clean(output), DisplayCharge()
        fitting = self._fitting(output, charged) if self._cap.charge(RICH_COST) else None
        if fitting is None:
            return
        if fitting.display_id is not None:
            self._charged[fitting.display_id] = charged
            # What was still to come for an earlier display of this name comes before this one.
            self._unseen.pop(fitting.display_id, None)
            self._kept.pop(fitting.display_id, None)
        self._put_output(fitting)

    def update(self, output: RichOutput) -> None:
        """A display changed; of updates that nobody has seen yet the last one counts."""
        output = _clean(output)
        name = output.display_id
        if name is None:
            return
        if name not in self._charged:  # of an earlier run
            if not self._cap.charge(RICH_COST):
                return
            self._charged[name] = DisplayCharge()
        charged = self._charged[name]
        fitting = self._fitting(output, charged)
        if fitting is None:
            return
        event = DisplayUpdated(display_id=name, output=fitting)
        self._update_room -= RICH_COST + charged.text + charged.rich
        if name in self._unseen:
            self._unseen[name].event = event
        elif self._update_room < 0:
            if self.over.is_set():  # there is no end any more to keep it for
                self._cap.count(charged.text + charged.rich)
            else:
                self._kept[name] = event
        else:
            self._unseen[name] = change = DisplayChange(event)
            self._put(change)

    def error(self, error: ErrorOutput) -> None:
        """An exception ended the run."""
        self._clear_if_due()
        self._errors += 1
        if self._errors > ERRORS_LIMIT:
            self._cap.count(len(error.value))
            return
        self._put_output(
            ErrorOutput(
                name=expressible(error.name[:ERROR_LIMIT]),
                value=expressible(error.value[:ERROR_LIMIT]),
                traceback=shorten_traceback(tuple(map(expressible, error.traceback))),
            )
        )

    def clear(self, *, wait: bool) -> None:
        """The outputs so far are to go, at once or when the next one arrives."""
        self._clear_before_next = True
        if not wait:
            self._clear_if_due()

    def line(self, number: int) -> None:
        """The active line moved."""
        if 1 <= number <= self._lines and not self.over.is_set():
            self._put(LineReached(line=number))

    def ask(self, prompt: str, *, password: bool) -> None:
        """The run waits for a line."""
        if not self.over.is_set():
            self._put(InputWanted(prompt=expressible(prompt[:ERROR_LIMIT]), password=password))

    def tell(self, text: str, *, responds: bool = False) -> None:
        """Something about the process that the person should know while it runs."""
        if not self.over.is_set():
            self._put(SignsChanged(text=text, responds=responds))

    def drop(self, characters: int) -> None:
        """Something was too large to be read at all."""
        self._cap.count(characters)

    def skip(self, name: StreamName, characters: int, lines: int) -> None:
        """A part of a stream was left out before it came here."""
        self._cap.skip(name, characters, lines)
        self._move_tail(name)

    def finish(self, finished: RunFinished) -> None:
        """The end; only the first one counts."""
        if self.over.is_set():
            return
        self._queue.extend(self._kept.values())
        self._tell_tails()
        self._cap.spill.close()
        self._tell_file()
        self._tell_dropped()
        self._put(finished)
        self.over.set()

    def mute(self) -> None:
        """The process is gone: tell what is gathered, and nothing any more."""
        if self._late_timer is not None:
            self._late_timer.cancel()
            self._tell_late()
        self.afterwards = None

    # -- how it is queued ----------------------------------------------------------------------------

    def _event_of(self, item: RunEvent | DisplayChange | StreamText | TailDue) -> RunEvent | None:
        """What is to be told of something that was queued; None if there is nothing to tell any more."""
        match item:
            case DisplayChange(event=event):
                if self._unseen.get(event.display_id) is item:
                    del self._unseen[event.display_id]
                return event
            case StreamText(name=name, pieces=pieces):
                return OutputArrived(output=StreamOutput(name=name, text="".join(pieces)))
            case TailDue(name=name):
                tail = self._cap.tail(name)
                return None if tail is None else TailMoved(name=name, tail=tail)
            case event:
                return event

    def _move_tail(self, name: StreamName) -> None:
        self._moved.add(name)
        if self.over.is_set():
            self._tell_tails()  # what comes late is gathered all the same
        elif self._tail_timer is None:
            self._tail_timer = asyncio.get_running_loop().call_later(TAIL_INTERVAL, self._tell_tails)

    def _tell_tails(self) -> None:
        if self._tail_timer is not None:
            self._tail_timer.cancel()
            self._tail_timer = None
        self._cap.spill.flush()
        for name in sorted(self._moved, reverse=True):
            if TailDue(name) not in self._queue:
                self._put(TailDue(name))
        self._moved.clear()

    def _tell_file(self) -> None:
        if self._cap.spill.whole is not self._filed:
            self._filed = self._cap.spill.whole
            if self._filed is not None:
                self._put(OutputFiled(whole=self._filed))

    def _tell_dropped(self) -> None:
        if (dropped := self._cap.dropped) > self._told_dropped:
            self._put(OutputCapped(characters=dropped - self._told_dropped))
            self._told_dropped = dropped

    def _put(self, event: RunEvent | DisplayChange | StreamText | TailDue) -> None:
        if self.over.is_set() and self.afterwards is None:
            return
        self._queue.append(event)
        self._news.set()
        if self.over.is_set() and self._late_timer is None:
            self._late_timer = asyncio.get_running_loop().call_later(LATE_INTERVAL, self._tell_late)

    def _tell_late(self) -> None:
        """Tell what came since the end to who wants it, once the end itself has been consumed."""
        self._late_timer = None
        if self.afterwards is None:
            self._queue.clear()
            return
        if not self.told:
            self._late_timer = asyncio.get_running_loop().call_later(LATE_INTERVAL, self._tell_late)
            return
        self._tell_dropped()
        while self._queue:
            if (event := self._event_of(self._queue.popleft())) is not None:
                self.afterwards(event)

    def _put_output(self, output: Output) -> None:
        self._put(OutputArrived(output=output))

    def _clear_if_due(self) -> None:
        if not self._clear_before_next:
            return
        self._clear_before_next = False
        self._cap.clear()
        self._filed = None
        self._moved.clear()
        self._queue = deque(item for item in self._queue if not isinstance(item, TailDue))
        self._rich_room = RICH_LIMIT
        for by_display in (self._charged, self._unseen, self._kept):
            by_display.clear()
        self._put(OutputCleared())

    def _fitting(self, output: RichOutput, charged: DisplayCharge) -> RichOutput | None:
        """As much of it as there is room for beside what the display took already."""
        room = self._rich_room + charged.rich
        used = 0
        data: dict[str, Any] = {}
        for mime, content in output.data.items():
            if mime == "text/plain" and isinstance(content, str):
                data[mime] = self._cap.admit_display(content, charged.text)
                charged.text = max(charged.text, len(data[mime]))
                continue
            size = _size(content)
            if len(mime) + size > room - used:
                self._cap.count(size)
                continue
            used += len(mime) + size
            data[mime] = content
        metadata = output.metadata
        if metadata and data:
            size = _size(metadata)
            metadata, used = (metadata, used + size) if size <= room - used else ({}, used)
        self._rich_room -= max(0, used - charged.rich)
        charged.rich = max(charged.rich, used)
        return msgspec.structs.replace(output, data=data, metadata=metadata) if data else None


def _clean(output: RichOutput) -> RichOutput:
    name = output.display_id
    return msgspec.structs.replace(
        output,
        data=clean_json(output.data),
        metadata=clean_json(output.metadata),
        display_id=None if name is None else expressible(name[:NAME_LIMIT]),
    )


def _size(value: Any) -> int:
    return len(value) if isinstance(value, str) else len(msgspec.json.encode(value))
