"""One run, as every kernel keeps it: what arrives is capped, queued and emitted; it is over exactly once.

What arrives comes from a process that is not trusted: anything may be claimed, nothing may break us.
"""

import asyncio
import logging
from collections import deque
from typing import Any

import msgspec

from oi_tui.app.engine.core.encoding import expressible
from oi_tui.app.engine.core.events import (
    ActiveLineChanged,
    AnyEvent,
    Emit,
    InputRequested,
    NoticeAdded,
    OutputAdded,
    OutputDropped,
    OutputKept,
    OutputsCleared,
    OutputTailMoved,
    OutputUpdated,
)
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.outputs import ErrorOutput, RichOutput, StreamName, StreamOutput, WholeOutput
from oi_tui.app.engine.core.values import KernelCall
from oi_tui.app.engine.kernels.base import RunRequest, RunResult
from oi_tui.app.engine.kernels.event_rate import EventRate
from oi_tui.app.engine.kernels.output_cap import OutputCap
from oi_tui.app.engine.kernels.queued_items import CLEARED, DisplayChange, LatestMark, QueuedItem, StreamText, TailDue
from oi_tui.app.engine.kernels.traceback_cap import ERROR_LIMIT, shorten_traceback

_log = logging.getLogger(__name__)

RICH_LIMIT = 32_000_000
"""Characters of pictures, HTML and the like that one run may show."""

RICH_COST = 100
"""What each display takes from the cap at least, so that their number is bounded as well."""

TAIL_INTERVAL = 1 / 8
"""Seconds between two looks at the end of a stream that went beyond the cap."""

UPDATE_LIMIT = 64_000_000
"""Characters of updates that one run may pass on as they come; after that only the last one of each display is."""

LATE_INTERVAL = 1 / 8
"""Seconds in which what comes after the end of a run, or too often, is gathered before it is emitted."""

GATHERED = 1 / 60
"""The same for text and updates that follow others closely; front ends get what is new half as often."""

MARKS_AT_ONCE, MARKS_PER_SECOND = 1_000, 50
"""Lines, questions, clearings and updates of a run that are passed on as they come; beyond that newer ones replace
those that wait."""

ERRORS_LIMIT = 20
"""Errors of one run: a cell has one, and its background tasks may have some more."""


class DisplayCharge(msgspec.Struct):
    """The share of the limit that a display uses; an update that is no larger uses no more."""

    text: int = 0
    rich: int = 0


