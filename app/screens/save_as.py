"""Where to save something: a path is asked for, nothing is overwritten or created unasked."""

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from oi_tui.app.engine.files.whole_file import write_whole
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.screens.confirm import ConfirmScreen
from oi_tui.widgets.field import Field
from oi_tui.widgets.keyrow import Hint, KeyLabel, KeyRow, key_labels
from oi_tui.widgets.lettering import Words

MOST_NAMES = 6
"""Names that are shown where more than one fits."""


REMOTE = "remote:"
"""What the path of a file begins with that is on the server on which code runs."""


REMOTE_LIMIT = 4_000_000
"""Bytes that go to that server."""


class SaveFailed(Exception):
    """A file cannot be written there; the text says why."""


class SaveAsScreen(ModalScreen[Path | None]):
    """Dismissed with a path that can and may be written; `send` gets the text after `remote:`, a path on the server
    where code runs."""

    CSS_PATH = "save_as.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Hint("tab", "complete", "complete", priority=True),
        Hint("escape", "dismiss(None)", "back"),
    ]

    def __init__(
        self,
        name: str,
        folder: Path,
        *,
        what: str = "",
        may_replace: bool = True,
        send: Callable[[str], None] | None = None,
    ) -> None:
        super().__init__()
        self._may_replace = may_replace
        self._send = send
        self._proposed = name
        self._folder = folder
        self._what = what

    def compose(self) -> ComposeResult:
        """A small box in the middle."""
        with Vertical(id="save-box"):
            yield Words(f"Save {self._what}".rstrip() + " as", id="save-title")
            yield Field(self._proposed, id="save-path", select_on_focus=False)
            yield Words(f"in {safe_text(str(self._folder))}", id="save-text")
            yield KeyRow(id="save-keys")

    def on_mount(self) -> None:
        """The keys; the name without its ending is what is most likely to be changed."""
        self.query_one(KeyRow).labels = (KeyLabel("enter", "save", "save"), *key_labels(self))
        self.query_one(Input).cursor_position = len(self._proposed) - len(Path(self._proposed).suffix)

    def on_input_changed(self, event: Input.Changed) -> None:
        """A message about another path is outdated."""
        event.stop()
        self._say(f"in {self._folder}")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go with the path if it can be written; ask where there is a file already."""
        event.stop()
        if event.value.strip().startswith(REMOTE):
            self._go_remote(event.value.strip().removeprefix(REMOTE))
            return
        try:
            path = resolve_path(event.value, self._folder)
        except SaveFailed as failed:
            self._say(str(failed), wrong=True)
            return
        if not path.exists():
            self.dismiss(path)
            return
        if not self._may_replace:
            self._say("There is a file of this name already.", wrong=True)
            return

        def save_if_agreed(yes: bool | None) -> None:
            if yes:
                self.dismiss(path)

        question = ConfirmScreen("Replace this file?", safe_text(str(path)), yes="replace it", no="keep it")
        self.app.push_screen(question, save_if_agreed)

    def _go_remote(self, path: str) -> None:
        if self._send is None:
            self._say("This can be saved on this machine only.", wrong=True)
        elif not path.strip("/"):
            self._say("Type a file name after remote:.", wrong=True)
        else:
            self._send(path)
            self.dismiss(None)

    def action_complete(self) -> None:
        """Complete the name as far as all matching files agree."""
        field = self.query_one(Input)
        typed, names = complete_path(field.value, self._folder)
        with self.prevent(Input.Changed):
            field.value = typed
        field.cursor_position = len(typed)
        if not names:
            self._say("Nothing begins like this.")
        elif len(names) > 1:
            more = f"  … {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
            self._say("  ".join(names[:MOST_NAMES]) + more)

    def _say(self, text: str, *, wrong: bool = False) -> None:
        line = self.query_one("#save-text", Words)
        line.set_class(wrong, "-wrong")
        line.update(text)


def resolve_path(typed: str, folder: Path) -> Path:
    """The path that was meant, relative ones in `folder`; `SaveFailed` where nothing can be written."""
    if not typed.strip():
        raise SaveFailed("Type a file name.")
    if "\0" in typed:
        raise SaveFailed("No file can have this name.")
    try:
        path = folder / Path(typed.strip()).expanduser()
        if path.is_dir() or typed.strip().endswith("/"):
            raise SaveFailed(
                f"{path} is a folder. Add a file name." if path.is_dir() else f"There is no folder {path}."
            )
        if not path.parent.is_dir():
            raise SaveFailed(f"There is no folder {path.parent}.")
        if path.exists() and not path.is_file():
            raise SaveFailed(f"{path} is not a regular file.")
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise SaveFailed(f"The folder {path.parent} cannot be written.")
    except RuntimeError as error:
        raise SaveFailed("There is no such home folder.") from error
    except OSError as error:
        raise SaveFailed("No file can have this name.") from error
    return path


def complete_path(typed: str, folder: Path) -> tuple[str, list[str]]:
    """The text with what all fitting names have in common, and those names; folders end with a slash.

    Names with characters that cannot be seen are not offered, hidden files only after a dot.
    """
    head, slash, begun = typed.rpartition("/")
    try:
        place = folder / Path(head + slash).expanduser() if slash else folder
        entries = list(os.scandir(place))
    except (OSError, ValueError, RuntimeError):
        return typed, []
    names = sorted(
        entry.name + ("/" if entry.is_dir() else "")
        for entry in entries
        if entry.name.startswith(begun) and (begun or not entry.name.startswith(".")) and _can_be_seen(entry.name)
    )
    common = os.path.commonprefix(names)  # noqa: RUF071 # characters are what is completed
    return (head + slash + common if names else typed), names


def save(path: Path, data: bytes | Path) -> None:
    """Write all of it or nothing: a file beside it takes its place when it is complete.

    `data` may be another file, which is copied. A new file gets the permissions that the umask leaves, one that was
    there keeps its own, and a link stays a link. `SaveFailed` where it cannot be done.
    """
    try:
        target = path.resolve()
        write_whole(target, data, over=True, mode=_mode_of(target))
    except (OSError, ValueError, RuntimeError) as error:
        raise SaveFailed(f"{path.name} was not saved: {_reason(error)}.") from error


def read_bounded(path: Path) -> bytes:
    """The content of a file, at most one byte more than `REMOTE_LIMIT`."""
    with path.open("rb") as file:
        return file.read(REMOTE_LIMIT + 1)


def _mode_of(target: Path) -> int | None:
    try:
        status = target.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file")
    return stat.S_IMODE(status.st_mode)


def _reason(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else "no file can have this name"


def _can_be_seen(name: str) -> bool:
    return safe_text(name) == name and "\n" not in name
