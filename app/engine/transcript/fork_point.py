"""Where a session is cut when another one is forked from it."""

from collections.abc import Iterable

from oi_tui.app.engine.core.blocks import Action, Block, ProseBlock, ThoughtBlock
from oi_tui.app.engine.core.events import AnyEvent
from oi_tui.app.engine.core.verbs import Place
from oi_tui.app.engine.transcript.transcript import Transcript


def events_until(events: Iterable[AnyEvent], block_id: str, place: Place) -> int | None:
    """How many of the events come before the block, or (`after`) up to the moment when it was finished.

    None if there is no such block. Output that came after its run belongs to the part left behind.
    """
    transcript = Transcript()
    there = False
    for count, event in enumerate(events):
        transcript.apply(event)
        if not there and getattr(event, "block_id", None) == block_id and transcript.has(block_id):
            there = True
            if place == "before":
                return count
        if there and transcript.has(block_id) and _is_finished(transcript.block(block_id)):
            return count + 1
    return None


def _is_finished(block: Block) -> bool:
    match block:
        case ProseBlock(state="streaming") | ThoughtBlock(state="streaming"):
            return False
        case Action(state="streaming" | "proposed" | "waiting" | "running"):
            return False
        case _:
            return True
