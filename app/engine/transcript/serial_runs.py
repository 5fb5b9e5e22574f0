"""Runs that went side by side, one after the other, for front ends that write lines or messages."""

from collections.abc import Iterator

from oi_tui.app.engine.core.events import (
    AnyEvent,
    CallStarted,
    CodeStarted,
    ExecutionFinished,
    ExecutionStarted,
    SessionOpened,
    TurnEnded,
)


class SerialRuns:
    """The same events, but those of a run that began beside another follow when that one has ended; what a run called
    stays within it. The order in every single block is kept."""

    def __init__(self) -> None:
        self._roots: dict[str, str] = {}
        """By an action that was called: the run that everything began with."""
        self._held: dict[str, list[AnyEvent]] = {}
        """Events held back, by run."""
        self._now = ""
        """The run whose events pass now."""

    def in_order(self, event: AnyEvent) -> Iterator[AnyEvent]:
        """The events that may pass by now."""
        if isinstance(event, TurnEnded | SessionOpened):
            yield from self._rest()
        if isinstance(event, CodeStarted | CallStarted) and event.caller:
            self._roots[event.block_id] = self._root(event.caller)
        root = self._root(getattr(event, "block_id", ""))
        begins = isinstance(event, ExecutionStarted)
        if begins and not self._now:
            self._now = root
        if root in self._held or (begins and root != self._now):
            self._held.setdefault(root, []).append(event)
            return
        yield event
        over = isinstance(event, ExecutionFinished) and event.block_id == self._now
        while over:
            self._now = next(iter(self._held), "")
            told = self._held.pop(self._now, [])
            yield from told
            over = any(isinstance(one, ExecutionFinished) and one.block_id == self._now for one in told)

    def _rest(self) -> Iterator[AnyEvent]:
        held, self._held, self._now = self._held, {}, ""
        for events in held.values():
            yield from events
        self._roots.clear()

    def _root(self, block_id: str) -> str:
        return self._roots.get(block_id, block_id)
