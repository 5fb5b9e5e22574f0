"""The repeat guard: notices a turn that goes round in circles, and an answer that is a crowd of actions.

Pure bookkeeping; the session decides what follows.
"""

import re

from oi_tui.app.engine.core.blocks import ActionBlock, CallBlock
from oi_tui.app.engine.core.encoding import text_digest
from oi_tui.app.engine.core.outputs import ErrorOutput

MOST = 20
"""Actions of one answer that may run without a question."""

CROWDED = f"{MOST} actions of this answer have run without a question"


class RepeatGuard:
    """Sources that ran in one turn, normalised, and their errors."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        """The same source may run this often; the same error, one time less."""
        self._runs: dict[str, int] = {}
        self._succeeded: set[str] = set()
        self._last = ""
        self._errors: dict[tuple[str, str], int] = {}
        self._unasked = 0
        """Actions of this answer that ran since the person last approved one."""

    def begin_answer(self) -> None:
        """Later actions belong to another answer."""
        self._unasked = 0

    def objection(self, block: ActionBlock) -> str:
        """Why this should not simply run, in plain words; "" if there is nothing against it."""
        key, what = _key(block), "call" if isinstance(block, CallBlock) else "code"
        if self._unasked >= MOST:
            return CROWDED
        count = self._runs.get(key, 0)
        if count and key == self._last and key in self._succeeded:
            return f"this exact {what} has just run without an error"
        if count >= self.limit:
            return f"this {what} has run {count} times in this turn"
        for (name, value), seen in self._errors.items():
            if seen >= self.limit:
                return f"the same error has come {seen} times in this turn ({_short(name, value)})"
        return ""

    def note_run(self, block: ActionBlock) -> None:
        """Take note of a run that is over."""
        self._unasked += 1
        key = _key(block)
        self._runs[key] = self._runs.get(key, 0) + 1
        self._last = key
        if block.state == "ok":
            self._succeeded.add(key)
            self._errors.clear()
        for output in block.outputs:
            if isinstance(output, ErrorOutput):
                error = (output.name, output.value)
                self._errors[error] = self._errors.get(error, 0) + 1

    def allow(self) -> None:
        """The user let it continue: start counting again."""
        self._unasked = 0
        self._runs.clear()
        self._errors.clear()
        self._succeeded.clear()


def _key(block: ActionBlock) -> str:
    """The same for calls with the same arguments, and for code that differs only in comments, blank lines and space at
    line ends."""
    source = block.source
    if isinstance(block, CallBlock):
        return text_digest(f"call {block.tool}\0{source}")
    lines = (re.sub(r"\s+#.*$|^\s*#.*$", "", line).rstrip() for line in source.splitlines())
    text = "\n".join(line for line in lines if line)
    return text_digest(f"{block.language}\0{text}")


def _short(name: str, value: str) -> str:
    text = f"{name}: {value}" if value else name
    return text if len(text) <= 80 else text[:79] + "…"
