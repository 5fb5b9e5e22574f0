"""Messages of a kernel as a Jupyter server carries them over a WebSocket.

In the protocol `v1.kernel.websocket.jupyter.org` a message is one binary frame: the number of offsets, the offsets (64
bits each, little-endian), then channel, header, parent header, metadata, content and buffers. Servers before version 2
speak JSON, with the channel beside the rest.
https://jupyter-server.readthedocs.io/en/latest/developers/websocket-protocols.html
"""

import json
import struct
from itertools import pairwise
from typing import Any

PROTOCOL = "v1.kernel.websocket.jupyter.org"

PARTS = ("header", "parent_header", "metadata", "content")

MOST_BUFFERS = 10_000
"""Parts of a message that is believed to be one."""


def pack(channel: str, message: dict[str, Any]) -> bytes:
    """A message as one binary frame."""
    parts = [channel.encode(), *(json.dumps(message[name]).encode() for name in PARTS)]
    offsets = [8 * (len(parts) + 2)]
    for part in parts:
        offsets.append(offsets[-1] + len(part))
    return struct.pack(f"<{len(offsets) + 1}Q", len(offsets), *offsets) + b"".join(parts)


def split_frame(frame: bytes) -> tuple[str, list[memoryview]]:
    """Channel and JSON parts of a binary frame; ValueError if it is none. Nothing is parsed."""
    if len(frame) < 8:
        raise ValueError("a frame without a count")
    (count,) = struct.unpack_from("<Q", frame)
    if not len(PARTS) + 2 <= count <= MOST_BUFFERS or len(frame) < 8 * (count + 1):
        raise ValueError("a frame with an impossible count")
    offsets = struct.unpack_from(f"<{count}Q", frame, 8)
    if any(end < start for start, end in pairwise(offsets)) or offsets[-1] > len(frame):
        raise ValueError("a frame with impossible offsets")
    view = memoryview(frame)
    parts = [view[start:end] for start, end in pairwise(offsets)]
    return bytes(parts[0]).decode(), parts[1 : len(PARTS) + 1]


def parse(parts: list[memoryview]) -> dict[str, Any]:
    """The message of these parts, with `msg_type` beside them; ValueError if it is none."""
    message = {name: json.loads(bytes(part)) for name, part in zip(PARTS, parts, strict=True)}
    return with_type(message)


def with_type(message: Any) -> dict[str, Any]:
    """A message that was read, with `msg_type` beside header and content; ValueError if it has no header."""
    match message:
        case {"header": {"msg_type": str(kind)}}:
            return {**message, "msg_type": kind}
    raise ValueError("a message without a header")
