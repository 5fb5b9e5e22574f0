"""What comes over the sockets of a kernel, before anything is made of it: frames of any kind, and too many bad ones."""

import asyncio
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from oi_tui.app.engine.kernels.channels import DELIMITER, FRAME_LIMIT, NONSENSE_LIMIT, TOO_LARGE, Channels
from oi_tui.app.engine.kernels.jupyter import JupyterKernel
from support.runs import collect

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
def test_k27_no_frames_break_the_reader_and_what_cannot_be_read_is_counted(
    reader: Channels, parts: list[bytes], sign: bool
) -> None:
    before = reader.nonsense
    message = reader.parse(signed(parts) if sign else parts)
    assert message is None or isinstance(message, dict)
    assert (message is None) == (reader.nonsense > before)


def test_k27_a_good_message_is_read_after_bad_ones_and_never_twice() -> None:
    reader, session = channels(), session_module.Session(key=KEY)
    assert reader.parse([b"bad"]) is None
    good = session.serialize(session.msg("stream", {"name": "stdout", "text": "x"}))
    message = reader.parse(good)
    assert message is not None
    assert message["content"] == {"name": "stdout", "text": "x"}
    assert reader.parse(good) is None  # the same signature again: somebody repeats what was said
    assert reader.nonsense == 2


def test_k13_what_is_too_large_is_not_parsed_but_whose_it_was_is_known() -> None:
    large = b'"' + b"x" * FRAME_LIMIT + b'"'
    parent = {"msg_id": "request"}
    message = channels().parse([b"topic", DELIMITER, b"sig", b"{}", json.dumps(parent).encode(), b"{}", large])
    assert message is not None
    assert (message["msg_type"], message["parent_header"]) == (TOO_LARGE, parent)
    assert message["content"]["bytes"] > FRAME_LIMIT
    for parts in ([large], [DELIMITER, large], [DELIMITER, b"", b"{}", large], [DELIMITER, b"", b"{}", b"{", large]):
        assert channels().parse(parts) is None


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
