"""What a server answered, as what a call of a tool returns: bounded, safe, and only what it claims to be."""

import base64
import binascii
from collections.abc import Iterator

from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.core.values import Value
from oi_tui.app.engine.text.safe import safe_text

LONGEST_TEXT = 100_000
"""Characters of an answer."""

MOST_PICTURES, LARGEST_PICTURE = 4, 5_000_000
"""Of an answer, and bytes of each."""

_BEGINNINGS = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
}


class ServerFault(Exception):
    """A server that does not do what it should; its text says what, as the end of a sentence about it."""


class ServerAnswer(Value, frozen=True, kw_only=True):
    """The answer to a call, or the content of a resource."""

    parts: tuple[dict[str, str], ...] = ()
    """Each with `text`, or with `mime` and `data` (base64)."""
    failed: bool = False
    """The server says that it went wrong."""

    @property
    def text(self) -> str:
        """All of its texts, safe and bounded."""
        return cut_text("\n".join(safe_text(part["text"][: LONGEST_TEXT + 1]) for part in self.parts if "text" in part))

    def pictures(self) -> Iterator[RichOutput]:
        """The pictures that can be decoded."""
        shown = 0
        for part in self.parts:
            if shown < MOST_PICTURES and "data" in part and _is_picture(part["mime"], part["data"]):
                shown += 1
                yield RichOutput(data={part["mime"]: part["data"]})

    @property
    def left_out(self) -> int:
        """How many of its pictures are none, too large or too many."""
        return sum("data" in part for part in self.parts) - sum(1 for _ in self.pictures())


def cut_text(text: str) -> str:
    """The text, cut where it is longer than a model should read."""
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_TEXT]}\n[cut: longer than {LONGEST_TEXT:,} characters]"


def _is_picture(mime: str, data: str) -> bool:
    if mime not in _BEGINNINGS or len(data) > LARGEST_PICTURE * 4 // 3:
        return False
    try:
        return base64.b64decode(data, validate=True).startswith(_BEGINNINGS[mime])
    except (binascii.Error, ValueError):
        return False
