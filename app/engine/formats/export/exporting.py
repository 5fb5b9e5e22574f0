"""Events to a file in one of the formats."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from oi_tui.app.engine.core.blocks import Block
from oi_tui.app.engine.core.errors import StoreError
from oi_tui.app.engine.core.events import AnyEvent
from oi_tui.app.engine.core.session_records import TITLE_LIMIT, ExportFormat
from oi_tui.app.engine.formats.export.pictures import without_pictures
from oi_tui.app.engine.formats.lmc.envelope import envelope_bytes
from oi_tui.app.engine.formats.lmc.static import block_messages
from oi_tui.app.engine.text.words import one_line
from oi_tui.app.engine.transcript.event_log import fold_events
from oi_tui.app.engine.transcript.outline import SessionOutline

Writer = Callable[[Sequence[Block], SessionOutline], bytes]


def write_session(
    events: Sequence[AnyEvent],
    format: ExportFormat,
    writers: Mapping[str, Writer],
    *,
    images: bool = True,
    title: str = "",
) -> bytes:
    """The session as a file: in the message language, or by the writer of another format; StoreError if there is none.
    Without `images`, words replace the pictures."""
    transcript = fold_events(events)
    transcript.close("record")  # code that runs at this moment has run until here
    blocks = transcript.blocks if images else list(map(without_pictures, transcript.blocks))
    session = SessionOutline(
        id=transcript.session_id,
        title=one_line(title)[:TITLE_LIMIT],
        cwd=transcript.cwd,
        model=transcript.model,
        usage=transcript.usage,
        plan=transcript.plan.steps,
    )
    match format:
        case "lmc":
            return envelope_bytes(blocks, session)
        case "messages":
            messages = [message for block in blocks for message in block_messages(block)]
            return msgspec.json.format(msgspec.json.encode(messages), indent=1) + b"\n"
        case _ if format in writers:
            return writers[format](blocks, session)
        case _:
            there = ", ".join(sorted({*writers, "lmc", "messages"}))
            raise StoreError(f"There is no format {one_line(format)[:40]}.", hint=f"There are {there}.")
