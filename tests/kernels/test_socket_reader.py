"""A zmq socket that is read in the loop: every message, in order, whatever else happens."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NamedTuple

import pytest
from zmq.constants import SocketType
from zmq.sugar.context import Context

from oi_tui.app.engine.kernels.socket_reader import AT_ONCE, PAUSE, ROW, SocketReader


class Ends(NamedTuple):
    """Two connected sockets, and what was taken from ours."""

    ours: Any
    theirs: Any
    came: asyncio.Queue[int]


@pytest.fixture
async def ends() -> AsyncIterator[Ends]:
    context = Context()
    ours, theirs = (context.socket(SocketType.PAIR) for _ in range(2))
    for socket in (ours, theirs):
        socket.set_hwm(0)
    theirs.bind("inproc://test")
    ours.connect("inproc://test")
    yield Ends(ours, theirs, asyncio.Queue())
    context.destroy(linger=0)


def send(ends: Ends, *numbers: int) -> None:
    for number in numbers:
        ends.theirs.send_multipart([b"head", b"%d" % number])


async def came(ends: Ends, count: int) -> list[int]:
    """The next ones, as many as this."""
    async with asyncio.timeout(10):
        return [await ends.came.get() for _ in range(count)]


def number_of(frames: list[Any]) -> int:
    return int(frames[1].bytes)


def note(ends: Ends) -> Callable[[list[Any]], None]:
    return lambda frames: ends.came.put_nowait(number_of(frames))


async def test_what_waits_when_it_begins_and_what_comes_later_is_read_in_order(ends: Ends) -> None:
    send(ends, *range(3 * AT_ONCE))
    reader = SocketReader(ends.ours, note(ends))
    reader.begin()
    assert await came(ends, 3 * AT_ONCE) == [*range(3 * AT_ONCE)]
    for number in range(100):
        send(ends, number)
        await asyncio.sleep(0)
    assert await came(ends, 100) == [*range(100)]
    reader.close()


async def test_others_get_their_turn_however_much_there_is(ends: Ends) -> None:
    send(ends, *range(3 * AT_ONCE))
    seen: list[int] = []
    reader = SocketReader(ends.ours, note(ends))
    reader.begin()
    async with asyncio.timeout(10):
        while ends.came.qsize() < 3 * AT_ONCE:
            await asyncio.sleep(0)
            seen.append(ends.came.qsize())
    assert max(later - before for before, later in zip([0, *seen], seen, strict=False)) <= AT_ONCE
    reader.close()


async def test_what_takes_time_is_waited_for_before_the_next_is_read(ends: Ends) -> None:
    may_go_on = asyncio.Event()

    async def take_slowly(number: int) -> None:
        await may_go_on.wait()
        ends.came.put_nowait(number)

    def take(frames: list[Any]) -> Awaitable[None] | None:
        if (number := number_of(frames)) == 1:
            return take_slowly(number)
        ends.came.put_nowait(number)
        return None

    reader = SocketReader(ends.ours, take)
    reader.begin()
    send(ends, 0, 1, 2)
    assert await came(ends, 1) == [0]
    await asyncio.sleep(0)
    send(ends, 3)
    reader.look()
    await asyncio.sleep(0)
    assert ends.came.empty()
    may_go_on.set()
    assert await came(ends, 3) == [1, 2, 3]
    reader.close()


async def test_an_answer_that_comes_while_something_is_sent_is_not_missed(ends: Ends) -> None:
    """To send may take note of a message: its descriptor is not set for that any more."""
    reader = SocketReader(ends.ours, note(ends))
    reader.begin()
    for number in range(500):
        send(ends, number)
        ends.ours.send(b"x")
        ends.ours.get(15)  # which takes note of it for certain
        reader.look()
        assert await came(ends, 1) == [number]
    reader.close()


async def test_messages_in_a_row_are_taken_in_pieces_and_all_of_them(ends: Ends) -> None:
    turn, turns, clock = 0, list[int](), asyncio.get_running_loop().time

    def take(frames: list[Any]) -> None:
        turns.append(turn)
        ends.came.put_nowait(number_of(frames))

    reader = SocketReader(ends.ours, take)
    reader.begin()
    count, begun = ROW + 2_000, clock()
    for turn in range(count):
        send(ends, turn)
        await asyncio.sleep(0)
    assert await came(ends, count) == [*range(count)]
    assert len(set(turns[ROW:])) <= (clock() - begun) / PAUSE + count / AT_ONCE + 2
    reader.close()


async def test_after_its_end_nothing_is_taken_and_the_socket_may_be_closed_in_between(ends: Ends) -> None:
    def take(frames: list[Any]) -> None:
        ends.came.put_nowait(number_of(frames))
        reader.close()
        ends.ours.close(linger=0)

    failed: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: failed.append(context))
    reader = SocketReader(ends.ours, take)
    reader.begin()
    send(ends, 0, 1)
    assert await came(ends, 1) == [0]
    reader.look()
    for _ in range(10):
        await asyncio.sleep(0)
    assert (ends.came.empty(), failed) == (True, [])


async def test_an_error_in_taking_one_does_not_keep_the_next(ends: Ends) -> None:
    def take(frames: list[Any]) -> None:
        ends.came.put_nowait(number_of(frames))
        if number_of(frames) == 0:
            raise ValueError("This one is bad.")

    failed: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: failed.append(context))
    reader = SocketReader(ends.ours, take)
    reader.begin()
    send(ends, 0, 1, 2)
    assert await came(ends, 3) == [0, 1, 2]
    assert [str(context["exception"]) for context in failed] == ["This one is bad."]
    reader.close()
