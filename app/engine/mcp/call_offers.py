"""What another assistant can call, and what it is answered: plain values on this side of the SDK."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

from oi_tui.app.engine.mcp.answers import ServerAnswer

ReportRun = Callable[[float, str], Awaitable[None]]
"""Told how many seconds a call has taken by now, and what it does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedCall:
    """A tool as the other assistant is told of it."""

    name: str
    description: str
    schema: dict[str, Any]
    reads_only: bool = False
    destroys: bool = False


class AssistantCalls(Protocol):
    """What the SDK's side of the connection asks."""

    def name_client(self, name: str) -> None:
        """Who calls, as the client says itself."""
        ...

    def offers(self) -> tuple[OfferedCall, ...]:
        """All that can be called."""
        ...

    async def call(self, name: str, arguments: dict[str, Any], report: ReportRun) -> ServerAnswer:
        """Do it. Cancelled: nobody wants it any more. Never raises otherwise."""
        ...
