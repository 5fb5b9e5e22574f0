"""What runs calls of the tool `recall`: it reads the conversation as it is, with what was cut or summarised.

A call reaches nothing else: no file but the one that holds the rest of a long output, no network, no kernel. Secrets
are withheld as in every request, and what the person left out stays out.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from oi_tui.app.engine.agent.prompt import Teller
from oi_tui.app.engine.core.blocks import Action, ActionBlock, Block, CallBlock, ProseBlock, UserBlock
from oi_tui.app.engine.core.chat_model import RECALL
from oi_tui.app.engine.core.outputs import StreamOutput
from oi_tui.app.engine.kernels.spill import read_spilled
from oi_tui.app.engine.secrets.redaction import Redactor
from oi_tui.app.engine.text.words import one_line
from oi_tui.app.engine.tools.recall import recall_spec
from oi_tui.app.engine.tools.tool import Arguments, Capabilities, Tool, ToolFailed, ToolOutput, session_tool

LINES = 200
"""Of one block, at once."""

CHARACTERS = 8_000
"""Of all that one call gives."""

HITS, AROUND = 4, 120
"""Places that a search gives, and the characters on both sides of each: all of them together go whole where the context
is nearly full."""

READ = 4_000_000
"""Characters of the file of a long output that are looked through."""


def recall_tool(blocks: Callable[[], Sequence[Block]], redactor: Redactor, spill_dir: Path | None) -> Tool:
    """The tool for the session that has these blocks, and whose long outputs are in this folder."""

    async def run(arguments: Arguments, output: ToolOutput) -> str:
        return await asyncio.to_thread(_recall, tuple(blocks()), arguments, redactor, spill_dir)

    spec = recall_spec()
    return session_tool(
        name=spec.name,
        description=spec.description,
        schema=spec.schema,
        run=run,
        capabilities=Capabilities(writes=False, destroys=False, network=False),
        unasked="it reads this conversation only",
    )


def _recall(blocks: Sequence[Block], arguments: Arguments, redactor: Redactor, spill_dir: Path | None) -> str:
    number, words = arguments.get("block"), str(arguments.get("search") or "")
    said = str(arguments.get("text") or "").strip()  # a fenced call that was no JSON
    if said.removeprefix("#").isdecimal():
        number = int(said.removeprefix("#"))
    elif said:
        words = said
    if isinstance(number, int):
        block = _block(blocks, number)
        text = Teller(redactor, READ, False, number).read(block, _file_text(block, spill_dir))
        return _lines(text.split("\n"), number, int(arguments.get("from_line") or 1))
    if words.strip():
        return _search(blocks, words.casefold().split(), redactor)
    raise ToolFailed('Say which: {"block": NUMBER, "from_line": LINE} or {"search": "WORDS"}.')


def _block(blocks: Sequence[Block], number: int) -> UserBlock | ProseBlock | ActionBlock:
    if not 1 <= number <= len(blocks):
        raise ToolFailed(f"There is no block {number}: the last one is {len(blocks)}.")
    block = blocks[number - 1]
    if not isinstance(block, UserBlock | ProseBlock | Action):
        raise ToolFailed(f"Block {number} is nothing that was said or run.")
    if block.mark == "left out":
        raise ToolFailed("The user left this out of the conversation.")
    return block


def _lines(lines: Sequence[str], number: int, first: int) -> str:
    first = max(1, min(first, len(lines)))
    shown, room = [], CHARACTERS
    for line in islice(lines, first - 1, first - 1 + LINES):
        if room <= 0:
            break
        shown.append(line if len(line) <= room else f"{line[:room]} …")
        room -= len(line) + 1
    last = first + len(shown) - 1
    more = "" if last >= len(lines) else f'; {{"block": {number}, "from_line": {last + 1}}} continues'
    return f"Block {number}, lines {first:,} to {last:,} of {len(lines):,}{more}:\n" + "\n".join(shown)


def _search(blocks: Sequence[Block], words: Sequence[str], redactor: Redactor) -> str:
    """The places with most of the words, newest first, but for those after the last prompt."""
    scored: list[tuple[int, int]] = []
    last = max((index for index, block in enumerate(blocks) if isinstance(block, UserBlock)), default=len(blocks))
    for index, block in enumerate(blocks[:last]):
        if isinstance(block, CallBlock) and block.tool == RECALL:
            continue
        if isinstance(block, UserBlock | ProseBlock | Action) and block.mark != "left out":
            text = "\n".join(_texts(block)).casefold()
            if score := sum(word in text for word in words):
                scored.append((score, index))
    if not scored:
        return "Nothing was found. Try other words."
    told: list[str] = []
    for _, index in sorted(scored, reverse=True)[:HITS]:
        block = blocks[index]
        assert isinstance(block, UserBlock | ProseBlock | Action)
        text = Teller(redactor, READ, False, index + 1).read(block)
        low = text.casefold()
        place = min((at for word in words if (at := low.find(word)) >= 0), default=0)
        told.append(f"Block {index + 1}: …{one_line(text[max(0, place - AROUND) : place + AROUND])}…")
    return "\n".join(told)


def _texts(block: UserBlock | ProseBlock | Action) -> Iterator[str]:
    """The texts to search: no pictures, and of a long output only what is loaded."""
    match block:
        case Action():
            yield block.source
            yield from (output.text for output in block.outputs if isinstance(output, StreamOutput))
            yield from (str(output) for output in block.outputs if not isinstance(output, StreamOutput))
        case UserBlock():
            yield from (block.text, block.context)
        case ProseBlock():
            yield block.text


def _file_text(block: Block, spill_dir: Path | None) -> str:
    """All that a long run wrote, "" if it is short or not kept."""
    if spill_dir is None or not isinstance(block, Action) or block.whole is None:
        return ""
    return read_spilled(spill_dir, block.whole.path, READ)
