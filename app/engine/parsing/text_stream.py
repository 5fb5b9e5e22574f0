"""Text as it comes off the wire, in pieces cut anywhere, made whole: `\\n` ends a line, no half characters.

A server that cuts its JSON between two `\\u` escapes sends the two halves of an emoji in two pieces; a lone
half could not be stored or printed. Everything a parser reads passes through here first.
"""

from oi_tui.app.engine.core.encoding import expressible


class TextStream:
    """Joins surrogate pairs that arrive in two pieces; holds back one character at most."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        """The text that is certain now."""
        text = self._held + text
        self._held = ""
        if text and (text[-1] == "\r" or "\ud800" <= text[-1] <= "\udbff"):
            text, self._held = text[:-1], text[-1]
        return _whole(text)

    def finish(self) -> str:
        """The held character; nothing comes after it."""
        text, self._held = self._held, ""
        return _whole(text)


def _whole(text: str) -> str:
    return expressible(text.replace("\r\n", "\n"))
