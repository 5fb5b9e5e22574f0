"""What a folder's `.gitignore` files leave out, read as git reads them. Never by git itself: its configuration in a
folder that nobody trusts can run programs."""

import os
import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

LARGEST = 100_000
"""Bytes of such a file; what is behind is not read."""

MOST = 1_000
"""Patterns of one file."""

NEVER = frozenset({".git", ".hg", ".svn", "__pycache__", "node_modules", ".venv", ".ipynb_checkpoints"})
"""Folders that nobody means, and that can be very large."""


class IgnoreGroup(NamedTuple):
    """Lines that follow each other and all leave out, or all bring back: alternatives of one expression each."""

    negates: bool
    names: re.Pattern[str] | None
    """Of the last part of a path."""
    paths: re.Pattern[str] | None
    """Of a path below the folder of the file."""
    folder_names: re.Pattern[str] | None
    """The same, of folders only."""
    folder_paths: re.Pattern[str] | None


class IgnoreRules(NamedTuple):
    """The rules of one file."""

    prefix: str
    """What a path has before the folder of the ignore file, "" or with a slash at the end."""
    above: str
    """What they lack, where that folder is further out."""
    groups: tuple[IgnoreGroup, ...]


def is_ignored(path: str, is_folder: bool, layers: Iterable[IgnoreRules]) -> bool:
    """Whether the last rule that matches leaves it out; `layers` from the outermost folder to the innermost."""
    ignored = False
    name = path[path.rfind("/") + 1 :]
    for prefix, above, groups in layers:
        below = above + path.removeprefix(prefix)
        for negates, names, paths, folder_names, folder_paths in groups:
            if negates is ignored and (
                (names is not None and names.match(name))
                or (paths is not None and paths.match(below))
                or (is_folder and folder_names is not None and folder_names.match(name))
                or (is_folder and folder_paths is not None and folder_paths.match(below))
            ):
                ignored = not negates
    return ignored


def load_ignores(file: str, prefix: str = "", above: str = "") -> IgnoreRules | None:
    """The rules of this file; None if it has none, or is not a regular file."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        if not os.path.isfile(f"/dev/fd/{descriptor}"):
            return None
        text = os.read(descriptor, LARGEST).decode("utf-8", errors="replace")
    except OSError:
        return None
    finally:
        os.close(descriptor)
    groups = tuple(read_ignores(text))
    return IgnoreRules(prefix, above, groups) if groups else None


def outer_ignores(folder: str) -> Iterator[IgnoreRules]:
    """The rules of the folders above, up to the root of the repository, and of its `.git/info`."""
    above: list[tuple[str, str]] = []
    place, inner = os.path.abspath(folder), ""
    while not os.path.lexists(os.path.join(place, ".git")):
        parent, name = os.path.split(place)
        if parent == place:
            return
        place, inner = parent, f"{name}/{inner}"
        above.append((place, inner))
    files = [(os.path.join(place, ".git", "info", "exclude"), inner)]
    files += [(os.path.join(one, ".gitignore"), below) for one, below in reversed(above)]
    for file, below in files:
        if (rules := load_ignores(file, above=below)) is not None:
            yield rules


def read_ignores(text: str) -> Iterator[IgnoreGroup]:
    """The rules in the text of such a file, in their order."""
    lines = (found for line in text.split("\n")[:MOST] if (found := _read_line(line)) is not None)
    for negates, group in groupby(lines, key=lambda line: line.negates):
        kinds: dict[tuple[bool, bool], list[str]] = {}
        for line in group:
            kinds.setdefault((line.folders_only, line.is_path), []).append(line.expression)
        patterns = {kind: re.compile(f"(?:{'|'.join(parts)})\\Z") for kind, parts in kinds.items()}
        order = ((False, False), (False, True), (True, False), (True, True))
        yield IgnoreGroup(negates, *(patterns.get(kind) for kind in order))


class _Line(NamedTuple):
    expression: str
    negates: bool
    folders_only: bool
    is_path: bool
    """Whether it is held against a path, not only its last part."""


def _read_line(line: str) -> _Line | None:
    line = line.rstrip("\r")
    while line.endswith(" ") and not line.endswith("\\ "):
        line = line[:-1]
    if not line or line.startswith("#"):
        return None
    negates = line.startswith("!")
    line = line.removeprefix("!")
    body = line.rstrip("/")
    expression = _expression(body.removeprefix("/"))
    try:
        re.compile(expression)
    except re.error:
        return None
    return _Line(expression, negates, line.endswith("/"), "/" in body) if body else None


def _expression(glob: str) -> str:
    """A regular expression for a pattern: `*` and `?` stay within a name, `**` crosses folders.

    The text after a star matches at its first place, without backtracking: any other place leaves less for the rest. So
    no pattern takes longer than the square of the path, even a hostile one.
    """
    stretches = [[""]]
    """The parts between one `**/` and the next; of each, the texts between its stars."""
    i = 0
    while i < len(glob):
        char = glob[i]
        if glob.startswith("**/", i) and (i == 0 or glob[i - 1] == "/"):
            stretches.append([""])
            i += 3
            continue
        if glob.startswith("**", i) and i + 2 == len(glob) and (i == 0 or glob[i - 1] == "/"):
            stretches[-1][-1] += ".*"
            break
        i += 1
        if char == "*":
            while glob.startswith("*", i):
                i += 1
            stretches[-1].append("")
            continue
        if char == "?":
            part = "[^/]"
        elif char == "[" and (end := glob.find("]", i + 1 + glob.startswith(("!", "^"), i))) > 0:
            inside = glob[i:end]
            negated = inside.startswith(("!", "^"))
            part = f"[{'^/' if negated else ''}{re.escape(inside[negated:]).replace(chr(92) + '-', '-')}]"
            i = end + 1
        elif char == "\\" and i < len(glob):
            part = re.escape(glob[i])
            i += 1
        else:
            part = re.escape(char)
        stretches[-1][-1] += part
    return _join_stretches(["".join(_join_pieces(pieces)) for pieces in stretches])


def _join_pieces(pieces: list[str]) -> Iterator[str]:
    """Join the texts, with stars between them."""
    yield pieces[0]
    for piece in pieces[1:-1]:
        yield f"(?>[^/]*?{piece})"
    yield from (f"[^/]*{piece}" for piece in pieces[1:][-1:])


def _join_stretches(stretches: list[str]) -> str:
    """Join the parts, with `**/` between them."""
    inner = "".join(f"(?>(?:[^/]*/)*?{stretch})" for stretch in stretches[1:-1])
    return stretches[0] + inner + "".join(f"(?:[^/]*/)*{stretch}" for stretch in stretches[1:][-1:])
