"""Server-sent events out of bytes, however they are cut and however careless the server is."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oi_tui.app.engine.models.event_stream import EventStream

WHOLE = b'data: {"a":1}\n\ndata: {"b":2}\n\ndata: [DONE]\n\n'
EVENTS = [b'{"a":1}', b'{"b":2}', b"[DONE]"]


def read(*pieces: bytes) -> list[bytes]:
    """All events of a body that comes in these pieces."""
    stream = EventStream()
    return [event for piece in pieces for event in list(stream.feed(piece))] + list(stream.finish())


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@given(cuts=st.lists(st.integers(0, 60), max_size=6).map(sorted))
def test_events_are_the_same_wherever_the_body_is_cut(end: bytes, cuts: list[int]) -> None:
    body = WHOLE.replace(b"\n", end)
    edges = [0, *(min(cut, len(body)) for cut in cuts), len(body)]
    assert read(*(body[start:stop] for start, stop in itertools.pairwise(edges))) == EVENTS


@pytest.mark.parametrize(
    ("body", "events"),
    [
        (b": ping\n\nevent: message\nid: 7\nretry: 10\n" + WHOLE, EVENTS),
        (b'data:{"a":1}\n\n', [b'{"a":1}']),
        (b'data: {"a":\ndata: 1}\n\n', [b'{"a":\n1}']),
        (b'data: {"a":1}\ndata: {"b":2}\ndata: [DONE]\n', EVENTS),
        (b'data: {"a":1}\n\ndata: {"b":2}', EVENTS[:2]),
        (b'{"error": "x"}\n', [b'{"error": "x"}']),
        (b"data\n\n", [b""]),
        (b"", []),
        (b"\n\n\n: only this\n", []),
        (b"<html>\n<body>\n", []),
    ],
)
def test_what_servers_leave_out_or_put_in_does_not_matter(body: bytes, events: list[bytes]) -> None:
    assert read(body) == events
    assert read(*(body[index : index + 1] for index in range(len(body)))) == events


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_what_is_not_over_is_measured_from_where_it_began(size: int) -> None:
    body = WHOLE + b'data: {"a":1}\n: ping\ndata: {"c"\ndata: :"error"'
    stream = EventStream()
    for start in range(0, len(body), size):
        list(stream.feed(body[start : start + size]))
    begun = b'data: {"c"data: :"error"'
    assert (stream.size, stream.lines, stream.may_be_error) == (len(begun), 1, True)
    assert list(stream.feed(b"}\n\n")) == [b'{"c"\n:"error"}']
    assert (stream.size, stream.lines, stream.may_be_error) == (0, 0, False)
