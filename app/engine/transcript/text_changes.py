"""What an event makes of prose and thoughts: a part of the fold (`transcript.py`), without its bookkeeping."""

from collections.abc import Sequence

import msgspec

from oi_tui.app.engine.core.blocks import Action, Block, NoticeBlock, ProseBlock, ThoughtBlock
from oi_tui.app.engine.core.events import ProseFinished, ThoughtFinished


def with_text_end(block: ProseBlock | ThoughtBlock, event: ProseFinished | ThoughtFinished) -> Block:
    """The block as it ended."""
    state = "complete" if event.complete else "cut"
    if isinstance(event, ThoughtFinished):
        return msgspec.structs.replace(block, state=state, seconds=event.seconds)
    return msgspec.structs.replace(block, state=state)


def as_thought(prose: ProseBlock) -> ThoughtBlock:
    """The same text, which turned out to be thought."""
    return ThoughtBlock(id=prose.id, text=prose.text, state=prose.state, step=prose.step)


def count_thought(blocks: Sequence[Block], step: int, tokens: int) -> ThoughtBlock | None:
    """The last thought of this step with the server's token count for all of them; None if there is nothing to
    change."""
    for block in reversed(blocks) if tokens else ():
        match block:
            case ThoughtBlock() if block.step == step:
                return msgspec.structs.replace(block, tokens=tokens)
            case NoticeBlock():
                pass
            case ProseBlock() | Action(author="assistant") if block.step == step:
                pass
            case _:
                return None
    return None
