"""What becomes of output that is too long: its end is told, it is counted, and all of it is in a file."""

import asyncio
import os
import resource
from collections.abc import Iterable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from oi_tui.app.engine.core.events import AnyEvent, OutputAdded, OutputKept, OutputsCleared, OutputTailMoved
from oi_tui.app.engine.core.outputs import RichOutput, StreamOutput, Tail, WholeOutput
from oi_tui.app.engine.kernels.base import RunResult
from oi_tui.app.engine.kernels.output_cap import TAIL_CHARACTERS, OutputCap, Ring
from oi_tui.app.engine.kernels.output_stream import OutputStream
from oi_tui.app.engine.kernels.spill import LONG, Spill, make_room
from support.runs import events_of, make_run, told

OK = RunResult(status="ok")


async def ended(run: OutputStream) -> list[AnyEvent | RunResult]:
    run.finish(OK)
    return await events_of(run)


def ring_of(pieces: Iterable[str]) -> Ring:
    ring = Ring()
    for piece in pieces:
        ring.add(piece)
    return ring


async def test_L14_the_end_of_a_long_output_is_told_and_the_lines_before_it_counted(tmp_path: Path) -> None:
    run = make_run(cap=25, spill_dir=tmp_path)
    for number in range(0, 10_000, 5):
        run.stream("stdout", "".join(f"line {number + more}\n" for more in range(5)))
    head, filed, moved, end = await ended(run)
    assert head == OutputAdded(block_id="", output=StreamOutput(name="stdout", text="line 0\nline 1\nline 2\n"))
    assert isinstance(moved, OutputTailMoved)
    assert isinstance(filed, OutputKept)
    tail = moved.tail
    lines = tail.text.splitlines()
    assert lines == [f"line {number}" for number in range(10_000 - len(lines), 10_000)]
    assert 3 + tail.left_out_lines + len(lines) == 10_000
    whole = Path(filed.whole.path)
    assert whole.read_text() == "".join(f"line {number}\n" for number in range(10_000))
    assert whole.stat().st_mode & 0o777 == 0o600
    assert end == OK


async def test_an_output_of_a_few_lines_has_no_file(tmp_path: Path) -> None:
    run = make_run(cap=1_000_000, spill_dir=tmp_path)
    run.stream("stdout", "x" * LONG)
    assert len(await ended(run)) == 2
    assert list(tmp_path.iterdir()) == []


@given(st.lists(st.text("ab\n\r", max_size=5_000), max_size=30))
def test_head_gap_and_tail_are_all_there_is(pieces: list[str]) -> None:
    cap, text = OutputCap(9_000, None), "".join(pieces)
    head = "".join(cap.admit("stdout", piece) for piece in pieces)
    tail = cap.tail("stdout") or Tail(text="")
    assert text.startswith(head)
    assert text.endswith(tail.text)
    assert len(head) + tail.left_out_characters + len(tail.text) == len(text)
    assert head.count("\n") + tail.left_out_lines + tail.text.count("\n") == text.count("\n")


def test_a_tail_starts_with_a_line_or_with_a_state_of_a_progress_bar() -> None:
    lines = ring_of(f"line {number}\n" for number in range(50_000)).tail()
    assert lines.text.startswith("line ")
    bar = ring_of(f"\r{number:6}|####|" for number in range(50_000)).tail()
    assert bar.text.startswith("\r")
    assert bar.left_out_lines == 0
    without = ring_of("x" * 100_000 for _ in range(3)).tail()
    assert without == Tail(text="x" * TAIL_CHARACTERS, left_out_characters=300_000 - TAIL_CHARACTERS)


def test_the_memory_for_a_tail_does_not_grow_with_the_output() -> None:
    ring = ring_of("0123456789" * 100_000 for _ in range(100))
    assert sum(map(len, ring._pieces)) <= 2 * TAIL_CHARACTERS
    ring = ring_of("ab" for _ in range(100_000))
    assert sum(map(len, ring._pieces)) <= TAIL_CHARACTERS + 2


async def test_the_newest_tail_is_the_one_that_is_read() -> None:
    run = make_run(cap=10, spill_dir=None)
    run.stream("stdout", "0123456789")
    for number in range(5):
        run.stream("stdout", f"{number}\n")
        run._tell_tails()
    tails = [event for event in await ended(run) if isinstance(event, OutputTailMoved)]
    assert tails == [OutputTailMoved(block_id="", name="stdout", tail=Tail(text="0\n1\n2\n3\n4\n"))]


