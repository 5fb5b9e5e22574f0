"""What another assistant's program says, cut into lines and counted, without a program."""

import asyncio
import json

import pytest

from oi_tui.app.engine.mcp.wire_reader import (
    LONGEST_LINE,
    MOST_NONSENSE,
    MOST_OPEN,
    MOST_SCOLDINGS,
    TooMuchNonsense,
    WireCount,
    bounded_lines,
)


async def lines_of(*pieces: bytes) -> list[bytes | None]:
    reader = asyncio.StreamReader()
    for piece in pieces:
        reader.feed_data(piece)
    reader.feed_eof()
    return [line async for line in bounded_lines(reader)]


async def test_N17_lines_come_whole_however_they_are_cut_and_giant_ones_are_dropped() -> None:
    assert await lines_of(b"a\nb", b"c\n\nd\n", b"no end") == [b"a", b"bc", b"", b"d"]
    giant = b"x" * (LONGEST_LINE + 1)
    assert await lines_of(giant, giant, b"\nafter\n") == [None, b"after"]
    assert await lines_of(b"x" * LONGEST_LINE, b"\n") == [b"x" * LONGEST_LINE]


def test_N17_too_many_requests_and_ids_that_are_taken_are_refused() -> None:
    count = WireCount()
    assert [count.objection(number) for number in range(MOST_OPEN)] == [""] * MOST_OPEN
    assert json.loads(count.objection("new"))["error"]["code"] == -32000
    assert json.loads(count.objection(0))["error"]["code"] == -32600
    count.note_end(0)
    assert count.objection("new") == ""


def test_N17_nonsense_is_scolded_a_few_times_and_then_ends_the_connection() -> None:
    count = WireCount()
    said = [count.note_nonsense("no") for _ in range(MOST_NONSENSE)]
    assert sum(map(bool, said)) == MOST_SCOLDINGS
    with pytest.raises(TooMuchNonsense):
        count.note_nonsense("no")
