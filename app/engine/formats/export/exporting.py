"""Events to a file in one of the formats."""

from collections.abc import Sequence

import msgspec

from oi_tui.app.engine.core.events import AnyEvent
from oi_tui.app.engine.core.session_records import TITLE_LIMIT, ExportFormat
from oi_tui.app.engine.formats.export.notebook import notebook_bytes
from oi_tui.app.engine.formats.export.page import page_bytes
from oi_tui.app.engine.formats.export.pictures import without_pictures
from oi_tui.app.engine.formats.lmc.envelope import envelope_bytes
from oi_tui.app.engine.formats.lmc.static import block_messages
from oi_tui.app.engine.text.markdown import escape_markdown, transcript_markdown
from oi_tui.app.engine.text.words import one_line
from oi_tui.app.engine.transcript.event_log import fold_events
from oi_tui.app.engine.transcript.outline import SessionOutline


def export_session(events: Sequence[AnyEvent], format: ExportFormat, *, images: bool = True, title: str = "") -> bytes:
    """The session as a file. Without `images`, words stand where the pictures were."""
    transcript = fold_events(events)
    transcript.close("record")  # code that runs at this moment has run until here
    blocks = transcript.blocks if images else list(map(without_pictures, transcript.blocks))
    session = SessionOutline(
        id=transcript.session_id,
        title=one_line(title)[:TITLE_LIMIT],
        cwd=transcript.cwd,
        model=transcript.model,
        usage=transcript.usage,
    )
    match format:
        case "ipynb":
            return notebook_bytes(blocks, session)
        case "lmc":
            return envelope_bytes(blocks, session)
        case "messages":
            messages = [message for block in blocks for message in block_messages(block)]
            return msgspec.json.format(msgspec.json.encode(messages), indent=1) + b"\n"
        case "md":
            heading = f"# {escape_markdown(session.title)}\n\n" if session.title else ""
            return (heading + transcript_markdown(blocks)).encode("utf-8", "replace")
        case "html":
            return page_bytes(blocks, session.title)
