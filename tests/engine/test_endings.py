"""Code that nobody refused or interrupted is not said to be: not on the screen, not in a file, not to the model."""

import re

import pytest

from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.events import (
    AnyEvent,
    DecisionMade,
    DecisionRequested,
    ExecutionFinished,
    ExecutionStarted,
    SessionOpened,
    StepStarted,
    TurnEnded,
)
from oi_tui.app.engine.core.outcomes import StopReason
from oi_tui.app.engine.core.session_records import ExportFormat
from oi_tui.app.engine.text.markdown import run_end
from oi_tui.app.engine.text.mime import report
from oi_tui.app.engine.transcript.event_log import fold_events
from oi_tui.plugins.session_files import export_session, import_session
from support.exports import OPENED, blocks_of, code, prompt, transcript_of

AGAIN = SessionOpened(session_id="s1", created=2.0, cwd="/", model="", approval="ask", resumed=True)
KILLED = (TurnEnded(reason="engine_lost", detail="The program ended in the middle of this turn."), AGAIN)
"""What is written behind the events of a program that was killed, once its session is opened again."""

ASKED: list[AnyEvent] = [
    OPENED,
    *prompt("u", "Add."),
    StepStarted(number=1),
    *code("c", "1+1"),
    DecisionRequested(request_id="r", block_id="c", language="python", source="1+1", sha256=""),
]
APPROVED = [*ASKED, DecisionMade(block_id="c", verdict="run", decider="person", source="1+1", request_id="r")]
RUNNING = [*APPROVED, ExecutionStarted(block_id="c", generation=1)]
OWN = [OPENED, *code("c", "1+1", author="user")]

OPEN = [
    pytest.param(ASKED, "not decided", id="asked"),
    pytest.param(APPROVED, "approved, not started", id="approved"),
    pytest.param(RUNNING, "cut off", id="running"),
    pytest.param(OWN, "approved, not started", id="own"),
    pytest.param([*OWN, ExecutionStarted(block_id="c", generation=1)], "cut off", id="own_running"),
]


def the_code(events: list[AnyEvent] | tuple[AnyEvent, ...]) -> CodeBlock:
    (block,) = (block for block in transcript_of(events).blocks if isinstance(block, CodeBlock))
    return block


def told(block: CodeBlock) -> str:
    """Everything that is said of its end, to anybody."""
    return f"{report(block, 1000)}\n{run_end(block)}".lower()


@pytest.mark.parametrize(("events", "words"), OPEN)
def test_of_a_program_that_was_killed_nothing_says_refused_or_interrupted(events: list[AnyEvent], words: str) -> None:
    block = the_code([*events, *KILLED])
    assert report(block, 1000) == f"[{words}: the program ended]"
    assert run_end(block).lower() == f"{words}: the program ended."
    assert not re.search("refus|interrupt|user", told(block))
    assert block.ending is not None


@pytest.mark.parametrize(("events", "words"), OPEN)
def test_the_engine_that_is_lost_and_the_log_that_is_read_again_say_the_same(
    events: list[AnyEvent], words: str
) -> None:
    live = transcript_of(events)
    live.apply(TurnEnded(reason="engine_lost"))  # by the screen: the engine could not
    live.apply(AGAIN)
    assert live == fold_events([*events, *KILLED]) == fold_events([*events, AGAIN])
    assert live == fold_events([*events, *KILLED, AGAIN])  # what was settled stays as it is


@pytest.mark.parametrize(("events", "words"), OPEN)
@pytest.mark.parametrize("kind", ["md", "html", "ipynb", "lmc"])
def test_a_file_says_it_too_and_what_was_exported_while_it_went_on_says_no_more_than_is_known(
    events: list[AnyEvent], words: str, kind: ExportFormat
) -> None:
    whole = export_session([*events, *KILLED], kind).decode()
    begun = export_session(events, kind).decode()
    for written in (whole, begun):
        assert not re.search(
            r"(?i)interrupted\.|refused(?!\")", re.sub("<style.*?</style>", "", written, flags=re.DOTALL)
        )
    if kind in ("md", "html"):
        assert f"{words}: the program ended." in whole.lower()
        assert f"{words}: the record ends here." in begun.lower()
        assert "program ended" not in begun


@pytest.mark.parametrize(("events", "words"), OPEN)
@pytest.mark.parametrize("kind", ["ipynb", "lmc"])
def test_it_comes_back_from_a_file(events: list[AnyEvent], words: str, kind: ExportFormat) -> None:
    there = the_code([*events, *KILLED])
    imported = import_session(export_session([*events, *KILLED], kind), "x")
    (back,) = (block for block in blocks_of(imported.events) if isinstance(block, CodeBlock))
    assert (back.state, back.ending, back.refusal) == (there.state, there.ending, "")
    assert report(back, 1000) == f"[{words}: the program ended]"


def test_a_stop_is_not_a_refusal_and_a_refusal_is_one() -> None:
    stop, skip = (
        the_code([*ASKED, DecisionMade(block_id="c", verdict=verdict, decider="person", source="1+1")])
        for verdict in ("stop", "skip")
    )
    assert report(stop, 1000) == "[not run: the user stopped the turn]"
    assert run_end(stop) == "Not run: you stopped the turn."
    assert report(skip, 1000) == "[not run: the user refused it]"
    denied = DecisionMade(block_id="c", verdict="stop", decider="mode", source="1+1", reason="nothing may be run")
    assert report(the_code([*ASKED, denied]), 1000) == "[not run: nothing may be run]"


@pytest.mark.parametrize(
    ("events", "reason", "words"),
    [
        (
            OWN_TURN := [OPENED, *prompt("u", "Add."), *code("c", "1+1")],
            "interrupted",
            "not run: the user stopped the turn",
        ),
        (OWN_TURN, "model_error", "not decided: the answer was interrupted"),
        (OWN_TURN, "step_cap", "not decided: the turn ended"),
        (ASKED, "interrupted", "not decided: the session was closed"),
        (RUNNING, "interrupted", "cut off: the session was closed"),
        (APPROVED, "kernel_error", "approved, not started: it could not be started"),
    ],
)
def test_how_a_turn_ended_says_what_became_of_its_code(events: list[AnyEvent], reason: StopReason, words: str) -> None:
    assert report(the_code([*events, TurnEnded(reason=reason)]), 1000) == f"[{words}]"


def test_what_a_kernel_reports_as_interrupted_was_interrupted() -> None:
    done = ExecutionFinished(block_id="c", status="interrupted", duration=1.0)
    block = the_code([*RUNNING, done, *KILLED])
    assert report(block, 1000) == "[interrupted by the user]"
    assert run_end(block) == "Interrupted."


def test_code_that_is_asked_about_again_and_runs_has_no_such_end() -> None:
    again = [*RUNNING, ExecutionFinished(block_id="c", status="ok", duration=1.0), *KILLED]
    assert the_code(again).ending is None


def test_code_after_the_one_that_waits_says_the_same_when_the_session_is_left() -> None:
    second = code("d", "2+2")
    blocks = transcript_of([*ASKED[:-1], *second, ASKED[-1], TurnEnded(reason="interrupted")]).blocks
    codes = [block for block in blocks if isinstance(block, CodeBlock)]
    assert [report(block, 1000) for block in codes] == ["[not decided: the session was closed]"] * 2
