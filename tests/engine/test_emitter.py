"""The one way for events: folded first, told in a fixed order, whatever an observer does."""

import pytest

from oi_tui.app.engine.agent.emitter import Emitter
from oi_tui.app.engine.core.events import AnyEvent, CodeStarted, NoticeAdded, OutputAdded
from oi_tui.app.engine.core.outputs import StreamOutput
from oi_tui.app.engine.transcript.transcript import Transcript
from support.recording_observer import RecordingObserver


def notice(name: str) -> NoticeAdded:
    return NoticeAdded(block_id=name, level="info", title=name)


def test_an_event_is_folded_and_then_told_to_the_observers_in_their_order() -> None:
    transcript, told = Transcript(), []
    observers = [lambda event, name=name: told.append((name, transcript.has(event.block_id))) for name in "abc"]
    Emitter(transcript, observers).emit(notice("1"))
    assert told == [("a", True), ("b", True), ("c", True)]


def test_what_an_observer_emits_reaches_all_behind_what_it_was_told_of() -> None:
    last = RecordingObserver()

    def answer(event: AnyEvent) -> None:
        if event == notice("question"):
            emitter.emit(notice("answer"))
            emitter.emit(notice("and more"))

    emitter = Emitter(Transcript(), [answer, last])
    emitter.emit(notice("question"))
    emitter.emit(notice("next"))
    assert last.events == [notice("question"), notice("answer"), notice("and more"), notice("next")]


def test_a_defect_of_one_observer_is_raised_and_keeps_nothing_from_the_others() -> None:
    def break_down(event: AnyEvent) -> None:
        raise RuntimeError("a defect")

    transcript, last = Transcript(), RecordingObserver()
    emitter = Emitter(transcript, [break_down, last])
    for name in "12":
        with pytest.raises(RuntimeError, match="a defect"):
            emitter.emit(notice(name))
    assert last.events == [notice("1"), notice("2")]
    assert len(transcript.blocks) == 2


def test_late_output_goes_to_the_session_that_was_forked_and_nowhere_if_its_block_is_gone() -> None:
    def late(block_id: str) -> OutputAdded:
        return OutputAdded(block_id=block_id, output=StreamOutput(name="stdout", text="late"))

    first, second = RecordingObserver(), RecordingObserver()
    emitter = Emitter(Transcript(), [first])
    started = [CodeStarted(block_id=name, language="python") for name in ("shared", "behind the fork")]
    for event in started:
        emitter.emit(event)
    fork = Transcript()
    fork.apply(started[0])
    emitter.lead_to(fork)
    emitter.observers = (second,)
    for event in started:
        emitter.emit(late(event.block_id))
    assert first.events == started
    assert second.events == [late("shared")]
    assert fork.strays == 0
