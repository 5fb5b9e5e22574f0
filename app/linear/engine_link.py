"""The connection of a linear session to its engine: verbs out in order, replies in."""

import asyncio
from collections.abc import Callable, Sequence

from oi_tui.app.engine.core.protocol import Reply
from oi_tui.app.engine.core.verbs import AnyVerb
from oi_tui.app.frontend.client import Connect, EngineClient, send_verbs


class EngineLink:
    """One engine after the other; the next one when the last was lost."""

    def __init__(self, connect: Connect, take: Callable[[Reply], None]) -> None:
        self._connect, self._take = connect, take
        self._verbs: asyncio.Queue[AnyVerb] = asyncio.Queue()
        self.client: EngineClient | None = None
        """None where there is no engine."""

    def send(self, verb: AnyVerb) -> None:
        """Ask for something, in order."""
        self._verbs.put_nowait(verb)

    async def converse(self, first: Sequence[AnyVerb]) -> None:
        """Carry verbs, these first, and replies until the engine is closed; EngineLost or OiTuiError where it ends
        otherwise, or cannot begin."""
        self._verbs = asyncio.Queue()  # this engine is not asked what the one before was
        self.client = client = await self._connect()
        sender = asyncio.create_task(send_verbs(client, self._verbs))
        try:
            for verb in first:
                await client.send(verb)
            async for reply in client.replies():
                self._take(reply)
                await asyncio.sleep(0)  # lines that are already here must not keep the keyboard waiting
        finally:
            sender.cancel()
            self.client = None
            await client.close()
