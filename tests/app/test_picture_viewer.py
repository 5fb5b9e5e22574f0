"""A picture in the desktop's program, which here is a script that says what it was given."""

import base64
import os
import stat
from pathlib import Path

import pytest
from PIL import Image

from oi_tui.app.screens.picture_viewer import NoPictureViewer, open_picture
from oi_tui.widgets.timeline.pixels import PictureSource

GIF = base64.b64decode("R0lGODlhAQABAIABAP8AAP///yH5BAAKAAEALAAAAAABAAEAAAICTAEAOw==")


@pytest.fixture
def desktop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An environment with a screen, and a program for pictures that writes down its argument."""
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    os.mkfifo(tmp_path / "opened")
    program = tmp_path / "xdg-open"
    program.write_text(f'#!/bin/sh\nprintf %s "$1" > {tmp_path}/opened\n', encoding="utf-8")
    program.chmod(0o755)
    return {"PATH": str(tmp_path), "DISPLAY": ":0"}


def test_a_picture_is_drawn_anew_for_the_desktop_and_nobody_else_can_read_it(
    desktop: dict[str, str], tmp_path: Path
) -> None:
    open_picture(PictureSource(GIF), desktop)
    shown = Path((tmp_path / "opened").read_text(encoding="utf-8"))
    with Image.open(shown) as picture:
        assert (picture.format, picture.size) == ("PNG", (1, 1))
    assert stat.S_IMODE(shown.stat().st_mode) == 0o600
    assert stat.S_IMODE(shown.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "environ",
    [{"PATH": "", "DISPLAY": ":0"}, {"PATH": "/usr/bin"}, {"DISPLAY": ":0", "SSH_TTY": "/dev/pts/1"}],
    ids=str,
)
def test_without_a_desktop_it_is_said_what_helps(environ: dict[str, str]) -> None:
    with pytest.raises(NoPictureViewer, match="s saves it"):
        open_picture(PictureSource(GIF), environ)


def test_what_is_no_picture_is_not_opened(desktop: dict[str, str]) -> None:
    with pytest.raises(NoPictureViewer, match="cannot be read"):
        open_picture(PictureSource(b"#!/bin/sh\nrm -rf ~"), desktop)
