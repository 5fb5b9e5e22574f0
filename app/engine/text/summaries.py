"""How a summary of old turns is described in its one line."""

from oi_tui.app.engine.core.blocks import SummaryBlock
from oi_tui.app.engine.text.tokens import estimate_tokens
from oi_tui.app.engine.text.words import quantity


def summary_title(block: SummaryBlock) -> str:
    """`summary of 12 turns · ~830 tokens`, or `12 turns left out`; one that is not used says so."""
    turns = quantity(block.turns, "turn") if block.turns else "earlier steps"
    undone = "" if block.used else " · undone"
    if not block.text:
        return f"{turns} left out of what the model reads{undone}"
    return f"summary of {turns} · ~{estimate_tokens(block.text):,} tokens{undone}"
