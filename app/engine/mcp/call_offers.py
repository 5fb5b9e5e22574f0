"""What another assistant can call, and what it is answered: plain values on this side of the SDK."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

from oi_tui.app.engine.mcp.answers import ServerAnswer

ReportRun = Callable[[float, str], Awaitable[None]]
"""Called with the seconds that a call has taken, and with what it does now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedCall:
    """A tool as it is offered to the other assistant."""

    name: str
    description: str
    schema: dict[str, Any]
    reads_only: bool = False
    destroys: bool = False


class AssistantCalls(Protocol):
    """Requests from the SDK's side of the connection."""

    def name_client(self, name: str) -> None:
        """Who calls, as the client says itself."""
        ...

    def offers(self) -> tuple[OfferedCall, ...]:
        """All that can be called."""
        ...

    async def call(self, name: str, arguments: dict[str, Any], report: ReportRun) -> ServerAnswer:
        """Do it. Cancelled: nobody wants it any more. Never raises otherwise."""
        ...
