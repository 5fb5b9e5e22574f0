"""What an event makes of texts and marks: a part of the fold (`transcript.py`), without its bookkeeping."""

from collections.abc import Sequence

import msgspec

from oi_tui.app.engine.core.blocks import (
    Action,
    Block,
    CodeBlock,
    NoticeBlock,
    ProseBlock,
    SummaryBlock,
    ThoughtBlock,
    UserBlock,
)
from oi_tui.app.engine.core.events import (
    ContextCompacted,
    ContextMarked,
    NoticeAdded,
    ProseFinished,
    RunTraced,
    SecretsWithheld,
    SummaryChanged,
    ThoughtFinished,
    ThoughtsSealed,
    TurnStarted,
)


def with_text_end(block: ProseBlock | ThoughtBlock, event: ProseFinished | ThoughtFinished) -> Block:
    """The block as it ended."""
    state = "complete" if event.complete else "cut"
    if isinstance(event, ThoughtFinished):
        return msgspec.structs.replace(block, state=state, seconds=event.seconds)
    return msgspec.structs.replace(block, state=state)


def block_from(event: TurnStarted | NoticeAdded | ContextCompacted) -> UserBlock | NoticeBlock | SummaryBlock:
    """The block of a prompt, a notice or a compaction."""
    said = msgspec.structs.asdict(event)
    block_id = said.pop("block_id")
    match event:
        case TurnStarted():
            return UserBlock(id=block_id, **said)
        case NoticeAdded():
            return NoticeBlock(id=block_id, **said)
        case ContextCompacted():
            return SummaryBlock(id=block_id, **said)


def with_mark(
    block: Block, event: ContextMarked | RunTraced | SecretsWithheld | SummaryChanged | ThoughtsSealed
) -> Block:
    """The block with a mark or a finding about it; one of another kind is returned unchanged."""
    match event, block:
        case RunTraced(), CodeBlock():
            return msgspec.structs.replace(block, inputs=event.inputs)
        case ContextMarked(), UserBlock() | ProseBlock() | Action():
            return msgspec.structs.replace(block, mark=event.mark)
        case SecretsWithheld(), UserBlock() | Action():
            return msgspec.structs.replace(block, withheld=event.names)
        case ThoughtsSealed(), Action():
            return msgspec.structs.replace(block, sealed=event.thoughts)
        case SummaryChanged(), SummaryBlock():
            return msgspec.structs.replace(block, text=event.text, used=event.used)
        case _:
            return block


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
            case NoticeBlock() | SummaryBlock():
                pass
            case ProseBlock() | Action(author="assistant") if block.step == step:
                pass
            case _:
                return None
    return None
