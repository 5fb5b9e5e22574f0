"""What an assistant's program says, bounded: what is too long, no message or too much is refused, and stops nothing."""

import asyncio
import json
from collections.abc import AsyncIterator

LONGEST_LINE = 4_000_000
"""Bytes of one message."""

MOST_OPEN = 64
"""Requests that are not answered."""

MOST_SCOLDINGS = 20
"""Answers to what is no message; the rest of it is dropped in silence."""

MOST_NONSENSE = 10_000
"""Lines that are no message, after which the connection ends."""

PARSE_ERROR, INVALID_REQUEST, OVERLOADED = -32700, -32600, -32000
"""Codes of JSON-RPC; the last one is ours."""

_CHUNK = 65_536


class TooMuchNonsense(Exception):
    """The other side speaks something else."""


async def bounded_lines(reader: asyncio.StreamReader) -> AsyncIterator[bytes | None]:
    """Each line without its end, None for one that was too long, whose bytes are dropped."""
    waiting, dropping = bytearray(), False
    while chunk := await reader.read(_CHUNK):
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            if dropping:
                dropping = False
                continue
            waiting += line
            whole, waiting = bytes(waiting), bytearray()
            yield whole if len(whole) <= LONGEST_LINE else None
        if not dropping:
            waiting += rest
            if len(waiting) > LONGEST_LINE:
                waiting, dropping = bytearray(), True
                yield None


class WireCount:
    """Counts what one connection asks, and answers what is refused before it is anybody's business."""

    def __init__(self) -> None:
        self._open: set[str] = set()
        """Ids of requests that wait for their answer."""
        self._nonsense = 0

    def objection(self, request_id: str | int) -> str:
        """The refusal of a request, as a line; "" if it may pass."""
        key = json.dumps(str(request_id))
        if key in self._open:
            return refusal_line(request_id, INVALID_REQUEST, "A request with this id is not answered yet.")
        if len(self._open) >= MOST_OPEN:
            return refusal_line(request_id, OVERLOADED, f"{MOST_OPEN} requests are not answered yet: wait for them.")
        self._open.add(key)
        return ""

    def note_end(self, request_id: object) -> None:
        """The request was answered, or its sender cancelled it."""
        self._open.discard(json.dumps(str(request_id)))

    def note_nonsense(self, why: str) -> str:
        """The answer to what is no message, "" for none; TooMuchNonsense if it is the line too much."""
        self._nonsense += 1
        if self._nonsense > MOST_NONSENSE:
            raise TooMuchNonsense
        return refusal_line(None, PARSE_ERROR, why) if self._nonsense <= MOST_SCOLDINGS else ""


def refusal_line(request_id: str | int | None, code: int, message: str) -> str:
    """A refusal as JSON-RPC has it."""
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}})
