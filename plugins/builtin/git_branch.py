"""The branch of git in the status line, where the session works in a repository."""

from pathlib import Path

from oi_tui.plugins.api import SessionView, StatusItem, hookimpl

_LONGEST = 300
"""Bytes that are read of a file of git's."""


def branch_of(view: SessionView) -> str:
    """Its name, or the beginning of the commit; "" where there is no repository. Reads two small files at most."""
    folder = Path(view.folder) if view.folder else None
    for place in (folder, *folder.parents) if folder is not None else ():
        git = place / ".git"
        if git.exists():
            return _read_head(git)
    return ""


def _read_head(git: Path) -> str:
    try:
        if git.is_file():  # a worktree says where its folder is
            git = git.parent / _beginning(git).removeprefix("gitdir: ")
        head = _beginning(git / "HEAD")
    except OSError:
        return ""
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else head[:8]


def _beginning(path: Path) -> str:
    if not path.is_file():  # no pipe, whose reading would wait
        return ""
    with path.open("rb") as file:
        return file.read(_LONGEST).decode("utf-8", "replace").strip()


@hookimpl
def register_status_items() -> list[StatusItem]:
    """At the right, and the first to go where there is no room."""
    return [StatusItem(name="git", text=branch_of)]
