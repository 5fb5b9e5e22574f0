"""The sockets of detached engines, in a folder that only their owner may enter.

It is in the state folder, which every sandbox hides, and not in `$XDG_RUNTIME_DIR`: that one is removed when the last
login ends, which is when a detached engine must survive. Machines may share a home folder: each has a folder of its
own.
"""

import fcntl
import os
import socket
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.files.paths import private_dir, state_dir

MOST = 8
"""Engines that may be detached at once."""

LONGEST_PATH = 100
"""Bytes of a path that every system takes for a socket."""

PATIENCE = 2.0
"""Seconds to connect, and for the first word of the other side."""


class Peer(NamedTuple):
    """The process at the other end of a connection: of a listening socket, the one that listens."""

    pid: int
    uid: int


def engine_folder() -> Path:
    """The folder of this machine; it need not be there."""
    return state_dir() / "engines" / (quote(socket.gethostname(), safe="") or "here")


def engine_sockets() -> tuple[Path, ...]:
    """What there may be of detached engines, the one detached last at the end. Some may have ended. A quick look."""
    folder = engine_folder()
    try:
        found = [entry for entry in os.scandir(folder) if not entry.name.startswith(".")]
        return tuple(Path(entry.path) for entry in sorted(found, key=lambda entry: entry.stat().st_mtime))
    except OSError:
        return ()


def socket_session(path: Path) -> str:
    """The session that was open in the engine when it made this socket."""
    return path.name.partition(".")[0]


def listen_for(session_id: str) -> tuple[socket.socket, Path]:
    """A socket that listens, and where; OiTuiError if there can be none, or there are `MOST` of others already."""
    if not hasattr(socket, "SO_PEERCRED"):
        raise OiTuiError("A session cannot be detached on this system.", hint="It does not say who opens a socket.")
    folder = _usable_folder()
    try:
        with _lock_folder(folder):
            others = [path for path in engine_sockets() if _is_alive(path)]
            if len(others) >= MOST:
                raise OiTuiError(
                    f"{MOST} sessions are detached already.",
                    hint="Stop one first. `oi-tui sessions` lists them; `oi-tui sessions stop ID` stops one.",
                )
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            made, path = folder / f".{os.urandom(4).hex()}", folder / f"{session_id}.{os.urandom(4).hex()}"
            try:
                with _short_path(made) as short:
                    listener.bind(short)
                made.chmod(0o600)
                listener.listen()
                made.rename(path)  # now it can be found: who finds it finds that somebody listens
            except BaseException:
                listener.close()
                made.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise OiTuiError("The session cannot be detached.", hint=f"{folder}: {error.strerror}.") from error
    return listener, path


def connect_engine(path: Path) -> socket.socket | None:
    """Connected, with a timeout of `PATIENCE`; None if nobody listens any more, and then it is removed.

    OSError if the listener does not answer, or belongs to another user.
    """
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    line.settimeout(PATIENCE)
    try:
        with _short_path(path) as short:
            line.connect(short)
        if not is_own(peer_of(line)):
            raise PermissionError(f"{path} is not ours")
        return line
    except (ConnectionRefusedError, FileNotFoundError):  # its name is never used again
        line.close()
        path.unlink(missing_ok=True)
        return None
    except BaseException:
        line.close()
        raise


def peer_of(line: socket.socket) -> Peer:
    """Who is at the other end, as the system says; OSError where it does not."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        raise OSError("this system does not tell who is at the other end of a socket")
    pid, uid, _ = struct.unpack("3i", line.getsockopt(socket.SOL_SOCKET, option, struct.calcsize("3i")))
    return Peer(pid, uid)


def is_own(peer: Peer) -> bool:
    """Whether it is a process of the same user; root is another user."""
    return peer.uid == os.getuid()


def _usable_folder() -> Path:
    folder = private_dir(engine_folder())
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise OiTuiError(f"{folder} is not private.", hint="Make it a folder of yours with mode 0700.")
    return folder


def _is_alive(path: Path) -> bool:
    try:
        line = connect_engine(path)
    except OSError:  # it does not answer, but it exists
        return True
    if line is None:
        return False
    line.close()
    return True


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Hold a lock while a socket is made in the folder."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _short_path(path: Path) -> Iterator[str]:
    """Another name for it, if this one is too long for a socket."""
    if len(os.fsencode(path)) <= LONGEST_PATH:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
