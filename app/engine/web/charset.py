"""The text of a page from its bytes: by its mark, what the server says, what the page says, else UTF-8."""

import codecs
import re

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_META = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]{1,40})""", re.IGNORECASE)
_LOOKED_AT = 2_048
"""Bytes in which a page says its charset."""
_READ_AS = {"iso8859-1": "cp1252", "ascii": "cp1252", "gb2312": "gb18030", "gbk": "gb18030"}
"""As browsers do: what is called so is mostly the larger one."""
_REFUSED = frozenset({"utf-7", "unicode_escape", "raw_unicode_escape", "idna", "punycode", "undefined", "mbcs", "oem"})
"""What Python calls encodings too, and no page is written in."""


def decode_page(body: bytes, said: str = "", *, is_markup: bool = False) -> str:
    """The text, in which nothing is missing but what cannot be read, which is U+FFFD. Never raises."""
    for mark, name in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, errors="replace")
    meta = _META.search(body, 0, _LOOKED_AT) if is_markup else None
    for wanted in (said, meta[1].decode("ascii") if meta else ""):
        if name := _page_codec(wanted):
            return body.decode(name, errors="replace")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start >= len(body) - 4:  # it was cut in the middle of a character
            return body.decode("utf-8", errors="replace")
        return body.decode("cp1252", errors="replace")


def _page_codec(name: str) -> str:
    """The codec, "" for none that pages are written in."""
    if not name:
        return ""
    try:
        found = codecs.lookup(name)
    except (LookupError, ValueError):
        return ""
    is_text: bool = getattr(found, "_is_text_encoding", True)
    if not is_text or found.name in _REFUSED:
        return ""
    return _READ_AS.get(found.name, found.name)
