"""A transcript as static messages: its blocks, streamed one after the other and folded."""

from collections.abc import Iterator

from oi_tui.app.engine.core.blocks import (
    Action,
    ActionBlock,
    Block,
    CallBlock,
    CodeBlock,
    NoticeBlock,
    ProseBlock,
    UserBlock,
)
from oi_tui.app.engine.core.events import (
    AnyEvent,
    CallFinished,
    CallGrew,
    CallStarted,
    CodeFinished,
    CodeGrew,
    CodeStarted,
    DecisionMade,
    ExecutionFinished,
    ExecutionStarted,
    OutputAdded,
    OutputDropped,
    OutputTailMoved,
    ProseFinished,
    ProseGrew,
    ProseStarted,
    TurnStarted,
)
from oi_tui.app.engine.core.outputs import StreamOutput
from oi_tui.app.engine.formats.lmc.chunk_fold import fold_chunks
from oi_tui.app.engine.formats.lmc.mime_map import Message
from oi_tui.app.engine.formats.lmc.writer import LmcWriter
from oi_tui.app.engine.transcript.transcript import Transcript

_HAS_RUN = ("running", "ok", "error", "interrupted", "died")


def static_messages(transcript: Transcript) -> list[Message]:
    """The static messages of a transcript: what its blocks would be, streamed one after the other and folded."""
    return [message for block in transcript.blocks for message in block_messages(block)]


def block_messages(block: Block) -> list[Message]:
    """The static messages of one block; none for a notice."""
    writer = LmcWriter()
    return fold_chunks(chunk for event in _events_of(block) for chunk in writer.chunks(event))


def _events_of(block: Block) -> Iterator[AnyEvent]:
    match block:
        case UserBlock():
            yield TurnStarted(block_id=block.id, text=block.text, files=block.files)
        case ProseBlock():
            yield ProseStarted(block_id=block.id)
            yield ProseGrew(block_id=block.id, text=block.text)
            yield ProseFinished(block_id=block.id)
        case Action():
            yield from _events_of_action(block)
        case NoticeBlock():
            return


def _events_of_action(block: ActionBlock) -> Iterator[AnyEvent]:
    source = block.source if block.original is None else block.original
    match block:
        case CodeBlock():
            yield CodeStarted(block_id=block.id, language=block.language, author=block.author)
            yield CodeGrew(block_id=block.id, text=source)
            yield CodeFinished(block_id=block.id, language=block.language, source=source)
        case CallBlock():
            yield CallStarted(block_id=block.id, tool=block.tool)
            yield CallGrew(block_id=block.id, text=source)
            yield CallFinished(block_id=block.id, tool=block.tool, source=source)
    if block.is_edited:
        yield DecisionMade(block_id=block.id, verdict="edit", decider="person", source=block.source)
    if block.state not in _HAS_RUN:
        return
    yield ExecutionStarted(block_id=block.id, generation=0)
    ends: list[AnyEvent] = []
    for output in block.outputs:
        if isinstance(output, StreamOutput) and output.tail is not None:
            ends.append(OutputTailMoved(block_id=block.id, name=output.name, tail=output.tail))
            if not output.text:
                continue
            output = StreamOutput(name=output.name, text=output.text)
        yield OutputAdded(block_id=block.id, output=output)
    yield from ends
    if block.dropped:
        yield OutputDropped(block_id=block.id, characters=block.dropped)
    yield ExecutionFinished(block_id=block.id, status="ok", duration=0.0)
