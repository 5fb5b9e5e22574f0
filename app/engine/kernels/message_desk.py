"""Who waits for which message of a kernel, whatever carries it; and what makes no sense is counted, not believed."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Literal, Protocol, get_args

_log = logging.getLogger(__name__)

Channel = Literal["shell", "iopub", "stdin", "control"]

CHANNELS: tuple[Channel, ...] = get_args(Channel)

MessageContent = dict[str, Any]

ReplyFuture = asyncio.Future[MessageContent | None]
"""Content of a reply; None if the process ended instead."""

FRAME_LIMIT = 16_000_000
"""Bytes of one message; a larger one is dropped before it is copied or parsed, which hold up all else."""

HEADER_LIMIT = 20_000
"""Bytes of a header that is read of a larger message, to say whose it was."""

VALUES_LIMIT = 100_000
"""Values in the lists and objects of one message; one with more is dropped before it is parsed as well."""

LARGE = 64_000
"""Bytes of a message that is read in a thread, so that nothing else waits for it."""

NONSENSE_LIMIT = 1_000
"""Messages that cannot be read after which a kernel is of no use."""

TOO_LARGE = "oi_tui_too_large"
"""Kind of message that replaces a dropped one; our own word."""

Deliver = Callable[[Channel, str, str, MessageContent], None]
"""Takes a message: channel, kind, id of the request that it answers, content."""


class KernelChannels(Protocol):
    """The channels for messages to and from one kernel."""

    @property
    def desk(self) -> "MessageDesk":
        """Where they are waited for."""
        ...

    def prepare(
        self, channel: Channel, kind: str, content: MessageContent, mark: str = ""
    ) -> tuple[str, Callable[[], None]]:
        """A message's id, and a function that sends it: the caller must know the id before an answer can arrive. If the
        kernel may outlive us, `mark` is part of the id, for the session that reconnects."""
        ...

    def listen(self) -> None:
        """Take in what comes from now on."""
        ...

    async def beats(self, within: float) -> bool:
        """Whether the other end is alive: asked, and given that many seconds."""
        ...


class MessageDesk:
    """Delivers each message to its waiter."""

    def __init__(self) -> None:
        self.heard = asyncio.Event()
        """Something came on iopub, so its subscription works."""
        self.can_ask = asyncio.Event()
        """The kernel can ask for input, and it arrives; or its process ended."""
        self.nonsense = 0
        """Messages that could not be read or used; the first one is logged."""
        self.deliver: Deliver = lambda *_message: None
        self.on_useless: Callable[[], None] = lambda: None
        """Called once, after `NONSENSE_LIMIT` messages that cannot be parsed."""
        self._answers: dict[str, ReplyFuture] = {}

    def expect(self, request_id: str) -> ReplyFuture:
        """The reply to this request; a waiter that gives up cancels it."""
        answer: ReplyFuture = asyncio.get_running_loop().create_future()
        answer.add_done_callback(lambda _: self._answers.pop(request_id, None))
        self._answers[request_id] = answer
        return answer

    def give_up_answers(self) -> None:
        """The process ended: nobody answers any more."""
        self.can_ask.set()
        for future in tuple(self._answers.values()):
            if not future.done():
                future.set_result(None)

    def take(self, channel: Channel, message: object) -> None:
        """Hand on a message that was read; what is none is passed over."""
        if channel == "iopub":
            self.heard.set()
        match message:
            case {"msg_type": str(kind), "parent_header": {"msg_id": str(parent)}, "content": dict(content)}:
                self._take(channel, kind, parent, content)

    def _take(self, channel: Channel, kind: str, parent: str, content: MessageContent) -> None:
        try:
            future = self._answers.get(parent) if channel in ("shell", "control") else None
            if future is not None and not future.done():
                future.set_result(content)
            self.deliver(channel, kind, parent, content)
        except Exception as error:
            # Boundary: a message that we cannot use must not stop those that come after it.
            self.count(error)

    def count(self, error: Exception) -> None:
        """One more message that makes no sense."""
        self.nonsense += 1
        if self.nonsense == 1:
            _log.warning("a message of the kernel was dropped: %s", type(error).__name__)
        if self.nonsense == NONSENSE_LIMIT:
            self.on_useless()


def send(channels: KernelChannels, channel: Channel, kind: str, content: MessageContent) -> None:
    """Say something without an answer."""
    channels.prepare(channel, kind, content)[1]()


def ask(channels: KernelChannels, kind: str, content: MessageContent, channel: Channel = "shell") -> ReplyFuture:
    """Ask at once; a waiter that gives up does not cancel the answer."""
    request_id, post = channels.prepare(channel, kind, content)
    answer = channels.desk.expect(request_id)
    post()
    return answer
