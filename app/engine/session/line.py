"""One connection to a front end: lines of JSON each way."""

import asyncio
import contextlib
import logging
import socket

from oi_tui.app.engine.core.protocol import PROTOCOL_VERSION, Failed, Hello, Reply, Request
from oi_tui.app.engine.core.protocol_lines import ProtocolError, decode_request, encode_message

LINE_LIMIT = 64 * 1024 * 1024
"""Bytes of the longest line that is read (a picture in base64 is one line)."""

LEFTOVER = 65_536
"""Bytes that are read at once of what nobody wants to know any more."""

_log = logging.getLogger(__name__)


class Line:
    """A connected front end. Anything sent after it is gone is dropped."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._sending = asyncio.Lock()

    @classmethod
    async def on(cls, connection: socket.socket) -> "Line":
        """A line on a connected socket."""
        return cls(*await asyncio.open_connection(sock=connection, limit=LINE_LIMIT))

    async def send(self, reply: Reply) -> None:
        """Returns when so much was read that this fits into the connection's buffer."""
        # The reader notices that a front end is gone and ends everything in order.
        with contextlib.suppress(ConnectionError):
            async with self._sending:
                self._writer.write(encode_message(reply))
                await self._writer.drain()
            if isinstance(reply, Failed) and reply.fatal:
                self._writer.close()  # there is nothing more to send: the reader sees the end

    async def receive(self) -> bytes:
        """The next line, b"" when the front end is gone."""
        try:
            return await self._reader.readline()
        except (ConnectionError, ValueError) as error:  # ValueError: a line over the limit
            _log.error("the connection to the front end broke: %s", error)
            return b""

    async def is_greeted(self) -> bool:
        """Whether it speaks this version, after both greetings; if not, the front end gets the reason and the line
        ends. ProtocolError if it sent something else."""
        await self.send(Hello(version=PROTOCOL_VERSION, program="oi-tui engine"))
        hello = decode_request(await self.receive())
        if isinstance(hello, Hello) and hello.version == PROTOCOL_VERSION:
            return True
        title = f"This engine speaks version {PROTOCOL_VERSION} of the protocol, the front end does not."
        await self.send(Failed(title=title, hint="Install both from the same release.", fatal=True))
        return False

    async def request(self) -> Request:
        """The next line, decoded; ProtocolError if there is none of ours."""
        return decode_request(await self.receive())

    async def refuse(self, error: ProtocolError) -> None:
        """The other side sent something else: end."""
        await self.send(Failed(title="The front end does not speak this protocol.", details=str(error), fatal=True))

    async def reject(self, why: Failed, seconds: float) -> None:
        """Say why, and hang up once it has read that, so long at most: what it says meanwhile would lose it the answer
        if nobody read on."""
        with contextlib.suppress(ConnectionError, TimeoutError):
            self._writer.write(encode_message(why))
            self._writer.write_eof()
            async with asyncio.timeout(seconds):
                while await self._reader.read(LEFTOVER):
                    pass
        self.hang_up()

    def hang_up(self) -> None:
        """End it at once, whether the front end reads or not. Unread replies may be lost."""
        self._writer.transport.abort()

    async def close(self) -> None:
        """End it once everything is sent."""
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()
