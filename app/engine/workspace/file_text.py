"""The bytes of a file as text, and text as bytes of the same encoding and line ends."""

import codecs
import re
from typing import NamedTuple

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

_LOOKED_AT = 8_192
"""Bytes in which a zero makes a file no text."""

_LONE_END = re.compile(r"(?<!\r)\n")


class UnwritableText(ValueError):
    """Text that the encoding of its file does not have."""


class FileText(NamedTuple):
    """A text and how its file spells it."""

    text: str
    """Decoded, with the line ends as they are."""
    encoding: str = "utf-8"
    mark: bytes = b""
    """That the file begins with."""

    @property
    def line_end(self) -> str:
        """The line end of most lines."""
        pairs = self.text.count("\r\n")
        return "\r\n" if pairs * 2 > self.text.count("\n") else "\n"

    @property
    def plain(self) -> str:
        """The text with `
        ` as line ends, for models.
        """
        return self.text.replace("\r\n", "\n")

    def spell(self, text: str) -> bytes:
        """Another text as this file has it; UnwritableText for characters that its encoding does not have."""
        try:
            return self.mark + text.encode(self.encoding)
        except UnicodeEncodeError as error:
            at = error.object[error.start : error.start + 1]
            raise UnwritableText(f"{at!r} cannot be written in {self.encoding}, the encoding of this file.") from error

    def with_line_ends(self, text: str) -> str:
        """The text with the line ends of this file, where it has simple ones."""
        return _LONE_END.sub("\r\n", text) if self.line_end == "\r\n" else text

    def describe(self) -> str:
        """What is unusual of it, "" for UTF-8 with simple line ends."""
        parts = [] if self.encoding == "utf-8" and not self.mark else [self.encoding.upper()]
        parts += ["byte order mark"] * bool(self.mark)
        if pairs := self.text.count("\r\n"):
            parts.append("CRLF line ends" if pairs == self.text.count("\n") else "mixed line ends")
        return ", ".join(parts)


def read_text(data: bytes) -> FileText | None:
    """The text in these bytes, None if they are none. What is not UTF-8 and has no mark counts as Latin-1, in which any
    bytes come back as they were."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            try:
                return FileText(data[len(mark) :].decode(encoding), encoding, mark)
            except UnicodeDecodeError:
                return None
    if b"\0" in data[:_LOOKED_AT]:
        return None
    try:
        return FileText(data.decode())
    except UnicodeDecodeError:
        return None if b"\0" in data else FileText(data.decode("latin-1"), "latin-1")
