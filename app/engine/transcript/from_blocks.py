"""Blocks back to their events: the reverse of the fold in `transcript.py`.

Blocks read from a file become a session this way. Open blocks are closed, missing or duplicate ids are replaced, and an
invented step number costs one event, not as many. The model's input besides a prompt is dropped: it would be sent
again, and nobody would have seen it.
"""

import math
from collections.abc import Iterable, Iterator

import msgspec

from oi_tui.app.engine.core.blocks import (
    Action,
    ActionBlock,
    Block,
    CallBlock,
    CodeBlock,
    NoticeBlock,
    ProseBlock,
    SummaryBlock,
    ThoughtBlock,
    UserBlock,
)
from oi_tui.app.engine.core.endings import Ending
from oi_tui.app.engine.core.events import (
    AnyEvent,
    CallFinished,
    CallGrew,
    CallStarted,
    CodeFinished,
    CodeGrew,
    CodeStarted,
    ContextCompacted,
    ContextMarked,
    DecisionMade,
    ExecutionFinished,
    ExecutionStarted,
    FilesWritten,
    InputAnswered,
    InputRequested,
    NoticeAdded,
    OutputAdded,
    OutputDropped,
    OutputTailMoved,
    ProseFinished,
    ProseGrew,
    ProseStarted,
    StepStarted,
    SummaryChanged,
    ThoughtFinished,
    ThoughtGrew,
    ThoughtsSealed,
    ThoughtStarted,
    TurnEnded,
    TurnStarted,
    UsageReported,
)
from oi_tui.app.engine.core.outcomes import Decider, ExecutionStatus
from oi_tui.app.engine.core.outputs import StreamOutput
from oi_tui.app.engine.core.usage import Usage

SILENT_STEPS = 100
"""Most empty steps in a row; real sessions have a few."""

LONGEST_ID = 100


def events_of_blocks(blocks: Iterable[Block], usage: Usage | None = None) -> list[AnyEvent]:
    """The events of a session that has these blocks, without `SessionOpened`; folding them gives the blocks again."""
    return list(_Unfolding().events(blocks, usage or Usage()))


class _Unfolding:
    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._turn_open = False
        self._number = 0
        """Steps of this turn."""
        self._step = 0
        """The step of the last block."""

    def events(self, blocks: Iterable[Block], usage: Usage) -> Iterator[AnyEvent]:
        for block in blocks:
            own = msgspec.structs.replace(block, id=self._own_id(block.id))
            yield from self._block(own)
            if isinstance(own, UserBlock | ProseBlock | Action) and own.mark:
                yield ContextMarked(block_id=own.id, mark=own.mark)
        yield from _reports(usage)
        yield from self._end_turn()

    def _own_id(self, wanted: str) -> str:
        own, count = wanted[:LONGEST_ID] or "block", 1
        while own in self._ids:
            count += 1
            own = f"{wanted[:LONGEST_ID] or 'block'}-{count}"
        self._ids.add(own)
        return own

    def _block(self, block: Block) -> Iterator[AnyEvent]:
        match block:
            case UserBlock():
                yield from self._end_turn()
                self._turn_open, self._number = True, 0
                command, origins = block.command, block.origins
                yield TurnStarted(
                    block_id=block.id, text=block.text, files=block.files, command=command, origins=origins
                )
            case ProseBlock():
                yield from self._to_step(block.step)
                yield ProseStarted(block_id=block.id)
                yield ProseGrew(block_id=block.id, text=block.text)
                yield ProseFinished(block_id=block.id, complete=block.state == "complete")
            case ThoughtBlock():
                yield from self._to_step(block.step)
                yield ThoughtStarted(block_id=block.id)
                yield ThoughtGrew(block_id=block.id, text=block.text)
                complete = block.state == "complete"
                yield ThoughtFinished(block_id=block.id, complete=complete, seconds=block.seconds)
                if block.tokens:
                    yield UsageReported(
                        input_tokens=0, output_tokens=0, cost=0.0, thought_tokens=block.tokens, aside=True
                    )
            case Action():
                if block.author == "assistant" and not block.caller:
                    yield from self._to_step(block.step)
                yield from _action(block)
            case SummaryBlock():
                yield ContextCompacted(
                    block_id=block.id,
                    text=block.text,
                    until=block.until,
                    turns=block.turns,
                    model=block.model,
                    focus=block.focus,
                )
                if not block.used:
                    yield SummaryChanged(block_id=block.id, text=block.text, used=False)
            case NoticeBlock():
                yield NoticeAdded(
                    block_id=block.id,
                    level=block.level,
                    title=block.title,
                    hint=block.hint,
                    details=block.details,
                    remedies=block.remedies,
                    wait=block.wait,
                    to_model=block.to_model,
                )

    def _to_step(self, step: int) -> Iterator[AnyEvent]:
        ahead = step - self._step
        for _ in range(ahead if 0 <= ahead <= SILENT_STEPS else 1):
            self._number += 1
            yield StepStarted(number=self._number)
        self._step = step

    def _end_turn(self) -> Iterator[AnyEvent]:
        if self._turn_open:
            yield TurnEnded(reason="done")
        self._turn_open = False


