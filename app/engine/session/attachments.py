"""Files that a prompt brings along: of this machine, and of the server on which code runs."""

import asyncio
import base64
import binascii
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from oi_tui.app.engine.core.events import TurnStarted
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.verbs import Submit
from oi_tui.app.engine.files.given_file import UnusableFile, read_given_file
from oi_tui.app.engine.files.given_picture import MOST_BYTES, UnreadablePicture, read_picture
from oi_tui.app.engine.files.pdf_text import PdfText, read_pdf
from oi_tui.app.engine.kernels.base import KernelSource
from oi_tui.app.engine.text.attached import attach_picture, attached_file
from oi_tui.app.engine.text.excerpts import (
    MOST_FILES,
    excerpt_of,
    excerpts,
    given_path,
    looks_like_pdf,
    looks_like_picture,
    named_files,
    read_head,
    remote_files,
)
from oi_tui.app.engine.text.mime import UNTRUSTED
from oi_tui.app.engine.text.words import quantity, size_in_words

MOST_PAGES = 40
MOST_CHARACTERS = 16_000
MOST_PICTURES = 10
"""Of pages without text, of all PDFs of a prompt."""
FEW_CHARACTERS = 2_000
"""Of the text of a PDF; few for a model on this machine, which has less room."""


class PdfRoom(NamedTuple):
    """How much of a PDF is sent."""

    characters: int
    pictures: int
    """Of pages without text, of all files together."""

    def left_by(self, told: Iterable["Attachment"]) -> "PdfRoom":
        """The room left beside these."""
        return self._replace(pictures=max(0, self.pictures - sum(len(one.pages) for one in told)))


class Attachment(NamedTuple):
    """A file as it comes with a prompt."""

    entry: str
    """For `UserBlock.files`."""
    words: str
    """What the model reads of it."""
    pages: tuple[str, ...] = ()
    """Pictures of its pages, for `UserBlock.files`."""


Sees = Callable[[], Awaitable[bool]]
"""Whether the model can see pictures."""

_PAGE = re.compile(r"(?s)(.*) \(page (\d+)\)")

FRESH = "(The kernels are fresh: variables and imports of the code above are gone unless you run it again.)"
"""What the model reads with the first prompt of a resumed session."""


async def read_prompt(
    prompt: Submit, folder: Path, kernels: KernelSource, *, named: bool, sees: Sees | None = None, fresh: bool = False
) -> TurnStarted:
    """The prompt with its files and what the model reads of them. KernelError if one on a server is missing.

    A file that is only `named`, not given with `@`, is read only for a model on this machine. A model that `sees` gets
    pictures of scanned pages: it is asked where there may be some. `fresh`: the variables of earlier code are gone.
    """
    files = prompt.files
    if named:
        files = tuple(dict.fromkeys(files + await asyncio.to_thread(named_files, prompt.text, folder)))
    room = PdfRoom(
        FEW_CHARACTERS if named else MOST_CHARACTERS,
        MOST_PICTURES if sees and _names_pdf(prompt) and await sees() else 0,
    )
    told = await asyncio.to_thread(_attach_local, files, folder, room)
    told += await attach_remote(remote_files(prompt.text), kernels, room.left_by(told))
    parts = [one.words for one in told] + ([FRESH] if fresh else [])
    context = "\n\n".join(part for part in parts if part)
    entries = tuple(entry for one in told for entry in (one.entry, *one.pages))
    return TurnStarted(block_id=new_id(), text=prompt.text, files=entries, context=context, command=prompt.command)


async def attach_remote(paths: Iterable[str], kernels: KernelSource, room: PdfRoom) -> list[Attachment]:
    """The files, with the content of pictures, and of a PDF as much as there is room for. KernelError if one is
    missing."""
    told: list[Attachment] = []
    for path in paths:
        file = await kernels.read_file(path)
        where = f"{path.strip('/')} on {file.host}, where code runs"
        if looks_like_pdf(file.data):
            told.append(await asyncio.to_thread(_attach_pdf, f"remote:{path}", where, file.data, room.left_by(told)))
            continue
        picture: Attachment | None = await asyncio.to_thread(_attach_picture, f"remote:{path}", where, file.data)
        told.append(picture or Attachment(f"remote:{path}", excerpt_of(where, file.data, len(file.data))))
    return told


