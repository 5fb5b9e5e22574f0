"""The engine's end of the wire: a socket of newline-delimited JSON around one `Engine`.

`serve` returns when the front end said `Close`, went away, or spoke another version; in each case the session
has been saved and the kernels have ended.
"""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable

from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.core.protocol import (
    PROTOCOL_VERSION,
    Configure,
    Failed,
    Hello,
    ProtocolError,
    Reply,
    decode_request,
    encode_message,
    fatal_reply,
)
from oi_tui.app.engine.core.verbs import Close
from oi_tui.app.engine.session.engine import Engine
from oi_tui.app.engine.session.outbox import Send

LINE_LIMIT = 64 * 1024 * 1024
"""Bytes of the longest line that is read (a picture in base64 is one line)."""

MakeEngine = Callable[[Configure, Send], Engine]

_log = logging.getLogger(__name__)


async def serve(connection: socket.socket, make: MakeEngine) -> None:
    """Serve one front end on a connected socket."""
    reader, writer = await asyncio.open_connection(sock=connection, limit=LINE_LIMIT)
    sending = asyncio.Lock()

    async def send(reply: Reply) -> None:
        # A front end that is gone is noticed by the reader, which ends everything in order.
        with contextlib.suppress(ConnectionError):
            async with sending:
                writer.write(encode_message(reply))
                await writer.drain()
            if isinstance(reply, Failed) and reply.fatal:
                writer.close()  # there is nothing more to say: the reader sees the end, and everything is closed

    engine: Engine | None = None
    try:
        await send(Hello(version=PROTOCOL_VERSION, program="oi-tui engine"))
        engine = await _configure_engine(reader, make, send)
        if engine is not None:
            await _follow(reader, engine, send)
    finally:
        if engine is not None:
            engine.keep_kernels()  # unless it was told to close, and has: then nobody quit
            await engine.close()
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def _configure_engine(reader: asyncio.StreamReader, make: MakeEngine, send: Send) -> Engine | None:
    """The engine, after both greetings; None (and the front end was told) if they do not fit."""
    try:
        hello = decode_request(await reader.readline())
        if not isinstance(hello, Hello) or hello.version != PROTOCOL_VERSION:
            title = f"This engine speaks version {PROTOCOL_VERSION} of the protocol, the front end does not."
            await send(Failed(title=title, hint="Install both from the same release.", fatal=True))
            return None
        setup = decode_request(await reader.readline())
        if not isinstance(setup, Configure):
            await send(Failed(title="The second line must be Configure.", fatal=True))
            return None
        return make(setup, send)
    except ProtocolError as error:
        await send(Failed(title="The front end does not speak this protocol.", details=str(error), fatal=True))
    except OiTuiError as error:
        await send(fatal_reply(error))
    return None


async def _follow(reader: asyncio.StreamReader, engine: Engine, send: Send) -> None:
    """Follow verbs until `Close` or the end of the connection."""
    while line := await _line(reader):
        try:
            verb = decode_request(line)
        except ProtocolError as error:
            await send(Failed(title="A line from the front end was not understood.", details=str(error)))
            continue
        if isinstance(verb, Hello | Configure):
            continue
        try:
            await engine.handle(verb)
        except OiTuiError as error:
            await send(fatal_reply(error))
            return
        if isinstance(verb, Close):
            return


async def _line(reader: asyncio.StreamReader) -> bytes:
    """The next line, b"" when the front end is gone."""
    try:
        return await reader.readline()
    except (ConnectionError, ValueError) as error:  # ValueError: a line over the limit
        _log.error("the connection to the front end broke: %s", error)
        return b""
