"""The text of a PDF, and pictures of the pages that have none, read in a process of its own: a hostile one can keep a
parser busy for ever. Run as `python -m`.

The PDF comes on stdin, the numbers of pages, characters and pictures that are wanted in the arguments. What leaves on
stdout is a line of JSON for the document, then one for each page, and one for each picture.
"""

import base64
import json
import re
import resource
import sys
from collections.abc import Iterator
from io import BytesIO
from itertools import islice
from typing import TYPE_CHECKING, Any

from oi_tui.app.engine.files.given_picture import encode_scaled

if TYPE_CHECKING:
    from pypdf import PageObject

SECONDS = 10
"""Of the processor."""
BYTES = 1_000_000_000
"""Of memory."""
MOST_PIXELS = 90_000_000
"""Of one picture: A4 at 900 dots an inch."""
MOST_OBJECTS = 200
"""Of one page, that are looked through for pictures."""
MOST_LEVELS = 3
"""Of drawings within drawings."""

_DRAWS = re.compile(rb"(/[^\s/\[\]<>(){}%]{1,100})\s+Do\b")


def main() -> None:
    """Say what the PDF on stdin holds; killed by the system at the limits."""
    for limit, most in ((resource.RLIMIT_CPU, SECONDS), (resource.RLIMIT_AS, BYTES), (resource.RLIMIT_CORE, 0)):
        resource.setrlimit(limit, (most, most))
    pages, characters, pictures = map(int, sys.argv[1:4])
    data = sys.stdin.buffer.read()
    try:
        _tell(data, pages, characters, pictures)
    except Exception as error:  # whatever a damaged file leads the parser to
        _say({"why": f"is damaged ({type(error).__name__})"})


def _tell(data: bytes, pages: int, characters: int, pictures: int) -> None:
    try:
        import pypdf  # in this process only
    except ImportError:
        _say({"why": "cannot be read: the package “pypdf” is not installed"})
        return
    document = pypdf.PdfReader(BytesIO(data))
    if document.is_encrypted and not document.decrypt(""):
        _say({"why": "is encrypted"})
        return
    count = len(document.pages)
    _say({"pages": count})
    for number in range(min(count, pages)):
        page = document.pages[number]
        text = page.extract_text()[:characters]
        characters -= len(text)
        _say({"text": text})
        if not text.strip() and pictures > 0:
            pictures -= _show(page, number + 1)
        if characters <= 0:
            return


def _show(page: "PageObject", number: int) -> bool:
    """Say what a scanned page shows; whether that is known."""
    try:
        path = _scan_of(page)
        if not path or (pixels := page.images[path].image) is None:
            return False
        turn = int(page.get("/Rotate", 0)) % 360
        upright = pixels.rotate(-turn, expand=True) if turn else pixels
        mime, content = encode_scaled(upright, photo=pixels.format in ("JPEG", "JPEG2000"))
        _say({"picture": base64.b64encode(content).decode(), "mime": mime, "page": number})
        return True
    except Exception:  # a damaged picture, or one that cannot be decoded: the page counts as one without text
        return False


def _scan_of(page: "PageObject") -> tuple[str, ...]:
    """Where the picture is that is most of the page; () where there is none, or where it is made of many pieces."""
    contents = page.get_contents()
    found = _pictures_in(page, b"" if contents is None else contents.get_data(), ())
    sizes = dict(islice(found, MOST_OBJECTS))
    largest = max(sizes, key=lambda path: sizes[path], default=())
    whole = largest and sizes[largest] <= MOST_PIXELS and 2 * sizes[largest] >= sum(sizes.values())
    return largest if whole else ()


def _pictures_in(holder: Any, drawn: bytes, within: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], int]]:
    """Where each picture is that is drawn there, with its pixels; also in forms, which are drawings of their own."""
    objects = _entry(_entry(holder, "/Resources"), "/XObject")
    names = (match[1].decode("latin-1") for match in islice(_DRAWS.finditer(drawn), MOST_OBJECTS))
    for name in dict.fromkeys(names):
        found, path = _entry(objects, name), (*within, name)
        match _entry(found, "/Subtype"):
            case "/Image":
                yield path, max(0, int(found["/Width"])) * max(0, int(found["/Height"]))
            case "/Form" if len(path) < MOST_LEVELS:
                yield from _pictures_in(found, found.get_data(), path)


def _entry(holder: Any, name: str) -> Any:
    """An entry of a dictionary, {} where there is none."""
    value = holder.get(name) if hasattr(holder, "get") else None
    return value.get_object() if value is not None else {}


def _say(fact: dict[str, object]) -> None:
    print(json.dumps(fact), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
