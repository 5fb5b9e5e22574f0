"""The sockets to a Jupyter kernel: messages out, messages in as far as they make sense, and its heartbeat.

What comes in is not trusted: huge frames are dropped before they are parsed, broken ones are counted, and nothing
that is received can stop what comes after it. Made over a client of jupyter_client, which only `jupyter.py` knows.
"""

import asyncio
import hmac
import json
from collections.abc import Callable
from typing import Any

import msgspec

from oi_tui.app.engine.kernels.json_cleaner import clean_content, has_more_values
from oi_tui.app.engine.kernels.message_desk import (
    CHANNELS,
    FRAME_LIMIT,
    HEADER_LIMIT,
    LARGE,
    TOO_LARGE,
    VALUES_LIMIT,
    Channel,
    MessageContent,
    MessageDesk,
)
from oi_tui.app.engine.kernels.processes import cancel_tasks

DELIMITER = b"<IDS|MSG>"
"""Separates the addresses of a message from its parts: signature, header, parent header, metadata, content."""

BEAT_STEP = 1.0
"""Seconds of one look for a heartbeat; of several, so that it does not matter if we were stopped ourselves."""


REMEMBERED = 65_536
"""Signatures that are remembered: a message that comes a second time is a forgery."""


class _Header(msgspec.Struct):
    """The fields read of a message's header, and of its parent's."""

    msg_id: str = ""
    msg_type: str = ""
    version: str = ""


class Channels:
    """All channels of one kernel process; `connect`, `listen` and `close` once each."""

    def __init__(self, client: Any) -> None:
        self.desk = MessageDesk()
        self._client = client
        self._tasks: list[asyncio.Task[None]] = []
        self._heart: Any = None
        self._beat: asyncio.Future[Any] | None = None
        """The heartbeat that is awaited."""
        self._header = msgspec.json.Decoder(_Header)
        self._signatures: dict[bytes, None] = {}
        """Of the messages that were taken last."""

    def connect(self, handshake: int) -> None:
        """Make the sockets, before the process is started: else the event `handshake` may be missed.

        `handshake` is zmq's number for "this socket and the other end know each other".
        """
        client = self._client
        client.start_channels(hb=False)  # its heartbeat is a thread that wakes up every second, also for nothing
        stdin = client.stdin_channel.socket
        self._heart = client.connect_hb()
        self._tasks = [asyncio.create_task(self._wait_for_stdin(stdin, stdin.get_monitor_socket(handshake)))]

    def listen(self) -> None:
        """Take what comes, from now on."""
        self._tasks += [asyncio.create_task(self._pump(channel)) for channel in CHANNELS]

    async def close(self) -> None:
        await cancel_tasks(*self._tasks)
        if self._beat is not None:
            self._beat.cancel()
        if self._heart is not None:
            self._heart.close(linger=0)
        self._client.stop_channels()
        self._client.context.destroy(linger=0)

    # -- out -------------------------------------------------------------------------------------------

    def prepare(
        self, channel: Channel, kind: str, content: MessageContent, mark: str = ""
    ) -> tuple[str, Callable[[], None]]:
        """A message's id, and a function that sends it: the caller must know the id before an answer can arrive."""
        session = self._client.session
        message = session.msg(kind, content)
        socket = self._socket(channel)

        def send() -> None:
            # Not through the channel: it sends past the asyncio socket, which then may permanently miss an answer that
            # arrives at this moment.
            sent = socket.send_multipart(session.serialize(message))
            if sent.done():
                sent.result()

        return message["header"]["msg_id"], send

    def _socket(self, channel: Channel) -> Any:
        return getattr(self._client, f"{channel}_channel").socket

    async def beats(self, within: float) -> bool:
        """Whether the heart of the kernel beats, which it does while Python code runs, but not in a stopped process."""
        if self._beat is None:
            self._heart.send(b"ping")
            self._beat = asyncio.ensure_future(self._heart.recv())
        steps = max(1, round(within / BEAT_STEP))
        for _ in range(steps):
            done, _ = await asyncio.wait([self._beat], timeout=within / steps)
            if done:
                self._beat = None
                return True
        return False

    # -- in --------------------------------------------------------------------------------------------

    async def _wait_for_stdin(self, socket: Any, monitor: Any) -> None:
        # Each socket connects when its own turn comes, up to 0.2 s after another one: a kernel that already answers
        # on the shell channel drops what it asks while nobody is connected to its stdin.
        await monitor.recv_multipart()
        socket.disable_monitor()
        monitor.close(linger=0)
        self.desk.can_ask.set()

    async def _pump(self, channel: Channel) -> None:
        socket = self._socket(channel)
        while True:
            frames = await socket.recv_multipart(copy=False)
            size = sum(map(len, frames))
            room = FRAME_LIMIT if size <= FRAME_LIMIT else HEADER_LIMIT
            message = await self.read([frame.bytes if len(frame) <= room else b"" for frame in frames], size)
            del frames  # it may be large, and the next one may take long to come
            self.desk.take(channel, message)
            await asyncio.sleep(0)  # a socket that is never empty would not let anyone else run

    async def read(self, parts: list[bytes], size: int) -> dict[str, Any] | None:
        """The parsed message, or None if it is malformed. `size` is in bytes; parts of a message that is too large may
        be empty."""
        if size > FRAME_LIMIT:
            return _oversized_message(parts, size)
        try:
            if size <= LARGE:
                return self._parse(parts)
            if await asyncio.to_thread(lambda: any(has_more_values(part, VALUES_LIMIT) for part in parts)):
                return _oversized_message(parts, size)
            return await asyncio.to_thread(self._parse_large, parts)
        except Exception as error:
            # Boundary: a forged or broken message raises almost anything (ValueError, KeyError, RecursionError).
            self.desk.count(error)
            return None

    def _parse(self, parts: list[bytes]) -> dict[str, Any]:
        """As the session does it. That also makes a moment of each date in both headers, which takes half of its time,
        for nobody: so what is as it should be is read here."""
        session = self._client.session
        _, frames = session.feed_identities(parts)
        try:
            header, parent = (self._header.decode(frame) for frame in frames[1:3])
        except ValueError:
            header = parent = _Header()
        if session.auth is None or len(frames) < 5 or not (header.version.startswith("5.") and parent.msg_id):
            message: dict[str, Any] = session.deserialize(frames)
            return message
        self._check(frames[0], session.sign(frames[1:5]))
        parent_header = {"msg_id": parent.msg_id}
        return {"msg_type": header.msg_type, "parent_header": parent_header, "content": session.unpack(frames[4])}

    def _check(self, signature: bytes, right: bytes) -> None:
        """ValueError unless the signature is right, and came for the first time."""
        if not hmac.compare_digest(signature, right) or signature in self._signatures:
            raise ValueError("The signature is wrong, or came before.")
        self._signatures[signature] = None
        if len(self._signatures) > REMEMBERED:
            del self._signatures[next(iter(self._signatures))]

    def _parse_large(self, parts: list[bytes]) -> dict[str, Any]:
        message = self._parse(parts)
        if isinstance(content := message["content"], dict):
            message["content"] = clean_content(content)
        return message


def _oversized_message(parts: list[bytes], size: int) -> dict[str, Any] | None:
    """The replacement for a message that is too large: its parent, as far as known, and its size."""
    try:
        header = parts[parts.index(DELIMITER) + 3]
        parent = json.loads(header) if len(header) <= HEADER_LIMIT else None
    except (ValueError, IndexError, RecursionError):
        return None
    return {"msg_type": TOO_LARGE, "parent_header": parent, "content": {"bytes": size}} if parent else None
