"""Files that a prompt mentions with `@`: the one reader of them, for the screen and for the command line."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

_MENTION = r'(?<!\S)@(?:"([^"\n]+)"|(\S+))'

REMOTE = "remote:"
"""What such a name begins with is a file of the server on which code runs: the engine looks for it."""

_AFTER = ".,;:!?)]}'"
"""What may follow a name in a sentence."""


LONGEST_PASTE = 8_192
"""Characters; a longer paste is a text."""


class Mentions(NamedTuple):
    """Names in a prompt, in the order of the text, each once."""

    files: tuple[str, ...]
    """What exists."""
    missing: tuple[str, ...]
    """What looks like a file, and is none."""


def find_mentions(text: str, folder: Path) -> Mentions:
    """Mentions written as `@path` or `@"a path"`; relative paths are below the folder.

    Only a name with a dot or a slash, or in quotes, looks like a file: `@property` may be part of the question.
    """
    files: dict[str, None] = {}
    missing: dict[str, None] = {}
    for name, is_quoted in _names(text):
        if (found := _find(folder, name, is_quoted)) is not None:
            files[found] = None
        elif is_quoted or _looks_like_a_file(name):
            missing[name if is_quoted else name.rstrip(_AFTER)] = None
    return Mentions(tuple(files), tuple(missing))


def write_mention(name: str) -> str | None:
    """How a prompt mentions this file, None where it cannot."""
    for written in (f"@{name}", f'@"{name}"'):
        if [found for found, _ in _names(written)] == [name]:
            return written
    return None


def mention_paths(pasted: str, folder: Path) -> str | None:
    """Mentions of the files whose paths were pasted or dragged in, None where it is anything but paths of files.

    A terminal writes a dragged file as an absolute path, often with quotes or backslashes; other programs as a URI.
    """
    lines = [line.strip() for line in pasted.strip().splitlines()]
    if not lines or len(pasted) > LONGEST_PASTE:
        return None
    mentions: list[str] = []
    for line in lines:
        for name in _paths_of(line):
            path = Path(name)
            if not _is_file(path):
                return None
            written = write_mention(str(path.relative_to(folder)) if path.is_relative_to(folder) else name)
            if written is None:
                return None
            mentions.append(written)
    return f"{' '.join(mentions)} " if mentions else None


def _paths_of(line: str) -> list[str]:
    """Absolute paths, or names that are no file."""
    if line.startswith("/") and _is_file(Path(line)):
        return [line]  # with spaces, only if it was pasted
    import shlex  # only for what is pasted

    try:
        words = shlex.split(line)
    except ValueError:
        return [""]
    return [_path_of_uri(word) if word.startswith("file:") else word for word in words]


def _path_of_uri(uri: str) -> str:
    try:
        parts = urlsplit(uri)
    except ValueError:
        return ""
    return unquote(parts.path) if parts.netloc in ("", "localhost") else ""


def _is_file(path: Path) -> bool:
    try:
        return path.is_absolute() and path.is_file()
    except (OSError, ValueError):
        return False


def _names(text: str) -> Iterator[tuple[str, bool]]:
    """Names, and whether they are in quotes."""
    for quoted, plain in re.findall(_MENTION, text):
        yield quoted or plain, bool(quoted)


def _find(folder: Path, name: str, is_quoted: bool) -> str | None:
    """The name under which it exists, without what ends a sentence."""
    shorter = name if is_quoted else name.rstrip(_AFTER)
    return next((one for one in dict.fromkeys((name, shorter)) if one and _exists(folder, one)), None)


def _looks_like_a_file(name: str) -> bool:
    if name.startswith(REMOTE) or "(" in name or "://" in name:
        return False
    shorter = name.rstrip(_AFTER)
    return "/" in shorter.strip("/") or bool(re.search(r"\w\.\w{1,8}\Z", shorter))


def _exists(folder: Path, name: str) -> bool:
    try:
        return (folder / Path(name).expanduser()).exists()
    except (OSError, ValueError, RuntimeError):
        return False  # a name that no file can have, or `~` of nobody
