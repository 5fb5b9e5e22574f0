"""What the model reads about its plan between two steps, and about plan mode before the first."""

from oi_tui.app.engine.core.events import NoticeAdded
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.instructions import InstructionPart
from oi_tui.app.engine.text.plan_lines import block_numbers, plan_lines
from oi_tui.app.engine.transcript.transcript import Transcript

PLAN_MODE = (
    "Plan mode is on: only tools that read can run, and no code does. Find out what you need by reading, ask the user "
    "what is unclear, then call the tool `plan` with all steps and what says that each is done. The user accepts the "
    "plan, changes it, or wants another one. Begin with the work only when a result says that plan mode is off."
)


def plan_notice(transcript: Transcript) -> NoticeAdded | None:
    """The plan for the model's next step, where the person changed it or a summary hides it."""
    plan = transcript.plan
    if not plan.untold:
        return None
    lines = "\n".join(plan_lines(plan.steps, block_numbers(transcript.blocks)))
    told = (
        f"The plan as it is now, which the user may have changed:\n{lines}" if lines else "The user dropped the plan."
    )
    return NoticeAdded(
        block_id=new_id(), level="info", title="The model reads the plan as it is now.", details=lines, to_model=told
    )


def plan_mode_part(transcript: Transcript) -> InstructionPart:
    """The explanation of plan mode; empty if it is off."""
    return InstructionPart(origin="program", name="plan mode", text=PLAN_MODE if transcript.approval == "plan" else "")
