"""Which files of the working folder a run wrote: what a person would see at a glance in it afterwards.

The nearest folders are looked at first, and only for so long: a folder that is too large gives no answer rather than a
late one. Hidden names, environments and other people's packages are passed over. A file's change time counts.
"""

import os
import stat
import time
from collections.abc import Collection, Iterator

from oi_tui.app.engine.core.outputs import WrittenFile, WrittenFiles

SECONDS, ENTRIES, LEVELS = 0.15, 10_000, 6
"""Bounds of a look."""

TOLD, BEGINNING, LINES = 5, 200, 3
"""Files that are named, and characters and lines of each."""

COARSE = 10_000_000
"""Nanoseconds by which a file system's clock may be behind ours."""

WHOLE_SECOND = 1_000_000_000

_PASSED_OVER = frozenset({"node_modules", "__pycache__", "site-packages"})


def find_written_files(folder: str, since: float, *, own: Collection[str] = ()) -> WrittenFiles | None:
    """Files that changed since this moment (Unix time in seconds), the newest first; None where the look did not come
    to its end and found nothing. Folders of `own` (absolute paths) are not looked into. For a thread."""
    end, oldest = time.monotonic() + SECONDS, int(since * 1e9) - COARSE
    found: list[tuple[int, str, int]] = []
    level, entries = [""], 0
    for _ in range(LEVELS):
        deeper: list[str] = []
        for prefix in level:
            for entry in _entries(os.path.join(folder, prefix)):
                entries += 1
                if entries > ENTRIES or time.monotonic() > end:
                    return _newest(folder, found) if found else None
                name, state = prefix + entry.name, _state(entry)
                if state is None or entry.name.startswith("."):
                    continue
                if stat.S_ISREG(state.st_mode) and _is_after(state.st_ctime_ns, oldest):
                    found.append((state.st_ctime_ns, name, state.st_size))
                elif stat.S_ISDIR(state.st_mode) and entry.path not in own and _is_looked_into(entry):
                    deeper.append(f"{name}/")
        level = deeper
    return _newest(folder, found) if found or not level else None


def _newest(folder: str, found: list[tuple[int, str, int]]) -> WrittenFiles:
    found.sort(reverse=True)
    files = tuple(
        WrittenFile(name=_spell_name(name), size=size, begins=beginning_of(folder, name))
        for _, name, size in found[:TOLD]
    )
    return WrittenFiles(files=files, more=len(found) - len(files))


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except OSError:
        return  # gone already, or closed to us


def _state(entry: os.DirEntry[str]) -> os.stat_result | None:
    try:
        return entry.stat(follow_symlinks=False)
    except OSError:
        return None


def _is_after(changed: int, oldest: int) -> bool:
    """Also where the file system counts in whole seconds."""
    return changed >= (oldest if changed % WHOLE_SECOND else oldest - WHOLE_SECOND)


def _is_looked_into(entry: os.DirEntry[str]) -> bool:
    return entry.name not in _PASSED_OVER and not os.path.exists(os.path.join(entry.path, "pyvenv.cfg"))


def _spell_name(name: str) -> str:
    """On one line, as text."""
    text = name.encode(errors="backslashreplace").decode()
    return "".join(char if char.isprintable() else "?" for char in text)[:200]


def beginning_of(folder: str, name: str) -> str:
    """The first lines of a text, "" for anything else."""
    try:
        data = _first_bytes(folder, name)
    except OSError:
        return ""
    if b"\0" in data:
        return ""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        if error.end < len(data) or len(data) < 4 * BEGINNING:
            return ""
        text = data[: error.start].decode()  # cut in the middle of a character
    return "\n".join(text[:BEGINNING].split("\n")[:LINES])


def _first_bytes(folder: str, name: str) -> bytes:
    """Of a regular file. No link is followed: code that still runs may replace any folder on the way by one."""
    *folders, last = name.split("/")
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in folders:
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
            os.close(at)
            at = below
        file = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at)
        try:
            return os.read(file, 4 * BEGINNING) if stat.S_ISREG(os.fstat(file).st_mode) else b""
        finally:
            os.close(file)
    finally:
        os.close(at)