def pages_in_words(names: Iterable[str]) -> Iterator[str]:
    """A sentence for each PDF with pages among the pictures of these names."""
    numbers: dict[str, list[str]] = {}
    for name in names:
        if page := _PAGE.fullmatch(name):
            numbers.setdefault(page[1], []).append(page[2])
    for pdf, pages in numbers.items():
        what = f"page {pages[0]} has" if len(pages) == 1 else f"pages {', '.join(pages)} have"
        yield f"{pdf}: {what} no text and went as {'a picture' if len(pages) == 1 else 'pictures'}."


def _names_pdf(prompt: Submit) -> bool:
    """Whether there may be one among the files of a prompt."""
    return any(".pdf" in words.lower() for words in (prompt.text, *prompt.files) if not words.startswith("data:"))


def _attach_local(files: Sequence[str], folder: Path, room: PdfRoom) -> list[Attachment]:
    """In the order of the prompt; a file of a server and the pages of a PDF are read again."""
    told: list[Attachment] = []
    for entry in files:
        file = attached_file(entry)
        page = _PAGE.fullmatch(file.name)
        if file.name.startswith("remote:") or (page is not None and page[1] in files):
            continue
        if len(told) >= MOST_FILES:
            told.append(Attachment(file.name, ""))
        elif file.picture:
            told.append(_attach_content(file.name, file.picture))
        else:
            told.append(
                _attach_path(entry, given_path(entry, folder), room.left_by(told))
                or Attachment(entry, excerpts([entry], folder))
            )
    return told


def _attach_content(name: str, url: str) -> Attachment:
    """A picture that was pasted, or that came with the same prompt before."""
    words = name or "a pasted picture"
    try:
        data = base64.b64decode(url.partition(",")[2], validate=True)
    except binascii.Error:
        data = b""
    return _attach_picture(name, words, data) or Attachment(name or "picture", f"{words} (cannot be read)")


def _attach_path(name: str, path: Path, room: PdfRoom) -> Attachment | None:
    """A picture or a PDF, None for every other file."""
    what = "picture"
    try:
        head = read_head(path)
        if looks_like_pdf(head):
            what = "PDF"
            return _attach_pdf(name, name, read_given_file(path, MOST_BYTES), room)
        if not looks_like_picture(head):
            return None
        changed = time.strftime("%Y-%m-%d %H:%M", time.localtime(path.stat().st_mtime))
        return _attach_picture(name, name, read_given_file(path, MOST_BYTES), f"changed {changed}")
    except (UnusableFile, OSError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        return Attachment(name, f"{name} (a {what} that {why})")


def _attach_pdf(name: str, words: str, data: bytes, room: PdfRoom) -> Attachment:
    """The text of the first pages, each under its number, and pictures of those that have none."""
    found: PdfText = read_pdf(data, pages=MOST_PAGES, characters=room.characters, pictures=room.pictures)
    facts = ", ".join(["PDF", *([quantity(found.pages, "page")] if found.pages else []), size_in_words(len(data))])
    told = [f"{words} ({facts}){f'; it {found.why}' if found.why else ''}"]
    texts = [f"[page {number}]\n{text.strip()}" for number, text in enumerate(found.texts, 1) if text.strip()]
    if texts:
        told[0] += f", its text ({UNTRUSTED}):"
    elif found.texts and not found.pictures:
        told.append("[no text: the pages may be scanned]")
    if found.pictures:
        numbers = ", ".join(str(one.number) for one in found.pictures)
        texts.append(f"[no text, attached as pictures in this order: page {numbers}]")
    if found.texts and sum(map(len, found.texts)) >= room.characters:
        texts.append(f"[cut here; page {len(found.texts)} of {found.pages}]")
    elif len(found.texts) < found.pages:
        texts.append(f"[the first {quantity(len(found.texts), 'page')} of {found.pages}]")
    pages = tuple(attach_picture(f"{name} (page {one.number})", one.mime, one.data) for one in found.pictures)
    return Attachment(name, "\n".join(told + texts), pages)


def _attach_picture(name: str, words: str, data: bytes, fact: str = "") -> Attachment | None:
    """What the model is sent, and the facts for one that sees nothing; None for what is no picture."""
    try:
        picture = read_picture(data) if looks_like_picture(data) else None
    except UnreadablePicture as error:
        return Attachment(name or "picture", f"{words} (a picture that {error})")
    if picture is None:
        return None
    size = f"{picture.width:,}×{picture.height:,} pixels"
    facts = (f"{picture.form} picture", size, picture.mode, size_in_words(len(data)), fact)
    told = f"{words} ({', '.join(one for one in facts if one)})"
    return Attachment(attach_picture(name, picture.mime, picture.data), told)
