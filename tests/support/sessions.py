"""Sessions for tests and benchmarks: turns with prompts, prose that streams, code and its output; and recordings."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from oi_tui.app.engine.agent.execution import Seal
from oi_tui.app.engine.core.blocks import ActionBlock
from oi_tui.app.engine.core.errors import StoreError
from oi_tui.app.engine.core.events import (
    ActiveLineChanged,
    AnyEvent,
    CodeFinished,
    CodeGrew,
    CodeStarted,
    DecisionMade,
    ExecutionFinished,
    ExecutionStarted,
    OutputAdded,
    ProseFinished,
    ProseGrew,
    ProseStarted,
    StepStarted,
    TurnEnded,
    TurnStarted,
    UsageReported,
)
from oi_tui.app.engine.core.outputs import RichOutput, StreamOutput
from oi_tui.app.engine.log.recording.form import Header, RecordingLine, Told


def prose(block_id: str, *pieces: str) -> list[AnyEvent]:
    """An answer that came in pieces."""
    grown = [ProseGrew(block_id=block_id, text=piece) for piece in pieces]
    return [ProseStarted(block_id=block_id), *grown, ProseFinished(block_id=block_id)]


def code(
    block_id: str,
    source: str,
    *outputs: StreamOutput | RichOutput,
    edited: str | None = None,
    language: str = "python",
) -> list[AnyEvent]:
    """Code that was written in two pieces, approved (or edited) and run."""
    half = len(source) // 2
    decision: dict[str, Any] = {"verdict": "run" if edited is None else "edit", "source": edited or source}
    return [
        CodeStarted(block_id=block_id, language=language),
        CodeGrew(block_id=block_id, text=source[:half]),
        CodeGrew(block_id=block_id, text=source[half:]),
        CodeFinished(block_id=block_id, language=language, source=source),
        DecisionMade(block_id=block_id, decider="person", **decision),
        ExecutionStarted(block_id=block_id, generation=1),
        ActiveLineChanged(block_id=block_id, line=1),
        *(OutputAdded(block_id=block_id, output=output) for output in outputs),
        ActiveLineChanged(block_id=block_id, line=None),
        ExecutionFinished(block_id=block_id, status="ok", duration=0.1),
    ]


def printed(text: str) -> StreamOutput:
    """What code wrote to its standard output."""
    return StreamOutput(name="stdout", text=text)


def turn(name: str, prompt: str, *parts: list[AnyEvent]) -> list[AnyEvent]:
    """A prompt and what came of it."""
    inside = [event for part in parts for event in part]
    usage = UsageReported(input_tokens=100, output_tokens=10, cost=0.25)
    return [
        TurnStarted(block_id=name, text=prompt),
        StepStarted(number=1),
        *inside,
        usage,
        TurnEnded(reason="done"),
    ]


def no_giving_up(error: StoreError) -> None:
    """For a writer that must never give up."""
    raise error


def recording(path: Path, *events: AnyEvent, **header: Any) -> Path:
    """A recording in which a front end received these events, in a plain file."""
    lines = (
        Header(format="oi-tui/recording", version=1, created=1.0, **header),
        RecordingLine(at=0.1, what=Told(events=events)),
    )
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    return path


def seal_telling(tell: Callable[[ExecutionStarted, ActionBlock], object]) -> Seal:
    """Lets any run begin, and tells of it before."""

    async def seal(started: ExecutionStarted, block: ActionBlock) -> None:
        tell(started, block)

    return seal
