"""Runs for a kernel that others use too: each waits here until theirs have ended, so that it can be taken back, and so
that an interrupt of ours never hits theirs."""

from collections.abc import Callable

HELD = "oi_tui_waits"
"""Kind of message that says that a run waits here; our own word."""

SOMEBODY = "?"
"""A run of others that began before we listened."""


class RunQueue:
    """The known activity of the kernel, and our waiting runs."""

    def __init__(self, *, busy: bool) -> None:
        """`busy`: it was at work when we came."""
        self._busy = {SOMEBODY} if busy else set()
        self._waiting: list[tuple[str, Callable[[], None]]] = []
        self._ours = ""
        """The request of ours that it works on."""

    @property
    def runs_ours(self) -> bool:
        """Whether it works on something of ours, and on nothing else."""
        return bool(self._ours) and not self._busy

    @property
    def holds(self) -> bool:
        """Whether anything waits here."""
        return bool(self._waiting)

    def put(self, request_id: str, send: Callable[[], None]) -> bool:
        """Send it, now or when the others have ended; whether it was sent."""
        if self._busy:
            self._waiting.append((request_id, send))
            return False
        send()
        return True

    def withdraw(self) -> list[str]:
        """Give up what waits; those requests."""
        withdrawn = [request_id for request_id, _ in self._waiting]
        self._waiting.clear()
        return withdrawn

    def note(self, request_id: str, state: object, ours: str) -> None:
        """The kernel is `busy` with a request, or `idle` after it. Those of ours begin with `ours`."""
        is_ours = request_id.startswith(f"{ours}.")
        if state == "busy" and is_ours:
            self._ours = request_id
        elif state == "busy":
            self._busy.add(request_id)
        elif state == "idle" and is_ours:
            self._ours = "" if request_id == self._ours else self._ours
        elif state == "idle":
            if request_id not in self._busy:
                self._busy.discard(SOMEBODY)
            self._busy.discard(request_id)
        if not self._busy:
            self.release()

    def release(self) -> None:
        """The kernel is free: send what waits."""
        self._busy.clear()
        waiting, self._waiting = self._waiting, []
        for _, send in waiting:
            send()
