"""Notices about one server: however often it does something, there is one of its kind."""

import time
from collections.abc import Callable

from oi_tui.app.engine.core.values import Level
from oi_tui.app.engine.mcp.offers import safe_line
from oi_tui.app.engine.sandbox.hosts import Refusal
from oi_tui.app.engine.text.safe import safe_text

TellNotice = Callable[[Level, str, str, str], None]
"""Puts a notice into the sessions: how loud, title, hint, details."""

RECENTLY = 5.0
"""Seconds after a misdeed in which the end of the server is nothing new."""

LOOK = "/mcp shows it."


class ServerNotices:
    """Tells the sessions, each thing once."""

    def __init__(self, name: str, tell: TellNotice) -> None:
        self._name = name
        self._tell = tell
        self._told: set[str] = set()
        self._misbehaved = -RECENTLY

    def report(self, kind: str, what: str) -> None:
        """A misdeed: its kind, and in words, as the end of a sentence."""
        self._misbehaved = time.monotonic()
        self.tell(kind, "warning", f"The MCP server {self._name} misbehaves: {what}.")

    def fail(self, kind: str, why: str, details: str = "") -> None:
        """Report that it cannot be used and why, as a sentence; nothing if a violation was just reported."""
        if time.monotonic() - self._misbehaved > RECENTLY:
            self.tell(kind, "warning", f"The MCP server {self._name} cannot be used. {why}", LOOK, details)

    def tell(self, kind: str, level: Level, title: str, hint: str = LOOK, details: str = "") -> None:
        """A notice, unless there was one of this kind."""
        if kind not in self._told:
            self._told.add(kind)
            self._tell(level, safe_line(title, 500), hint, safe_text(details))

    def note_refusal(self, refusal: Refusal) -> None:
        """The sandbox did not let it reach a host."""
        self.report("network", f"it wants to reach {safe_line(refusal.host, 100)}, which its entry does not allow")

    def forget(self, kind: str) -> None:
        """Report the next notice of this kind again."""
        self._told.discard(kind)
