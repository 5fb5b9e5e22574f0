"""A transcript as plain text: what stays in the terminal, if it is asked for, when the screen is gone."""

from collections.abc import Iterable, Iterator

from oi_tui.app.engine.core.blocks import (
    Action,
    ActionBlock,
    Block,
    NoticeBlock,
    ProseBlock,
    SummaryBlock,
    ThoughtBlock,
    UserBlock,
)
from oi_tui.app.engine.core.outputs import StreamOutput
from oi_tui.app.engine.text.attached import attached_file
from oi_tui.app.engine.text.markdown import run_end
from oi_tui.app.engine.text.mime import apply_carriage_returns, plain_text, without_escapes
from oi_tui.app.engine.text.safe import safe_text, visible_text
from oi_tui.app.engine.text.summaries import summary_title
from oi_tui.app.engine.text.whereabouts import tell_places
from oi_tui.app.engine.text.words import one_line


def plain_transcript(blocks: Iterable[Block]) -> str:
    """All of it, safe to print: an empty line between blocks, a newline at the end; "" if there is nothing."""
    told = tell_places(blocks)
    said = ["\n".join(lines) for block, place in told if (lines := list(_lines(block, place)))]
    return "\n\n".join(said) + "\n" if said else ""


def _lines(block: Block, place: str) -> Iterator[str]:
    match block:
        case UserBlock():
            yield from (f"> {line}".rstrip() for line in _split(block.text))
            yield from (f"> [{one_line(attached_file(name).chip)}]" for name in block.files)
        case ProseBlock():
            yield from _split(block.text)
        case ThoughtBlock():
            yield from (f"~ {line}".rstrip() for line in _split(block.text))
        case SummaryBlock():
            yield f"[{summary_title(block)}]"
            yield from (f"~ {line}".rstrip() for line in _split(block.text))
        case Action():
            yield f"{one_line(block.runs_in)}{f' ({place})' if place else ''}:"
            yield from (f"    {line}".rstrip() for line in _source(block.source))
            yield from _run_lines(block)
        case NoticeBlock():
            yield from _split(f"{block.level.capitalize()}: {block.title}")
            yield from _split(block.hint)


def _run_lines(block: ActionBlock) -> Iterator[str]:
    for output in block.outputs:
        yield from _split(plain_text(output))
        if isinstance(output, StreamOutput) and output.tail is not None:
            if output.tail.left_out_characters:
                yield f"[… {output.tail.left_out_characters:,} characters left out …]"
            yield from _split(apply_carriage_returns(without_escapes(output.tail.text)))
    if end := run_end(block):
        yield f"[{one_line(end)}]"


def _split(text: str) -> list[str]:
    text = safe_text(without_escapes(text)).strip("\n")
    return text.split("\n") if text.strip() else []


def _source(source: str) -> list[str]:
    """Code is shown as it ran: what hides in it is written out."""
    text = visible_text(source, emoji=True).text.strip("\n")
    return text.split("\n") if text.strip() else []
