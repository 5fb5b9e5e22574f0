"""Pastes that are more than text: paths of files, and what is in the desktop's clipboard."""

import asyncio
import io
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from oi_tui.app.commands.mentions import find_mentions, mention_paths
from oi_tui.app.screens.clipboard import MOST_BYTES, Clipboard, read_clipboard


def png() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (6, 4), "red").save(file, "PNG")
    return file.getvalue()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.png", "my plot.png", "it's.csv", "ü.txt"):
        (tmp_path / name).touch()
    (tmp_path / "sub").mkdir()
    return tmp_path


def test_P3_paths_as_terminals_and_file_managers_write_them_become_mentions(folder: Path) -> None:
    elsewhere = folder / "sub"
    for written, name in (
        (f"{folder}/a.png", "a.png"),
        (f"'{folder}/my plot.png' ", "my plot.png"),
        (f"{folder}/my\\ plot.png", "my plot.png"),
        (f"{folder}/my plot.png\n", "my plot.png"),
        (f"file://{folder}/my%20plot.png", "my plot.png"),
        (f"file://localhost{folder}/%C3%BC.txt\r\n", "ü.txt"),
        (f"{folder}/it\\'s.csv", "it's.csv"),
    ):
        mentioned = mention_paths(written, folder)
        assert mentioned is not None, written
        assert find_mentions(mentioned, folder).files == (name,)
        assert find_mentions(mention_paths(written, elsewhere) or "", elsewhere).files == (f"{folder}/{name}",)
    both = mention_paths(f"{folder}/a.png '{folder}/my plot.png'", folder)
    assert both == '@a.png @"my plot.png" '
    assert mention_paths(f"file://{folder}/a.png\r\nfile://{folder}/%C3%BC.txt\r\n", folder) == "@a.png @ü.txt "


@pytest.mark.parametrize(
    "text",
    [
        *("", "a.png", "/gone.png", "look at {}/a.png", "{}/a.png and this", "{}/sub", "{}", "file://host{}/a.png"),
        *("/\0", "file://[", "'{}/a.png", "{}/a.png " * 2000, "http://host{}/a.png", "/model"),
    ],
)
def test_P3_every_other_text_is_just_text(folder: Path, text: str) -> None:
    assert mention_paths(text.replace("{}", str(folder)), folder) is None


def script(folder: Path, body: str) -> dict[str, str]:
    """An environment with a clipboard that this shell script is."""
    (folder / "wl-paste").write_text(f"#!/bin/sh\n{body}\n")
    (folder / "wl-paste").chmod(0o700)
    return {"WAYLAND_DISPLAY": "wayland-0", "PATH": f"{folder}:/usr/bin:/bin"}


async def test_P4_the_best_form_is_read(tmp_path: Path) -> None:
    (tmp_path / "picture").write_bytes(png())
    kinds = 'case "$*" in *list-types*) echo image/png text/plain;; '
    reads = f"*image/png*) cat {tmp_path}/picture;; *) printf 'some words';; esac"
    assert await read_clipboard(script(tmp_path, kinds + reads)) == Clipboard(png(), "some words")
    assert await read_clipboard(script(tmp_path, "exit 1")) == Clipboard()


async def test_P4_a_program_that_fails_is_not_taken_for_an_empty_clipboard(tmp_path: Path) -> None:
    for said in ("No selection", "Nothing is copied", "Error: target STRING not available", ""):
        assert await read_clipboard(script(tmp_path, f"echo '{said}' >&2; exit 1")) == Clipboard(), said
    for said in ("Missing a seat", "Failed to connect to a Wayland server"):
        found = await read_clipboard(script(tmp_path, f"echo '{said}' >&2; exit 1"))
        assert found == Clipboard(why=f"The clipboard cannot be read: wl-paste says “{said}”.")
    loud = await read_clipboard(script(tmp_path, "printf '\\033]0;x\\007'; head -c 50000 /dev/zero >&2; exit 1"))
    assert "cannot be read" in loud.why
    assert len(loud.why) < 1000
    assert loud.why.isprintable()


async def test_P4_a_clipboard_that_hangs_or_never_ends_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    endless = 'case "$*" in *list-types*) echo image/png;; *) exec cat /dev/zero;; esac'
    assert "larger than 20 MB" in (await read_clipboard(script(tmp_path, endless))).why
    assert MOST_BYTES == 20_000_000
    monkeypatch.setattr("oi_tui.app.screens.clipboard.TIME_LIMIT", 0.2)
    assert "did not answer" in (await read_clipboard(script(tmp_path, "exec sleep 100"))).why


async def test_P4_the_clipboard_of_another_machine_is_not_asked(tmp_path: Path) -> None:
    environ = script(tmp_path, f"touch {tmp_path}/asked")
    assert "cannot be read from here" in (await read_clipboard({**environ, "SSH_TTY": "/dev/pts/1"})).why
    assert not (tmp_path / "asked").exists()
    assert "cannot be read from here" in (await read_clipboard({"PATH": "/nowhere", "DISPLAY": ":9"})).why


@pytest.fixture
def display() -> Iterator[dict[str, str]]:
    """A real X server without a screen."""
    if not (shutil.which("Xvfb") and shutil.which("xclip")):
        pytest.skip("NOT TESTED: the clipboard of X, which needs Xvfb and xclip (apt install xvfb xclip)")
    told, tell = os.pipe()
    command = ["Xvfb", "-displayfd", str(tell), "-screen", "0", "64x64x8", "-nolisten", "tcp"]
    with subprocess.Popen(command, pass_fds=[tell], stderr=subprocess.DEVNULL) as server, open(told) as numbers:
        os.close(tell)
        try:
            number = numbers.readline().strip()
            yield {"DISPLAY": f":{number}", "PATH": os.environ["PATH"]}
        finally:
            server.terminate()


async def test_P4_a_picture_and_a_text_come_out_of_a_real_clipboard(display: dict[str, str]) -> None:
    for kind, content, found in (
        ("image/png", png(), Clipboard(png())),
        ("UTF8_STRING", "grün".encode(), Clipboard(text="grün")),
        ("text/uri-list", b"file:///a%20b\r\n", Clipboard(paths="file:///a%20b\r\n")),
    ):
        put = ["xclip", "-selection", "clipboard", "-target", kind]
        await asyncio.to_thread(subprocess.run, put, input=content, env=display, stdout=subprocess.DEVNULL, check=True)
        assert await read_clipboard(display) == found
