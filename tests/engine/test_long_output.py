"""Output of any length in the transcript, in the store, and in the words for the model."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.events import (
    AnyEvent,
    CodeStarted,
    ConversationCleared,
    ExecutionFinished,
    ExecutionStarted,
    OutputAdded,
    OutputKept,
    OutputsCleared,
    OutputTailMoved,
    OutputUpdated,
)
from oi_tui.app.engine.core.outputs import (
    APART,
    ErrorOutput,
    Output,
    RichOutput,
    StreamName,
    StreamOutput,
    Tail,
    WholeOutput,
)
from oi_tui.app.engine.formats.lmc import LmcWriter, fold_chunks, static_messages
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.log.writer import LogWriter
from oi_tui.app.engine.text.mime import report
from oi_tui.app.engine.transcript.coalesce import coalesce
from oi_tui.app.engine.transcript.transcript import Transcript
from support.sessions import no_giving_up

OPENING: tuple[AnyEvent, ...] = (
    CodeStarted(block_id="c", language="python"),
    ExecutionStarted(block_id="c", generation=1),
)
FINISHED = ExecutionFinished(block_id="c", status="ok", duration=1.0)


def added(text: str, name: StreamName = "stdout") -> OutputAdded:
    return OutputAdded(block_id="c", output=StreamOutput(name=name, text=text))


def moved(text: str, name: StreamName = "stdout", characters: int = 0, lines: int = 0) -> OutputTailMoved:
    tail = Tail(text=text, left_out_characters=characters, left_out_lines=lines)
    return OutputTailMoved(block_id="c", name=name, tail=tail)


def fold(events: Iterable[AnyEvent]) -> Transcript:
    transcript = Transcript()
    for event in (*OPENING, *events):
        transcript.apply(event)
    return transcript


def block_of(events: Iterable[AnyEvent]) -> CodeBlock:
    block = fold(events).block("c")
    assert isinstance(block, CodeBlock)
    return block


def code(*outputs: Output, whole: WholeOutput | None = None) -> CodeBlock:
    return CodeBlock(id="c", language="python", source="1", state="ok", outputs=outputs, whole=whole)


# -- the fold --------------------------------------------------------------------------------------


def test_a_piece_of_text_costs_its_own_length_however_much_is_there() -> None:
    transcript = fold([added("0")])
    for _ in range(10_000):
        transcript.apply(added("x" * 10))
    untouched = transcript._blocks[0]
    assert isinstance(untouched, CodeBlock)
    assert untouched.outputs == (StreamOutput(name="stdout", text="0"),)
    read = transcript.blocks[0]
    assert isinstance(read, CodeBlock)
    assert read.outputs == (StreamOutput(name="stdout", text="0" + "x" * 100_000),)
    assert transcript.blocks[0] is read


def test_R8_prints_under_a_progress_bar_are_a_bounded_number_of_outputs() -> None:
    events = [event for n in range(10_000) for event in (added(f"{n}\n"), added(f"\r{n}%", "stderr"))]
    outputs = block_of(events).outputs
    assert len(outputs) == APART
    assert outputs[:2] == (StreamOutput(name="stdout", text="0\n"), StreamOutput(name="stderr", text="\r0%"))
    for name, text in (("stdout", "".join(f"{n}\n" for n in range(10_000))), ("stderr", "\r9999%")):
        assert "".join(o.text for o in outputs if isinstance(o, StreamOutput) and o.name == name).endswith(text)


def test_text_does_not_join_what_stands_before_a_picture() -> None:
    picture = OutputAdded(block_id="c", output=RichOutput(data={"text/plain": "<Figure>"}))
    events = [added("a\n", name) for _ in range(APART) for name in ("stdout", "stderr")]
    assert block_of([*events, picture, added("after\n")]).outputs[-1] == StreamOutput(name="stdout", text="after\n")


def test_a_tail_belongs_to_the_last_output_of_its_stream_or_is_one() -> None:
    block = block_of([added("a"), moved("b", characters=5), moved("c", characters=6), moved("e", "stderr")])
    assert block.outputs == (
        StreamOutput(name="stdout", text="a", tail=Tail(text="c", left_out_characters=6)),
        StreamOutput(name="stderr", text="", tail=Tail(text="e")),
    )


def test_R7_cleared_output_has_no_tail_and_no_file() -> None:
    kept = OutputKept(block_id="c", whole=WholeOutput(path="/a"))
    assert block_of([added("a"), moved("b"), kept]).whole == WholeOutput(path="/a")
    block = block_of([added("a"), moved("b"), kept, OutputsCleared(block_id="c"), added("n")])
    assert (block.outputs, block.whole) == ((StreamOutput(name="stdout", text="n"),), None)


names = st.sampled_from(["stdout", "stderr"])
steps = st.one_of(
    st.builds(added, st.sampled_from(["a", "b\n", ""]), names),
    st.builds(moved, st.sampled_from(["x", "y\n"]), names, st.integers(0, 3)),
    st.just(OutputsCleared(block_id="c")),
    st.just(OutputAdded(block_id="c", output=RichOutput(data={"text/plain": "r"}))),
)


@given(st.lists(steps, max_size=30))
def test_coalescing_tails_changes_nothing_that_the_fold_sees(events: list[AnyEvent]) -> None:
    merged = coalesce(events)
    assert fold(merged) == fold(events)
    assert coalesce(merged) == merged


def test_a_front_end_that_does_not_read_finds_one_tail_of_each_stream() -> None:
    events = [event for n in range(1_000) for event in (moved(f"{n}"), moved(f"{n}", "stderr"))]
    assert coalesce(events) == [moved("999"), moved("999", "stderr")]


def test_of_changes_of_one_display_that_follow_each_other_the_last_one_is_told() -> None:
    def changed(text: str, name: str = "d") -> OutputUpdated:
        return OutputUpdated(block_id="c", display_id=name, output=RichOutput(data={"text/plain": text}))

    events = [changed("1"), changed("2"), changed("1", "e"), changed("3"), changed("4")]
    assert coalesce(events) == [changed("2"), changed("1", "e"), changed("4")]


# -- the store -------------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "sessions.db")
    opened.create("one", 1.0, "/work")
    yield opened
    opened.close()


def test_of_the_ends_that_an_output_has_the_first_and_the_last_are_stored(store: Store) -> None:
    writer, events = LogWriter(store, "one", no_giving_up), [*OPENING, added("head\n")]
    for number in range(500):
        events += [moved(f"{number}", characters=number), moved(f"e{number}", "stderr")]
    events += [OutputAdded(block_id="c", output=ErrorOutput(name="E", value="v")), FINISHED]
    for event in events:
        writer.append(event)
        writer.write()
    stored = store.load("one")
    tails = [event for event in stored if isinstance(event, OutputTailMoved)]
    assert tails == [moved("0"), moved("e0", "stderr"), moved("499", characters=499), moved("e499", "stderr")]
    assert fold(stored[2:]) == fold(events[2:])


async def write(store: Store, *parts: list[AnyEvent]) -> None:
    """Each part in one go, and the end."""
    writer = LogWriter(store, "one", no_giving_up)
    for part in parts:
        for event in part:
            writer.append(event)
        writer.write()
    assert await writer.finish() is None


async def test_the_newest_end_is_stored_when_the_engine_ends_in_the_middle(store: Store) -> None:
    await write(store, [*OPENING, added("a"), moved("0"), moved("1")], [moved("2")])
    assert store.load("one")[-1] == moved("2")


async def test_nothing_is_stored_of_output_that_is_cleared(store: Store) -> None:
    for gone in (OutputsCleared(block_id="c"), ConversationCleared()):
        await write(store, [*OPENING, moved("0"), moved("1"), gone])
        assert store.load("one")[-1] == gone


def test_events_of_earlier_programs_are_read() -> None:
    dropped = b'{"type":"OutputDropped","block_id":"c","characters":7,"path":"/some/where.txt"}'
    stream = b'{"type":"OutputAdded","block_id":"c","output":{"type":"stream","name":"stdout","text":"a"}}'
    events = [msgspec.json.decode(event, type=AnyEvent) for event in (stream, dropped)]
    block = block_of(events)
    assert block.outputs == (StreamOutput(name="stdout", text="a"),)
    assert block.dropped == 7


# -- what the model is told ------------------------------------------------------------------------


def test_L14_the_model_is_told_head_and_tail_the_lines_between_and_the_file() -> None:
    text = "".join(f"line {number}\n" for number in range(2_000))
    told = report(code(StreamOutput(name="stdout", text=text), whole=WholeOutput(path="/a/output.txt")), 1_200)
    head, _, rest = told.partition("[… ")
    note, _, tail = rest.partition(" …]\n")
    assert head.startswith("line 0\nline 1\n")
    assert tail.endswith("line 1998\nline 1999")
    left_out = 2_000 - head.count("\n") - tail.count("\n")
    assert note in [
        f"{count:,} lines left out; all of the output is in the file /a/output.txt"
        for count in (left_out - 1, left_out, left_out + 1)  # where a line is cut in two
    ]
    assert len(told) < 1_400


def test_L14_the_end_of_an_output_beyond_the_cap_is_told() -> None:
    tail = Tail(text="last line\n", left_out_characters=5_000_000, left_out_lines=400_000)
    stream = StreamOutput(name="stdout", text="first line\n", tail=tail)
    whole = WholeOutput(path="/a", missing="only its first 1,000 MB are kept")
    failed = StreamOutput(name="stderr", text="", tail=Tail(text="failed\n"))
    assert report(code(stream, failed, whole=whole), 1_000) == (
        "first line\n"
        "[… 400,000 lines left out; all of the output is in the file /a (only its first 1,000 MB are kept) …]\n"
        "last line\nfailed"
    )


def test_a_tail_without_a_gap_goes_on_where_the_head_ended() -> None:
    assert report(code(StreamOutput(name="stdout", text="one ", tail=Tail(text="line\n"))), 1_000) == "one line"


def test_of_a_huge_output_only_what_may_be_told_is_cleaned() -> None:
    told = report(code(StreamOutput(name="stdout", text="\x1b[31mred\x1b[0m\n" * 200_000)), 1_000)
    assert told.startswith("red\nred\n")
    assert "\x1b" not in told
    (count,) = [part for part in told.split() if part.replace(",", "").isdecimal()]
    assert abs(int(count.replace(",", "")) + told.count("red") - 200_000) <= 2


def test_every_message_of_a_chain_and_every_note_is_told_and_no_inside_of_a_library() -> None:
    traceback = (
        "-" * 75,
        "KeyError                  Traceback (most recent call last)",
        "\x1b[36mCell\x1b[39m In[1], line 2\n----> 2 f()\n",
        "File ~/lib.py:3, in f()\n----> 3 inside\n",
        "KeyError: 'a'",
        "\nDuring handling of the above exception, another exception occurred:\n",
        "ValueError                Traceback (most recent call last)",
        "Cell In[1], line 4\n----> 4 g()\n",
        "ValueError: b",
        "a note",
    )
    told = report(code(ErrorOutput(name="ValueError", value="b", traceback=traceback)), 4_000)
    assert [line for line in told.split("\n") if line] == [
        "Cell In[1], line 2",
        "----> 2 f()",
        "KeyError: 'a'",
        "During handling of the above exception, another exception occurred:",
        "Cell In[1], line 4",
        "----> 4 g()",
        "ValueError: b",
        "a note",
    ]


# -- the message language --------------------------------------------------------------------------


def test_the_end_of_a_long_stream_is_a_part_of_its_message() -> None:
    events = [*OPENING, added("head\n"), moved("1\n", characters=3), moved("end\n", characters=7), FINISHED]
    writer = LmcWriter()
    chunks = [chunk for event in events for chunk in writer.chunks(event)]
    (_, console) = static_messages(fold(events[2:]))
    assert console["content"] == "head\n[7 characters are not shown]\nend\n"
    assert fold_chunks(chunks)[-1]["content"] == console["content"]
