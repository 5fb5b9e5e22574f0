"""A picture in the program that the desktop has for pictures."""

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from shutil import which

from oi_tui.widgets.timeline.pixels import PictureSource, Unreadable


class NoPictureViewer(Exception):
    """The picture cannot be shown there; says why, and what can be done."""


def open_picture(source: PictureSource, environ: Mapping[str, str] = os.environ) -> None:
    """Open it, encoded again as PNG: the program gets no bytes of a stranger. Raises `NoPictureViewer`. The file is in
    a private folder and stays, since we do not know when the program is done with it.
    """
    program = "open" if sys.platform == "darwin" else "xdg-open"
    remote = "SSH_CONNECTION" in environ or "SSH_TTY" in environ
    desktop = sys.platform == "darwin" or environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY")
    if remote or not desktop or (found := which(program, path=environ.get("PATH"))) is None:
        raise NoPictureViewer("There is no desktop to open it on. s saves it to a file.")
    if source.size is None:
        raise NoPictureViewer("This picture cannot be read.")
    path = Path(tempfile.mkdtemp(prefix="oi-tui-picture-")) / "figure.png"
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            source.pixels(source.size).save(file, "PNG")
        null = subprocess.DEVNULL
        started = subprocess.Popen([found, str(path)], stdin=null, stdout=null, stderr=null, start_new_session=True)
    except Unreadable as error:
        raise NoPictureViewer("This picture cannot be read.") from error
    except OSError as error:
        raise NoPictureViewer(f"{program} could not be started: {error.strerror}.") from error
    threading.Thread(target=started.wait, name="viewer", daemon=True).start()  # it would stay a zombie
