"""The rule for when a run is over, and that no message can break it."""

import asyncio
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oi_tui.app.engine.core.events import (
    ActiveLineChanged,
    InputRequested,
    NoticeAdded,
    OutputAdded,
    OutputDropped,
    OutputsCleared,
    OutputUpdated,
)
from oi_tui.app.engine.core.outputs import ErrorOutput, RichOutput, StreamOutput
from oi_tui.app.engine.kernels.base import RunResult
from oi_tui.app.engine.kernels.jupyter_run import GRACE, NO_IDLE, JupyterRun
from oi_tui.app.engine.kernels.output_stream import GATHERED, LATE_INTERVAL
from support.kinds import narrow
from support.runs import events_of, make_jupyter_run, told

IDLE = {"execution_state": "idle"}
OK = {"status": "ok", "payload": []}

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KINDS = (
    "stream",
    "display_data",
    "execute_result",
    "update_display_data",
    "error",
    "clear_output",
    "status",
    "oi_tui_line",
    "oi_tui_skipped",
)
FIELDS = (
    "name",
    "text",
    "data",
    "metadata",
    "transient",
    "ename",
    "evalue",
    "traceback",
    "wait",
    "line",
    "characters",
    "lines",
)


async def test_a_run_is_over_with_reply_and_idle_in_either_order() -> None:
    for idle_first in (True, False):
        run = make_jupyter_run()
        run.on_iopub("status", IDLE) if idle_first else run.on_reply(OK)
        assert not run.output.over.is_set()
        run.on_reply(OK) if idle_first else run.on_iopub("status", IDLE)
        assert await events_of(run.output) == [RunResult(status="ok")]


async def test_k12_a_lost_idle_or_a_lost_reply_does_not_hang_the_run() -> None:
    without_idle, without_reply = make_jupyter_run(), make_jupyter_run()
    without_idle.on_reply({"status": "error"})
    without_reply.on_iopub("status", IDLE)
    missing = NoticeAdded(block_id="", level="info", title=NO_IDLE)
    assert await events_of(without_idle.output) == [missing, RunResult(status="error")]
    assert await events_of(without_reply.output) == [RunResult(status="ok")]


async def test_k12_what_came_while_this_process_stood_still_was_not_silence() -> None:
    run = make_jupyter_run()
    run.on_reply(OK)
    time.sleep(GRACE + 0.1)  # noqa: ASYNC251 # a busy machine; the messages wait in their socket
    for _ in range(3):
        await asyncio.sleep(0)
    run.on_iopub("stream", {"name": "stdout", "text": "after"})
    run.on_iopub("status", IDLE)
    assert await events_of(run.output) == [
        OutputAdded(block_id="", output=StreamOutput(name="stdout", text="after")),
        RunResult(status="ok"),
    ]


async def test_k26_an_aborted_reply_ends_the_run() -> None:
    run = make_jupyter_run()
    run.output.interrupting = True
    run.on_reply({"status": "aborted"})
    run.on_iopub("status", IDLE)
    assert await events_of(run.output) == [RunResult(status="interrupted")]


async def test_what_comes_after_the_end_does_not_end_it_again_and_is_ignored_where_nobody_listens() -> None:
    run = make_jupyter_run()
    run.output.finish(RunResult(status="died"))
    run.output.detach()
    run.on_iopub("stream", {"name": "stdout", "text": "late"})
    run.on_reply(OK)
    run.output.finish(RunResult(status="ok"))
    await asyncio.sleep(2 * LATE_INTERVAL)
    assert await events_of(run.output) == [RunResult(status="died")]


async def test_text_that_nobody_has_read_yet_is_joined() -> None:
    run = make_jupyter_run()
    for name in ("stdout", "stdout", "stderr", "stdout"):
        run.on_iopub("stream", {"name": name, "text": "x"})
    run.output.finish(RunResult(status="ok"))
    texts = [event.output for event in await events_of(run.output) if isinstance(event, OutputAdded)]
    assert texts == [
        StreamOutput(name="stdout", text="xx"),
        StreamOutput(name="stderr", text="x"),
        StreamOutput(name="stdout", text="x"),
    ]


def texts_of(run: JupyterRun) -> list[str]:
    """What it has told of its streams so far, event by event; anything else by its kind."""
    outputs = (narrow(event, OutputAdded).output for event in told(run.output))
    return [output.text if isinstance(output, StreamOutput) else type(output).__name__ for output in outputs]


