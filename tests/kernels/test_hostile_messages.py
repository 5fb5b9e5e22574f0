"""What a kernel may send without breaking the session: every event that comes of it can be stored and read back."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oi_tui.app.engine.core.events import ActiveLineChanged, AnyEvent, OutputTailMoved
from oi_tui.app.engine.core.protocol import Batch
from oi_tui.app.engine.core.protocol_lines import decode_reply, encode_message
from oi_tui.app.engine.kernels.base import RunResult
from oi_tui.app.engine.kernels.jupyter import JupyterKernel
from support.runs import collect, events_of, make_jupyter_run

TEXT = st.text(st.characters(exclude_categories=()), max_size=8)  # lone surrogates among them
BODY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
MIME = st.sampled_from(("text/plain", "text/html", "application/json", "a\ud800b"))
BUNDLE = st.dictionaries(MIME, BODY, max_size=3)
DISPLAYED = st.fixed_dictionaries(
    {
        "data": BUNDLE,
        "metadata": st.dictionaries(TEXT, BODY, max_size=2),
        "transient": st.fixed_dictionaries({"display_id": TEXT | st.none()}),
    }
)
MESSAGE = (
    st.tuples(st.sampled_from(("display_data", "execute_result", "update_display_data")), DISPLAYED)
    | st.tuples(st.just("stream"), st.fixed_dictionaries({"name": st.just("stdout"), "text": TEXT}))
    | st.tuples(st.just("error"), st.fixed_dictionaries({"ename": TEXT, "evalue": TEXT, "traceback": st.lists(TEXT)}))
    | st.tuples(st.just("oi_tui_line"), st.fixed_dictionaries({"line": BODY}))
    | st.tuples(st.just("oi_tui_dropped"), st.fixed_dictionaries({"characters": BODY}))
)


def nested(depth: int) -> Any:
    """Lists in lists."""
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


def made_of(messages: list[tuple[str, dict[str, Any]]]) -> list[AnyEvent]:
    """What a run makes of them."""

    async def feed() -> list[AnyEvent]:
        run = make_jupyter_run("1\n2")
        for kind, content in messages:
            run.on_iopub(kind, content)
        run.output.finish(RunResult(status="ok"))
        return [event for event in await events_of(run.output) if not isinstance(event, RunResult)]

    return asyncio.run(feed())


@given(st.lists(MESSAGE, max_size=6))
@example([("oi_tui_line", {"line": True})])
@example([("oi_tui_skipped", {"name": "stdout", "characters": 10**400, "lines": 10**300})])
@example([("display_data", {"data": {"application/json": {"\ud800": [float("nan"), 2**70, "\udfff"]}}})])
@example([("display_data", {"data": {"application/json": nested(150)}, "metadata": {"a": nested(150)}})])
@example([("update_display_data", {"data": {"\ud800": "x"}, "transient": {"display_id": "\ud800"}})])
def test_k28_every_event_can_be_stored_and_read_back(messages: list[tuple[str, dict[str, Any]]]) -> None:
    for event in made_of(messages):
        assert msgspec.json.decode(msgspec.json.encode(event), type=type(event), strict=True) == event
        batch = Batch(events=(event,))
        assert decode_reply(encode_message(batch)) == batch


def test_a_truth_value_is_no_line_and_no_number_of_characters() -> None:
    skipped = {"name": "stdout", "characters": True, "lines": False}
    events = made_of([("oi_tui_line", {"line": True}), ("oi_tui_skipped", skipped)])
    assert [event for event in events if isinstance(event, ActiveLineChanged | OutputTailMoved)] == []


def test_metadata_are_bounded_like_what_they_belong_to() -> None:
    content = {"data": {"text/plain": "x"}, "metadata": {"a": "m" * 40_000_000}, "transient": {"display_id": "i"}}
    assert sum(len(msgspec.json.encode(event)) for event in made_of([("display_data", content)])) < 1_000


@pytest.mark.kernel
@pytest.mark.asyncio(loop_scope="module")
async def test_k27_later_runs_show_their_output_after_messages_that_make_no_sense(
    make_python: Callable[..., JupyterKernel],
) -> None:
    kernel = make_python()
    await collect(
        kernel,
        "from IPython.display import display, update_display\n"
        "deep = 0\n"
        "for _ in range(600): deep = [deep]\n"
        "display({'application/json': {'\\ud800': '\\udfff', 'n': float('nan'), 'deep': deep}}, raw=True)\n"
        "display({'a\\ud800': 'x'}, raw=True, metadata={'\\ud800': 1}, display_id='\\ud800')\n"
        "update_display({'text/plain': 'y'}, raw=True, display_id='\\ud800')\n"
        "s = get_ipython().kernel\n"
        "s.session.send(s.iopub_socket, 'oi_tui_line', {'line': True}, parent=s.get_parent())\n",
    )
    run = await collect(kernel, "print('still here')")
    assert run.text() == "still here\n"
