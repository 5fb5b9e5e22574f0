"""How much text of one run is passed on: up to a cap; the whole goes to a file as soon as the cap is passed."""

import os
import uuid
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from oi_tui.app.engine.kernels.base import OutputCapped

SPILL_LIMIT = 64_000_000
"""Characters of one run that are kept on disk; an endless loop must not fill it."""

MOST = 10**15
"""A kernel may claim to have dropped any number of characters; there are none beyond this one."""


class OutputCap:
    """Counts the text of one run."""

    def __init__(self, characters: int, spill_dir: Path | None) -> None:
        self._cap = characters
        self._spill_dir = spill_dir
        self._shown = 0
        self._dropped = 0
        self._kept: list[str] = []
        """What was shown so far: the head of the file, should there be one."""
        self._file: TextIO | None = None
        self._path = ""
        self._room_on_disk = SPILL_LIMIT

    def admit_change(self, text: str, before: int) -> str:
        """The part that may be shown of what replaces `before` characters: its growth counts, and is in no file."""
        grown = max(0, len(text) - before)
        shown = min(grown, max(0, self._cap - self._shown))
        self._shown += shown
        self.count(grown - shown)
        return text[: before + shown]

    def admit(self, text: str) -> str:
        """The part of `text` that may be shown; the rest is counted."""
        shown = text[: max(0, self._cap - self._shown)]
        self._shown += len(shown)
        self._dropped += len(text) - len(shown)
        if self._spill_dir is None:
            return shown
        if self._dropped == 0:
            self._kept.append(text)
        else:
            self._spill(text)
        return shown

    def count(self, characters: int) -> None:
        """Something was dropped elsewhere: it is counted, and is in no file."""
        self._dropped = min(self._dropped + characters, MOST)

    def charge(self, characters: int) -> bool:
        """Take room for something that is not text; False (and counted) if there is none."""
        if self._shown + characters > self._cap:
            self._dropped += characters
            return False
        self._shown += characters
        return True

    def clear(self) -> None:
        """What was shown is gone from the screen, so there is room again."""
        self._shown = 0
        self._kept.clear()

    def close(self) -> OutputCapped | None:
        """End of the run: what went beyond the cap, if anything did."""
        if self._file is not None:
            with suppress(OSError):  # the rest may not fit on the disk
                self._file.close()
        return OutputCapped(characters=self._dropped, path=self._path) if self._dropped else None

    def _spill(self, text: str) -> None:
        assert self._spill_dir is not None
        try:
            if self._file is None:
                self._file = self._opened(self._spill_dir / f"output-{uuid.uuid4().hex}.txt")
            self._file.write(text[: self._room_on_disk])
        except OSError:
            # A full disk is no reason to stop the run: the text is counted all the same.
            self._spill_dir, self._path = None, ""
        self._room_on_disk = max(0, self._room_on_disk - len(text))

    def _opened(self, path: Path) -> TextIO:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        file = open(descriptor, "w", encoding="utf-8", newline="")  # noqa: SIM115  # closed by close()
        self._path = str(path)
        file.writelines(self._kept)
        self._kept.clear()
        return file
