"""A short GET to a server on this machine, against real sockets on the loopback."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from oi_tui.app.engine.core.loopback_http import PlainAnswer, get_from_here
from support.ports import free_port

OK = b"HTTP/1.1 200 OK\r\n"


@asynccontextmanager
async def answering(*pieces: bytes, heard: list[bytes] | None = None) -> AsyncIterator[str]:
    """A server that answers everything with these pieces and hangs up; yields its address."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        said = await reader.readuntil(b"\r\n\r\n")
        if heard is not None:
            heard.append(said)
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def get(address: str, headers: dict[str, str] | None = None) -> PlainAnswer | None:
    async with asyncio.timeout(10):
        return await get_from_here(address, headers or {}, limit=100)


async def test_an_answer_with_a_length_or_up_to_the_end() -> None:
    heard: list[bytes] = []
    async with answering(OK, b"Content-Length: 2\r\n\r\n", b"{}and more", heard=heard) as address:
        assert await get(f"{address}/v1/models?all=1", {"Authorization": "Bearer k"}) == PlainAnswer(200, b"{}")
    assert heard[0].startswith(b"GET /v1/models?all=1 HTTP/1.0\r\nHost: 127.0.0.1:")
    assert b"\r\nAuthorization: Bearer k\r\n\r\n" in heard[0]
    async with answering(b"HTTP/1.0 404 Not Found\r\n\r\n", b"no", b"ne") as address:
        assert await get(address) == PlainAnswer(404, b"none")


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param((OK, b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"), id="chunks"),
        pytest.param((OK, b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}"), id="packed"),
        pytest.param((OK, b"Content-Length: 101\r\n\r\n" + b"x" * 101), id="longer than the limit, and says so"),
        pytest.param((OK, b"\r\n", b"x" * 101), id="longer than the limit"),
        pytest.param((OK, b"Content-Length: -1\r\n\r\n{}"), id="a length below 0"),
        pytest.param((OK, b"Content-Length: many\r\n\r\n{}"), id="a length that is none"),
        pytest.param((OK, b"Content-Length: 9\r\n\r\n{}"), id="cut off"),
        pytest.param((b"HTTP/1.1 OK\r\n\r\n",), id="no status"),
        pytest.param((b"SSH-2.0-OpenSSH\r\n\r\n",), id="another protocol"),
        pytest.param((OK, b"X: " + b"x" * 100_000), id="a head without end"),
        pytest.param((), id="nothing"),
    ],
)
async def test_what_is_not_plain_is_left_to_the_real_client(pieces: tuple[bytes, ...]) -> None:
    async with answering(*pieces) as address:
        assert await get(address) is None


@pytest.mark.parametrize(
    ("address", "headers"),
    [
        ("https://127.0.0.1:1/", {}),
        ("http://192.0.2.1/", {}),
        ("http://name:word@127.0.0.1:1/", {}),
        ("http://127.0.0.1:1/a b", {}),
        ("http://127.0.0.1:1/é", {}),
        ("http://127.0.0.1:99999/", {}),
        ("http://127.0.0.1:1/", {"X": "1\r\nY: 2"}),
    ],
)
async def test_what_is_elsewhere_or_must_be_quoted_is_not_asked_at_all(address: str, headers: dict[str, str]) -> None:
    assert await get(address, headers) is None  # and no ConnectionRefusedError


async def test_nothing_listens_there() -> None:
    with pytest.raises(ConnectionRefusedError):
        await get(f"http://127.0.0.1:{free_port()}/")
