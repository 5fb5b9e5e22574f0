"""A text of any size as lines: the visible part is read from disk; nothing decodes or holds the whole.

The text is counted in chunks, a few at a time and in order; for each chunk only the number of lines before it is kept,
so a gigabyte costs a quarter of a megabyte. A line longer than a chunk continues as further lines: otherwise one line
could be the whole file. Files are read, not mapped: truncating a mapped file kills its reader.
"""

import os
import re
import stat
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from oi_tui.app.engine.text.safe import safe_text
from oi_tui.widgets.timeline.ink import Sgr
from oi_tui.widgets.timeline.search import Search
from oi_tui.widgets.timeline.sgr import INTRODUCERS
from oi_tui.widgets.timeline.terminal import TerminalText
from oi_tui.widgets.timeline.terminal_row import TextLine

READ_CHUNK = 32 * 1024
"""Bytes; the longest line has less than two of them."""

LINES_AT_ONCE = 32
"""Chunks that are read and counted together: about a millisecond."""

SEARCHED = 4
"""Chunks that are searched together: one to two milliseconds."""

_KEPT = 64
_NEWLINE = re.compile(rb"\n")
_OBEYED = re.compile(rf"[\r\b\t{INTRODUCERS}]")


class CannotRead(Exception):
    """A file cannot be shown; the text says why."""


class Step(NamedTuple):
    """How far a search is."""

    share: float
    """0 to 1."""
    line: int | None = None
    """A line with a match."""