class OutputStream:
    """A run from the moment it is handed to the kernel."""

    def __init__(self, request: RunRequest) -> None:
        self.interrupting = False
        """Whether somebody asked for the end of it."""
        self.ignores = False
        """Whether it continued nevertheless."""
        self.over = asyncio.Event()
        self.taken = False
        """Whether the kernel has begun with it, as far as it reports that."""
        self._block_id = request.block_id
        self._emit: Emit | None = request.emit
        """None once nobody wants to know any more."""
        self._result: RunResult | None = None
        self._failure: Exception | None = None
        """What `emit` raised."""
        self._settled = asyncio.Event()
        """There is a result or a failure."""
        self._lines = request.source.count("\n") + 1
        self._cap = OutputCap(request.cap, request.spill_dir)
        self._rich_room = RICH_LIMIT
        self._update_room = UPDATE_LIMIT
        self._charged: dict[str, DisplayCharge] = {}
        """By display."""
        self._unseen: dict[str, DisplayChange] = {}
        """Those in the queue, by display."""
        self._kept: dict[str, OutputUpdated] = {}
        """Last updates that are kept for the end."""
        self._filed: WholeOutput | None = None
        """The last report about the file."""
        self._moved: set[StreamName] = set()
        """Streams with more output than was sent."""
        self._tail_timer: asyncio.TimerHandle | None = None
        self._clear_before_next = False
        self._rate = EventRate(MARKS_AT_ONCE, MARKS_PER_SECOND, asyncio.get_running_loop().time)
        """Of lines, questions, clearings and updates: all that is not bounded by the cap."""
        self._marks: dict[type, LatestMark] = {}
        """Those in the queue, the newest of each kind."""
        self._queue: deque[QueuedItem] = deque()
        self._flushing: asyncio.Handle | None = None
        """What is queued will be emitted."""
        self._flush_due = self._flushed = 0.0
        """When, and when something was emitted last; of the loop's clock."""
        self._errors = 0
        self._told_dropped = 0

    async def result(self) -> RunResult:
        """Wait for the end, or for the first error of `emit`, which is raised."""
        await self._settled.wait()
        if self._failure is not None:
            raise self._failure
        assert self._result is not None
        return self._result

    # -- what arrives --------------------------------------------------------------------------------

    def stream(self, name: StreamName, text: str) -> None:
        """Text; joins what is still queued of the same stream."""
        self._clear_if_due()
        if self._emit is None:
            return
        shown = self._cap.admit(name, expressible(text))
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
        """A mime bundle that was cleaned, as far as it fits."""
        self._clear_if_due()
        charged = DisplayCharge()
        fitting = self._fitting(output, charged) if self._cap.charge(RICH_COST) else None
        if fitting is None:
            return
        if fitting.display_id is not None:
            self._charged[fitting.display_id] = charged
            # Pending updates of an earlier display with this name come first.
            self._unseen.pop(fitting.display_id, None)
            self._kept.pop(fitting.display_id, None)
        self._put(OutputAdded(block_id=self._block_id, output=fitting))

    def update(self, output: RichOutput) -> None:
        """A display changed, and was cleaned; of updates that nobody has seen yet the last one counts."""
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
        event = OutputUpdated(block_id=self._block_id, display_id=name, output=fitting)
        self._update_room -= RICH_COST + charged.text + charged.rich
        self._rate.count()
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
        shown = ErrorOutput(
            name=expressible(error.name[:ERROR_LIMIT]),
            value=expressible(error.value[:ERROR_LIMIT]),
            traceback=shorten_traceback(tuple(map(expressible, error.traceback))),
        )
        self._put(OutputAdded(block_id=self._block_id, output=shown))

    def clear(self, *, wait: bool) -> None:
        """Send the outputs so far, at once or when the next one arrives."""
        self._clear_before_next = True
        if not wait:
            self._clear_if_due()

    def line(self, number: int) -> None:
        """The active line moved."""
        if 1 <= number <= self._lines and not self.over.is_set():
            self._put(ActiveLineChanged(block_id=self._block_id, line=number))

    def ask(self, prompt: str, *, password: bool, call: KernelCall | None = None) -> None:
        """The run waits for a line, or for the answer to a `call`."""
        if not self.over.is_set():
            question, request_id = "" if call is not None else expressible(prompt[:ERROR_LIMIT]), new_id()
            self._put(
                InputRequested(
                    request_id=request_id, block_id=self._block_id, prompt=question, password=password, call=call
                )
            )

    def tell(self, text: str, *, responds: bool = False) -> None:
        """The process does not respond, or (`responds`) there is something else to know while it runs."""
        if not self.over.is_set():
            self._put(NoticeAdded(block_id=new_id(), level="info" if responds else "warning", title=text))

    def drop(self, characters: int) -> None:
        """Something was too large to be read at all."""
        self._cap.count(characters)

    def skip(self, name: StreamName, characters: int, lines: int) -> None:
        """A part of a stream was left out before it came here."""
        self._cap.skip(name, characters, lines)
        self._move_tail(name)

    def finish(self, result: RunResult) -> None:
        """The end; only the first one counts."""
        if self._result is not None:
            return
        self._result = result
        self._queue.extend(self._kept.values())
        self._tell_tails()
        self._cap.spill.close()
        self._tell_file()
        self._tell_dropped()
        self._flush()
        self.over.set()
        self._settled.set()

    def mute(self) -> None:
        """The process is gone: emit what is gathered since the end, and nothing any more."""
        if self.over.is_set():
            self._flush()
            self.detach()

    def detach(self, *, flush: bool = False) -> None:
        """Stop emitting; with `flush`, emit what was collected first."""
        if flush:
            self._flush()
        self._emit = None
        self._queue.clear()
        self._cancel_flush()

    # -- how it is queued ----------------------------------------------------------------------------

    def _event_of(self, item: QueuedItem) -> AnyEvent | None:
        """The event for a queued item; None if there is nothing left to send."""
        match item:
            case DisplayChange(event=event):
                if self._unseen.get(event.display_id) is item:
                    del self._unseen[event.display_id]
                return event
            case LatestMark(event=event):
                if self._marks.get(type(event)) is item:
                    del self._marks[type(event)]
                return event
            case StreamText(name=name, pieces=pieces):
                return OutputAdded(block_id=self._block_id, output=StreamOutput(name=name, text="".join(pieces)))
            case TailDue(name=name):
                tail = self._cap.tail(name)
                return None if tail is None else OutputTailMoved(block_id=self._block_id, name=name, tail=tail)
            case event:
                return event

    def _move_tail(self, name: StreamName) -> None:
        self._moved.add(name)
        if self.over.is_set():
            self._tell_tails()  # late output is still collected
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
                self._put(OutputKept(block_id=self._block_id, whole=self._filed))

    def _tell_dropped(self) -> None:
        if (dropped := self._cap.dropped) > self._told_dropped:
            self._put(OutputDropped(block_id=self._block_id, characters=dropped - self._told_dropped))
            self._told_dropped = dropped

    def _put(self, item: QueuedItem) -> None:
        """Queue it until the loop comes round: more of the same may join it. Text soon after other text, and what comes
        late, or where too much comes, waits a little longer."""
        if self._emit is None:
            return
        if isinstance(item, ActiveLineChanged | InputRequested):
            if self._rate.count() and type(item) in self._marks:
                self._marks[type(item)].event = item
                return
            kind, item = type(item), LatestMark(item)
            self._marks[kind] = item
        self._queue.append(item)
        loop = asyncio.get_running_loop()
        now = loop.time()
        if self.over.is_set() or self._rate.is_exceeded:
            due = now + LATE_INTERVAL
        elif isinstance(item, StreamText | DisplayChange):
            due = self._flushed + GATHERED
        else:
            due = now
        if self._flushing is not None:
            if self._flush_due <= due:
                return
            self._flushing.cancel()
        self._flush_due = due
        self._flushing = loop.call_at(due, self._flush) if due > now else loop.call_soon(self._flush)

    def _flush(self) -> None:
        if self.over.is_set():
            self._tell_dropped()
        while self._queue:
            if (event := self._event_of(self._queue.popleft())) is not None and self._emit is not None:
                try:
                    self._emit(event)
                except Exception as error:  # no fault of the process that sent it, nor of what else it sends
                    if self._settled.is_set():
                        _log.error("what came of a run after its end was not taken", exc_info=error)
                    else:
                        self._failure = error
                        self._settled.set()
        self._flushed = asyncio.get_running_loop().time()
        self._cancel_flush()

    def _cancel_flush(self) -> None:
        if self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None

    def _clear_if_due(self) -> None:
        if not self._clear_before_next:
            return
        self._clear_before_next = False
        self._cap.clear()
        self._filed = None
        self._moved.clear()
        gone = CLEARED if self._rate.count() else TailDue
        self._queue = deque(item for item in self._queue if not isinstance(item, gone))
        self._rich_room = RICH_LIMIT
        for by_display in (self._charged, self._unseen, self._kept):
            by_display.clear()
        self._put(OutputsCleared(block_id=self._block_id))

    def _fitting(self, output: RichOutput, charged: DisplayCharge) -> RichOutput | None:
        """The part that fits within the limit, besides what the display uses already."""
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


def _size(value: Any) -> int:
    return len(value) if isinstance(value, str) else len(msgspec.json.encode(value))
