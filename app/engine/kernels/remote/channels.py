"""The messages of a remote kernel: a WebSocket that reconnects.

While nobody listens, the server buffers the kernel's messages and replays them when the same session reconnects. A
message that is replayed twice is passed on once. Lost messages (a restarted server, a full buffer) show as gaps in the
numbers that a Python kernel gives its messages, and are reported.
"""

import asyncio
import json
import logging
import re
import uuid
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from oi_tui.app.engine.core.errors import KernelError
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
from oi_tui.app.engine.kernels.remote.messages import PROTOCOL, pack, parse, split_frame, with_type
from oi_tui.app.engine.kernels.remote.process import UNREACHABLE
from oi_tui.app.engine.kernels.remote.run_queue import HELD, RunQueue
from oi_tui.app.engine.kernels.remote.server import JupyterServer, KernelGone

if TYPE_CHECKING:
    from aiohttp import ClientWebSocketResponse

FRAME_ROOM = 8 * FRAME_LIMIT
"""Largest frame in bytes; a larger one ends the connection, which is opened again."""

KNOWN_IDS = 20_000
"""Messages that are remembered, to know them again."""

PAUSES = (0.1, 0.5, 1.0, 2.0, 5.0, 5.0, 10.0, 10.0, 10.0, 15.0)
"""Seconds between attempts to reconnect; after the last one the kernel is given up."""

ASKING_PAUSE = 5.0
"""Seconds between two looks at whether others still use the kernel."""

REPLY_PATIENCE = 1.5
"""Seconds that the end of a run waits for its reply."""

LOST = "oi_tui_lost"
"""Kind of message that says how many others never came; our own word."""

MARK = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What the id of a request can carry beside."""

MARKED = 8
"""Characters of our session with which the ids of our requests begin, so that we know them again."""

_log = logging.getLogger(__name__)


class MessageNumbers:
    """The numbers of a kernel's messages, which show what is missing: ipykernel calls one `SESSION_PID_NUMBER`."""

    def __init__(self) -> None:
        self._session = ""
        self._next = 0
        self._early: set[int] = set()

    def note(self, message_id: str) -> None:
        """A message of this name came; it may be one of those that are missed."""
        session, _, number = message_id.rpartition("_")
        if not session or not number.isascii() or not number.isdecimal() or len(number) > 12:
            return
        if session != self._session:
            self._session, self._next, self._early = session, int(number), set()
        if int(number) >= self._next:
            self._early.add(int(number))
        while self._next in self._early:
            self._early.discard(self._next)
            self._next += 1

    def take_missing(self) -> int:
        """How many of those before the last one never came; they are not waited for any more."""
        if not self._early:
            return 0
        last = max(self._early)
        missing = last + 1 - self._next - len(self._early)
        self._next, self._early = last + 1, set()
        return missing


