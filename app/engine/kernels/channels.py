"""The sockets to a Jupyter kernel: messages out, messages in as far as they make sense, and its heartbeat.

What comes in is not trusted: huge frames are dropped before they are parsed, broken ones are counted, and nothing
that is received can stop what comes after it. Made over a client of jupyter_client, which only `jupyter.py` knows.
"""

import asyncio
import hmac
import json
from collections.abc import Awaitable, Callable
from functools import partial
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
from oi_tui.app.engine.kernels.socket_reader import NOBLOCK, SocketReader

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


class _Stream(msgspec.Struct, forbid_unknown_fields=True):
    """The content of the most frequent message."""

    name: str
    text: str


class Channels:
    """All channels of one kernel process; `connect`, `listen` and `close` once each."""

    def __init__(self, client: Any) -> None:
        """`client` is one of jupyter_client's, with a plain context of zmq's."""
        self.desk = MessageDesk()
        self._client = client
        self._sockets: dict[str, Any] = {}
        self._readers: dict[str, SocketReader] = {}
        self._beat: asyncio.Future[None] | None = None
        """The heartbeat that is awaited."""
        self._auth = client.session.auth
        """What signs, if anything does."""
        self._header, self._stream = msgspec.json.Decoder(_Header), msgspec.json.Decoder(_Stream)
        self._signatures: dict[bytes, None] = {}
        """Of the messages that were taken last."""

    def connect(self, handshake: int) -> None:
        """Make the sockets, before the process is started: else the event `handshake` may be missed.

        `handshake` is zmq's number for "this socket and the other end know each other".
        """
        client, identity = self._client, self._client.session.bsession
        self._sockets = {
            "shell": client.connect_shell(identity=identity),
            "iopub": client.connect_iopub(),
            "stdin": client.connect_stdin(identity=identity),
            "control": client.connect_control(identity=identity),
            "heart": client.connect_hb(),
        }
        self._sockets["monitor"] = self._sockets["stdin"].get_monitor_socket(handshake)
        self._read("monitor", self._take_handshake)

    def listen(self) -> None:
        """Take what comes, from now on."""
        for channel in CHANNELS:
            self._read(channel, partial(self._take, channel))
        self._read("heart", self._take_beat)

    async def close(self) -> None:
        await cancel_tasks(*(task for reader in self._readers.values() if (task := reader.close()) is not None))
        if self._beat is not None:
            self._beat.cancel()
        self._client.context.destroy(linger=0)

    def _read(self, name: str, take: Callable[[list[Any]], Awaitable[None] | None]) -> None:
        self._readers[name] = reader = SocketReader(self._sockets[name], take)
        reader.begin()

    # -- out -------------------------------------------------------------------------------------------

    def prepare(
        self, channel: Channel, kind: str, content: MessageContent, mark: str = ""
    ) -> tuple[str, Callable[[], None]]:
        """A message's id, and a function that sends it: the caller must know the id before an answer can arrive."""
        session = self._client.session
        message = session.msg(kind, content)
        return message["header"]["msg_id"], lambda: self._send(channel, session.serialize(message))

    def _send(self, name: str, parts: list[bytes]) -> None:
        self._sockets[name].send_multipart(parts, NOBLOCK)
        if name in self._readers:  # to send may be to take note of an answer that arrives at this moment
            self._readers[name].look()

    async def beats(self, within: float) -> bool:
        """Whether the heart of the kernel beats, which it does while Python code runs, but not in a stopped process."""
        if self._beat is None:
            self._beat = asyncio.get_running_loop().create_future()
            self._send("heart", [b"ping"])
        steps = max(1, round(within / BEAT_STEP))
        for _ in range(steps):
            done, _ = await asyncio.wait([self._beat], timeout=within / steps)
            if done:
                self._beat = None
                return True
        return False

    # -- in --------------------------------------------------------------------------------------------

    def _take_beat(self, _frames: list[Any]) -> None:
        if self._beat is not None and not self._beat.done():
            self._beat.set_result(None)

    def _take_handshake(self, _frames: list[Any]) -> None:
        # Each socket connects when its own turn comes, up to 0.2 s after another one: a kernel that already answers
        # on the shell channel drops what it asks while nobody is connected to its stdin.
        self._readers.pop("monitor").close()
        self._sockets["stdin"].disable_monitor()
        self._sockets.pop("monitor").close(linger=0)
        self.desk.can_ask.set()

    def _take(self, channel: Channel, frames: list[Any]) -> Awaitable[None] | None:
        size = sum(map(len, frames))
        if size > LARGE:
            return self._take_large(channel, frames, size)
        self._deliver(channel, self._read_small([frame.bytes for frame in frames]))
        return None

    async def _take_large(self, channel: Channel, frames: list[Any], size: int) -> None:
        room = FRAME_LIMIT if size <= FRAME_LIMIT else HEADER_LIMIT
        parts = [frame.bytes if len(frame) <= room else b"" for frame in frames]
        frames.clear()
        self._deliver(channel, await self.read(parts, size))

    def _deliver(self, channel: Channel, message: dict[str, Any] | None) -> None:
        if message is not None and message.get("msg_type") == "status":
            self._readers[channel].end_row()
        self.desk.take(channel, message)

    async def read(self, parts: list[bytes], size: int) -> dict[str, Any] | None:
        """The parsed message, or None if it is malformed. `size` is in bytes; parts of a message that is too large may
        be empty."""
        if size > FRAME_LIMIT:
            return _oversized_message(parts, size)
        if size <= LARGE:
            return self._read_small(parts)
        try:
            if await asyncio.to_thread(lambda: any(has_more_values(part, VALUES_LIMIT) for part in parts)):
                return _oversized_message(parts, size)
            return await asyncio.to_thread(self._parse_large, parts)
        except Exception as error:
            # Boundary: a forged or broken message raises almost anything (ValueError, KeyError, RecursionError).
            self.desk.count(error)
            return None

    def _read_small(self, parts: list[bytes]) -> dict[str, Any] | None:
        try:
            return self._parse(parts)
        except Exception as error:
            self.desk.count(error)  # Boundary: as above
            return None

    def _parse(self, parts: list[bytes]) -> dict[str, Any]:
        """As the session does it. That also makes a moment of each date in both headers, which takes half of its time,
        for nobody: so what is as it should be is read here."""
        session = self._client.session
        frames = parts[parts.index(DELIMITER) + 1 :]
        try:
            header, parent = (self._header.decode(frame) for frame in frames[1:3])
        except ValueError:
            header = parent = _Header()
        if self._auth is None or len(frames) < 5 or not (header.version.startswith("5.") and parent.msg_id):
            message: dict[str, Any] = session.deserialize(frames)
            return message
        auth = self._auth.copy()
        auth.update(b"".join(frames[1:5]))
        self._check(frames[0], auth.hexdigest().encode())
        return {
            "msg_type": header.msg_type,
            "parent_header": {"msg_id": parent.msg_id},
            "content": self._unpack(header.msg_type, frames[4]),
        }

    def _unpack(self, kind: str, content: bytes) -> Any:
        if kind == "stream":
            try:
                stream = self._stream.decode(content)
                return {"name": stream.name, "text": stream.text}
            except ValueError:  # the session takes more for JSON
                pass
        return self._client.session.unpack(content)

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