class LineIndex:
    """The lines of bytes that are taken for UTF-8."""

    def __init__(self, read: Callable[[int, int], bytes], size: int, close: Callable[[], None] | None = None) -> None:
        self.size = size
        """Bytes."""
        self.trouble = ""
        """Why a part could not be read, in plain words."""
        self._read = read
        self._close = close
        self._before = array("Q", [0])  # for each chunk, how many lines end before it
        self._endless = array("Q")  # chunks in which no line ends: their end is taken for one
        self._breaks: dict[int, list[int]] = {}

    @classmethod
    def of(cls, text: str) -> "LineIndex":
        """The lines of a complete text."""
        data = text.encode("utf-8", errors="replace")
        return cls(lambda offset, count: data[offset : offset + count], len(data))

    @classmethod
    def open(cls, path: Path) -> "LineIndex":
        """The lines of a file in its current state; `CannotRead` if there is none."""
        try:
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "no file can have this name"
            raise CannotRead(f"{path.name} cannot be read: {reason}.") from error
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            os.close(handle)
            raise CannotRead(f"{path.name} cannot be shown: it is not a regular file.")
        return cls(lambda offset, count: os.pread(handle, count, offset), status.st_size, lambda: os.close(handle))

    def close(self) -> None:
        """Give the file back; nothing can be read any more."""
        close, self._close = self._close, None
        if close is not None:
            self._read = lambda offset, count: b""
            close()

    # Counting

    @property
    def complete(self) -> bool:
        """Whether all lines are counted."""
        return self._counted_lines == self._chunks

    @property
    def share(self) -> float:
        """How much of the text is counted, 0 to 1."""
        return self._counted_lines / self._chunks if self._chunks else 1.0

    @property
    def count(self) -> int:
        """Lines counted so far; an empty one at the end does not count."""
        breaks = self._before[-1]
        if not self.complete or not self.size or self._break_at(breaks) >= self.size:
            return breaks
        return breaks + 1

    def advance(self) -> bool:
        """Count a little further; returns whether that was all."""
        first = self._counted_lines
        last = min(first + LINES_AT_ONCE, self._chunks)
        data = self._bytes(first * READ_CHUNK, (last - first) * READ_CHUNK)
        for number in range(first, last):
            start = (number - first) * READ_CHUNK
            ended = data.count(b"\n", start, start + READ_CHUNK)
            if not ended:
                self._endless.append(number)
            self._before.append(self._before[-1] + (ended or 1))
        return self.complete

    def reach(self, line: int) -> bool:
        """Count until this line is known; returns whether there is such a line."""
        while self.count <= line:
            if self.complete:
                return False
            self.advance()
        return True

    # Lines

    def start(self, line: int) -> int:
        """The byte at which a counted line starts."""
        return self._break_at(line) if line else 0

    def at(self, offset: int) -> int:
        """The counted line that contains a byte, or the last one before it."""
        low, high = 0, max(0, self.count - 1)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.start(middle) <= offset else (low, middle - 1)
        return low

    def number(self, line: int) -> int | None:
        """The line number for people, counted from 1; None for the continuation of a line that is too long."""
        if not line:
            return 1
        chunk = self._chunk_of(line)
        passed = bisect_right(self._endless, chunk)
        if passed and self._endless[passed - 1] == chunk:
            return None
        return line + 1 - passed

    def raw_line(self, line: int) -> str:
        """A counted line verbatim, without its end."""
        begin = self.start(line)
        end = self.start(line + 1) if line < self._before[-1] else self.size
        data = self._bytes(begin, end - begin + 3)
        # Where a line that is too long was cut, a character stays whole: its rest belongs to the part before.
        first = _inside(data, 0) if self.number(line) is None else 0
        last = end - begin
        if not data[:last].endswith(b"\n"):
            last += _inside(data, last)
        return data[first:last].removesuffix(b"\n").decode("utf-8", errors="replace")

    def styled_line(self, line: int) -> TextLine:
        """A counted line as a terminal would show it, safe."""
        text = self.raw_line(line)
        if not _OBEYED.search(text):
            return [(safe_text(text), Sgr())] if text else []
        terminal = TerminalText()
        terminal.update(text)
        return terminal.line(0) if terminal.count else []

    # Searching

    def find(self, search: Search, start: int, step: int) -> Iterator[Step]:
        """Lines with matches, from `start` on and around to where it began, with steps between that only tell how far.

        `step` is 1 or -1. All lines are counted first, if they are not yet. A match across the place where a long line
        was cut is not found.
        """
        while not self.complete:
            self.advance()
            yield Step(0.0)
        if not self.count:
            return
        start %= self.count
        groups = -(-self._chunks // SEARCHED)
        home = self._chunk_of(start) // SEARCHED if start else 0
        # The group where it starts comes first and, for its other half, last.
        for distance in range(groups + 1):
            group = (home + step * distance) % groups
            share = distance / groups
            yield Step(share)
            for looked, line in enumerate(self._likely(search, group, step), 1):
                if distance in (0, groups) and _ahead(line, start, step) != (distance == 0):
                    continue
                if search.count("".join(part for part, _ in self.styled_line(line))):
                    yield Step(share, line)
                elif looked % 100 == 0:
                    yield Step(share)

    def _likely(self, search: Search, group: int, step: int) -> Sequence[int]:
        """The lines of a group in which there may be a match, in the order of the search."""
        lines = self._lines_of(group)
        if not lines:
            return lines
        begin = self.start(lines[0])
        end = self.start(lines[-1] + 1) if lines[-1] < self._before[-1] else self.size
        text = self._bytes(begin, end - begin).decode("utf-8", errors="replace")
        if "\x1b" in text or not text.isascii():
            text = safe_text(text)
        if not search.count(text):
            return ()
        chunk = group * SEARCHED
        if bisect_left(self._endless, chunk) != bisect_right(self._endless, chunk + SEARCHED):
            return lines[::step]  # lines were cut: counting their ends does not tell which one it is
        found = dict.fromkeys(lines[0] + text.count("\n", 0, at) for at in search.in_text(text))
        return list(found)[::step]

    # Inside

    @property
    def _chunks(self) -> int:
        return -(-self.size // READ_CHUNK)

    @property
    def _counted_lines(self) -> int:
        return len(self._before) - 1

    def _lines_of(self, group: int) -> range:
        """The lines that start in a group of chunks."""
        return range(self._first_of(group * SEARCHED), min(self._first_of((group + 1) * SEARCHED), self.count))

    def _first_of(self, chunk: int) -> int:
        """The first line that starts behind a line that ended in this chunk or a later one."""
        return self._before[min(chunk, self._counted_lines)] + 1 if chunk else 0

    def _chunk_of(self, line: int) -> int:
        """The chunk in which the line before this one ended; `line` is at least 1."""
        return bisect_left(self._before, line) - 1

    def _break_at(self, line: int) -> int:
        """The byte after the end of the `line` first lines; `line` is at least 1."""
        chunk = self._chunk_of(line)
        breaks = self._breaks_in(chunk)
        return chunk * READ_CHUNK + breaks[min(line - self._before[chunk], len(breaks)) - 1]

    def _breaks_in(self, chunk: int) -> list[int]:
        breaks = self._breaks.get(chunk)
        if breaks is None:
            if len(self._breaks) >= _KEPT:
                self._breaks.clear()
            start = chunk * READ_CHUNK
            breaks = [found.end() for found in _NEWLINE.finditer(self._bytes(start, READ_CHUNK))]
            self._breaks[chunk] = breaks = breaks or [min(READ_CHUNK, self.size - start)]
        return breaks

    def _bytes(self, offset: int, count: int) -> bytes:
        try:
            return self._read(offset, min(count, self.size - offset))
        except OSError as error:
            self.trouble = f"A part cannot be read: {error.strerror}."
            return b""


def _inside(data: bytes, offset: int) -> int:
    """How many bytes from here on belong to a character that began before."""
    count = 0
    while count < 3 and offset + count < len(data) and data[offset + count] & 0xC0 == 0x80:
        count += 1
    return count


def _ahead(line: int, start: int, step: int) -> bool:
    """Whether the search comes to the line before it has gone around."""
    return line >= start if step > 0 else line <= start
