"""The parts of a block that a file format cannot express, so that an import restores the block.

A cell or a message carries the text, the source, the outputs; the outline is the rest of the block, except for facts
about one machine: paths to the whole of a long output, names of secrets, repeated runs, the excerpts of a prompt's
files. `unfolding.py` would not believe such facts in an imported file. Notices of the program become quotations of the
file (`attribute_to_file`).
"""

from typing import Any

import msgspec

from oi_tui.app.engine.core.blocks import (
    Action,
    Block,
    CallBlock,
    CodeBlock,
    NoticeBlock,
    ProseBlock,
    SummaryBlock,
    ThoughtBlock,
    UserBlock,
)
from oi_tui.app.engine.core.plan import PlanStep
from oi_tui.app.engine.core.usage import Usage
from oi_tui.app.engine.core.values import Value

FROM_FILE = "From the file: "
"""Put before words of a stranger that look like the program's own."""


class SessionOutline(Value, frozen=True, kw_only=True):
    """What a file says of the session as a whole. Model and times are shown, never restored."""

    id: str = ""
    title: str = ""
    cwd: str = ""
    model: str = ""
    usage: Usage = Usage()
    plan: tuple[PlanStep, ...] = ()
    """The plan at the end."""


def block_outline(block: Block, *, carries_text: bool = True) -> dict[str, Any]:
    """The block as plain values, without what its form carries and without what is true of this machine only."""
    match block:
        case CodeBlock():
            block = msgspec.structs.replace(block, whole=None, active_line=None, rerun="", withheld=(), inputs=())
            if carries_text:
                block = msgspec.structs.replace(block, source="", outputs=())
        case CallBlock():
            block = msgspec.structs.replace(block, whole=None, progress=None, withheld=())
            if carries_text:
                block = msgspec.structs.replace(block, source="", outputs=())
        case ProseBlock() if carries_text:
            block = msgspec.structs.replace(block, text="")
        case UserBlock():
            block = msgspec.structs.replace(block, withheld=(), context="")
            if carries_text:
                block = msgspec.structs.replace(block, text="", files=())
        case _:
            pass
    values: dict[str, Any] = msgspec.to_builtins(block)
    return values


def block_of(values: dict[str, Any]) -> Block:
    """The block of an outline; msgspec.ValidationError if it is none."""
    block: Block = msgspec.convert(values, Block)
    return block


def aside_of(values: dict[str, Any]) -> NoticeBlock | ThoughtBlock | SummaryBlock:
    """A block that no message holds: a notice, a thought or a summary; msgspec.ValidationError for any other."""
    aside: NoticeBlock | ThoughtBlock | SummaryBlock = msgspec.convert(
        values, NoticeBlock | ThoughtBlock | SummaryBlock
    )
    return aside


def attribute_to_file(block: Block) -> Block:
    """A block that was read from a file, saying nothing in the name of the program."""
    match block:
        case Action() if block.allowance:
            return msgspec.structs.replace(block, allowance=_mark(block.allowance))
        case NoticeBlock():
            return msgspec.structs.replace(block, title=_mark(block.title))
        case SummaryBlock():  # or the file would say what the model reads in place of all that the person sees
            return msgspec.structs.replace(block, used=False)
        case _:
            return block


def _mark(words: str) -> str:
    return words if words.startswith(FROM_FILE) else FROM_FILE + words
