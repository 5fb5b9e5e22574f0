"""Files that a prompt mentions with `@`: the one reader of them, for the screen and for the command line."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_MENTION = re.compile(r'(?<!\S)@(?:"([^"\n]+)"|(\S+))')

REMOTE = "remote:"
"""What such a name begins with is a file of the server on which code runs: the engine looks for it."""

_AFTER = ".,;:!?)]}'"
"""What may follow a name in a sentence."""


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


def _names(text: str) -> Iterator[tuple[str, bool]]:
    """Names, and whether they are in quotes."""
    for quoted, plain in _MENTION.findall(text):
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
