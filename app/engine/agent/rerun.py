"""Rebuilding the state of kernels: runs that are on record, repeated in order and compared with the record.

The person chose each of them; what a rule or the source itself denies or asks about now is still refused. The new
outputs are not added to the conversation, and the record does not change.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from oi_tui.app.engine.agent.output_diff import output_diff
from oi_tui.app.engine.core.blocks import ActionBlock, CodeBlock
from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.core.events import (
    AnyEvent,
    CodeFinished,
    CodeStarted,
    Emit,
    ExecutionFinished,
    ExecutionStarted,
    InputAnswered,
    InputRequested,
    KernelChanged,
    NoticeAdded,
    RerunFinished,
    RerunStarted,
)
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.outcomes import RerunOutcome
from oi_tui.app.engine.text.safe import visible_text
from oi_tui.app.engine.text.whereabouts import describe_moves
from oi_tui.app.engine.transcript.transcript import Transcript

Perform = Callable[[CodeBlock, Emit], Awaitable[str]]
"""Runs a source and emits what happens; returns why it is not run again here, "" if it was."""

GOES_ON: frozenset[RerunOutcome] = frozenset({"same", "differs"})
"""Outcomes after which the next run makes sense."""


async def rebuild(blocks: Sequence[CodeBlock], perform: Perform, emit: Emit) -> None:
    """Repeat the runs of these blocks, up to the first that does not end as it did; a notice sums up."""
    finished: list[RerunFinished] = []
    moves: list[tuple[str, str]] = []

    def finish(event: RerunFinished, place: str) -> None:
        moves.append((blocks[len(finished)].place, place))
        finished.append(event)
        emit(event)

    for block in blocks:
        await _repeat(block, perform, emit, finish)
        if finished and finished[-1].outcome not in GOES_ON:
            break
    emit(_summary(blocks, finished, describe_moves(moves)))


async def run_here(
    blocks: Sequence[CodeBlock],
    objection: Callable[[CodeBlock], Awaitable[str]],
    run: Callable[[CodeBlock], Awaitable[ActionBlock]],
    emit: Emit,
) -> None:
    """Run the sources of these blocks once more, as blocks of their own, up to the first that does not go through; then
    a notice says how many are left and why."""
    for number, block in enumerate(blocks):
        if not (why := await objection(block)):
            number += 1
            if (ran := await run(block)).state == "ok":
                continue
            why = f"{_first_line(ran)}: {ran.state}"
        title = f"Ran {number} of {len(blocks)} cells again, then stopped."
        emit(NoticeAdded(block_id=new_id(), level="warning", title=title, details=why))
        return


async def _repeat(block: CodeBlock, perform: Perform, emit: Emit, finish: Callable[[RerunFinished, str], None]) -> None:
    """`RerunStarted`, the kernel's questions and notices, `RerunFinished`; outputs are only compared."""
    now = Transcript()
    now.apply(CodeStarted(block_id=block.id, language=block.language, author="user"))
    now.apply(CodeFinished(block_id=block.id, language=block.language, source=block.source))

    def take(event: AnyEvent) -> None:
        match event:
            case KernelChanged() | NoticeAdded() | InputRequested() | InputAnswered():
                emit(event)
                return
            case ExecutionStarted():
                emit(RerunStarted(block_id=block.id, generation=event.generation))
            case _:
                pass
        now.apply(event)
        if isinstance(event, ExecutionFinished):
            ran = now.block(block.id)
            assert isinstance(ran, CodeBlock)
            finish(_compare(block, ran), ran.place)

    try:
        if why := await perform(msgspec.structs.replace(block, outputs=(), whole=None), take):
            finish(RerunFinished(block_id=block.id, outcome="refused", difference=why), "")
    except KernelError as error:
        finish(RerunFinished(block_id=block.id, outcome="died", difference=error.title), "")


def _compare(then: CodeBlock, now: CodeBlock) -> RerunFinished:
    changed = output_diff(then.outputs, now.outputs)
    if now.exit_code != then.exit_code:
        changed = f"exit code {then.exit_code} then, {now.exit_code} now\n{changed}".strip()
    match now.state:
        case "ok" | "error" if now.state == then.state:
            outcome: RerunOutcome = "differs" if changed else "same"
        case "ok":
            outcome = "differs"
        case "interrupted" | "died":
            outcome = now.state
        case _:
            outcome = "error"
    return RerunFinished(block_id=then.id, outcome=outcome, difference=changed)


def _summary(blocks: Sequence[CodeBlock], finished: Sequence[RerunFinished], moved: str) -> NoticeAdded:
    """How many went as they did, which did not, what came out instead, and whether they ran somewhere else."""
    counts = Counter(event.outcome for event in finished)
    words: dict[RerunOutcome, str] = {
        "same": "unchanged",
        "differs": "with different output",
        "error": "failed",
        "interrupted": "interrupted",
        "died": "ended by the kernel",
        "refused": "refused",
    }
    told = ", ".join(f"{counts[outcome]} {said}" for outcome, said in words.items() if counts[outcome])
    left = len(blocks) - len(finished)
    title = f"Re-ran {len(finished)} of {len(blocks)} cells: {told or 'none'}."
    details = "\n\n".join(
        f"{_first_line(blocks[number])}\n{event.difference}"
        for number, event in enumerate(finished)
        if event.difference
    )
    whole = counts["same"] == len(blocks)
    hint = f"{left} more were not run. Fix what failed, or choose other cells with /rebuild." if left else ""
    hint = f"{moved} {hint}".strip()
    return NoticeAdded(block_id=new_id(), level="info" if whole else "warning", title=title, hint=hint, details=details)


def _first_line(block: ActionBlock) -> str:
    return next((line.strip() for line in visible_text(block.source).text.split("\n") if line.strip()), "")
