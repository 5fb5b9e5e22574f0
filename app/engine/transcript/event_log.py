"""Whole logs of events: what they come to, and how they end. Pure."""

from collections.abc import Iterable, Sequence

from oi_tui.app.engine.core.errors import StoreError
from oi_tui.app.engine.core.events import AnyEvent, SessionOpened, TurnEnded, TurnStarted
from oi_tui.app.engine.transcript.transcript import Transcript


def fold_events(events: Iterable[AnyEvent]) -> Transcript:
    """The transcript that they make; StoreError if they make none."""
    transcript = Transcript()
    extend(transcript, events)
    return transcript


def extend(transcript: Transcript, events: Iterable[AnyEvent]) -> None:
    """Fold these in as well; StoreError if that cannot be done."""
    try:
        for event in events:
            transcript.apply(event)
    except Exception as error:
        # Boundary: a log may come from anywhere; the error is in plain words.
        raise StoreError("What is written of this session makes no sense.", details=repr(error)) from error


def ends_in_turn(events: Sequence[AnyEvent]) -> bool:
    """Whether a turn is open where they end: the same as of their transcript, without folding them."""
    for event in reversed(events):
        match event:
            case TurnStarted():
                return True
            case TurnEnded() | SessionOpened(resumed=True):
                return False
            case _:
                pass
    return False
