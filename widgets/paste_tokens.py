"""What was pasted and is shown as a few words: long texts, and pictures."""

import re
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Protocol

from oi_tui.app.engine.text.words import quantity

PASTE_LINES = 20
PASTE_BYTES = 2048
"""A paste of more becomes a token; the whole is sent."""

_TOKEN = r"\[paste #\d+: [\d,]+ lines?\]"
_PICTURE = r"\[picture #\d{1,4}: \d{1,6}×\d{1,6}\]"


class Paster(Protocol):
    """Knows the desktop's clipboard, and what is a file."""

    def mention(self, text: str) -> str | None:
        """The mention of the files whose paths the text is, None for any other text."""
        ...

    def tell_mention(self) -> None:
        """A mention was inserted instead of the text."""
        ...

    async def paste(self) -> None:
        """Insert what is in the clipboard."""
        ...


class PasteTokens:
    """The tokens of one prompt, and the pastes that they replace."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._pictures: dict[str, str] = {}
        """data: URLs."""

    def shorten(self, text: str) -> str:
        """A token for a large text, which is kept; a small one as it is."""
        lines = text.count("\n") + 1
        if lines <= PASTE_LINES and len(text) <= PASTE_BYTES:
            return text
        token = f"[paste #{len(self._texts) + 1}: {quantity(lines, 'line')}]"
        self._texts[token] = text
        return token

    def expand(self, text: str) -> str:
        """The text with its pastes instead of their tokens."""
        return re.sub(_TOKEN, lambda match: self._texts.get(match.group(), match.group()), text)

    def find(self, line: str) -> Iterator[tuple[int, int, str]]:
        """Where tokens begin and end in a line, and their texts."""
        for match in re.finditer(_TOKEN, line):
            if (text := self._texts.get(match.group())) is not None:
                yield match.start(), match.end(), text

    def keep_picture(self, url: str, words: str) -> str:
        """The token of a picture."""
        token = f"[picture #{next(number for number in count(1) if not self._is_taken(number))}: {words}]"
        self._pictures[token] = url
        return token

    def bring_back(self, text: str, urls: Iterable[str]) -> None:
        """The pictures of a text that was sent once, in the order of their tokens."""
        self._pictures.update(zip(re.findall(_PICTURE, text), urls, strict=False))

    def pictures_of(self, text: str) -> tuple[str, ...]:
        """The pictures whose tokens are in this text, in its order."""
        return tuple(self._pictures[token] for token in re.findall(_PICTURE, text) if token in self._pictures)

    def lost_pictures(self, text: str) -> tuple[str, ...]:
        """The tokens in this text whose pictures are gone: it comes from another day."""
        return tuple(token for token in re.findall(_PICTURE, text) if token not in self._pictures)

    def _is_taken(self, number: int) -> bool:
        return any(token.startswith(f"[picture #{number}:") for token in self._pictures)
