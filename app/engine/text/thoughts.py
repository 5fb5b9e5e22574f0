"""The one line that a folded thought shows."""

from oi_tui.app.engine.core.blocks import ThoughtBlock
from oi_tui.app.engine.text.words import quantity

CHARACTERS_PER_TOKEN = 4
"""About, in English, by any tokenizer."""


def thought_title(block: ThoughtBlock) -> str:
    """`thought for 12 s · 340 tokens`; what nobody counted is estimated, and marked so."""
    tokens = quantity(block.tokens, "token") if block.tokens else f"~{_estimate(block.text):,} tokens"
    if block.state == "streaming":
        return f"thinking · {tokens}"
    return f"{_duration(block)} · {tokens}"


def _duration(block: ThoughtBlock) -> str:
    broken = ", interrupted" if block.state == "cut" else ""
    if block.seconds is None:
        return f"thought{broken}"
    if block.seconds < 9.95:
        return f"thought for {block.seconds:.1f} s{broken}"
    minutes, seconds = divmod(round(block.seconds), 60)
    return f"thought for {f'{minutes}:{seconds:02} min' if minutes else f'{seconds} s'}{broken}"


def _estimate(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)
