"""The one way for events: each is folded into the transcript, then passed to the observers in their order."""

from collections import deque
from collections.abc import Callable, Sequence

from oi_tui.app.engine.core.events import (
    ActiveLineChanged,
    AnyEvent,
    OutputAdded,
    OutputDropped,
    OutputKept,
    OutputsCleared,
    OutputTailMoved,
    OutputUpdated,
)
from oi_tui.app.engine.transcript.transcript import Transcript

Observer = Callable[[AnyEvent], None]
"""Called with every event once it is folded. It cannot prevent anything; a `Seal` can."""

MAY_BE_LATE = (
    OutputAdded,
    OutputTailMoved,
    ActiveLineChanged,
    OutputUpdated,
    OutputsCleared,
    OutputKept,
    OutputDropped,
)
"""Events that may follow a run long after its end, the most frequent first."""


class Emitter:
    """Emits the events of a session; after a fork, those of the session that took over its kernels."""

    def __init__(self, transcript: Transcript, observers: Sequence[Observer] = ()) -> None:
        self.observers = tuple(observers)
        """Whom to tell, in this order."""
        self._transcript = transcript
        self._waiting: deque[AnyEvent] = deque()
        self._emitting = False

    def lead_to(self, transcript: Transcript) -> None:
        """Lead further events to another session and its observers."""
        self.observers = ()
        self._transcript = transcript

    def emit(self, event: AnyEvent) -> None:
        """Fold the event and notify all observers; an event that one of them emits meanwhile comes after it.

        The first error of an observer is raised once all were notified. Output whose block is gone (the conversation
        was cleared since it ran, or forked above it) is dropped.
        """
        self._waiting.append(event)
        if self._emitting:
            return
        self._emitting = True
        errors: list[Exception] = []
        try:
            while self._waiting:
                event = self._waiting.popleft()
                if isinstance(event, MAY_BE_LATE) and not self._transcript.has(event.block_id):
                    continue
                self._transcript.apply(event)
                for observe in self.observers:
                    try:
                        observe(event)
                    except Exception as error:
                        # Boundary: a bug in one observer must not keep a folded event from the others.
                        errors.append(error)
        finally:
            self._emitting = False
        if errors:
            raise errors[0]
