"""Compressed blocks are a list like any other, only smaller."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oi_tui.app.engine.core.blocks import Block, CodeBlock, ProseBlock, UserBlock
from oi_tui.app.engine.core.events import AnyEvent
from oi_tui.app.engine.log.recording.form import read_recording
from oi_tui.app.engine.transcript import block_list
from oi_tui.app.engine.transcript.block_list import BlockList
from oi_tui.app.engine.transcript.event_log import extend, fold_events
from oi_tui.app.engine.transcript.transcript import Transcript
from support.sessions import code, printed, prose, turn

RECORDINGS = sorted((Path(__file__).parents[1] / "recordings").glob("*.jsonl"))


@pytest.fixture(autouse=True, scope="module")
def small() -> Iterator[None]:
    """Chunks of four, of which the last two and a half stay as they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(block_list, "CHUNK", 4)
        patch.setattr(block_list, "LOOSE", 10)
        patch.setattr(block_list, "KEPT", 2)
        yield


def blocks(count: int) -> list[Block]:
    return [ProseBlock(id=str(number), text=f"text {number}", state="complete") for number in range(count)]


def compressed(many: BlockList) -> int:
    """How many chunks are compressed."""
    return sum(isinstance(chunk, bytes) for chunk in many._chunks)


@given(st.lists(st.tuples(st.sampled_from(["append", "set", "pack", "copy", "read"]), st.integers(0, 60)), max_size=60))
def test_it_is_a_list_whatever_is_done_with_it(steps: list[tuple[str, int]]) -> None:
    simple, many = blocks(30), BlockList(blocks(30))
    for step, number in steps:
        block = UserBlock(id=f"u{number}", text="new")
        if step == "append":
            simple.append(block)
            many.append(block)
        elif step == "set":
            simple[number % len(simple)] = many[number % len(simple)] = block
        elif step == "pack":
            assert many.pack() <= len(many)
        elif step == "copy":
            before, many = many, BlockList(many)
            before[0] = block  # the copy does not change with it
        else:
            assert many[number % len(simple)] == simple[number % len(simple)]
    assert many == simple
    assert list(reversed(many)) == simple[::-1]
    assert many[-3:] == simple[-3:]
    with pytest.raises(IndexError):
        many[len(simple)]


def test_a_block_that_is_read_again_is_the_same_one_while_it_is_near() -> None:
    many = BlockList(blocks(40))
    assert many.pack() == 28
    assert compressed(many) == 7
    assert many[5] is many[5]


@pytest.mark.parametrize(
    "odd",
    [
        ProseBlock(id="x", text="more to come"),
        CodeBlock(id="x", language="python", state="running"),
        CodeBlock(id="x", language="python", state="ok", rerun="running"),
    ],
)
def test_what_is_not_at_rest_is_not_compressed_nor_anything_behind_it(odd: Block) -> None:
    many = BlockList([*blocks(9), odd, *blocks(30)])
    assert many.pack() == 8
    assert compressed(many) == 2


def test_pictures_and_text_that_cannot_be_encoded_stay_as_they_are() -> None:
    large = ProseBlock(id="x", text="x" * (block_list.LARGEST + 1), state="complete")
    half = ProseBlock(id="y", text="\ud800", state="complete")
    many = BlockList([large, *blocks(4), half, *blocks(30)])
    assert many.pack() == 24
    assert compressed(many) == 4
    assert many[0] is large
    assert many[5] is half


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_a_transcript_is_the_same_however_often_it_is_compressed(path: Path) -> None:
    events = list(read_recording(path).events())
    packed = Transcript(BlockList())
    for start in range(0, len(events), 7):
        extend(packed, events[start : start + 7])
        packed.pack()
    assert list(packed.blocks) == list(fold_events(events).blocks)


def test_a_compressed_block_still_changes() -> None:
    events: list[AnyEvent] = []
    for number in range(400):
        parts = prose(f"p{number}", f"words {number} " * 20), code(f"c{number}", "1", printed("1"))
        events += turn(f"t{number}", f"question {number}", *parts)
    packed = Transcript(BlockList())
    extend(packed, events)
    packed.pack()
    many = packed.blocks
    assert isinstance(many, BlockList)
    assert compressed(many) > 290
    changed = code("c0", "1", printed("late"))[-3]
    packed.apply(changed)
    assert isinstance(block := packed.block("c0"), CodeBlock)
    assert "late" in str(block.outputs)
    simple = fold_events([*events, changed])
    assert list(packed.blocks) == list(simple.blocks)
