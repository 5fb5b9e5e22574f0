"""What the status line says goes on, event by event."""

import pytest

from oi_tui.app.engine.core.events import (
    AnyEvent,
    CodeFinished,
    CodeStarted,
    DecisionMade,
    ExecutionFinished,
    ExecutionStarted,
    KernelChanged,
    ProseStarted,
    RetryScheduled,
    StepStarted,
    TurnEnded,
    TurnStarted,
)
from oi_tui.app.engine.transcript.transcript import Transcript
from oi_tui.app.frontend.session_status import ActivityWatch, activity
from oi_tui.widgets.status import Activity

RUN: list[tuple[AnyEvent, str]] = [
    (TurnStarted(block_id="u", text="go"), "loading the model"),
    (KernelChanged(language="python", state="idle"), "loading the model"),
    (StepStarted(number=1), "thinking"),
    (RetryScheduled(delay=2.0, why="rate limit", attempt=2, attempts=3), "rate limit, retry 2 of 3"),
    (ProseStarted(block_id="p"), "writing"),
    (CodeStarted(block_id="c", language="python"), "writing"),
    (CodeFinished(block_id="c", language="python", source="1"), "writing"),
    (DecisionMade(block_id="c", verdict="run", decider="person", source="1"), "running"),
    (KernelChanged(language="python", state="restarting"), "starting python"),
    (ExecutionStarted(block_id="c", generation=1), "running"),
    (ExecutionFinished(block_id="c", status="ok", duration=0.1), "thinking"),
    (TurnEnded(reason="done"), ""),
    (KernelChanged(language="python", state="starting"), ""),
]


def test_each_moment_of_a_turn_has_its_word_from_the_prompt_on() -> None:
    transcript, word = Transcript(), ""
    for event, expected in RUN:
        transcript.apply(event)
        word = activity(event, word, turn_open=transcript.turn_open)
        assert word == expected, event


@pytest.mark.parametrize("verdict", ["skip", "stop"])
def test_what_is_refused_does_not_run(verdict: str) -> None:
    event = DecisionMade(block_id="c", verdict=verdict, decider="person", source="1")  # type: ignore[arg-type]  # a parameter
    assert activity(event, "writing", turn_open=True) == "writing"


def test_the_time_of_an_activity_begins_with_it_and_a_retry_has_a_moment_to_come() -> None:
    now = [10.0]
    watch = ActivityWatch(lambda: now[0])
    watch.note_prompt()
    assert watch.shown_activity == Activity(word="loading", since=10.0)  # the engine is still starting
    watch.follow(TurnStarted(block_id="u", text="go"), turn_open=True)
    watch.follow(StepStarted(number=1), turn_open=True)
    assert watch.shown_activity == Activity(word="thinking", since=10.0)
    now[0] = 12.0
    watch.follow(RetryScheduled(delay=4.0, why="rate limit", attempt=1, attempts=3), turn_open=True)
    assert watch.shown_activity == Activity(word="rate limit, retry 1 of 3", since=12.0, due=16.0)
    watch.follow(ProseStarted(block_id="p"), turn_open=True)
    now[0] = 15.0
    watch.follow(ProseStarted(block_id="q"), turn_open=True)
    assert watch.shown_activity == Activity(word="writing", since=12.0)
    watch.follow(TurnEnded(reason="done"), turn_open=False)
    assert watch.shown_activity == Activity()
