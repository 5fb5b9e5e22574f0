"""Watches what goes between us and a server: lets through what belongs there, and says what does not. Pure."""

import time
from collections import deque
from collections.abc import Callable
from typing import Literal

Kind = Literal["request", "notification", "answer"]

WINDOW = 10.0
"""Seconds over which messages are counted."""

MOST_NOTIFICATIONS, MOST_REQUESTS = 200, 30
"""In that time; what comes beyond is dropped."""

FLOOD = 20_000
"""Messages dropped, after which the server is ended."""

ASKED_OF_US = frozenset({"ping", "roots/list", "sampling/createMessage", "elicitation/create"})
"""What a server may ask a client."""

Report = Callable[[str, str], None]
"""Called with a violation: its kind and a description."""


class FloodError(Exception):
    """The server sends too much and is ended."""


class WireGuard:
    """Counts and compares, of one connection."""

    def __init__(self, report: Report, clock: Callable[[], float] = time.monotonic) -> None:
        self._report = report
        self._clock = clock
        self._open: set[str | int] = set()
        """Ids of what we asked and was not answered."""
        self._given_up: deque[str | int] = deque(maxlen=1_000)
        self._recent: dict[str, deque[float]] = {"notification": deque(), "request": deque()}
        self._dropped = 0

    def note_sent(self, kind: Kind, number: str | int | None, method: str = "", about: object = None) -> None:
        """We sent this; of a cancellation, `about` is what is not wanted any more."""
        if kind == "request" and number is not None:
            self._open.add(number)
        if method == "notifications/cancelled" and isinstance(about, str | int) and about in self._open:
            self._open.discard(about)
            self._given_up.append(about)

    def may_pass(self, kind: Kind, number: str | int | None, method: str = "") -> bool:
        """Whether this goes further; FloodError if it is the drop too much."""
        if kind == "answer":
            return self._answers_request(number)
        recent, most = self._recent[kind], MOST_NOTIFICATIONS if kind == "notification" else MOST_REQUESTS
        now = self._clock()
        while recent and recent[0] < now - WINDOW:
            recent.popleft()
        if len(recent) >= most:
            self._report("flood", f"it sends more than {most} {kind}s in {WINDOW:.0f} seconds; the rest is dropped")
            return self._drop()
        recent.append(now)
        if kind == "request" and method not in ASKED_OF_US:
            self._report("unknown request", "it asks for something that no client has")
        return True

    def _answers_request(self, number: str | int | None) -> bool:
        if number is not None and number in self._open:
            self._open.discard(number)
            return True
        if number is not None and number in self._given_up:
            return self._drop()  # it came too late, which is no misdeed
        self._report("stray answer", "it answers what was never asked, or twice")
        return self._drop()

    def note_nonsense(self, why: str) -> None:
        """Something came that is no message."""
        self._report("nonsense", why)
        self._drop()

    def _drop(self) -> bool:
        self._dropped += 1
        if self._dropped > FLOOD:
            raise FloodError
        return False
