"""Whole logs: how they end, and that opening a session again and again costs what is new in it."""

import sys
from pathlib import Path
from types import FrameType

import pytest

from oi_tui.app.engine.core.events import AnyEvent, ConversationCleared, ProseGrew, RerunStarted, SessionOpened
from oi_tui.app.engine.log.recording.form import read_recording
from oi_tui.app.engine.transcript.block_places import NEWEST
from oi_tui.app.engine.transcript.event_log import ends_in_turn, fold_events
from oi_tui.app.engine.transcript.transcript import Transcript
from support.sessions import code, printed, prose, turn

RECORDINGS = sorted((Path(__file__).parents[1] / "recordings").glob("*.jsonl"))


def again() -> SessionOpened:
    return SessionOpened(session_id="one", created=2.0, cwd="/", model="", approval="ask", resumed=True)


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_how_events_end_is_told_without_folding_them_at_every_place_of_a_real_run(path: Path) -> None:
    events = list(read_recording(path).events())
    tails: tuple[list[AnyEvent], ...] = ([], [again()])
    for tail in tails:
        transcript = Transcript()
        for number, event in enumerate(events + tail, 1):
            transcript.apply(event)
            assert ends_in_turn((events + tail)[:number]) == transcript.turn_open, number


def settling(transcript: Transcript) -> int:
    """Open the session again; how many of its blocks were looked at for that."""
    looked = 0

    def watch(frame: FrameType, happening: str, _: object) -> None:
        nonlocal looked
        looked += happening == "call" and frame.f_code.co_name == "settle_block"

    sys.setprofile(watch)
    try:
        transcript.apply(again())
    finally:
        sys.setprofile(None)
    return looked


def test_what_was_settled_when_a_session_was_opened_is_not_looked_at_when_it_is_opened_again() -> None:
    events: list[AnyEvent] = []
    for number in range(200):
        parts = prose(f"p{number}", "a"), code(f"c{number}", "1", printed("1"))
        events += turn(f"t{number}", f"question {number}", *parts)
    transcript = fold_events(events)
    assert settling(transcript) == 600
    assert settling(transcript) == 0
    for event in turn("t", "one more", prose("p", "a"), code("c", "2", printed("2"))[:-1])[:-1]:
        transcript.apply(event)
    assert settling(transcript) == 3
    assert getattr(transcript.block("c"), "state", "") == "interrupted"


def test_blocks_that_stand_far_above_are_found_and_changed_as_the_newest_are() -> None:
    transcript = fold_events(
        event
        for number in range(NEWEST)
        for event in turn(f"t{number}", "?", prose(f"p{number}", "a"), code(f"c{number}", "1"))
    )
    for number in (0, NEWEST - 1):
        assert transcript.position(f"c{number}") == 3 * number + 2
        assert transcript.apply(RerunStarted(block_id=f"c{number}", generation=2)) == (3 * number + 2,)
        assert transcript.has(f"p{number}")
    assert not transcript.has("nobody")
    assert transcript.apply(ProseGrew(block_id="nobody", text="?")) == ()
    assert transcript.strays == 1
    for event in turn("t", "one more", prose("p", "b")):
        transcript.apply(event)
    assert transcript.position("p") == len(transcript.blocks) - 1
    transcript.apply(ConversationCleared())
    assert not transcript.has("c0")
