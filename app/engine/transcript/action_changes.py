"""What an event makes of an action: a part of the fold (`transcript.py`), without its bookkeeping."""

from collections.abc import Mapping, Sequence
from sys import intern
from typing import TypeVar

import msgspec

from oi_tui.app.engine.core.blocks import ActionBlock, CallBlock, CodeBlock
from oi_tui.app.engine.core.endings import Ending
from oi_tui.app.engine.core.events import (
    CallFinished,
    CallStarted,
    CodeFinished,
    CodeStarted,
    DecisionMade,
    DecisionRequested,
    ExecutionFinished,
    ExecutionStarted,
    InputRequested,
    OutputTailMoved,
    OutputUpdated,
)
from oi_tui.app.engine.core.outputs import RichOutput, StreamOutput

Question = TypeVar("Question", DecisionRequested, InputRequested)


def remaining_question(question: Question | None, block_id: str) -> Question | None:
    """The question that waits, None where this block is over or answered and it was the one that asked."""
    return None if question is not None and question.block_id == block_id else question


def begin_code(event: CodeStarted, step: int) -> CodeBlock:
    """The block of code that begins in this step of the model's, or that the person typed."""
    return CodeBlock(
        id=event.block_id,
        language=intern(event.language),
        step=step if event.author == "assistant" and not event.caller else 0,
        author=event.author,
        call_id=event.call_id,
        caller=event.caller,
    )


def begin_call(event: CallStarted, step: int) -> CallBlock:
    """The block of a call that begins in this step of the model's, or that running code or the person makes."""
    return CallBlock(
        id=event.block_id,
        tool=event.tool,
        step=step if event.author == "assistant" and not event.caller else 0,
        author=event.author,
        call_id=event.call_id,
        caller=event.caller,
    )


def begin_run(action: ActionBlock, event: ExecutionStarted) -> ActionBlock:
    """The action while it runs."""
    running = msgspec.structs.replace(action, state="running")
    if isinstance(running, CallBlock):
        return msgspec.structs.replace(running, origin=event.origin) if event.origin else running
    if event.place or event.apart:
        return msgspec.structs.replace(running, place=intern(event.place), apart=event.apart)
    return running


def with_source(action: ActionBlock, event: CodeFinished | CallFinished) -> ActionBlock:
    """The action with its whole source: proposed, or cut."""
    whole = msgspec.structs.replace(action, source=event.source, state="proposed" if event.complete else "cut")
    if isinstance(whole, CodeBlock) and isinstance(event, CodeFinished):
        return msgspec.structs.replace(whole, language=intern(event.language))
    return msgspec.structs.replace(whole, tool=event.tool) if isinstance(event, CallFinished) else whole


def with_decision(action: ActionBlock, event: DecisionMade) -> ActionBlock:
    """The action after the decision: refused, or proposed with its final source."""
    if event.verdict in ("skip", "stop"):
        ending = event.ending
        if (event.verdict, event.decider, event.reason) == ("stop", "person", ""):
            ending = Ending(stage="undecided", cause="person")
        return msgspec.structs.replace(action, state="refused", refusal=event.reason, ending=ending)
    if event.source != action.source:
        original = action.source if action.original is None else action.original
        action = msgspec.structs.replace(action, source=event.source, original=original)
    return msgspec.structs.replace(action, state="proposed", allowance=event.reason)


def with_more_text(action: ActionBlock, growing: Mapping[int, Sequence[str]]) -> ActionBlock:
    """The action with these pieces behind the text of its streams, each by its place among the outputs."""
    outputs = list(action.outputs)
    for place, pieces in growing.items():
        stream = outputs[place]
        assert isinstance(stream, StreamOutput), stream
        outputs[place] = msgspec.structs.replace(stream, text="".join((stream.text, *pieces)))
    return msgspec.structs.replace(action, outputs=tuple(outputs))


def with_end(action: ActionBlock, event: ExecutionFinished) -> ActionBlock:
    """The action as its run ended."""
    ended = msgspec.structs.replace(
        action, state=event.status, duration=event.duration, exit_code=event.exit_code, ending=event.ending
    )
    if isinstance(ended, CodeBlock):
        return msgspec.structs.replace(ended, active_line=None)
    return msgspec.structs.replace(ended, progress=None)


def with_tail(action: ActionBlock, event: OutputTailMoved) -> ActionBlock:
    """The action with a newer end of one of its streams: of the one that has an end already, else of the last."""
    streams = [
        (output.tail is not None, place)
        for place, output in enumerate(action.outputs)
        if isinstance(output, StreamOutput) and output.name == event.name
    ]
    if not streams:
        stream = StreamOutput(name=event.name, text="", tail=event.tail)
        return msgspec.structs.replace(action, outputs=(*action.outputs, stream))
    _, place = max(streams)
    outputs = list(action.outputs)
    outputs[place] = msgspec.structs.replace(outputs[place], tail=event.tail)
    return msgspec.structs.replace(action, outputs=tuple(outputs))


def with_display(action: ActionBlock, event: OutputUpdated) -> ActionBlock:
    """The action with this output instead of the one with the same display id."""
    outputs = tuple(
        event.output if isinstance(old, RichOutput) and old.display_id == event.display_id else old
        for old in action.outputs
    )
    return msgspec.structs.replace(action, outputs=outputs)
