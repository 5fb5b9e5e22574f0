"""The person's own editor on a text: the terminal is given up while it runs."""

import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from textual.app import App, SuspendNotSupported


class EditorFailed(Exception):
    """The editor could not be used; the text says why."""


def editor_command(setting: str) -> list[str]:
    """Words of the command: the setting, else VISUAL, EDITOR, vi; it may have arguments."""
    command = setting or os.environ.get("VISUAL", "") or os.environ.get("EDITOR", "") or "vi"
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise EditorFailed(f"The editor command {command!r} cannot be read: {error}.") from error
    if not words:
        raise EditorFailed("The editor command is empty. Set EDITOR, or screen.editor in the settings.")
    return words


def edit_text(app: App[object], text: str, setting: str = "") -> str:
    """The text as the editor left it; blocks, since the terminal is the editor's for as long."""
    command = editor_command(setting)
    with _draft(text) as path, nullcontext() if app.is_headless else _given_up(app):
        try:
            finished = subprocess.run([*command, str(path)], check=False)
        except OSError as error:
            raise EditorFailed(f"The editor {command[0]} cannot be started: {error.strerror}.") from error
        if finished.returncode != 0:
            raise EditorFailed(
                f"The editor {command[0]} ended with exit code {finished.returncode}; nothing was changed."
            )
        try:
            return path.read_text(encoding="utf-8", errors="replace").removesuffix("\n")
        except OSError as error:
            raise EditorFailed(
                f"The editor {command[0]} left no text: {error.strerror}; nothing was changed."
            ) from error


@contextmanager
def _draft(text: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="oi-tui-") as folder:
        path = Path(folder, "prompt.md")
        path.write_text(text, encoding="utf-8", errors="replace")
        yield path


@contextmanager
def _given_up(app: App[object]) -> Iterator[None]:
    try:
        with app.suspend():
            yield
    except SuspendNotSupported as error:
        raise EditorFailed("This terminal cannot be given to an editor.") from error
