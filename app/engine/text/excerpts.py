"""The beginnings of files that a prompt names: what a model needs to know before it writes code for them."""

import re
import stat
from collections.abc import Iterable
from pathlib import Path

LINES = 4
LINE_LENGTH = 160
READ = 64 * 1024
"""Bytes that are looked at of one file."""

MOST_FILES = 10

_NAME = re.compile(r"(?<![\w./~-])[\w./~-]*\w\.\w{1,8}(?![\w/])")
"""What looks like the name of a file in running text: it has an extension."""

_REMOTE = re.compile(r'(?<!\S)@(?:"remote:([^"\n]+)"|remote:(\S+))')

_PICTURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF8", b"II*\0", b"MM\0*")


def named_files(text: str, folder: Path) -> tuple[str, ...]:
    """Names in running text that are regular files of this folder (or absolute paths), each once."""
    names = dict.fromkeys(_NAME.findall(text))
    return tuple(name for name in names if _size(given_path(name, folder)) is not None)[:MOST_FILES]


def excerpts(names: Iterable[str], folder: Path) -> str:
    """What the model reads about these files; for names that are no regular files, only the name."""
    return "\n\n".join(_excerpt(name, given_path(name, folder)) for name in list(names)[:MOST_FILES])


def given_path(name: str, folder: Path) -> Path:
    """Where a file that a prompt names is."""
    try:
        return folder / Path(name).expanduser()
    except RuntimeError:
        return folder / name  # `~` of nobody is an ordinary name


def _excerpt(name: str, path: Path) -> str:
    size = _size(path)
    if size is None:
        return f"{name}"
    try:
        with path.open("rb") as file:
            data = file.read(READ)
    except OSError as error:
        return f"{name} (cannot be read: {error.strerror})"
    return excerpt_of(name, data, size)


def excerpt_of(name: str, data: bytes, size: int) -> str:
    """What the model reads about a file of this size that begins with these bytes."""
    data = data[:READ]
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if len(data) < READ or error.start < READ - 4:
            return f"{name} ({size:,} bytes, not text)"
        text = data[: error.start].decode("utf-8-sig")
    if "\0" in text:
        return f"{name} ({size:,} bytes, not text)"
    lines = text.splitlines()
    count = f"{len(lines):,} lines" if size <= READ else f"{size:,} bytes"
    head = "\n".join(line[:LINE_LENGTH] for line in lines[:LINES])
    return f"{name} ({count}) begins:\n{head}" if head else f"{name} (empty)"


def remote_files(text: str) -> tuple[str, ...]:
    """Paths that are written as `@remote:path` or `@"remote:a path"`, each once, without what ends a sentence."""
    found = dict.fromkeys(quoted or plain.rstrip(".,;:!?)") for quoted, plain in _REMOTE.findall(text))
    found.pop("", None)
    return tuple(found)[:MOST_FILES]


def read_head(path: Path) -> bytes:
    """How a regular file begins, b"" for everything else; OSError if it cannot be read."""
    if _size(path) is None:
        return b""
    with path.open("rb") as file:
        return file.read(1024)


def looks_like_pdf(head: bytes) -> bool:
    """Whether a file that begins like this is a PDF."""
    return b"%PDF-" in head[:1024]


def looks_like_picture(head: bytes) -> bool:
    """Whether a file that begins like this may be a picture."""
    if head.startswith(b"BM"):
        return head[6:10] == b"\0\0\0\0"  # else a text
    return head.startswith(_PICTURES) or (head[:4] == b"RIFF" and head[8:12] == b"WEBP")


def _size(path: Path) -> int | None:
    """Bytes of a regular file, None for everything else: pipes and devices are never opened."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None
