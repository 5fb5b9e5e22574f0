"""A session that is gone on with, and whose code is run again, as a front end asks for it."""

from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.events import NoticeAdded, SessionOpened
from oi_tui.app.engine.core.protocol import Batch
from oi_tui.app.engine.core.verbs import Open, Rebuild
from support.front import Front


def codes(front: Front) -> list[CodeBlock]:
    """The code of the session."""
    return [block for block in front.transcript.blocks if isinstance(block, CodeBlock)]


async def resumed(front: Front, session_id: str) -> None:
    """Resume this session, and wait until it is open."""
    await front.client.send(Open(session_id=session_id))
    await front.until(
        lambda reply: isinstance(reply, Batch) and not reply.replay and isinstance(reply.events[0], SessionOpened)
    )


async def rebuild(front: Front, *blocks: CodeBlock) -> NoticeAdded:
    """Repeat these runs; returns the notice that sums up."""
    await front.client.send(Rebuild(block_ids=tuple(block.id for block in blocks)))
    await front.until(lambda _: any(isinstance(e, NoticeAdded) and e.title.startswith("Re-ran") for e in front.events))
    return next(e for e in front.events if isinstance(e, NoticeAdded) and e.title.startswith("Re-ran"))
