"""Where code ran, in words: told where it changes, not with every run."""

from collections.abc import Iterable, Iterator

from oi_tui.app.engine.core.blocks import Block, CodeBlock
from oi_tui.app.engine.text.words import one_line

LONGEST_PLACE = 200
"""Characters: text in a file may be of any length."""


def place_in_words(place: str) -> str:
    """On one line, safe to print."""
    told = one_line(place)
    return told if len(told) <= LONGEST_PLACE else f"{told[: LONGEST_PLACE - 1]}…"


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
