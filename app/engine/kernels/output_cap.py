"""How much text of one run is passed on as it comes: up to a cap. Beyond it the newest text is kept, and a count.

All of a long output goes to a file (`spill.py`); here is never more than the cap and an end of each stream.
"""

from collections import deque
from pathlib import Path

from oi_tui.app.engine.core.outputs import StreamName, Tail
from oi_tui.app.engine.kernels.spill import Spill

TAIL_CHARACTERS = 32_768
"""Characters of the end of a stream that are kept."""

MOST = 10**15
"""A kernel may claim to have dropped any number of characters; there are none beyond this one."""


class Ring:
    """The newest text of a stream, and how much there was before it."""

    def __init__(self) -> None:
        self._characters = 0
        self._lines = 0
        self._pieces: deque[str] = deque()
        self._size = 0

    def add(self, text: str) -> None:
        """Add text; the cost is that of what is kept, plus a search for line ends."""
        self._characters += len(text)
        self._lines += text.count("\n")
        self._pieces.append(text[-TAIL_CHARACTERS:])
        self._size += len(self._pieces[-1])
        while self._size - len(self._pieces[0]) >= TAIL_CHARACTERS:
            self._size -= len(self._pieces.popleft())

    def skip(self, characters: int, lines: int) -> None:
        """Note that text was omitted between the earlier and the next text."""
        self._characters = min(self._characters + characters, MOST)
        self._lines = min(self._lines + lines, MOST)
        self._pieces.clear()
        self._size = 0

    def tail(self) -> Tail:
        """The tail of the stream so far."""
        text = "".join(self._pieces)[-TAIL_CHARACTERS:]
        if len(text) < self._characters:
            text = text[_start(text) :]
        self._pieces, self._size = deque((text,)), len(text)
        lines = self._lines - text.count("\n")
        return Tail(text=text, left_out_characters=self._characters - len(text), left_out_lines=lines)


class OutputCap:
    """Counts the output of one run."""

    def __init__(self, characters: int, spill_dir: Path | None) -> None:
        self.spill = Spill(spill_dir)
        self.dropped = 0
        """Characters that are shown nowhere and kept nowhere."""
        self._cap = characters
        self._shown = 0
        """Of streams."""
        self._displayed = 0
        """Characters of displays, which have a limit of their own: a picture after a flood of text is still shown."""
        self._passed = False
        self._rings: dict[StreamName, Ring] = {}
        """The streams that continue beyond the cap."""

    def admit(self, name: StreamName, text: str) -> str:
        """The part of a stream's text that is passed on now; the rest belongs to its tail."""
        self.spill.add(text)
        if self._passed:
            self._ring(name).add(text)
            return ""
        room = self._cap - self._shown
        if len(text) <= room:
            self._shown += len(text)
            return text
        self._passed = True
        shown = text[:room]
        shown = shown[: shown.rfind("\n") + 1] or shown
        self._ring(name).add(text[len(shown) :])
        return shown

    def tail(self, name: StreamName) -> Tail | None:
        """The tail of a stream that continues beyond the cap, None for another."""
        ring = self._rings.get(name)
        return None if ring is None else ring.tail()

    def skip(self, name: StreamName, characters: int, lines: int) -> None:
        """The kernel left out a part of the stream."""
        self._passed = True
        self._ring(name).skip(characters, lines)
        self.spill.miss("the kernel did not send all of it")

    def admit_display(self, text: str, before: int) -> str:
        """The part of a display's text that may be shown, replacing `before` characters."""
        grown = max(0, len(text) - before)
        shown = min(grown, max(0, self._cap - self._displayed))
        self._displayed += shown
        self.count(grown - shown)
        return text[: before + shown]

    def charge(self, characters: int) -> bool:
        """Take room for a display that is not text; False (and counted) if there is none."""
        if self._displayed + characters > self._cap:
            self.count(characters)
            return False
        self._displayed += characters
        return True

    def count(self, characters: int) -> None:
        """So much was dropped."""
        self.dropped = min(self.dropped + characters, MOST)

    def clear(self) -> None:
        """The screen was cleared, so there is room again."""
        self._shown = self._displayed = 0
        self._passed = False
        self._rings.clear()
        self.spill.clear()

    def _ring(self, name: StreamName) -> Ring:
        return self._rings.setdefault(name, Ring())


def _start(text: str) -> int:
    """Where the first whole line of a cut text begins, or the first state of a line that is written over and over."""
    half = len(text) // 2
    newline = text.find("\n", 0, half)
    return newline + 1 if newline >= 0 else max(0, text.find("\r", 0, half))
