"""Server-sent events, and lines of JSON, out of bytes as they come. Pure.

More lenient than the standard: servers forget the empty line behind an event, send bare JSON where an event belongs,
and stop without the last line end. What is not over is measured here, and held to bounds in answer_bounds.py.
"""

from collections.abc import Iterator

from oi_tui.app.engine.models.failures import UnreadableAnswer

BLANK = b"\xef\xbb\xbf \t\r\n"
"""What may be in front of a body: a byte order mark, and white space."""
LINES = ("application/x-ndjson", "application/jsonl")
"""Content types with one event a line."""
ERROR_MARKS = (b'"error"', b"\\u006", b"\\u007")
"""One of these is in every event that reports an error; the others are letters of it that nobody has to escape."""
_LONGEST_MARK = max(map(len, ERROR_MARKS))


class EventStream:
    """Collects the `data` of events; an incomplete event waits for more."""

    def __init__(self, *, apart: bool = True) -> None:
        """Without `apart`, events with no empty line between them are measured as one: others gather them so."""
        self._apart = apart
        self.size = 0
        """Bytes of the event that is not over, whatever its lines say."""
        self.lines = 0
        """Of it."""
        self.may_be_error = False
        """Whether it may report one."""
        self._new: list[bytes] = []
        """Lines of it that are not measured yet."""
        self._seen = b""
        """The end of what was looked through for marks."""
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
        for line in lines:
            self._new.append(line)
            if self._parts:
                line = b"".join((*self._parts, line))
                self._parts.clear()
            yield from self._line(line)
        self._measure(rest)
        if rest:
            self._parts.append(rest)

    def finish(self) -> Iterator[bytes]:
        """The data of an event that the end of the body ends."""
        yield from self._line(b"".join(self._parts))
        yield from self._line(b"")
        self._parts.clear()

    def _measure(self, rest: bytes) -> None:
        """Note what came of the event that is not over: the new lines, and the rest behind them."""
        self.lines += len(self._new)
        new = b"".join((self._seen, *self._new, rest))
        self.size += len(new) - len(self._seen)
        self._new.clear()
        self._seen = new[-_LONGEST_MARK:]
        self.may_be_error = self.may_be_error or any(mark in new for mark in ERROR_MARKS)

    def _begin(self, *lines: bytes) -> None:
        """Another event begins, with these lines."""
        self.size, self.lines, self.may_be_error, self._seen = 0, 0, False, b""
        self._new[:] = lines

    def _line(self, line: bytes) -> Iterator[bytes]:
        if not line:
            self._begin()
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
            if self._apart:
                self._begin(line)
            yield self._take()
        self._data.append(value)

    def _take(self) -> bytes:
        data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
        self._data.clear()
        return data


class LineStream(EventStream):
    """The same where each line is an event of its own."""

    def _line(self, line: bytes) -> Iterator[bytes]:
        self._begin()
        if line.strip():
            yield line


class WholeBody(LineStream):
    """The same where the whole body is one event, unless its first line is whole: then each line is one."""

    def _line(self, line: bytes) -> Iterator[bytes]:
        if not self._data and (not line or line.rstrip().endswith(b"}")):
            yield from super()._line(line)
            return
        self._begin()
        self._data.append(line)

    def finish(self) -> Iterator[bytes]:
        """What is left, as one event."""
        yield from super().finish()
        if body := self._take().strip():
            yield body


def open_stream(kind: str, head: bytes) -> EventStream:
    """What reads a body of this content type that begins so, behind what is BLANK: servers label events as JSON, or as
    a page. UnreadableAnswer for a page."""
    if head.startswith(b"<"):
        raise UnreadableAnswer("a web page")
    if not head.startswith((b"{", b"[")):
        return EventStream()
    if kind == "application/json":
        return WholeBody()  # a server that does not stream
    return LineStream() if kind in LINES else EventStream()
