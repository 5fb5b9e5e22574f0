"""The clipboard: through the terminal (OSC 52) always, and through the desktop's own program if there is one.

Over SSH only the terminal can reach the user's desktop, and many terminals ignore OSC 52 or take only short texts; on
the desktop itself the native program works. It is read in the same way: by a program where there is a desktop, else
through the terminal where that has Kitty's protocol (OSC 5522).
"""

import asyncio
import os
import re
import shutil
import sys
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.screens.clipboard_reading import TerminalClipboard, UnreadableClipboard

if TYPE_CHECKING:
    from textual.app import App

TIME_LIMIT = 2.0
"""Seconds that the program may take; some stay and serve the clipboard, and have detached themselves by then."""


MOST_BYTES = 20_000_000
"""Of what is read from the clipboard."""

PICTURE_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif", "image/bmp", "image/tiff")

_PATHS = "text/uri-list"

_TEXT_TYPES = ("text/plain;charset=utf-8", "UTF8_STRING", "text/plain", "STRING", "TEXT")


class Clipboard(NamedTuple):
    """What is in the desktop's clipboard."""

    picture: bytes = b""
    text: str = ""
    paths: str = ""
    """Files that were copied, as URIs, one a line."""
    why: str = ""
    """Why it cannot be read, in plain words."""


async def read_clipboard(
    environ: Mapping[str, str] = os.environ,
    terminal: TerminalClipboard | None = None,
    tell: Callable[[str], object] = lambda words: None,
) -> Clipboard:
    """What the desktop's program returns, else the terminal if it can, which may ask the person, who is shown a message
    about it; each form is empty where there is none."""
    command = _reading_command(environ)
    if command is None and terminal is not None:
        return await _read_terminal(terminal, tell)
    if command is None:
        return Clipboard(why=f"The clipboard cannot be read from here: {_advice(environ)}.")
    try:
        async with asyncio.timeout(TIME_LIMIT):
            offered = (await _read(command, _LISTING[command[0]], environ)).decode(errors="replace").split()
            found = [await _read(command, one, environ) if one else b"" for one in _wanted_kinds(offered)]
    except TimeoutError:
        return Clipboard(why=f"{command[0]} did not answer within {TIME_LIMIT:.0f} s.")
    except OSError as error:
        return Clipboard(why=f"{command[0]} cannot be started: {error.strerror}.")
    except UnreadableClipboard as error:
        return Clipboard(why=f"The clipboard cannot be read: {command[0]} says “{error}”.")
    if any(len(one) > MOST_BYTES for one in found):
        return Clipboard(why=f"What is in the clipboard is larger than {MOST_BYTES // 1_000_000} MB.")
    return Clipboard(found[0], found[1].decode(errors="replace"), found[2].decode(errors="replace"))


def _advice(environ: Mapping[str, str]) -> str:
    """What helps where nothing can be read."""
    if _is_remote(environ):
        return "over ssh the terminal must let programs read it (Kitty does). Its own key pastes text"
    return "install wl-paste or xclip, or paste by the terminal's own key"


def _wanted_kinds(offered: Collection[str]) -> tuple[str, str, str]:
    """The best of these types for a picture, for a text and for paths; "" if there is none."""
    picture = next((one for one in PICTURE_TYPES if one in offered), "")
    text = next((one for one in _TEXT_TYPES if one in offered), "")
    return picture, text, _PATHS if _PATHS in offered else ""


async def _read_terminal(terminal: TerminalClipboard, tell: Callable[[str], object]) -> Clipboard:
    try:
        picture, text, paths = wanted = _wanted_kinds(await terminal.kinds())
        if not any(wanted):
            return Clipboard()
        tell("Reading the clipboard of your terminal, which may ask whether it is allowed …")
        found = await terminal.read([one for one in wanted if one], most=MOST_BYTES)
    except UnreadableClipboard as error:
        return Clipboard(why=str(error))
    words = [found.get(one, b"").decode(errors="replace") for one in (text, paths)]
    return Clipboard(found.get(picture, b""), *words)


