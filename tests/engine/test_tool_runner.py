"""What a tool does wrong is its error, told to the person and the model: nothing else comes of it."""

import asyncio
import math
from typing import Any

import msgspec
import pytest

from oi_tui.app.engine.core.encoding import as_json
from oi_tui.app.engine.core.events import AnyEvent, OutputAdded, ProgressReported
from oi_tui.app.engine.core.outputs import ErrorOutput, Progress, RichOutput, StreamOutput
from oi_tui.app.engine.kernels.base import RunResult
from oi_tui.app.engine.kernels.output_stream import LATE_INTERVAL
from oi_tui.app.engine.tools.tool import Arguments, RunCall, ToolOutput
from oi_tui.app.engine.tools.tool_runner import CAP, ToolRunner
from support.tool_calls import tool

OBJECT: dict[str, Any] = {"type": "object"}


async def outcome(run: RunCall, source: str = "{}") -> tuple[RunResult, list[AnyEvent]]:
    """How one call went, and what was told of it, each event as a front end and the store read it."""
    events: list[AnyEvent] = []
    async with asyncio.timeout(10):
        result = await ToolRunner(tool(run, schema=OBJECT)).run(source, "b1", events.append)
    for event in events:
        assert msgspec.json.decode(as_json(event), type=AnyEvent) == event
    return result, events


def errors(events: list[AnyEvent]) -> list[str]:
    return [
        "\n".join(event.output.traceback)
        for event in events
        if isinstance(event, OutputAdded) and isinstance(event.output, ErrorOutput)
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        (math.nan,),
        (math.inf,),
        (1, -math.inf),
        ("x",),
        (None,),
        (1, "2"),
        (10**400,),
        (1, 2, 3),
        (1, None, None),
        (1, None, b"half"),
    ],
)
async def test_progress_that_is_no_progress_is_an_error_of_the_tool(arguments: tuple[Any, ...]) -> None:
    async def misreport(_: Arguments, output: ToolOutput) -> None:
        output.report(*arguments)

    result, events = await outcome(misreport)
    assert result.status == "error"
    assert len(errors(events)) == 1
    assert not any(isinstance(event, ProgressReported) for event in events)


async def test_progress_is_told_in_characters_that_can_be_written() -> None:
    async def report(_: Arguments, output: ToolOutput) -> None:
        output.report(1, 2, "half \ud800" + "x" * 100_000)

    result, events = await outcome(report)
    (told,) = (event.progress for event in events if isinstance(event, ProgressReported))
    assert (result.status, told.done, len(told.message) < 10_000) == ("ok", 1, True)


@pytest.mark.parametrize(
    "shown",
    [
        RichOutput(data={"application/json": {"a": math.nan, "b": "\ud800", "c": 2**70}}),
        RichOutput(data={"text/plain": object()}),
        RichOutput(data="text"),  # type: ignore[arg-type] # what a tool may do all the same
        RichOutput(data={"text/plain": "a"}, display_id=3),  # type: ignore[arg-type] # what a tool may do all the same
        RichOutput(data={"image/png": b"\x89PNG"}),
        "text",
        None,
    ],
)
@pytest.mark.parametrize("shows", [True, False])
async def test_what_cannot_be_shown_is_mended_or_an_error_of_the_tool(shown: Any, shows: bool) -> None:
    async def show(_: Arguments, output: ToolOutput) -> Any:
        return output.show(shown) if shows else shown

    result, events = await outcome(show)
    assert events or (not shows and shown is None)
    assert (result.status == "error") == bool(errors(events))


