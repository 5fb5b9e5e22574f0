"""The tags between which a model thinks: `<think>` and `</think>`, or `<thinking>` and `</thinking>`.

Servers without a parser for it leave the thinking in the answer. Code in a thought never runs. Some chat templates open
it in the prompt, so the answer has the closing tag only: then everything before it is thinking. A tag in backticks is a
mention, and opens or closes nothing.
"""

import re
from typing import NamedTuple

from oi_tui.app.engine.parsing.fenced_source import FencedSource

_TAGS = tuple(f"<{slash}{name}>" for slash in ("", "/") for name in ("think", "thinking"))
_TAG = re.compile("|".join(_TAGS), re.IGNORECASE)
_LONGEST = max(map(len, _TAGS))


class CertainText(NamedTuple):
    """The beginning of a text that more text cannot change."""

    length: int
    """Characters, including the closing tag if there is one."""
    said: int
    """Characters before the tag."""
    closes: bool
    """Whether there is one that ends the thinking."""


class Thinking:
    """Whether the model thinks at this place of its answer, and where that begins and ends."""

    def __init__(self, on: bool) -> None:
        self.on = on
        self._ticks = 0
        """Backticks in the current line of prose, as far as it is read."""
        self._quoting = False
        """Whether the open block has an opening tag in it, so that a closing one belongs to that."""

    def read(self, text: str, ended: bool) -> "CertainText":
        """What is certain of this part of a line of prose, up to the first tag; `ended`: nothing comes behind it."""
        for tag in _TAG.finditer(text):
            if (self._ticks + text.count("`", 0, tag.start())) % 2 == 0:
                self.on, self._ticks = not _closes(tag.group()), 0
                return CertainText(tag.end(), tag.start(), not self.on)
        if text.endswith("\n"):
            self._ticks = 0
            return CertainText(len(text), len(text), False)
        length = len(text) if ended else len(text) - _open_tag_length(text)
        self._ticks += text.count("`", 0, length)
        return CertainText(length, length, False)

    def begin_block(self) -> None:
        """A fence was opened."""
        self._quoting = False

    def ends_block(self, line: str, source: FencedSource | None) -> bool:
        """Whether this line of the open block, whose source is that, is a closing tag without an opening one."""
        tag = line.strip(" \t").lower()
        if tag not in _TAGS:
            return False
        if not self._quoting:
            self._quoting = not _closes(tag) or (source is not None and _opens_within(source.whole()))
        return not self._quoting


def may_be_tag(begun: str) -> bool:
    """Whether a line that begins like this may turn out to be a tag and nothing else."""
    begun = begun.strip(" \t").lower()
    return any(tag.startswith(begun) for tag in _TAGS)


def closes_within(text: str) -> bool:
    """Whether one of the lines is a closing tag and nothing else."""
    lines = (line.strip(" \t").lower() for line in text.split("\n"))
    return any(line in _TAGS and _closes(line) for line in lines)


def thinks_after(text: str, before: bool) -> bool:
    """Whether the model thinks behind this text, which is not read yet; `before`: whether it did before it."""
    tags = [tag.group() for tag in _TAG.finditer(text)]
    return not _closes(tags[-1]) if tags else before


def _closes(tag: str) -> bool:
    return tag.startswith("</")


def _opens_within(text: str) -> bool:
    return any(not _closes(tag.group()) for tag in _TAG.finditer(text))


def _open_tag_length(text: str) -> int:
    """How many characters at the end of the text may turn out to begin a tag."""
    tails = (text[-length:].lower() for length in range(min(_LONGEST - 1, len(text)), 0, -1))
    return next((len(tail) for tail in tails if any(tag.startswith(tail) for tag in _TAGS)), 0)
