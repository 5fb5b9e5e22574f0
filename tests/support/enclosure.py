"""Sandboxes in tests: a small machine with a home full of secrets, and what code in there can and cannot do."""

import asyncio
import os
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from oi_tui.app.engine.core.settings import SandboxSection
from oi_tui.app.engine.kernels.base import Kernel
from oi_tui.app.engine.sandbox.ladder import try_rung
from oi_tui.app.engine.sandbox.profile import Limits, Profile
from oi_tui.app.engine.sandbox.rungs import LADDER
from support.runs import collect

UNENCLOSED = SandboxSection(mode="danger-full-access")
"""For tests that are not about the sandbox, so that they run on every machine."""

SECRET = f"do-not-read-{uuid.uuid4().hex}"
"""In no file but those that the tests make."""

SECRETS = (
    ".ssh/id_rsa",
    ".aws/credentials",
    ".netrc",
    ".config/gh/hosts.yml",
    ".mozilla/firefox/profile/logins.json",
    ".config/google-chrome/Default/Cookies",
    ".config/oi-tui/config.toml",
    ".local/share/oi-tui/sessions.db",
)
"""Beneath the home folder that `make_home` makes."""


RUNG = "OI_TUI_SANDBOX_RUNG"
"""The variable that names the kind of sandbox."""


@cache
def why_no_rung(name: str) -> str:
    """Why there can be no such sandbox on this machine; "" if there can."""
    with TemporaryDirectory() as folder:
        for part in ("work", "home"):
            Path(folder, part).mkdir()
        wanted = Profile(mode="workspace-write", workspace=Path(folder, "work").resolve(), home=Path(folder, "home"))
        rung = next(rung for rung in LADDER if rung.name == name)
        with ThreadPoolExecutor(1) as thread:  # where a test is asynchronous, this one has a loop already
            why = rung.obstacle(wanted) or thread.submit(lambda: asyncio.run(try_rung(rung, wanted))).result()
    return f"There can be no sandbox of the kind “{name}” here, NOT TESTED: {why}" if why else ""


def make_home(home: Path) -> Path:
    """A home folder with secrets in the usual places."""
    for name in SECRETS:
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SECRET)
    return home


def make_project(folder: Path) -> Path:
    """A project with files that must not be changed or read, and links that lead out."""
    for name in (".git/hooks", ".git/objects", ".oi", ".vscode", "sub", ".venv/lib"):
        (folder / name).mkdir(parents=True)
    for name in (
        ".git/config",
        ".git/hooks/pre-commit",
        ".mcp.json",
        ".envrc",
        ".oi/permissions.toml",
        ".venv/pyvenv.cfg",
    ):
        (folder / name).write_text("as it was")
    for name in (".env", ".env.local", "sub/.env"):
        (folder / name).write_text(f"KEY={SECRET}")
    (folder / ".env.example").write_text("KEY=")
    (folder / "to-etc").symlink_to("/etc")
    (folder / "to-key").symlink_to(folder.parent / ".ssh" / "id_rsa")
    return folder


def profile(workspace: Path, home: Path, **options: object) -> Profile:
    """One that writes in the workspace, with our own folders hidden."""
    own = (home / ".config" / "oi-tui", home / ".local" / "share" / "oi-tui")
    chosen: dict[str, object] = {
        "mode": "workspace-write",
        "limits": Limits(scratch=20_000_000),
        "hidden": own,
        "rung": os.environ.get(RUNG, "auto"),
        **options,
    }
    return Profile(workspace=workspace, home=home, **chosen)  # type: ignore[arg-type]  # the caller knows the fields


async def attempt(kernel: Kernel, statement: str) -> str:
    """What comes of a Python statement: "done", or the name of the error."""
    source = (
        "import errno, os, socket\n"
        f"try:\n    {statement}\n    print('done')\n"
        "except OSError as error:\n    print(errno.errorcode.get(error.errno, repr(error)))"
    )
    run = await collect(kernel, source)
    assert run.finished.status == "ok", run.events
    return run.text().strip()


def snapshot(folder: Path) -> dict[str, str]:
    """Everything beneath the folder: kind, mode and content."""
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        mode = oct(path.lstat().st_mode)
        content = os.readlink(path) if path.is_symlink() else path.read_text() if path.is_file() else ""
        found[str(path.relative_to(folder))] = f"{mode} {content}"
    return found


@contextmanager
def nothing_changes(folder: Path) -> Iterator[None]:
    """AssertionError if anything beneath the folder is another than before."""
    before = snapshot(folder)
    yield
    assert snapshot(folder) == before


def processes_with(mark: str) -> list[int]:
    """Ids of the processes that have the mark on their command line, as the whole machine sees them."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        if any(mark in argument for argument in process.info["cmdline"] or ()):
            found.append(process.pid)
    return found