async def test_text_is_told_at_once_and_what_follows_closely_a_moment_later_together() -> None:
    run, loop = make_jupyter_run(), asyncio.get_running_loop()
    run.on_iopub("stream", {"name": "stdout", "text": "a"})
    await asyncio.sleep(0)
    assert texts_of(run) == ["a"]
    told_at = loop.time()
    for letter in "bcd":
        run.on_iopub("stream", {"name": "stdout", "text": letter})
        await asyncio.sleep(0)
    assert texts_of(run) == ["a"] or loop.time() - told_at >= GATHERED
    due = asyncio.Event()
    loop.call_later(2 * GATHERED, due.set)
    await due.wait()
    assert "".join(texts_of(run)) == "abcd"
    assert len(texts_of(run)) < 4 or loop.time() - told_at >= 3 * GATHERED
    run.output.finish(RunResult(status="ok"))


async def test_a_result_does_not_wait_for_text_and_comes_behind_it() -> None:
    run = make_jupyter_run()
    for text in ("a", "b"):
        run.on_iopub("stream", {"name": "stdout", "text": text})
        await asyncio.sleep(0)
    run.on_iopub("execute_result", {"data": {"text/plain": "2"}})
    await asyncio.sleep(0)
    assert texts_of(run) == ["a", "b", "RichOutput"]
    run.on_iopub("stream", {"name": "stdout", "text": "c"})
    run.on_reply(OK)
    run.on_iopub("status", IDLE)
    assert texts_of(run) == ["a", "b", "RichOutput", "c"]


async def test_k11_a_flood_of_displays_is_bounded() -> None:
    run = make_jupyter_run(cap=100_000)
    for _ in range(5_000):
        run.output.display(RichOutput(data={"text/html": "<b>"}))
        run.output.update(RichOutput(data={"text/html": "<b>"}, display_id="d"))
    run.output.finish(RunResult(status="ok"))
    events = await events_of(run.output)
    assert len(events) <= 1_002
    assert any(isinstance(event, OutputDropped) for event in events)


STORM = 20_000


@pytest.mark.parametrize("kind", ["lines", "clearings", "clearings and prints", "questions", "updates"])
async def test_K39_what_comes_too_often_is_merged_and_the_last_of_it_is_told(kind: str) -> None:
    run = make_jupyter_run("1\n" * STORM)
    run.output.display(RichOutput(data={"text/plain": "first"}, display_id="d"))
    for number in range(STORM):
        match kind:
            case "lines":
                run.on_iopub("oi_tui_line", {"line": number + 1})
            case "clearings":
                run.on_iopub("clear_output", {})
            case "clearings and prints":
                run.on_iopub("clear_output", {"wait": True})
                run.on_iopub("stream", {"name": "stdout", "text": f"{number}\n"})
            case "questions":
                run.on_stdin("input_request", {"prompt": f"{number}? ", "password": False})
            case _:
                run.on_iopub(
                    "update_display_data", {"data": {"text/plain": f"{number}"}, "transient": {"display_id": "d"}}
                )
        await asyncio.sleep(0)  # as between two messages: whatever is queued is emitted, if it need not wait
    run.output.finish(RunResult(status="ok"))
    *_, last, _ = events = await events_of(run.output)
    assert len(events) < STORM / 4
    match last:
        case ActiveLineChanged(line=line):
            assert line == STORM
        case OutputAdded(output=StreamOutput(text=text)):
            assert text == f"{STORM - 1}\n"
        case InputRequested(prompt=prompt):
            assert prompt == f"{STORM - 1}? "
        case OutputUpdated(output=output):
            assert narrow(output, RichOutput).data["text/plain"] == f"{STORM - 1}"
        case _:
            assert last == OutputsCleared(block_id="")


async def test_K39_marks_that_come_as_they_do_in_a_usual_run_are_all_told() -> None:
    run = make_jupyter_run("1\n" * 500)
    for number in range(500):
        run.output.line(number + 1)
        await asyncio.sleep(0)
    run.output.finish(RunResult(status="ok"))
    assert len(await events_of(run.output)) == 501


