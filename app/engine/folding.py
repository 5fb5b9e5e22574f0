"""Whole logs of events: what they come to, and how they end. Pure."""

from collections.abc import Iterable, Sequence

from oi_tui.app.engine.events import AnyEvent, SessionOpened, TurnEnded, TurnStarted
from oi_tui.app.engine.transcript import Transcript


def fold(events: Iterable[AnyEvent]) -> Transcript:
    """The transcript that they make."""
    transcript = Transcript()
    for event in events:
        transcript.apply(event)
    return transcript


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
