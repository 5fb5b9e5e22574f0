"""What a PDF says and shows, page by page: asked of a process that ends if that takes too long."""

import base64
import binascii
import json
import subprocess
import sys
from collections.abc import Iterable
from typing import NamedTuple

COMMAND = (sys.executable, "-P", "-m", "oi_tui.app.engine.files.pdf_process")

PATIENCE = 15.0
"""Seconds; the pages that are read by then count."""


MOST_PICTURE_BYTES = 8_000_000
"""Of all pictures of pages together."""

_MIMES = ("image/png", "image/jpeg")


class PagePicture(NamedTuple):
    """A page that has no text, as it looks."""

    number: int
    """From 1 on."""
    mime: str
    data: bytes


class PdfText(NamedTuple):
    """The text of the first pages."""

    pages: int
    """Of the whole document; 0 where nobody knows."""
    texts: tuple[str, ...]
    """By page."""
    why: str = ""
    """Why the rest is missing; continues "a PDF that ..."."""
    pictures: tuple[PagePicture, ...] = ()


def read_pdf(data: bytes, *, pages: int, characters: int, pictures: int = 0) -> PdfText:
    """The text of at most so many pages and characters, and pictures of so many pages without text; never raises.
    Takes seconds: not for an event loop."""
    command = [*COMMAND, str(pages), str(characters), str(pictures)]
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    try:
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=null, env={"PYTHONUTF8": "1"}) as process:
            try:
                said, _ = process.communicate(data, timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                said, _ = process.communicate()
    except OSError as error:
        return PdfText(0, (), f"cannot be read: {error.strerror}")
    count, texts, why, shown = 0, [], "", list[PagePicture]()
    for line in said.splitlines():
        match _fact(line):
            case {"pages": int(number)}:
                count = number
            case {"text": str(text)}:
                texts.append(text)
            case {"picture": str(encoded), "mime": str(mime), "page": int(number)} if mime in _MIMES:
                shown += _pictures(encoded, mime, number, room=MOST_PICTURE_BYTES - sum(len(one.data) for one in shown))
            case {"why": str(reason)}:
                why = reason
    if not why and process.returncode:
        why = "takes too long to read"
    return PdfText(count, tuple(texts), why, tuple(shown[:pictures]))


def _pictures(encoded: str, mime: str, number: int, *, room: int) -> Iterable[PagePicture]:
    """The picture, if there is room for it."""
    try:
        data = base64.b64decode(encoded, validate=True)
    except binascii.Error:
        return ()
    return (PagePicture(number, mime, data),) if len(data) <= room else ()


def _fact(line: bytes) -> object:
    try:
        return json.loads(line)
    except ValueError:
        return None  # it was killed while it wrote
