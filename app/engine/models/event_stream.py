"""Server-sent events, and lines of JSON, out of bytes as they come. Pure.

More lenient than the standard: servers forget the empty line behind an event, send bare JSON where an event belongs,
and stop without the last line end. How much there may be is counted in answer_bounds.py.
"""

from collections.abc import Iterator


class EventStream:
    """Collects the `data` of events; an incomplete event waits for more."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        """Of the line that is not over."""
        self._data: list[bytes] = []
        """Lines of the event that is not over."""
        self._after_return = False
        """Whether the last byte was a CR: a LF behind it ends the same line."""

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The data of each event that is complete now."""
        if self._after_return and piece.startswith(b"\n"):
            piece = piece[1:]
        if not piece:
            return
        self._after_return = piece.endswith(b"\r")
        lines = piece.splitlines()
        rest = b"" if piece.endswith((b"\n", b"\r")) else lines.pop()
        if lines:
            self._parts.append(lines[0])
            lines[0] = b"".join(self._parts)
            self._parts.clear()
        if rest:
            self._parts.append(rest)
        for line in lines:
            yield from self._line(line)

    def finish(self) -> Iterator[bytes]:
        """The data of an event that the end of the body ends."""
        yield from self._line(b"".join(self._parts))
        yield from self._line(b"")
        self._parts.clear()

    def _line(self, line: bytes) -> Iterator[bytes]:
        if not line:
            if self._data:
                yield self._take()
            return
        if line.startswith(b"data:"):
            value = line[6:] if line.startswith(b"data: ") else line[5:]
        elif line.startswith(b"{"):
            value = line
        elif line == b"data":
            value = b""
        else:
            return  # a comment, or a field that says nothing of the answer
        # No JSON has an end and a beginning with nothing between them: the empty line was forgotten.
        if self._data and (value.startswith((b"{", b"[DONE]")) and self._data[-1].rstrip().endswith(b"}")):
            yield self._take()
        self._data.append(value)

    def _take(self) -> bytes:
        data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
        self._data.clear()
        return data


class LineStream(EventStream):
    """The same where each line is an event of its own."""

    def _line(self, line: bytes) -> Iterator[bytes]:
        if line.strip():
            yield line
