"""Thoughts that a provider signs, and wants back with the native calls that they led to (Anthropic)."""

from collections.abc import Iterable, Sequence
from typing import Any

from oi_tui.app.engine.models.messages import JsonObject

MOST = 200
"""Calls whose thoughts are remembered."""


class SignedThoughts:
    """Those of one model, by the id of the call. Of calls from another day, or another model, there are none."""

    def __init__(self) -> None:
        self._blocks: dict[str, list[JsonObject]] = {}

    def remember(self, calls: Iterable[str], blocks: Sequence[JsonObject]) -> None:
        """An answer had these calls behind these thoughts."""
        if blocks:
            self._blocks |= {name: list(blocks) for name in calls}
            for call in list(self._blocks)[:-MOST]:
                del self._blocks[call]

    def add_to(self, spoken: Sequence[JsonObject]) -> None:
        """Add to each message with calls the thoughts that led to them."""
        for message in spoken:
            if blocks := self._of(message):
                message["thinking_blocks"] = [dict(block) for block in blocks]

    def allow_thinking(self, spoken: Sequence[JsonObject]) -> bool:
        """Whether the model may think now: behind results of its calls, it must have the thoughts before these."""
        answers = [place for place, message in enumerate(spoken) if message["role"] == "assistant"]
        behind = spoken[answers[-1] + 1 :] if answers else ()
        if not any(message["role"] == "tool" for message in behind):
            return True
        return bool(self._of(spoken[answers[-1]]))

    def _of(self, message: JsonObject) -> list[JsonObject]:
        ids = (call["id"] for call in message.get("tool_calls") or ())
        return next((self._blocks[name] for name in ids if name in self._blocks), [])


def signed_blocks(delta: Any) -> list[JsonObject]:
    """The whole thoughts in a delta of LiteLLM, signed or encrypted; pieces of one that is not whole are none."""
    blocks = [dict(block) for block in getattr(delta, "thinking_blocks", None) or ()]
    return [block for block in blocks if block.get("signature") or block.get("type") == "redacted_thinking"]
