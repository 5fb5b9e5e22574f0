"""The model's prose, sentence by sentence while it streams, in words instead of marks."""

import re

from oi_tui.app.engine.text.safe import SafeStream

_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]*_]*\s+(?=\S)|(?<=[。！？])")
_HEADING = re.compile(r"(#{1,6})\s+(.+?)\s*#*\s*")
_STRONG = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")
_RULE = re.compile(r"\s*([-*_=] ?){3,}\s*")
_TABLE_RULE = re.compile(r"\s*\|?[\s:|-]*-[\s:|-]*\|[\s:|-]*")
_ROW = re.compile(r"\s*\|(.*)\|\s*")
_FENCE = re.compile(r"\s*(```+|~~~+)\s*(\S*)")
_BULLET = re.compile(r"^(\s*)[*+•]\s+")

SHORTEST = 20
"""Characters of the shortest sentence that is printed alone: `1.` and `e.g.` are none."""


class Sentences:
    """One piece of prose."""

    def __init__(self) -> None:
        self._safe = SafeStream()
        self._text = ""
        self._in_fence = False

    def feed(self, text: str) -> list[str]:
        """The sentences and lines that are complete now."""
        self._text += self._safe.feed(text)
        *lines, self._text = self._text.split("\n")
        said = [part for line in lines for part in self._line(line)]
        if not (self._in_fence or self._text.lstrip()[:1] in ("|", "#", "`", "~")):
            cut = 0
            for found in _SENTENCE.finditer(self._text):
                if found.end() - cut >= SHORTEST:
                    said += self._line(self._text[cut : found.start()] + found.group().rstrip())
                    cut = found.end()
            self._text = self._text[cut:]
        return said

    def finish(self) -> list[str]:
        """What was not complete: nothing comes behind it."""
        rest, self._text = self._text + self._safe.finish(), ""
        return [part for line in rest.split("\n") for part in self._line(line)]

    def _line(self, line: str) -> list[str]:
        if (fence := _FENCE.match(line)) is not None:
            self._in_fence = not self._in_fence
            return [f"Quoted {fence[2] or 'text'}:" if self._in_fence else "End of the quotation."]
        if self._in_fence:
            return [line] if line.strip() else []
        return [said] if (said := plain_words(line)) else []


def plain_words(line: str) -> str:
    """A line of Markdown without the marks that a voice would spell; "" for one that only draws."""
    if not line.strip() or _RULE.fullmatch(line) or _TABLE_RULE.fullmatch(line):
        return ""
    if (heading := _HEADING.fullmatch(line)) is not None:
        line = f"Heading: {heading[2]}"
    elif (row := _ROW.fullmatch(line)) is not None:
        line = "; ".join(cell.strip() for cell in row[1].split("|"))
    return _STRONG.sub(r"\2", _BULLET.sub(r"\1- ", line, count=1)).rstrip()
