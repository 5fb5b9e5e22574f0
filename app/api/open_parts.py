"""What an open session of a program is made of, and how all of it ends."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from oi_tui.app.engine.agent.conversation import Conversation
from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.chat_model import ChatMessage
from oi_tui.app.engine.log.log import SessionLog
from oi_tui.app.engine.secrets.redaction import Redactor


@dataclass(kw_only=True)
class OpenParts:
    """Made by `opening.py`, within the loop that the session lives in."""

    session: Session
    loop: asyncio.AbstractEventLoop
    redactor: Redactor
    closers: list[Callable[[], Awaitable[object]]] = field(default_factory=list)
    """What ends with the session, in this order; an error of one does not keep the others."""
    log: SessionLog | None = None
    keeping: asyncio.Task[None] | None = None
    """Writes down."""

    def messages(self) -> tuple[ChatMessage, ...]:
        """The conversation so far, as the model reads it."""
        told = Conversation(self.redactor, self.session.settings.output_to_model)
        return told.messages(self.session.transcript.blocks, system="")[1:]

    async def close(self) -> None:
        """End kernels and connections, and save everything. The first error is raised at the end."""
        results = [*await asyncio.gather(*(close() for close in self.closers), return_exceptions=True)]
        if self.keeping is not None:
            self.keeping.cancel()
            await asyncio.wait([self.keeping])
        if self.log is not None and (error := await self.log.end()) is not None:
            results.append(error)
        if failures := [result for result in results if isinstance(result, BaseException)]:
            raise failures[0]
