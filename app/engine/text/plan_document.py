"""A plan in a file for people: as Markdown, with what leads to the blocks that did a step."""

from collections.abc import Callable, Iterable, Sequence

from oi_tui.app.engine.core.blocks import Action, Block
from oi_tui.app.engine.core.plan import PlanStep
from oi_tui.app.engine.text.markdown import escape_markdown
from oi_tui.app.engine.text.plan_lines import MARKS, plan_summary
from oi_tui.app.engine.text.words import one_line


def plan_heading(steps: Sequence[PlanStep]) -> str:
    """The heading of a plan."""
    return f"Plan at the end of the session: {plan_summary(steps)}"


def step_line(step: PlanStep) -> str:
    """A step as one line: its state and its text."""
    return f"{MARKS[step.state]} {one_line(step.text)}"


def plan_markdown(steps: Sequence[PlanStep], cite: Callable[[str], str]) -> str:
    """The plan as a list, "" if there is none; `cite` returns Markdown for a block, "" for an unknown one."""
    if not steps:
        return ""
    lines = [f"**{plan_heading(steps)}**", ""]
    for place, step in enumerate(steps, 1):
        cited = [words for block_id in step.evidence if (words := cite(block_id))]
        whole = [f"{place}. {MARKS[step.state]} {escape_markdown(step.text)}"]
        whole += [f"Done when: {escape_markdown(step.done_when)}"] if step.done_when else []
        whole += [f"Evidence: {', '.join(cited)}"] if cited else []
        lines.append("\\\n   ".join(whole))
    return "\n".join(lines)


def evidence_anchors(steps: Iterable[PlanStep], blocks: Sequence[Block]) -> dict[str, str]:
    """By id of each block that is evidence: the name of its anchor, such as `block-7`."""
    cited = {block_id for step in steps for block_id in step.evidence}
    return {
        block.id: f"block-{number}"
        for number, block in enumerate(blocks, 1)
        if isinstance(block, Action) and block.id in cited
    }
