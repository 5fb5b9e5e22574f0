"""The end of an open block that nothing will complete.

A part of the fold (`transcript.py`): the state of an action decides how it ends.
"""

from collections.abc import Container

import msgspec

from oi_tui.app.engine.core.blocks import Action, Block, CallBlock, CodeBlock, ProseBlock, ThoughtBlock
from oi_tui.app.engine.core.endings import PROGRAM_CLOSED, Cause, Ending
from oi_tui.app.engine.core.events import TurnEnded
from oi_tui.app.engine.core.outcomes import StopReason

_CAUSES: dict[StopReason, Cause] = {
    "engine_lost": "program",
    "interrupted": "session",
    "model_error": "answer",
    "kernel_error": "kernel",
}


def cause_of(event: TurnEnded, *, busy: bool) -> Cause:
    """What ends a half open action at the end of a turn; `busy`: one was asked about, or might run."""
    if event.detail == PROGRAM_CLOSED:
        return "program"
    if event.reason == "interrupted" and not busy:
        return "person"  # the answer was stopped behind it
    return _CAUSES.get(event.reason, "turn")


def settle_block(block: Block, cause: Cause, approved: Container[str]) -> Block:
    """The block if it goes no further, itself if nothing of it is open. `approved` are ids of actions that may run."""
    match block:
        case ProseBlock(state="streaming") | ThoughtBlock(state="streaming") | Action(state="streaming"):
            return msgspec.structs.replace(block, state="cut")
        case Action(state="proposed" | "waiting"):
            may_run = (isinstance(block, CodeBlock) and block.author == "user") or block.id in approved
            ending = Ending(stage="unstarted" if may_run else "undecided", cause=cause)
            return msgspec.structs.replace(block, state="refused", ending=ending)
        case CodeBlock(state="running"):
            ending = Ending(stage="running", cause=cause)
            return msgspec.structs.replace(block, state="interrupted", active_line=None, ending=ending)
        case CallBlock(state="running"):
            ending = Ending(stage="running", cause=cause)
            return msgspec.structs.replace(block, state="interrupted", progress=None, ending=ending)
        case _:
            return block
