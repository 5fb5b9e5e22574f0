"""What git knows of files: its index (`.git/index`, versions 2 to 4), read without running git.

The configuration of a repository can name programs that git runs, so git itself never runs on a person's folder outside
a sandbox. What is read here was written by others: nothing of it is believed but lengths that fit, and whatever does
not fit makes a file one that git does not know.
"""

import struct
from collections.abc import Collection, Iterator
from typing import NamedTuple

LARGEST = 256_000_000
"""Bytes of an index that is read: two million files."""

FEW = 8
"""Files that are looked for one by one; for more, all of the index is walked through once."""

LONGEST_NAME = 65_536
"""Bytes of a name."""

_HEAD = struct.Struct(">4sII")
_STAT = struct.Struct(">10I")
_OIDS = (20, 32)
"""Bytes of a name of content: SHA-1 or SHA-256."""
_MODES = frozenset({0o100644, 0o100755, 0o120000, 0o160000, 0o040000})
_EXTENDED, _STAGE, _LENGTH = 0x4000, 0x3000, 0x0FFF
_TO_ADD = 0x2000
"""Of the second flags: `git add -N` noted the name without the content."""


class WrongIndex(ValueError):
    """This is no index that can be read."""


class IndexEntry(NamedTuple):
    """What git knows of one file: how it looked when it was compared last, and the name of its content."""

    changed: tuple[int, int]
    """Time of the last change of the file or what is known of it (ctime): seconds, nanoseconds."""
    modified: tuple[int, int]
    """The same of its content (mtime); nanoseconds may be 0 for “not known”."""
    inode: int
    size: int
    """Both of 32 bits."""
    oid: bytes
    """SHA-1 or SHA-256 of its content, as git computes it."""
    held: bool
    """Whether git has one content of it: not in the middle of a merge, nor where only its name was added."""


def find_entries(data: bytes, names: Collection[bytes]) -> dict[bytes, IndexEntry]:
    """The entries of these files in the index, by name (from the root of the working tree); WrongIndex if it cannot be
    read."""
    if len(data) < _HEAD.size:
        raise WrongIndex("too short")
    sign, version, count = _HEAD.unpack_from(data)
    if sign != b"DIRC" or version not in (2, 3, 4):
        raise WrongIndex("not an index of version 2, 3 or 4")
    if version == 4 or len(names) > FEW:
        return _walk(data, count, frozenset(names), packed=version == 4)
    return {name: entry for name in names if (entry := _search(data, name)) is not None}


def _search(data: bytes, name: bytes) -> IndexEntry | None:
    """The entry of this name, looked for by its text: an index of 100,000 files is not walked through for one."""
    if not name or b"\0" in name:
        return None
    wanted, at = name + b"\0", data.find(name + b"\0", _HEAD.size)
    while at >= 0:
        for oid in _OIDS:
            for more in (0, 2):
                start = at - more - 2 - oid - _STAT.size
                if start < _HEAD.size or (start - _HEAD.size) % 8 or (start > _HEAD.size and data[start - 1]):
                    continue  # entries are filled up with zeros to multiples of eight
                entry, flags = _entry(data, start, oid)
                if entry and bool(flags & _EXTENDED) == bool(more) and flags & _LENGTH == min(len(name), _LENGTH):
                    return entry
        at = data.find(wanted, at + 1)
    return None


def _walk(data: bytes, count: int, names: frozenset[bytes], *, packed: bool) -> dict[bytes, IndexEntry]:
    """All entries one after the other; in version 4, `packed`, each name is a difference from the one before."""
    walk = _walk_packed if packed else _walk_padded
    for oid in _OIDS:
        try:
            found: dict[bytes, IndexEntry] = {}
            for start, name in walk(data, count, oid):
                if name in names and name not in found:
                    entry, _flags = _entry(data, start, oid)
                    if entry is None:
                        raise WrongIndex("an entry is no file")
                    found[name] = entry
        except (WrongIndex, IndexError, struct.error):
            continue
        return found
    raise WrongIndex("its entries do not fit")


def _walk_padded(data: bytes, count: int, oid: int) -> Iterator[tuple[int, bytes]]:
    """Where each entry begins, and its name, in versions 2 and 3."""
    at, fixed = _HEAD.size, _STAT.size + oid + 2
    for _ in range(min(count, len(data) // fixed)):
        start, flags = at, data[at + fixed - 2] << 8 | data[at + fixed - 1]
        at += fixed + (2 if flags & _EXTENDED else 0)
        length = flags & _LENGTH
        end = at + length if length < _LENGTH else data.find(b"\0", at)
        if end < at or data[end] != 0:  # an entry that replaces one of the other file has no name
            raise WrongIndex("a name does not end")
        yield start, data[at:end]
        at = start + (end - start + 8) // 8 * 8


def _walk_packed(data: bytes, count: int, oid: int) -> Iterator[tuple[int, bytes]]:
    """The same in version 4."""
    at, before, fixed = _HEAD.size, b"", _STAT.size + oid + 2
    for _ in range(min(count, len(data) // fixed)):
        start, at = at, at + fixed
        if data[at - 2] & (_EXTENDED >> 8):
            at += 2
        byte = data[at]
        at += 1
        strip = byte & 0x7F
        while byte & 0x80:
            if strip > len(before):
                raise WrongIndex("a name is shorter than nothing")
            byte = data[at]
            at += 1
            strip = (strip + 1) << 7 | byte & 0x7F
        end = data.find(b"\0", at)
        if end < 0 or strip > len(before):
            raise WrongIndex("a name does not end")
        before = before[: len(before) - strip] + data[at:end]
        if len(before) > LONGEST_NAME:
            raise WrongIndex("a name is too long")
        at = end + 1
        yield start, before


def _entry(data: bytes, start: int, oid: int) -> tuple[IndexEntry | None, int]:
    """The entry there, None if it is none; and its flags."""
    ctime, ctime_ns, mtime, mtime_ns, _, inode, mode, _, _, size = _STAT.unpack_from(data, start)
    at = start + _STAT.size + oid
    flags = int.from_bytes(data[at : at + 2], "big")
    more = int.from_bytes(data[at + 2 : at + 4], "big") if flags & _EXTENDED else 0
    if mode not in _MODES:
        return None, 0
    held = not flags & _STAGE and not more & _TO_ADD
    name = data[start + _STAT.size : at]
    return IndexEntry((ctime, ctime_ns), (mtime, mtime_ns), inode, size, name, held), flags
