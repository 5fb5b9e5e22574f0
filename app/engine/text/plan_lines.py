"""A plan as lines of text, for the model and for plain lines."""

from collections.abc import Callable, Iterator, Sequence

from oi_tui.app.engine.core.blocks import Block
from oi_tui.app.engine.core.plan import PlanStep, StepState
from oi_tui.app.engine.text.words import one_line, quantity

MARKS: dict[StepState, str] = {"todo": "[ ]", "doing": "[>]", "done": "[x]", "dropped": "[-]"}
"""Seen without colours, and read out as they are."""


def plan_lines(steps: Sequence[PlanStep], number_of: Callable[[str], int]) -> Iterator[str]:
    """A line for each step; `number_of` returns the number of a block, 0 for an unknown one."""
    for place, step in enumerate(steps, 1):
        facts = [f"done when {one_line(step.done_when)}"] if step.done_when else []
        numbers = [str(number) for number in map(number_of, step.evidence) if number]
        facts += [f"evidence: block {', '.join(numbers)}"] if numbers else []
        more = f" ({'; '.join(facts)})" if facts else ""
        yield f"{place}. {MARKS[step.state]} {one_line(step.text)}{more}"


def plan_summary(steps: Sequence[PlanStep]) -> str:
    """How far it is: `2 of 5 steps done`."""
    kept = [step for step in steps if step.state != "dropped"]
    done = sum(step.state == "done" for step in kept)
    return f"{done} of {quantity(len(kept), 'step')} done" if kept else "no steps"


def block_numbers(blocks: Sequence[Block]) -> Callable[[str], int]:
    """A function from the id of a block to its number, counted from 1 as for `recall`; 0 for an unknown one."""
    numbers = {block.id: number for number, block in enumerate(blocks, 1)}
    return lambda block_id: numbers.get(block_id, 0)