def _action(block: ActionBlock) -> Iterator[AnyEvent]:
    written = block.source if block.original is None else block.original
    broken_off = block.state in ("cut", "streaming")
    match block:
        case CodeBlock():
            yield CodeStarted(
                block_id=block.id,
                language=block.language,
                author=block.author,
                call_id=block.call_id,
                caller=block.caller,
            )
            yield CodeGrew(block_id=block.id, text=written)
            yield CodeFinished(block_id=block.id, language=block.language, source=written, complete=not broken_off)
        case CallBlock():
            yield CallStarted(
                block_id=block.id,
                tool=block.tool,
                author=block.author,
                call_id=block.call_id,
                caller=block.caller,
            )
            yield CallGrew(block_id=block.id, text=written)
            yield CallFinished(block_id=block.id, tool=block.tool, source=written, complete=not broken_off)
    if block.sealed is not None:
        yield ThoughtsSealed(block_id=block.id, thoughts=block.sealed)
    if broken_off:
        return
    if block.original is not None and block.original != block.source:
        yield DecisionMade(
            block_id=block.id, verdict="edit", decider="person", source=block.source, reason=block.allowance
        )
    elif block.allowance or ((block.author == "assistant" or isinstance(block, CallBlock)) and has_run(block)):
        decider: Decider = "rule" if block.allowance else "mode"
        yield DecisionMade(
            block_id=block.id, verdict="run", decider=decider, source=block.source, reason=block.allowance
        )
    if has_run(block):
        yield from _run(block)
    else:
        undecided = None if block.state == "refused" else Ending(stage="undecided", cause="record")
        yield DecisionMade(
            block_id=block.id,
            verdict="skip",
            decider="person",
            source=block.source,
            reason=block.refusal,
            ending=block.ending or undecided,
        )


def has_run(block: ActionBlock) -> bool:
    """Whether it was begun."""
    return block.state in ("running", "ok", "error", "interrupted", "died")


def _run(block: ActionBlock) -> Iterator[AnyEvent]:
    place, apart = (block.place, block.apart) if isinstance(block, CodeBlock) else ("", "")
    origin = block.origin if isinstance(block, CallBlock) else ""
    yield ExecutionStarted(block_id=block.id, generation=0, place=place, apart=apart, origin=origin)
    if block.asked:
        yield InputRequested(request_id=block.id, block_id=block.id, prompt="")
        yield InputAnswered(request_id=block.id, block_id=block.id)
    for output in block.outputs:
        tail = output.tail if isinstance(output, StreamOutput) else None
        whole = msgspec.structs.replace(output, tail=None) if isinstance(output, StreamOutput) else output
        yield OutputAdded(block_id=block.id, output=whole)
        if tail is not None and isinstance(output, StreamOutput):
            yield OutputTailMoved(block_id=block.id, name=output.name, tail=tail)
    if block.dropped > 0:
        yield OutputDropped(block_id=block.id, characters=block.dropped)
    status = _status(block)
    yield ExecutionFinished(
        block_id=block.id,
        status=status,
        duration=_seconds(block.duration),
        exit_code=block.exit_code,
        ending=block.ending if status in ("interrupted", "died") else None,
    )
    if block.written is not None:
        yield FilesWritten(block_id=block.id, written=block.written)


def _status(block: ActionBlock) -> ExecutionStatus:
    match block.state:
        case "ok" | "error" | "died":
            return block.state
        case _:
            return "interrupted"


def _seconds(duration: float | None) -> float:
    return duration if duration is not None and math.isfinite(duration) and duration >= 0 else 0.0


def _reports(usage: Usage) -> Iterator[AnyEvent]:
    """One report for all that went before the latest step, one for that."""
    if usage == Usage():
        return
    latest = min(usage.last_input_tokens, usage.input_tokens)
    yield UsageReported(
        input_tokens=usage.input_tokens - latest,
        output_tokens=usage.output_tokens,
        cost=usage.priced,
        estimated=usage.estimated,
    )
    yield UsageReported(
        input_tokens=latest, output_tokens=0, cost=None if usage.cost is None else 0.0, estimated=usage.estimated
    )
