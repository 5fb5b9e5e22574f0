"""What waits in the queue of a run until it is emitted, in a form that what comes later can join or replace."""

import msgspec

from oi_tui.app.engine.core.events import (
    ActiveLineChanged,
    AnyEvent,
    InputRequested,
    OutputAdded,
    OutputKept,
    OutputsCleared,
    OutputUpdated,
)
from oi_tui.app.engine.core.outputs import StreamName


class DisplayChange(msgspec.Struct):
    """An update in the queue; it may still be replaced by a newer one."""

    event: OutputUpdated


class LatestMark(msgspec.Struct):
    """A line or a question in the queue; where there are too many, it may still be replaced by a newer one."""

    event: ActiveLineChanged | InputRequested


class StreamText(msgspec.Struct):
    """Text of a stream in the queue; more may join it."""

    name: StreamName
    pieces: list[str] = msgspec.field(default_factory=list)


class TailDue(msgspec.Struct):
    """Send the tail of a stream, in its state when somebody reads this."""

    name: StreamName


QueuedItem = AnyEvent | DisplayChange | LatestMark | StreamText | TailDue

CLEARED = (OutputAdded, OutputKept, OutputsCleared, DisplayChange, StreamText, TailDue)
"""What nobody need see any more when outputs are cleared, where that happens too often to be shown each time."""