async def test_a_tail_is_told_while_the_run_goes_on() -> None:
    run = make_run(cap=10, spill_dir=None)
    run.stream("stdout", "x" * 10 + "end")
    async with asyncio.timeout(10):
        while not any(isinstance(event, OutputTailMoved) for event in told(run)):  # noqa: ASYNC110 - a list sets no event
            await asyncio.sleep(0.01)
    assert not run.over.is_set()
    assert told(run)[-1] == OutputTailMoved(block_id="", name="stdout", tail=Tail(text="end"))


async def test_R8_each_stream_has_a_tail_of_its_own() -> None:
    run = make_run(cap=10, spill_dir=None)
    run.stream("stdout", "x" * 100)
    run.stream("stderr", "failed\n")
    tails = {event.name: event.tail.text for event in await ended(run) if isinstance(event, OutputTailMoved)}
    assert tails == {"stdout": "x" * 90, "stderr": "failed\n"}


async def test_R6_there_is_room_for_a_result_behind_a_flood() -> None:
    run = make_run(cap=1_000, spill_dir=None)
    run.stream("stdout", "x" * 5_000)
    picture = RichOutput(data={"text/plain": "<Figure>", "image/png": "iVBOR"})
    run.display(picture)
    assert OutputAdded(block_id="", output=picture) in await ended(run)


async def test_R7_clearing_the_output_begins_afresh(tmp_path: Path) -> None:
    run = make_run(cap=20, spill_dir=tmp_path)
    run.stream("stdout", "x" * 2 * LONG)
    run._tell_tails()
    run.clear(wait=False)
    run.stream("stdout", "y" * 30)
    events = await ended(run)
    after = events[events.index(OutputsCleared(block_id="")) + 1 :]
    assert after == [
        OutputAdded(block_id="", output=StreamOutput(name="stdout", text="y" * 20)),
        OutputTailMoved(block_id="", name="stdout", tail=Tail(text="y" * 10)),
        OK,
    ]
    assert not any(isinstance(event, OutputTailMoved) for event in events[: events.index(OutputsCleared(block_id=""))])
    assert list(tmp_path.iterdir()) == []


async def test_a_folder_that_is_not_there_does_not_stop_the_run_and_is_told(tmp_path: Path) -> None:
    run = make_run(cap=10, spill_dir=tmp_path / "missing")
    run.stream("stdout", "x" * 2 * LONG)
    events = await ended(run)
    whole = WholeOutput(path="", missing="it could not be written: No such file or directory")
    assert OutputKept(block_id="", whole=whole) in events
    assert events[-1] == OK


def test_a_full_disk_does_not_stop_the_run_and_is_told(tmp_path: Path) -> None:
    spill, limits = Spill(tmp_path), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4 * LONG, limits[1]))
    try:
        for _ in range(4):
            spill.add("x" * 2 * LONG)
        spill.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert spill.whole is not None
    assert spill.whole.missing == "the rest could not be written: File too large"
    assert Path(spill.whole.path).read_text() == "x" * 4 * LONG


def test_the_file_of_an_endless_loop_ends_with_a_whole_character(tmp_path: Path) -> None:
    spill = Spill(tmp_path)
    spill._room = 2 * LONG + 1
    spill.add("é" * LONG + "éé")
    spill.add("more")
    spill.close()
    assert spill.whole is not None
    assert Path(spill.whole.path).read_text() == "é" * LONG
    assert "first" in spill.whole.missing


def test_old_files_make_room_and_the_newest_stays(tmp_path: Path) -> None:
    for age, name in enumerate(("output-new", "output-old", "output-oldest", "notes")):
        path = tmp_path / name
        path.write_bytes(b"x" * 100)
        os.utime(path, (1_000 - age, 1_000 - age))
    make_room(tmp_path, 250)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes", "output-new", "output-old"]
    make_room(tmp_path, 10)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes", "output-new"]


async def test_text_costs_no_more_the_more_there_is_already() -> None:
    """Counted by the characters that are copied to pass it on: every piece is joined once."""
    run = make_run(cap=1_000_000, spill_dir=None)
    for _ in range(10_000):
        run.stream("stdout", "x" * 10)
    assert len(run._queue) == 1
    head, _ = await ended(run)
    assert isinstance(head, OutputAdded)
    assert isinstance(head.output, StreamOutput)
    assert len(head.output.text) == 100_000
