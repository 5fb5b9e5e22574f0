"""Blocks of a session as lines, for what was before and for `/show`."""

from collections.abc import Iterable, Iterator, Sequence

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
from oi_tui.app.engine.core.outputs import ErrorOutput, RichOutput, StreamOutput
from oi_tui.app.engine.text.attached import attached_file
from oi_tui.app.engine.text.mime import apply_carriage_returns, plain_text, without_escapes
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.words import one_line, quantity
from oi_tui.app.linear.narrator import Narrator, source_lines
from oi_tui.app.linear.output_words import first_lines, rich_lines, stream_label
from oi_tui.app.linear.prose_words import Sentences
from oi_tui.app.linear.spoken import spoken_time

EVERYTHING = 100_000
"""Lines, or rows, of what somebody asked to be shown."""

LAST_BLOCKS, LAST_LINES = 3, 12
"""Blocks of a session that are printed when it is resumed, and lines of an output in them."""


def block_lines(block: Block, number: int, *, most: int = EVERYTHING) -> Iterator[str]:
    """One block, each output in at most so many lines; `number` is that of an action."""
    match block:
        case UserBlock():
            yield from _with_label("You:", block.text.split("\n"))
            yield from (f"With it: {one_line(attached_file(name).chip)}" for name in block.files)
        case ProseBlock():
            sentences = Sentences()
            yield from _with_label("Answer:", [*sentences.feed(block.text), *sentences.finish()])
        case ThoughtBlock():
            yield from _with_label("Thought:", block.text.split("\n"))
        case SummaryBlock():
            yield from _with_label("Summary for the model:", block.text.split("\n"))
        case NoticeBlock():
            yield f"{block.level.capitalize()}: {one_line(block.title)} {one_line(block.hint)}".rstrip()
        case Action():
            lines = source_lines(block.source)
            yield f"Code {number}, {one_line(block.runs_in)}, {quantity(len(lines), 'line')}."
            yield from lines
            yield from _output_lines(block, number, most)
            took = f", {spoken_time(block.duration)}" if block.duration is not None else ""
            why = f": {one_line(block.refusal)}" if block.refusal else ""
            yield f"Code {number}: {_STATES.get(block.state, block.state)}{why}{took}."


_STATES = {
    "streaming": "not complete",
    "cut": "cut off, not run",
    "proposed": "not decided",
    "waiting": "waits for your decision",
    "running": "runs",
    "ok": "ended, ok",
    "error": "ended with an error",
    "interrupted": "interrupted",
    "died": "its kernel ended",
    "refused": "not run",
}


def _output_lines(block: ActionBlock, number: int, most: int) -> Iterator[str]:
    for output in block.outputs:
        match output:
            case StreamOutput():
                yield stream_label(output.name)
                yield from first_lines(apply_carriage_returns(without_escapes(output.text)), number, most)
                if output.tail is not None:
                    if output.tail.left_out_lines:
                        yield f"… {quantity(output.tail.left_out_lines, 'line')} left out here"
                    yield from first_lines(apply_carriage_returns(without_escapes(output.tail.text)), number, most)
            case ErrorOutput():
                yield from _with_label("Error:", first_lines(plain_text(output), number, most))
            case RichOutput():
                yield from rich_lines(output, number, rows=most, most=most)
    if block.whole is not None and block.whole.path:
        yield f"All of the output is in the file {block.whole.path}"


def _with_label(label: str, lines: Iterable[str]) -> Iterator[str]:
    """The first line has the label before it."""
    full = [line for line in safe_text("\n".join(lines)).split("\n") if line.strip()]
    if full:
        yield f"{label} {full[0]}"
        yield from full[1:]


def past_lines(blocks: Iterable[Block], narrator: Narrator, *, most: int = EVERYTHING) -> list[str]:
    """Several blocks, one under the other."""
    return [
        line
        for block in blocks
        for line in block_lines(block, narrator.number_of(block.id) if isinstance(block, Action) else 0, most=most)
    ]


def ending_lines(blocks: Sequence[Block], narrator: Narrator) -> list[str]:
    """How a session ended that is opened again, and how much there is of it."""
    if not blocks:
        return []
    last = past_lines(blocks[-LAST_BLOCKS:], narrator, most=LAST_LINES)[-2 * LAST_LINES :]
    count = quantity(len(blocks), "block")
    return [f"This session has {count} from before. It ended like this:", *last, "/show reads more."]


def farewell(session_id: str) -> str:
    """How to come back to a session."""
    return f"To continue: oi-tui --linear --resume {one_line(session_id)}"
