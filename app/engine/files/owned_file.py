"""Files we trust because nobody but their owner can have written them: rules and decisions.

An unreliable one is an error that names it. It is never skipped, repaired or moved away.
"""

import fcntl
import grp
import os
import pwd
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from oi_tui.app.engine.core.encoding import decode_toml
from oi_tui.app.engine.core.errors import OiTuiError, SettingsError
from oi_tui.app.engine.files.whole_file import write_whole

T = TypeVar("T")

LARGEST = 1_000_000
"""Bytes of such a file."""


def read_owned_file(
    path: Path,
    what: str,
    hint: str,
    *,
    owner: int | None,
    private_group: bool = False,
    secret: bool = False,
    most: int = LARGEST,
) -> str | None:
    """The text of a file, None if there is no such file; SettingsError if it is unreliable.

    It must be a plain file of `owner` (or of root) that nobody else can write. With `private_group`, the group may
    write if it has no other member: git makes such files where every user has a group of their own. With `secret`,
    nobody else can read it either. Without an `owner` only the kind of file matters, for a text that cannot do harm.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        why = "is a link" if path.is_symlink() else f"cannot be read: {error.strerror}"
        raise SettingsError(f"The {what} {path} {why}.", hint=hint) from error
    try:
        state = os.fstat(descriptor)
        why = _fault(path, state, owner, private_group)
        if not why and secret and state.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            why = f"can be read by others (chmod 600 {path} fixes that)"
        data = b"" if why else _all_of(descriptor, most)
    finally:
        os.close(descriptor)
    if len(data) > most:
        why = f"is larger than {most:,} bytes"
    if why:
        raise SettingsError(f"The {what} {path} {why}.", hint=hint)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise SettingsError(f"The {what} {path} is not UTF-8.", hint=hint) from error


def read_record(kind: type[T], path: Path, what: str, hint: str, *, owner: int, most: int = LARGEST) -> T:
    """A record of ours in TOML or JSON, as the path ends; an empty one if there is no file. SettingsError if it is
    unreliable or not valid."""
    text = read_owned_file(path, what, hint, owner=owner, most=most)
    if text is None:
        return kind()
    try:
        if path.suffix == ".json":
            return msgspec.json.decode(text, type=kind)
        return msgspec.convert(decode_toml(text), kind)
    except (ValueError, msgspec.MsgspecError) as error:
        raise SettingsError(f"The {what} {path} is wrong: {error}.", hint=hint) from error


def _fault(path: Path, state: os.stat_result, owner: int | None, private_group: bool) -> str:
    if not stat.S_ISREG(state.st_mode):
        return "is no plain file"
    if owner is None:
        return ""
    if state.st_uid not in (owner, 0):
        return "belongs to somebody else"
    others = stat.S_IWOTH if private_group and _is_private(state.st_gid, owner) else stat.S_IWGRP | stat.S_IWOTH
    if state.st_mode & others:
        return f"can be written by others (chmod go-w {path} fixes that)"
    return ""


def _is_private(gid: int, owner: int) -> bool:
    """Whether it is the owner's own group, with nobody else in it."""
    try:
        person, group = pwd.getpwuid(owner), grp.getgrgid(gid)
    except KeyError:
        return False
    return gid == person.pw_gid and group.gr_name == person.pw_name and set(group.gr_mem) <= {person.pw_name}


def _all_of(descriptor: int, most: int) -> bytes:
    data = b""
    while len(data) <= most and (more := os.read(descriptor, most + 1)):
        data += more
    return data


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Lock this file against other processes of ours. OiTuiError if nobody could write there."""
    try:
        descriptor = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise OiTuiError(f"{path} cannot be written: {error.strerror}.") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def replace_owned_file(path: Path, text: str, *, most: int = LARGEST) -> None:
    """Replace a private file as a whole or not at all; OiTuiError if that fails, or if it could not be read again."""
    if len(data := text.encode()) > most:
        raise OiTuiError(f"{path} cannot be written: it would be larger than {most:,} bytes.")
    try:
        write_whole(path, data, over=True)
    except OSError as error:
        raise OiTuiError(f"{path} cannot be written: {error.strerror}.") from error
