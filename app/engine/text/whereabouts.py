"""Where code ran, in words: for the first run and wherever it changes. And which line of it runs."""

from collections.abc import Iterable, Iterator

from oi_tui.app.engine.core.blocks import ActionBlock, Block, CodeBlock
from oi_tui.app.engine.text.safe import visible_text
from oi_tui.app.engine.text.words import one_line, quantity

LONGEST_PLACE = 200
"""Characters: text in a file may be of any length."""


def place_in_words(place: str) -> str:
    """On one line, safe to print."""
    told = one_line(place)
    return told if len(told) <= LONGEST_PLACE else f"{told[: LONGEST_PLACE - 1]}…"


def describe_running_line(block: ActionBlock) -> str:
    """Which code runs, with its line as far as that is known: `python, line 2 · name = input()`."""
    lines = visible_text(block.source).text.split("\n")
    line = 1 if len(lines) == 1 else block.active_line if isinstance(block, CodeBlock) else None
    if line is None or not 0 < line <= len(lines):
        return f"{block.runs_in} · {quantity(len(lines), 'line')}"
    place = block.runs_in if len(lines) == 1 else f"{block.runs_in}, line {line}"
    return f"{place} · {lines[line - 1].strip()[:40]}"


def tell_places(blocks: Iterable[Block]) -> Iterator[tuple[Block, str]]:
    """Each block, with where it ran if the run of this language before it was elsewhere, "" if not."""
    known: dict[str, str] = {}
    for block in blocks:
        told = ""
        if isinstance(block, CodeBlock) and block.place and known.get(block.language) != block.place:
            known[block.language] = block.place
            told = place_in_words(block.place)
        yield block, told


def describe_moves(moves: Iterable[tuple[str, str]]) -> str:
    """A sentence about runs, given where each ran first and where now; "" if all are in the same place as before."""
    found = dict.fromkeys(move for move in moves if all(move) and move[0] != move[1])
    if not found:
        return ""
    first = " and ".join(dict.fromkeys(place_in_words(then) for then, _ in found))
    now = " and ".join(dict.fromkeys(place_in_words(now) for _, now in found))
    return f"First run in {first}; now in {now}."
