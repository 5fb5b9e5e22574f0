"""The clipboard: through the terminal (OSC 52) always, and through the desktop's own program if there is one.

Over SSH only the terminal can reach the user's desktop, and many terminals ignore OSC 52 or take only short texts; on
the desktop itself the native program works.
"""

import asyncio
import os
import shutil
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textual.app import App

TIME_LIMIT = 2.0
"""Seconds that the program may take; some stay and serve the clipboard, and have detached themselves by then."""


def native_command(environ: Mapping[str, str] = os.environ) -> list[str] | None:
    """The program that takes the text on its standard input; None where the desktop is another machine's, or none."""
    if "SSH_CONNECTION" in environ or "SSH_TTY" in environ:
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
