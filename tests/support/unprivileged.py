"""Programs under test as a user without special rights, also where the tests are run by root, as in most containers.

Root may look into every process, write everywhere and start as many processes as it likes: what has to be refused to
a person cannot be seen with its rights. `as_nobody` gives the command that becomes another user first.

Run as a script this file is that step: it takes the other user's rights and none of root's, then runs the command.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

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
    become = [sys.executable, str(Path(__file__).resolve()), *argv]
    hidden = {path: ("--ro-bind", "--bind")[path == writable] for path in (*_read(), writable) if _closed(path)}
    if not hidden:
        return become
    # An interpreter beneath /root, say, is shown in a /root that holds nothing else, and can be entered.
    command = ["bwrap", "--die-with-parent", "--dev-bind", "/", "/"]
    for folder in sorted({str(_closed(path)) for path in hidden}):
        command += ["--tmpfs", folder]
    for path, bind in hidden.items():
        for parent in reversed(path.parents[: path.parents.index(_closed(path))]):
            command += ["--perms", "0755", "--dir", str(parent)]
        command += [bind, str(path), str(path)]
    return [*command, "--", *become]


def why_not_nobody(writable: Path) -> str:
    """Why nothing can be run as another user here; "" if it can."""
    command = as_nobody([sys.executable, "-c", "import oi_tui.app.engine, os; os.listdir('.')"], writable=writable)
    if shutil.which(command[0]) is None:
        return f"{command[0]} is not installed, without which another user cannot reach {sys.executable}: NOT TESTED"
    tried = subprocess.run(command, capture_output=True, text=True, timeout=30, cwd=writable)
    return f"Nothing can be run as another user here, NOT TESTED: {tried.stderr.strip()}" if tried.returncode else ""


def _read() -> Iterator[Path]:
    """What a program of ours reads."""
    yield from dict.fromkeys((Path(sys.base_prefix), Path(sys.prefix), ROOT))


def _closed(path: Path) -> Path | None:
    """The topmost folder on the way that others may not enter."""
    return next((folder for folder in reversed(path.parents) if not folder.stat().st_mode & 0o001), None)


def become_nobody() -> None:
    """Without a way back."""
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


if __name__ == "__main__":
    become_nobody()
    os.execvp(sys.argv[1], sys.argv[1:])
