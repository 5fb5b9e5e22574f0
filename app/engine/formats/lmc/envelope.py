"""Sessions as files in the message language: the messages, and beside them what they have no place for.

    {"format": "oi-tui/lmc", "version": 1,
     "session": {"id", "title", "cwd", "model", "usage", "plan",
                 "blocks": [{"message": 1, "edit": 2, "block": {...}}, ...],
                 "notices": [{"after": 4, "block": {...}}, ...]},
     "messages": [...]}

`messages` alone is the conversation. `blocks` says for the message of that number (the first is 1) which id, step,
state and duration its block had, and which message is what the person made of its code; it may be missing. A bare list
of messages is read too, with the habits of Open Interpreter.

Lost on the way are the other forms of a result that has several, which of the outputs was the value of the last
expression, where exactly text and such results met, the parts of a traceback, where the middle of a long output is, and
what the model read of the files of a prompt. Notices come back as what the file says. What was once exported and
imported is exported again as the same file.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from oi_tui.app.engine.core.blocks import Action, Block, NoticeBlock, ProseBlock, SummaryBlock, ThoughtBlock, UserBlock
from oi_tui.app.engine.core.errors import StoreError
from oi_tui.app.engine.core.values import Value
from oi_tui.app.engine.formats.lmc.legacy_messages import update_messages
from oi_tui.app.engine.formats.lmc.loading import events_from_messages
from oi_tui.app.engine.formats.lmc.static import block_messages
from oi_tui.app.engine.transcript.event_log import fold_events
from oi_tui.app.engine.transcript.from_blocks import has_run
from oi_tui.app.engine.transcript.outline import SessionOutline, aside_of, attribute_to_file, block_of, block_outline

FORMAT = "oi-tui/lmc"
VERSION = 1


class BlockExtras(Value, frozen=True, kw_only=True):
    """The data of a block that its message has no place for."""

    message: int
    edit: int = 0
    """The message with the source as the person changed it, 0 if there is none."""
    block: dict[str, Any]


class PlacedNotice(Value, frozen=True, kw_only=True):
    """A notice, and how many messages there were before it."""

    after: int
    block: dict[str, Any]


class SessionEnvelope(SessionOutline, frozen=True, kw_only=True):
    """Everything beside the messages."""

    blocks: tuple[BlockExtras, ...] = ()
    notices: tuple[PlacedNotice, ...] = ()


def envelope_bytes(blocks: Sequence[Block], session: SessionOutline) -> bytes:
    """A session as an LMC file: JSON, UTF-8."""
    messages: list[dict[str, Any]] = []
    beside: list[BlockExtras] = []
    notices: list[PlacedNotice] = []
    for block in blocks:
        if isinstance(block, NoticeBlock | ThoughtBlock | SummaryBlock):
            notices.append(PlacedNotice(after=len(messages), block=block_outline(block)))
            continue
        number = len(messages) + 1
        edit = number + 1 if isinstance(block, Action) and block.is_edited else 0
        beside.append(BlockExtras(message=number, edit=edit, block=block_outline(block)))
        messages += block_messages(block)
    whole = SessionEnvelope(
        id=session.id,
        title=session.title,
        cwd=session.cwd,
        model=session.model,
        usage=session.usage,
        plan=session.plan,
        blocks=tuple(beside),
        notices=tuple(notices),
    )
    content = {"format": FORMAT, "version": VERSION, "session": whole, "messages": messages}
    return msgspec.json.format(msgspec.json.encode(content), indent=1) + b"\n"


def blocks_of_envelope(content: dict[str, Any]) -> tuple[list[Block], SessionOutline]:
    """The blocks of a file of ours; StoreError if it cannot be read."""
    version = content.get("version")
    if version != VERSION:
        raise StoreError(
            f"The file is of version {version!r} of the message language; {VERSION} can be read",
            hint="A newer oi-tui may have written it; the list in its `messages` alone can be imported.",
        )
    try:
        session = msgspec.convert(content.get("session", {}), SessionEnvelope)
        outlines = {beside.message: block_of(beside.block) for beside in session.blocks}
        notices = [(notice.after, aside_of(notice.block)) for notice in session.notices]
    except msgspec.ValidationError as error:
        raise StoreError(f"The session part of the file is wrong: {error}", hint="See `session` in the file.") from None
    edits = frozenset(beside.edit for beside in session.blocks if beside.edit)
    events = events_from_messages(content.get("messages"), edits=edits, starts=frozenset(outlines))
    blocks: list[Block] = []
    for block in fold_events(events).blocks:
        number = int(block.id.removeprefix("message-"))
        while notices and notices[0][0] < number:
            blocks.append(attribute_to_file(notices.pop(0)[1]))
        blocks.append(attribute_to_file(_restore(block, outlines.get(number))))
    blocks += [attribute_to_file(notice) for _, notice in notices]
    return blocks, session


def blocks_of_list(messages: list[Any]) -> list[Block]:
    """The blocks of a bare list of messages; StoreError if it is none."""
    numbered = update_messages(messages)
    events = events_from_messages([message for _, message in numbered], numbers=[number for number, _ in numbered])
    return list(fold_events(events).blocks)


def _restore(block: Block, outlined: Block | None) -> Block:
    """The block with its data from beside the messages, as far as the two agree."""
    match block, outlined:
        case UserBlock(), UserBlock():
            return msgspec.structs.replace(outlined, text=block.text, files=block.files)
        case ProseBlock(), ProseBlock():
            return msgspec.structs.replace(outlined, text=block.text)
        case Action(), Action() if (type(block), block.author, block.runs_in) == (
            type(outlined),
            outlined.author,
            outlined.runs_in,
        ):
            ran = block.state not in ("refused", "proposed")
            return msgspec.structs.replace(
                outlined,
                source=block.source,
                original=block.original,
                outputs=block.outputs,
                dropped=0,  # the text says what was dropped
                state=block.state if ran != has_run(outlined) else outlined.state,
            )
        case _:
            return block
