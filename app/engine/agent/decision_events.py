"""What is emitted about a decision: the question, and what came of it."""

from oi_tui.app.engine.agent.previews import CallFacts
from oi_tui.app.engine.core.blocks import ActionBlock, CallBlock, CodeBlock
from oi_tui.app.engine.core.encoding import text_digest
from oi_tui.app.engine.core.events import DecisionMade, DecisionRequested
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.outcomes import Decider, Verdict
from oi_tui.app.engine.core.values import GrantScope


def decision_event(
    block: ActionBlock,
    verdict: Verdict,
    decider: Decider,
    *,
    reason: str = "",
    request_id: str | None = None,
) -> DecisionMade:
    """The event of a decision about this block, whose source is what runs, or would have."""
    return DecisionMade(
        block_id=block.id,
        verdict=verdict,
        decider=decider,
        source=block.source,
        reason=reason,
        request_id=request_id,
    )


def request_event(
    block: ActionBlock,
    why: str,
    labels: tuple[str, ...],
    scopes: tuple[GrantScope, ...],
    offer: str,
    asked_by: str,
    facts: CallFacts,
) -> DecisionRequested:
    """The question about this block."""
    return DecisionRequested(
        request_id=new_id(),
        block_id=block.id,
        language=block.language if isinstance(block, CodeBlock) else "",
        tool=block.tool if isinstance(block, CallBlock) else "",
        source=block.source,
        sha256=text_digest(block.source),
        why=why,
        labels=labels,
        scopes=scopes,
        offer=offer,
        asked_by=asked_by,
        origin=facts.origin,
        may_call=facts.may_call,
        preview=facts.preview,
        preview_remark=facts.remark,
        editable=facts.editable,
    )
