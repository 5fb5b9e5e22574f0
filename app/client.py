"""A front end's end of the wire: the engine as something to send verbs to and read replies from."""

from collections.abc import AsyncIterator
from typing import Protocol

from oi_tui.app.engine.protocol import Reply
from oi_tui.app.engine.verbs import AnyVerb


class EngineLost(Exception):
    """The engine is gone; the message says how it ended."""


class EngineClient(Protocol):
    """One running engine. `Connect` (see `build.py`) makes a new one, also after one was lost."""

    async def send(self, verb: AnyVerb) -> None:
        """Ask for something; EngineLost if nobody is there any more."""
        ...

    def replies(self) -> AsyncIterator[Reply]:
        """Everything the engine says, in order; ends after `close`, raises EngineLost if the engine ended by itself."""
        ...

    async def close(self) -> None:
        """Let the engine save and end; bounded, idempotent."""
        ...