async def test_k11_updates_replace_and_so_do_not_use_up_the_cap() -> None:
    run = make_jupyter_run(cap=100_000)
    run.output.display(RichOutput(data={"text/plain": "0"}, display_id="d"))
    for number in range(12_000):
        run.output.update(RichOutput(data={"text/plain": f"step {number}"}, display_id="d"))
        run.output.stream("stdout", ".")
    run.output.stream("stdout", "printed")
    run.output.finish(RunResult(status="ok"))
    events = await events_of(run.output)
    updates = [event.output for event in events if isinstance(event, OutputUpdated)]
    assert updates[-1] == RichOutput(data={"text/plain": "step 11999"}, display_id="d")
    assert sum(str(event).count("printed") for event in events) == 1
    assert not any(isinstance(event, OutputDropped) for event in events)


async def test_an_update_is_not_shown_before_the_display_that_it_belongs_to() -> None:
    run = make_jupyter_run()
    for name in ("old", "new"):
        run.output.display(RichOutput(data={"text/plain": name}, display_id="d"))
        run.output.update(RichOutput(data={"text/plain": f"{name} changed"}, display_id="d"))
        run.output.clear(wait=False) if name == "old" else None
    run.output.finish(RunResult(status="ok"))
    shown = [
        narrow(event.output, RichOutput).data["text/plain"]
        for event in await events_of(run.output)
        if isinstance(event, OutputAdded | OutputUpdated)
    ]
    assert shown == ["old", "old changed", "new", "new changed"]


async def test_k11_pictures_that_replace_each_other_are_charged_once() -> None:
    run = make_jupyter_run()
    run.output.display(RichOutput(data={"image/png": "A" * 1_000_000}, display_id="d"))
    for number in range(50):
        run.output.update(RichOutput(data={"image/png": "A" * 1_000_000, "text/html": str(number)}, display_id="d"))
        run.output.stream("stdout", ".")
    run.output.finish(RunResult(status="ok"))
    events = await events_of(run.output)
    last = [event for event in events if isinstance(event, OutputUpdated)][-1]
    assert narrow(last.output, RichOutput).data["text/html"] == "49"
    assert not any(isinstance(event, OutputDropped) for event in events)


async def test_k11_endless_updates_are_thinned_and_the_last_one_is_shown() -> None:
    run = make_jupyter_run()
    run.output.display(RichOutput(data={"image/png": "A" * 10_000_000}, display_id="d"))
    for number in range(50):
        run.output.update(RichOutput(data={"image/png": "A" * 10_000_000, "text/html": str(number)}, display_id="d"))
        run.output.stream("stdout", ".")
        run.output.clear(wait=False) if number == 10 else None
    run.output.finish(RunResult(status="ok"))
    updates = [event for event in await events_of(run.output) if isinstance(event, OutputUpdated)]
    assert len(updates) < 10
    assert narrow(updates[-1].output, RichOutput).data["text/html"] == "49"


async def test_k13_a_huge_picture_is_left_out_and_its_text_kept() -> None:
    run = make_jupyter_run()
    run.on_iopub("display_data", {"data": {"image/png": "A" * 33_000_000, "text/plain": "<Figure>"}, "metadata": {}})
    run.output.finish(RunResult(status="ok"))
    first, capped, _ = await events_of(run.output)
    assert first == OutputAdded(block_id="", output=RichOutput(data={"text/plain": "<Figure>"}))
    assert capped == OutputDropped(block_id="", characters=33_000_000)


async def test_k15_a_huge_traceback_keeps_its_beginning_and_its_end() -> None:
    run = make_jupyter_run()
    run.output.error(ErrorOutput(name="E", value="v" * 100_000, traceback=("first", "x" * 1_000_000, "last")))
    run.output.finish(RunResult(status="error"))
    event = (await events_of(run.output))[0]
    assert isinstance(event, OutputAdded)
    assert isinstance(event.output, ErrorOutput)
    text = "\n".join(event.output.traceback)
    assert len(text) + len(event.output.value) < 50_000
    assert text.startswith("first")
    assert text.endswith("last")


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.dictionaries(st.sampled_from(FIELDS), JSON)), max_size=8))
def test_k28_no_message_breaks_a_run(messages: list[tuple[str, dict[str, Any]]]) -> None:
    async def feed() -> None:
        run = make_jupyter_run()
        for kind, content in messages:
            run.on_iopub(kind, content)
        run.on_stdin("input_request", messages[0][1] if messages else {})
        run.on_reply(messages[0][1] if messages else {})
        run.output.finish(RunResult(status="ok"))
        events = await events_of(run.output)
        assert isinstance(events[-1], RunResult)
        assert all(event.display_id for event in events if isinstance(event, OutputUpdated))

    asyncio.run(feed())
