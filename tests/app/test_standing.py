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
from oi_tui.app.frontend.session_status import activity

RUN: list[tuple[AnyEvent, str]] = [
    (TurnStarted(block_id="u", text="go"), "thinking"),
    (KernelChanged(language="python", state="idle"), "thinking"),
    (StepStarted(number=1), "thinking"),
    (RetryScheduled(delay=2.0, why="busy"), "trying again in 2 s"),
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
