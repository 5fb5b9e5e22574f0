"""The public message language (LMC): what `run --json` prints, what sessions export and import.

`LmcWriter` turns events into streamed chunks, `fold_chunks` chunks into static messages, `messages` a transcript
into the same, and `events_from_messages` is the way back. What the language leaves open is done so:

- An output of several forms is written as its best one: a picture (`image`), else markup (`code` in `html` or
  `javascript` for the user, with the text form beside it for the assistant), else its text (`console`).
- stderr is `console` output with `"stream": "stderr"`, an exception the same with `"error": {name, value}`.
- What a person edited before the run follows the code as `code` of the role `user`.
- Chunks (not messages) of code and of what came of it carry `"block"`, the same for both: an answer may go on
  after its code before the code runs, and a thread may print after its run. The messages of a block stand together.
- A chunk with `"replace": true` holds the whole content of the message that is open (a model's habit was undone).
  These stand alone, without start and end: `confirmation`; a chunk with `"update": true`, which replaces the
  messages of its `display_id`; `console` in the format `cleared`, which takes back the output of its block.
- Of a stream that is too long the end follows its beginning, behind a line that counts what is left out between.
- Notices, usage, questions for input and the states of kernels have no place in it.
"""

from collections.abc import Iterator

from oi_tui.app.engine.blocks import Block, CodeBlock, NoticeBlock, ProseBlock, UserBlock
from oi_tui.app.engine.events import (
    AnyEvent,
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
from oi_tui.app.engine.lmc.fold import fold_chunks
from oi_tui.app.engine.lmc.forms import Message
from oi_tui.app.engine.lmc.loading import events_from_messages
from oi_tui.app.engine.lmc.writer import LmcWriter
from oi_tui.app.engine.outputs import StreamOutput
from oi_tui.app.engine.transcript import Transcript

__all__ = ["LmcWriter", "events_from_messages", "fold_chunks", "messages"]

_HAS_RUN = ("running", "ok", "error", "interrupted", "died")


def messages(transcript: Transcript) -> list[Message]:
    """The static messages of a transcript: what its blocks would be, streamed one after the other and folded."""
    writer = LmcWriter()
    events = (event for block in transcript.blocks for event in _events_of(block))
    return fold_chunks(chunk for event in events for chunk in writer.chunks(event))


def _events_of(block: Block) -> Iterator[AnyEvent]:
    match block:
        case UserBlock():
            yield TurnStarted(block_id=block.id, text=block.text, files=block.files)
        case ProseBlock():
            yield ProseStarted(block_id=block.id)
            yield ProseGrew(block_id=block.id, text=block.text)
            yield ProseFinished(block_id=block.id)
        case CodeBlock():
            yield from _events_of_code(block)
        case NoticeBlock():
            return


def _events_of_code(block: CodeBlock) -> Iterator[AnyEvent]:
    source = block.source if block.original is None else block.original
    yield CodeStarted(block_id=block.id, language=block.language, author=block.author)
    yield CodeGrew(block_id=block.id, text=source)
    yield CodeFinished(block_id=block.id, language=block.language, source=source)
    if block.edited:
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
