"""Programs under test as a user without special rights, also where the tests are run by root, as in most containers.

Root may look into every process, write everywhere and start as many processes as it likes: denied permissions never
show with its rights. `as_nobody` gives the command that becomes another user first.

Run as a script this file is that step: it takes the other user's rights and none of root's, then runs the command. No
other program is needed for it.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from oi_tui.app.engine.sandbox.launcher import (
    BIND,
    NEW_MOUNTS,
    PRIVATE,
    READ_ONLY,
    RECURSIVE,
    call,
    libc,
    mount,
    restrict,
)

NOBODY = 65534

Nobody = Callable[[str], str]
"""Runs a program of Python as that user, with a folder of its own as its argument; gives what it printed."""

ROOT = Path(__file__).resolve().parents[2]


def as_nobody(argv: Sequence[str], *, writable: Path) -> list[str]:
    """The command as one of a user who owns `writable`, and may read our sources and the interpreter.

    Where the tests are not run by root it is the command itself.
    """
    if os.getuid() != 0:
        return list(argv)
    for path in (writable, *writable.rglob("*")):
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    shown = {str(path): path == writable for path in (*_read(), writable) if _closed(path)}
    return [sys.executable, str(Path(__file__).resolve()), json.dumps(shown), *argv]


def why_not_nobody(writable: Path) -> str:
    """Why nothing can be run as another user here; "" if it can."""
    command = as_nobody([sys.executable, "-c", "import oi_tui.app.engine, os; os.listdir('.')"], writable=writable)
    tried = subprocess.run(command, capture_output=True, text=True, timeout=30, cwd=writable)
    return (
        f"Nothing can be run as another user here, NOT TESTED: {_last_line(tried.stderr)}" if tried.returncode else ""
    )


def _last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2]


def _read() -> Iterator[Path]:
    """What a program of ours reads."""
    yield from dict.fromkeys((Path(sys.base_prefix), Path(sys.prefix), ROOT))


def _closed(path: Path) -> Path | None:
    """The topmost folder on the way that others may not enter."""
    return next((folder for folder in reversed(path.parents) if not folder.stat().st_mode & 0o001), None)


def show(folders: Mapping[str, bool]) -> None:
    """What others cannot reach, because of a folder above that they may not enter, they can reach from here on; each
    says whether it may be written. An interpreter beneath /root, say, is shown in a /root that holds nothing else.

    In mounts of this process alone: OSError where the system forbids them.
    """
    if not folders:
        return
    folder, mask = os.getcwd(), os.umask(0o022)
    call("unshare", libc.unshare(NEW_MOUNTS))
    mount(None, "/", None, PRIVATE | RECURSIVE)
    opened = {path: os.open(path, os.O_PATH | os.O_CLOEXEC) for path in sorted(folders)}  # parents first
    for closed in sorted({str(_closed(Path(path))) for path in folders}):
        mount("tmpfs", closed, "tmpfs", 0, "mode=0755")
    for path, source in opened.items():
        os.makedirs(path, 0o755, exist_ok=True)
        mount(f"/proc/self/fd/{source}", path, None, BIND | RECURSIVE)
        if not folders[path]:
            restrict(path, READ_ONLY, beneath=True)
    os.umask(mask)
    os.chdir(folder)


def become_nobody() -> None:
    """Without a way back."""
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


if __name__ == "__main__":
    show(json.loads(sys.argv[1]))
    become_nobody()
    os.execvp(sys.argv[2], sys.argv[2:])