_LISTING = {"wl-paste": "", "xclip": "TARGETS"}
"""The type that each program is asked for to learn which types there are."""


def _reading_command(environ: Mapping[str, str]) -> list[str] | None:
    """The program that writes the clipboard's content to its output; None if the desktop is on another machine or there
    is none."""
    if _is_remote(environ):
        return None
    candidates: list[list[str]] = []
    if "WAYLAND_DISPLAY" in environ:
        candidates.append(["wl-paste", "--no-newline"])
    if "DISPLAY" in environ:
        candidates.append(["xclip", "-selection", "clipboard", "-out"])
    path = environ.get("PATH")
    return next((command for command in candidates if shutil.which(command[0], path=path)), None)


_MOST_SAID = 300
"""Bytes of a program's complaint."""
_EMPTY = re.compile(rb"No selection|Nothing is copied|No suitable type|target \S+ not available|no owner for", re.I)
"""What the programs say where there is nothing to paste, or not in this form."""


async def _read(command: list[str], kind: str, environ: Mapping[str, str]) -> bytes:
    """The content in one form, at most a byte more than is allowed; b"" if there is none. UnreadableClipboard with what
    the program says where it fails."""
    wayland = ["--type", kind] if kind else ["--list-types"]
    process = await asyncio.create_subprocess_exec(
        *command,
        *(wayland if command[0] == "wl-paste" else ["-target", kind]),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=dict(environ),
    )
    content, said = bytearray(), bytearray()
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        while len(content) <= MOST_BYTES and (piece := await process.stdout.read(1 << 20)):
            content += piece
        if len(content) <= MOST_BYTES:
            while len(said) < _MOST_SAID and (piece := await process.stderr.read(_MOST_SAID)):
                said += piece
            await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode == 0 or len(content) > MOST_BYTES:
        return bytes(content)
    if (words := said[:_MOST_SAID].decode(errors="replace").split()) and not _EMPTY.search(said):
        raise UnreadableClipboard(safe_text(" ".join(words)))
    return b""


def _is_remote(environ: Mapping[str, str]) -> bool:
    """Whether the person's desktop is on another machine."""
    return "SSH_CONNECTION" in environ or "SSH_TTY" in environ


def native_command(environ: Mapping[str, str] = os.environ) -> list[str] | None:
    """The program that takes the text on its standard input; None if the desktop is on another machine or there is
    none."""
    if _is_remote(environ):
        return None
    candidates: list[list[str]] = []
    if sys.platform == "darwin":
        candidates.append(["pbcopy"])
    if "WAYLAND_DISPLAY" in environ:
        candidates.append(["wl-copy"])
    if "DISPLAY" in environ:
        candidates += [["xclip", "-selection", "clipboard", "-in"], ["xsel", "--clipboard", "--input"]]
    if "WSL_DISTRO_NAME" in environ:
        candidates.append(["clip.exe"])
    path = environ.get("PATH")
    return next((command for command in candidates if shutil.which(command[0], path=path)), None)


async def copy(app: "App[Any]", text: str, environ: Mapping[str, str] = os.environ) -> str:
    """Put the text into the clipboard; returns "" or, in plain words, why the desktop's own program did not take it."""
    app.copy_to_clipboard(text)
    command = native_command(environ)
    if command is None:
        return ""
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            env=dict(environ),
        )
    except OSError as error:
        return f"{command[0]} cannot be started: {error.strerror}."
    try:
        async with asyncio.timeout(TIME_LIMIT):
            await process.communicate(text.encode("utf-8", errors="replace"))
    except TimeoutError:
        process.kill()
        await process.wait()
        return f"{command[0]} did not take the text within {TIME_LIMIT:.0f} s."
    return "" if process.returncode == 0 else f"{command[0]} ended with exit code {process.returncode}."