@pytest.mark.parametrize("printed", [3, None, b"bytes", ["x"]])
async def test_what_is_printed_is_text(printed: Any) -> None:
    async def put(_: Arguments, output: ToolOutput) -> None:
        output.print(printed)

    result, events = await outcome(put)
    assert (result.status, len(errors(events))) == ("error", 1)


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), BaseException("odd"), GeneratorExit()])
async def test_a_tool_that_ends_the_program_ends_its_call(error: BaseException) -> None:
    async def leave(_: Arguments, output: ToolOutput) -> None:
        raise error

    result, events = await outcome(leave)
    (said,) = errors(events)
    assert (result.status, type(error).__name__ in said) == ("error", True)


async def test_an_error_that_cannot_say_what_it_is_is_named() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise ValueError("no words")

    async def fail(_: Arguments, output: ToolOutput) -> None:
        raise Mute

    result, events = await outcome(fail)
    assert (result.status, errors(events)) == ("error", ["Mute: Mute"])


async def test_what_another_thread_says_is_told_in_its_order() -> None:
    def work(output: ToolOutput) -> None:
        output.print("from ")
        output.print("a thread")
        output.report(1, 2)
        output.show(RichOutput(data={"text/plain": "shown"}))

    async def hand_over(_: Arguments, output: ToolOutput) -> None:
        await asyncio.to_thread(work, output)

    result, events = await outcome(hand_over)
    outputs = [event.output for event in events if isinstance(event, OutputAdded)]
    assert result.status == "ok"
    assert "".join(output.text for output in outputs if isinstance(output, StreamOutput)) == "from a thread"
    assert outputs[-1] == RichOutput(data={"text/plain": "shown"})
    assert [event.progress for event in events if isinstance(event, ProgressReported)] == [Progress(done=1, total=2)]


@pytest.mark.parametrize("result", [{"a": 1}, 3, ["x"], b"bytes", True])
async def test_a_result_of_another_type_is_an_error_that_names_the_type(result: Any) -> None:
    async def give(_: Arguments, output: ToolOutput) -> Any:
        return result

    ended, events = await outcome(give)
    (said,) = errors(events)
    assert (ended.status, f"a result of the type {type(result).__name__}" in said) == ("error", True)


async def test_a_call_that_is_cancelled_from_inside_is_not_blamed_on_the_person() -> None:
    async def cancel(_: Arguments, output: ToolOutput) -> None:
        raise asyncio.CancelledError

    async def cancel_itself(_: Arguments, output: ToolOutput) -> None:
        own = asyncio.current_task()
        assert own is not None
        own.cancel()
        await asyncio.sleep(0)

    for run in (cancel, cancel_itself):
        result, events = await outcome(run)
        assert (result.status, errors(events)) == ("error", ["The call was cancelled, and not by the person."])


async def test_nothing_is_heard_of_a_call_once_it_is_over() -> None:
    kept: list[ToolOutput] = []

    async def keep(_: Arguments, output: ToolOutput) -> None:
        kept.append(output)

    _, events = await outcome(keep)
    told = len(events)

    def go_on() -> None:
        kept[0].print("late")
        kept[0].show(RichOutput(data={"text/plain": "late"}))
        kept[0].report(1)

    go_on()
    await asyncio.to_thread(go_on)
    await asyncio.wait([asyncio.create_task(asyncio.Event().wait())], timeout=LATE_INTERVAL * 2)
    assert len(events) == told


async def test_nothing_is_told_of_a_call_whose_session_does_not_wait_for_it_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("oi_tui.app.engine.kernels.output_stream.TAIL_INTERVAL", 0.01)
    begun = asyncio.Event()

    async def flood(_: Arguments, output: ToolOutput) -> None:
        output.print("x" * CAP * 2)
        begun.set()
        await asyncio.Event().wait()

    events: list[AnyEvent] = []
    running = asyncio.create_task(ToolRunner(tool(flood, schema=OBJECT)).run("{}", "b1", events.append))
    await begun.wait()
    running.cancel()
    await asyncio.wait([running])
    told = len(events)
    await asyncio.wait([asyncio.create_task(asyncio.Event().wait())], timeout=0.1)
    assert (running.cancelled(), len(events)) == (True, told)
