"""The person's own editor or pager on a text: the terminal is given up while it runs."""

import os
import shlex
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from oi_tui.app.engine.text.safe import coloured_text, safe_text

if TYPE_CHECKING:
    from textual.app import App

_SUFFIXES = {
    "python": ".py",
    "shell": ".sh",
    "bash": ".sh",
    "javascript": ".js",
    "typescript": ".ts",
    "r": ".r",
    "ir": ".r",
    "julia": ".jl",
    "sql": ".sql",
    "html": ".html",
    "json": ".json",
    "markdown": ".md",
}


_TAKE_LINES = frozenset(
    {"vi", "vim", "nvim", "gvim", "nano", "pico", "emacs", "emacsclient", "micro", "kak", "joe", "mg"}
)
"""Editors that take `+N` before a file."""


class EditorFailed(Exception):
    """The editor or pager could not be used; the text says why."""


def editor_command(setting: str) -> list[str]:
    """Words of the command: the setting, else VISUAL, EDITOR, vi; it may have arguments."""
    command = setting or os.environ.get("VISUAL", "") or os.environ.get("EDITOR", "") or "vi"
    return _words("editor", command, "Set EDITOR, or screen.editor in the settings.")


def pager_command() -> list[str]:
    """Words of the command: PAGER, else `less` with colours; it may have arguments."""
    return _words("pager", os.environ.get("PAGER", "") or "less -R", "Set PAGER.")


def suffix_of(language: str) -> str:
    """How a file in this language ends, so that the editor knows it."""
    return _SUFFIXES.get(language, ".txt")


def edit_text(app: "App[object]", text: str, setting: str = "", suffix: str = ".md", line: int = 0) -> str:
    """The text after the editor; blocks, since the editor has the terminal meanwhile. It begins at `line` if the editor
    has an option for that."""
    command = editor_command(setting)
    if line and Path(command[0]).name in _TAKE_LINES:
        command = [*command, f"+{line}"]
    with _terminal_of(app, "editor"):
        return edit_file(command, text, f"prompt{suffix}").removesuffix("\n")


def edit_file(command: list[str], text: str, name: str) -> str:
    """The text as the editor left it, in a file of this name; the terminal is the editor's for as long."""
    with _draft(text, name) as path:
        _run("editor", command, path)
        try:
            return path.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise EditorFailed(
                f"The editor {command[0]} left no text: {error.strerror}; nothing was changed."
            ) from error


def edit_in_place(app: "App[object]", path: str, setting: str = "") -> None:
    """Have the person change this file itself. Blocks."""
    with _terminal_of(app, "editor"):
        _run("editor", editor_command(setting), Path(path))


def view_in_editor(app: "App[object]", text: str, suffix: str = ".txt", setting: str = "") -> None:
    """Show a copy of the text in the editor; what is changed there is lost. Blocks."""
    with _draft(safe_text(text), f"view{suffix}", 0o400) as path, _terminal_of(app, "editor"):
        _run("editor", editor_command(setting), path)


def view_in_pager(app: "App[object]", text: str) -> None:
    """Show a copy of the text in the pager. Blocks.

    A pager may pass on what it is given, so nothing but colours is left in it.
    """
    with _draft(coloured_text(text), "view.txt", 0o400) as path, _terminal_of(app, "pager"):
        _run("pager", pager_command(), path)


def _words(what: str, command: str, hint: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise EditorFailed(f"The {what} command {command!r} cannot be read: {error}.") from error
    if not words:
        raise EditorFailed(f"The {what} command is empty. {hint}")
    return words


def _run(what: str, command: list[str], path: Path) -> None:
    try:
        finished = subprocess.run([*command, str(path)], check=False)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise EditorFailed(f"The {what} {command[0]} cannot be started: {reason}.") from error
    if finished.returncode != 0:
        consequence = "; nothing was changed" if what == "editor" else ""
        raise EditorFailed(f"The {what} {command[0]} ended with exit code {finished.returncode}{consequence}.")


@contextmanager
def _draft(text: str, name: str, mode: int = 0o600) -> Iterator[Path]:
    """A private file that is gone afterwards."""
    try:
        import tempfile  # it brings modules that the first frame has no use for

        folder = tempfile.TemporaryDirectory(prefix="oi-tui-")
    except OSError as error:
        raise EditorFailed(f"There is no room for a temporary file: {error.strerror}.") from error
    with folder as room:
        path = Path(room, name)
        try:
            path.write_text(text, encoding="utf-8", errors="replace")
            path.chmod(mode)
        except OSError as error:
            raise EditorFailed(f"The text cannot be written to a temporary file: {error.strerror}.") from error
        yield path


@contextmanager
def _terminal_of(app: "App[object]", what: str) -> Iterator[None]:
    """The terminal of the app, for another program; a test without one has nothing to give up."""
    from textual.app import SuspendNotSupported  # the app has loaded it; `oi-tui config` needs none of it

    try:
        if app.is_headless:
            yield
            return
        with _unhandled_interrupts(), app.suspend():
            yield
    except SuspendNotSupported as error:
        raise EditorFailed(
            f"This terminal cannot be given to {'an editor' if what == 'editor' else 'a pager'}."
        ) from error


@contextmanager
def _unhandled_interrupts() -> Iterator[None]:
    """Ctrl+C is a key of the other program, though its signal reaches this process as well."""
    handler = signal.signal(signal.SIGINT, lambda *_: None)  # the other program would inherit SIG_IGN
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
