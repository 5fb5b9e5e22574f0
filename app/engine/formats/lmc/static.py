"""A transcript as static messages, made by replaying the events of its blocks."""

from oi_tui.app.engine.core.blocks import Block
from oi_tui.app.engine.formats.lmc.chunk_fold import fold_chunks
from oi_tui.app.engine.formats.lmc.mime_map import Message
from oi_tui.app.engine.formats.lmc.writer import LmcWriter
from oi_tui.app.engine.transcript.from_blocks import events_of_blocks
from oi_tui.app.engine.transcript.transcript import Transcript


def static_messages(transcript: Transcript) -> list[Message]:
    """The static messages of a transcript: those of its blocks, one after the other."""
    return [message for block in transcript.blocks for message in block_messages(block)]


def block_messages(block: Block) -> list[Message]:
    """The static messages of one block; none for a notice."""
    writer = LmcWriter()
    return fold_chunks(chunk for event in events_of_blocks([block]) for chunk in writer.chunks(event))
