"""What a PDF says, page by page: asked of a process that ends if that takes too long."""

import json
import subprocess
import sys
from typing import NamedTuple

COMMAND = (sys.executable, "-P", "-m", "oi_tui.app.engine.files.pdf_process")

PATIENCE = 15.0
"""Seconds; the pages that are read by then count."""


class PdfText(NamedTuple):
    """The text of the first pages."""

    pages: int
    """Of the whole document; 0 where nobody knows."""
    texts: tuple[str, ...]
    """By page."""
    why: str = ""
    """Why there is no more of it; continues "a PDF that ..."."""


def read_pdf(data: bytes, *, pages: int, characters: int) -> PdfText:
    """The text of at most so many pages and characters; never raises. Takes seconds: not for an event loop."""
    command = [*COMMAND, str(pages), str(characters)]
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
    count, texts, why = 0, [], ""
    for line in said.splitlines():
        match _fact(line):
            case {"pages": int(number)}:
                count = number
            case {"text": str(text)}:
                texts.append(text)
            case {"why": str(reason)}:
                why = reason
    if not why and process.returncode:
        why = "takes too long to read"
    return PdfText(count, tuple(texts), why)


def _fact(line: bytes) -> object:
    try:
        return json.loads(line)
    except ValueError:
        return None  # it was killed while it wrote