class RemoteChannels:
    """Keeps the connection to one kernel until `close`."""

    def __init__(
        self,
        server: JupyterServer,
        kernel_id: str,
        session: str,
        on_end: Callable[[str], None],
        *,
        returns: bool = False,
        queue: RunQueue | None = None,
    ) -> None:
        """`session` identifies us to the server. `on_end` is called with how the kernel ended, as the end of a
        sentence. With `returns`, we were connected before, and the server may replay something. A `queue` is for a
        kernel that others use too: runs wait in it for theirs."""
        self.desk = MessageDesk()
        self.voice = ""
        """The session id of the kernel's process: another id is another process."""
        self._server = server
        self._kernel_id = kernel_id
        self._session = session
        self._on_end = on_end
        self._outgoing: asyncio.Queue[tuple[Channel, dict[str, Any]]] = asyncio.Queue()
        self._connected = asyncio.Event()
        self._known: OrderedDict[str, None] = OrderedDict()
        self._numbers = MessageNumbers()
        self._queue = queue
        self._asking: asyncio.Task[None] | None = None
        """Asks the server whether others are still at work: their end may have been missed."""
        self._socket: ClientWebSocketResponse | None = None
        self._came_back = returns
        """The connection was lost since the kernel last was idle."""
        self._last_reply = ""
        """The request that was answered last."""
        self._held: dict[str, Any] | None = None
        """The end of a run in which the connection was lost, until its reply is here, which has an earlier number."""
        self._task: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        """Connect for the first time; KernelError if that fails. What comes waits until somebody listens."""
        self._socket = await self._connect()
        self.desk.can_ask.set()

    async def close(self) -> None:
        """End the connection; the kernel keeps running."""
        await cancel_tasks(*(task for task in (self._task, self._asking) if task is not None))
        if self._socket is not None:
            await self._socket.close()

    def prepare(
        self, channel: Channel, kind: str, content: MessageContent, mark: str = ""
    ) -> tuple[str, Callable[[], None]]:
        mark = mark if MARK.fullmatch(mark) else ""
        message_id = ".".join((self._session[:MARKED], mark, uuid.uuid4().hex))
        header = {
            "msg_id": message_id,
            "msg_type": kind,
            "session": self._session,
            "username": "oi-tui",
            "date": datetime.now(UTC).isoformat(),
            "version": "5.4",
        }
        message = {"header": header, "parent_header": {}, "metadata": {}, "content": content}
        if self._queue is not None and kind == "execute_request":
            queue = self._queue
            return message_id, lambda: self._wait_in(queue, message_id, lambda: self._put(channel, message))
        return message_id, lambda: self._put(channel, message)

    def mark_of(self, request_id: str) -> str:
        """The mark of a request of this session, even from a program that is gone; "" if there is none."""
        session, _, rest = request_id.partition(".")
        return rest.partition(".")[0] if session == self._session[:MARKED] else ""

    def listen(self) -> None:
        if self._task is None:
            socket, self._socket = self._socket, None
            self._task = asyncio.create_task(self._keep_connected(socket))

    def withdraw(self) -> bool:
        """Give up a run that waits for others; whether there was one. Its answer is that nothing came of it."""
        for request_id in (withdrawn := [] if self._queue is None else self._queue.withdraw()):
            header = {"parent_header": {"msg_id": request_id}}
            self.desk.take("shell", {**header, "msg_type": "execute_reply", "content": {"status": "aborted"}})
            self.desk.take("iopub", {**header, "msg_type": "status", "content": {"execution_state": "idle"}})
        return bool(withdrawn)

    def _put(self, channel: Channel, message: dict[str, Any]) -> None:
        self._outgoing.put_nowait((channel, message))

    def _wait_in(self, queue: RunQueue, request_id: str, send: Callable[[], None]) -> None:
        if not queue.put(request_id, send):
            if self._asking is None or self._asking.done():
                self._asking = asyncio.create_task(self._ask_until_free(queue))
            waits = {"msg_type": HELD, "parent_header": {"msg_id": request_id}, "content": {}}
            self.desk.take("iopub", waits)

    async def beats(self, within: float) -> bool:
        """Whether there is a connection: the server's pings are answered, or it is given up."""
        try:
            async with asyncio.timeout(within):
                await self._connected.wait()
        except TimeoutError:
            return False
        return True

    async def _ask_until_free(self, queue: RunQueue) -> None:
        while queue.holds:
            await asyncio.sleep(ASKING_PAUSE)
            with suppress(KernelError):
                found = await self._server.look_up(self._kernel_id)
                if found is not None and found.state == "idle":
                    queue.release()

    # -- the connection --------------------------------------------------------------------------------

    async def _connect(self) -> "ClientWebSocketResponse":
        return await self._server.connect(self._kernel_id, self._session, PROTOCOL, FRAME_ROOM)

    async def _keep_connected(self, socket: "ClientWebSocketResponse | None") -> None:
        while True:
            if socket is None:
                try:
                    socket = await self._come_back()
                except KernelError as error:
                    gone = isinstance(error, KernelGone)
                    self._on_end("is gone from the server" if gone else UNREACHABLE)
                    return
                self._came_back = True
            self._connected.set()
            writer = asyncio.create_task(self._write(socket))
            try:
                await self._read(socket)
            finally:
                self._connected.clear()
                await cancel_tasks(writer)
                await socket.close()
            socket = None

    async def _come_back(self) -> "ClientWebSocketResponse":
        for pause in PAUSES:
            try:
                if await self._server.look_up(self._kernel_id) is None:
                    raise KernelGone("The kernel is gone.")
                return await self._connect()
            except KernelGone:
                raise
            except KernelError as error:
                _log.info("no way back to the kernel yet: %s", error.title)
            await asyncio.sleep(pause)
        return await self._connect()

    async def _write(self, socket: "ClientWebSocketResponse") -> None:
        """A message handed to a broken connection is not sent again: it may have arrived, and run."""
        while True:
            channel, message = await self._outgoing.get()
            try:
                if socket.protocol == PROTOCOL:
                    await socket.send_bytes(pack(channel, message))
                else:
                    await socket.send_json({**message, "channel": channel, "buffers": []})
            except OSError as error:
                _log.info("a message to the kernel was lost with its connection: %s", error)
                return

    async def _read(self, socket: "ClientWebSocketResponse") -> None:
        """Take in what comes, until the connection is lost."""
        async for frame in socket:
            try:
                if isinstance(frame.data, bytes):
                    self._take(*await self._from_frame(frame.data))
                elif isinstance(frame.data, str):
                    self._take(*await self._from_text(frame.data))
            except Exception as error:
                # Boundary: a message that makes no sense must not end the connection.
                self.desk.count(error)

    async def _from_frame(self, frame: bytes) -> tuple[str, dict[str, Any]]:
        channel, parts = split_frame(frame)
        if len(frame) <= LARGE:
            return channel, parse(parts)
        if max(map(len, parts[:2])) > HEADER_LIMIT:
            raise ValueError("a header without an end")
        rest = [bytes(part) for part in parts[2:]]
        if len(frame) > FRAME_LIMIT or await asyncio.to_thread(
            lambda: any(has_more_values(part, VALUES_LIMIT) for part in rest)
        ):
            parts[2:] = [memoryview(json.dumps(part).encode()) for part in ({}, {"bytes": len(frame)})]
            return channel, parse(parts) | {"msg_type": TOO_LARGE}
        return channel, await asyncio.to_thread(lambda: _clean(parse(parts)))

    async def _from_text(self, text: str) -> tuple[str, dict[str, Any]]:
        if len(text) <= LARGE:
            message = with_type(json.loads(text))
            return str(message["channel"]), message
        if await asyncio.to_thread(lambda: has_more_values(text.encode(), VALUES_LIMIT)):
            raise ValueError("a message of too many values")
        message = with_type(await asyncio.to_thread(json.loads, text))
        if len(text) > FRAME_LIMIT:
            return str(message["channel"]), message | {"msg_type": TOO_LARGE, "content": {"bytes": len(text)}}
        return str(message["channel"]), _clean(message)

    def _take(self, channel: str, message: dict[str, Any]) -> None:
        known = next((name for name in CHANNELS if name == channel), None)
        header = message["header"]
        message_id = header.get("msg_id")
        if known is None or not isinstance(message_id, str) or len(message_id) > 1_000:
            return
        if message_id in self._known:
            return  # replayed, and here before
        self._known[message_id] = None
        if len(self._known) > KNOWN_IDS:
            self._known.popitem(last=False)
        self._numbers.note(message_id)
        voice = header.get("session")
        if isinstance(voice, str) and voice not in ("", self._session) and message_id.startswith(voice):
            self.voice = voice[:100]  # what the server says by itself, it says in our name
        if self._queue is not None and message["msg_type"] == "status":
            self._queue.note(_parent_of(message), message["content"].get("execution_state"), self._session[:MARKED])
        match message:
            case {"msg_type": "status", "content": {"execution_state": "dead"}}:
                self._on_end("died, as the server says")
            case {"msg_type": "status", "content": {"execution_state": "restarting" | "autorestarting"}}:
                self._on_end("died and was restarted by the server")
            case {"msg_type": "status", "content": {"execution_state": "idle"}} if self._came_back:
                self._came_back = False
                self._held = message
                asyncio.get_running_loop().call_later(REPLY_PATIENCE, self._let_go, message)
            case _:
                self.desk.take(known, message)
        if message["msg_type"] == "execute_reply":
            self._last_reply = _parent_of(message)
        if self._held is not None and _parent_of(self._held) == self._last_reply:
            self._let_go(self._held)

    def _let_go(self, idle: dict[str, Any]) -> None:
        """Pass on the end of a run in which the connection was lost, and before it what never came."""
        if self._held is not idle:
            return
        self._held = None
        if missing := self._numbers.take_missing():
            self.desk.take("iopub", {**idle, "msg_type": LOST, "content": {"messages": missing}})
        self.desk.take("iopub", idle)


def _parent_of(message: dict[str, Any]) -> str:
    parent = message.get("parent_header")
    return str(parent.get("msg_id", "")) if isinstance(parent, dict) else ""


def _clean(message: dict[str, Any]) -> dict[str, Any]:
    if isinstance(content := message["content"], dict):
        message["content"] = clean_content(content)
    return message
