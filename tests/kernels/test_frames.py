"""What comes over the sockets of a kernel, before anything is made of it: frames of any kind, and too many bad ones."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from oi_tui.app.engine.core.events import OutputAdded, OutputDropped
from oi_tui.app.engine.kernels.base import RunResult
from oi_tui.app.engine.kernels.channels import DELIMITER, Channels
from oi_tui.app.engine.kernels.json_cleaner import STEPS, has_more_values
from oi_tui.app.engine.kernels.jupyter import JupyterKernel
from oi_tui.app.engine.kernels.message_desk import FRAME_LIMIT, NONSENSE_LIMIT, TOO_LARGE, VALUES_LIMIT
from support.runs import collect, events_of, make_jupyter_run

session_module = pytest.importorskip("jupyter_client.session")

KEY = b"a key that only we and the kernel have"


def nested(depth: int) -> bytes:
    """JSON that is deeper than most parsers like."""
    return b"[" * depth + b"]" * depth


HEADER = st.dictionaries(
    st.sampled_from(("msg_id", "msg_type", "version", "date", "session", "x")), st.text() | st.integers() | st.none()
).map(lambda header: json.dumps(header).encode())
PART = (
    st.binary(max_size=20)
    | HEADER
    | st.sampled_from(
        (b"", b"{}", b"[]", b"null", b"1e999", b"NaN", b'"x"', DELIMITER, nested(100_000), b'{"a":', b"\xff")
    )
)


def channels() -> Channels:
    """Only the part that reads."""
    client = SimpleNamespace(session=session_module.Session(key=KEY))
    return Channels(client)


async def read(reader: Channels, parts: list[bytes]) -> dict[str, Any] | None:
    return await reader.read(parts, sum(map(len, parts)))


def signed(parts: list[bytes]) -> list[bytes]:
    """As a kernel sends it that knows the key: what is in the parts is its own affair."""
    return [DELIMITER, session_module.Session(key=KEY).sign(parts), *parts]


@pytest.fixture(scope="module")
def reader() -> Channels:
    """One for all examples: what it met before must not matter."""
    return channels()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(PART, max_size=8), st.booleans())
@example([b"no delimiter"], False)
@example([DELIMITER], False)
@example([DELIMITER, b"bad", b"{}", b"{}", b"{}", b"{}"], False)
@example([DELIMITER, b"", b"{", b"{}", b"{}", b"{}"], False)
@example([b"{}", b"{}", b"{}"], True)
@example([b"{}", b"{}", b"{}", nested(100_000)], True)
@example([b'{"version": 7}', b"null", b"[]", b"3"], True)
@example([b'{"msg_id": 1, "msg_type": [], "date": "2020-99-99T99:99"}', b"{}", b"{}", b"{}"], True)
async def test_k27_no_frames_break_the_reader_and_what_cannot_be_read_is_counted(
    reader: Channels, parts: list[bytes], sign: bool
) -> None:
    before = reader.desk.nonsense
    message = await read(reader, signed(parts) if sign else parts)
    assert message is None or isinstance(message, dict)
    assert (message is None) == (reader.desk.nonsense > before)


async def test_k27_a_good_message_is_read_after_bad_ones_and_never_twice() -> None:
    reader, session = channels(), session_module.Session(key=KEY)
    assert await read(reader, [b"bad"]) is None
    good = session.serialize(session.msg("stream", {"name": "stdout", "text": "x"}))
    message = await read(reader, good)
    assert message is not None
    assert message["content"] == {"name": "stdout", "text": "x"}
    assert await read(reader, good) is None  # the same signature again: somebody repeats what was said
    assert reader.desk.nonsense == 2


async def test_k13_what_is_too_large_is_not_parsed_but_whose_it_was_is_known() -> None:
    large = b'"' + b"x" * FRAME_LIMIT + b'"'
    parent = {"msg_id": "request"}
    message = await read(channels(), [b"topic", DELIMITER, b"sig", b"{}", json.dumps(parent).encode(), b"{}", large])
    assert message is not None
    assert (message["msg_type"], message["parent_header"]) == (TOO_LARGE, parent)
    assert message["content"]["bytes"] > FRAME_LIMIT
    for parts in ([large], [DELIMITER, large], [DELIMITER, b"", b"{}", large], [DELIMITER, b"", b"{}", b"{", large]):
        assert await read(channels(), parts) is None


def count_values(value: Any) -> int:
    """Values in lists and objects, an empty one counted as if there were one in it."""
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else max(1, len(inner)) + sum(map(count_values, inner))


JSON = st.recursive(
    st.none() | st.floats() | st.text('a,[{"\\\n', max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text('a,[{"\\', max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_K38_the_values_of_a_json_text_are_counted_without_parsing_it(value: Any) -> None:
    count, text = count_values(value), json.dumps(value).encode()
    assert has_more_values(text, count - 1) or not count
    if count * STEPS > text.count(b'"'):
        assert not has_more_values(text, count)


@pytest.mark.parametrize("text", [b'"' * 5_000, b'"' + b'\\"' * 5_000 + b',"', b"[" * 5_000])
def test_K38_counting_has_an_end(text: bytes) -> None:
    assert has_more_values(text + b"," * 200, 100)


def display(body: Any) -> list[bytes]:
    session = session_module.Session(key=KEY)
    message = session.msg("display_data", {"data": {"application/json": body}, "metadata": {}}, parent={"msg_id": "r"})
    return cast("list[bytes]", session.serialize(message))


async def calls_on_the_loop(work: Awaitable[object]) -> int:
    """How many functions this thread calls meanwhile."""
    calls = 0

    def count(frame: object, event: str, arg: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        await work
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize(("values", "shown"), [(VALUES_LIMIT * 3 // 4, True), (VALUES_LIMIT * 3, False)])
async def test_K38_a_large_display_is_read_off_the_loop_and_dropped_if_it_has_too_many_values(
    values: int, shown: bool
) -> None:
    run, reader = make_jupyter_run(), channels()

    async def take() -> None:
        message = await read(reader, display([[0]] * (values // 2)))
        assert message is not None
        if message["msg_type"] == TOO_LARGE:
            run.on_too_large(message["content"]["bytes"], is_reply=False)
        else:
            run.on_iopub(message["msg_type"], message["content"])

    assert await calls_on_the_loop(take()) < 2_000
    run.output.finish(RunResult(status="ok"))
    kinds = [type(event) for event in await events_of(run.output)]
    assert kinds == [OutputAdded if shown else OutputDropped, RunResult]


@pytest.mark.kernel
@pytest.mark.asyncio(loop_scope="module")
async def test_k27_a_kernel_that_sends_too_much_nonsense_is_ended_and_says_why(
    make_python: Callable[..., JupyterKernel],
) -> None:
    kernel = make_python()
    source = (
        "import time\n_s = get_ipython().kernel.iopub_socket\n"
        f"for _ in range({3 * NONSENSE_LIMIT}): _s.send_multipart([b'nonsense'])\n"  # some are lost on the way
        "time.sleep(600)"
    )
    run = await collect(kernel, source)
    assert run.finished.status == "died"
    assert "make no sense" in run.finished.detail
    assert (await collect(kernel, "1 + 1")).result == "2"


@pytest.mark.kernel
@pytest.mark.asyncio(loop_scope="module")
async def test_k35_an_answer_of_the_process_before_is_of_no_run_of_this_one(
    make_python: Callable[..., JupyterKernel],
) -> None:
    kernel = make_python()
    events: list[Any] = []
    async with asyncio.timeout(20):
        await kernel.run("import threading\n_ = threading.Timer(0.2, print, ('old',)).start()", "c", events.append)
        await kernel.restart()
        run = await collect(kernel, "import time\ntime.sleep(0.4)\nprint('new')")
    assert run.text() == "new\n"
    assert kernel.generation == 2
