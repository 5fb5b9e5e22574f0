"""The tool by which a model keeps a plan. In plan mode, the person is asked to accept it: nothing else ends that mode
but the person's own command."""

from collections.abc import Iterable, Sequence
from difflib import ndiff
from typing import Any

from oi_tui.app.engine.core.blocks import Action, ActionBlock, Block, CallBlock
from oi_tui.app.engine.core.events import PlanChanged
from oi_tui.app.engine.core.plan import LONGEST_STEP, MOST_EVIDENCE, MOST_STEPS, PlanStep, bounded_steps
from oi_tui.app.engine.text.plan_lines import block_numbers, plan_lines, plan_summary
from oi_tui.app.engine.text.words import one_line
from oi_tui.app.engine.tools.ties import ToolTies
from oi_tui.app.engine.tools.tool import Arguments, Tool, ToolFailed, ToolOutput, session_tool

PLAN = "plan"

ACCEPT = "Accept the plan and begin"
KEEP_PLANNING = "Keep planning"

RECENT = 12
"""Runs whose numbers the model reads, so that it can name them as evidence."""

_STEP = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "description": "What to do."},
        "state": {"type": "string", "enum": ["todo", "doing", "done", "dropped"]},
        "done_when": {"type": "string", "description": "What must be so for it to be done."},
        "evidence": {
            "type": "array",
            "items": {"type": "integer"},
            "description": "Numbers of the blocks that did it, as the last result of this tool tells them.",
        },
    },
    "required": ["text"],
}
_SCHEMA = {
    "type": "object",
    "properties": {"steps": {"type": "array", "items": _STEP, "description": "All steps, in order."}},
    "required": ["steps"],
}


def make_plan_tool(ties: ToolTies) -> Iterable[Tool]:
    """The tool of this session."""

    is_asking = False

    async def run(arguments: Arguments, output: ToolOutput) -> str:
        nonlocal is_asking
        if is_asking:  # or the person would accept a plan that came under their eyes
            raise ToolFailed("The user is asked about a plan now. Call plan again when you read the answer.")
        if ties.plan().untold:
            raise ToolFailed("The user changed the plan meanwhile; you read it next. Then call plan again if need be.")
        steps = _read(arguments["steps"], ties.blocks())
        ties.emit(PlanChanged(steps=steps, author="assistant"))
        if ties.planning():
            is_asking = True
            try:
                return await _propose(ties, output)
            finally:
                is_asking = False
        return _tell(ties, "Kept.")

    yield session_tool(
        name=PLAN,
        description=(
            "Keep a plan of several steps that the user sees and may change. Send all steps each time one changes its "
            "state. Not for a task of one or two steps."
        ),
        schema=_SCHEMA,
        run=run,
        unasked="it keeps a plan that you see, and nothing else",
    )


def _read(given: Sequence[dict[str, Any]], blocks: Sequence[Block]) -> tuple[PlanStep, ...]:
    if len(given) > MOST_STEPS:
        raise ToolFailed(f"{len(given)} steps are too many: {MOST_STEPS} at most.")
    for place, step in enumerate(given, 1):
        if not step["text"].strip():
            raise ToolFailed(f"Step {place} says nothing.")
        if max(len(step["text"]), len(step.get("done_when", ""))) > LONGEST_STEP:
            raise ToolFailed(f"Step {place} is too long: {LONGEST_STEP} characters at most.")
        if len(step.get("evidence", ())) > MOST_EVIDENCE:
            raise ToolFailed(f"Step {place} has too much evidence: {MOST_EVIDENCE} blocks at most.")
    return bounded_steps(
        PlanStep(
            text=step["text"],
            state=step.get("state", "todo"),
            done_when=step.get("done_when", ""),
            evidence=tuple(_evidence(number, place, blocks) for number in step.get("evidence", ())),
        )
        for place, step in enumerate(given, 1)
    )


def _evidence(number: int, place: int, blocks: Sequence[Block]) -> str:
    """The id of this block, which must be something that ran."""
    block = blocks[number - 1] if 1 <= number <= len(blocks) else None
    if not isinstance(block, Action) or block.duration is None:
        raise ToolFailed(f"Block {number}, evidence of step {place}, is nothing that ran.")
    return block.id


async def _propose(ties: ToolTies, output: ToolOutput) -> str:
    """Ask the person to accept the plan; until then, plan mode stays on."""
    shown = ties.plan().steps
    output.print("\n".join(plan_lines(ties.plan().steps, block_numbers(ties.blocks()))) + "\n")
    question = f"Accept this plan, {plan_summary(ties.plan().steps)}? You can change it first."
    said = await output.ask(question, (ACCEPT, KEEP_PLANNING))
    changes = _changes(shown, ties.plan().steps)
    if said is None:
        return _tell(ties, "Nobody accepted it yet, and plan mode continues. End your answer with the plan.", changes)
    if said == KEEP_PLANNING:
        return _tell(ties, "The user wants you to keep planning: ask what is missing, or make it better.", changes)
    if said != ACCEPT:
        return _tell(ties, f"The user wants you to keep planning, and says: {said}", changes)
    accepted = "The user changed the plan and accepted it" if changes else "The user accepted the plan"
    if ties.end_planning():
        return _tell(ties, f"{accepted}. Plan mode is off: begin.", changes)
    return _tell(ties, f"{accepted}, but the settings keep plan mode on: nothing can run.", changes)


def _changes(before: Sequence[PlanStep], after: Sequence[PlanStep]) -> list[str]:
    """The steps that were changed, as lines of a diff; evidence is no matter of the person."""
    old, new = ([line.partition(" ")[2] for line in plan_lines(steps, lambda block_id: 0)] for steps in (before, after))
    return [line for line in ndiff(old, new) if line.startswith(("- ", "+ "))]


def _tell(ties: ToolTies, first: str, changes: Sequence[str] = ()) -> str:
    """What the model reads: that, what the person changed, the plan as it is now, and the numbers of the last runs."""
    blocks = ties.blocks()
    lines = [first]
    if changes:
        lines += ["What the user changed:", *changes, "The plan now:"]
    lines += [*plan_lines(ties.plan().steps, block_numbers(blocks))]
    runs = [(number, block) for number, block in enumerate(blocks, 1) if _is_evidence(block)][-RECENT:]
    if runs:
        lines.append("Blocks that can be evidence:")
        lines += [f"{number}: {_label(block)}" for number, block in runs]
    return "\n".join(lines)


def _is_evidence(block: Block) -> bool:
    return isinstance(block, Action) and block.duration is not None and not _is_plan(block)


def _is_plan(block: Block) -> bool:
    return isinstance(block, CallBlock) and block.tool == PLAN


def _label(block: Block) -> str:
    assert isinstance(block, Action)
    return f"{_runs_in(block)}, {block.state}: {one_line(block.source)[:60]}"


def _runs_in(block: ActionBlock) -> str:
    return one_line(block.runs_in)
