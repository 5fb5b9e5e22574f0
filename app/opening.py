"""How the program begins and ends, whatever the words of its command line were: errors in plain words, the screen with
what it needs, a session to go on with, what is left alive.

Imports at the top are few and cheap, and none of them is that of the command line.
"""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from oi_tui.app.engine.core.errors import OiTuiError, SettingsError, StoreError
from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.engine.files.paths import data_dir, log_dir, private_dir
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.flags import Flags
from oi_tui.app.terminal.echo import echo
from oi_tui.app.terminal.skeleton import SKELETON

if TYPE_CHECKING:
    from oi_tui.app.engine.log.store import Store

RESUME_PATIENCE = 1.0
"""Seconds at most for sessions of an older version, in which words cannot be found before."""


@contextmanager
def tell_errors() -> Iterator[None]:
    """End the program at an error of ours with two lines on stderr and an exit code, never a stack trace."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # as stderr is: an answer must not fail at its last step
    try:
        try:
            yield
        finally:
            SKELETON.clear()  # what is said below is said on the terminal as it was
    except OiTuiError as error:
        echo(f"✗ {safe_text(error.title)}", err=True)
        if error.hint:
            echo(f"  {safe_text(error.hint)}", err=True)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)


def open_app(
    flags: Flags,
    *,
    prompt: str = "",
    go_on: bool = False,
    resume: str | None = None,
    mouse: bool = True,
    theme: str | None = None,
    transcript: bool = False,
) -> None:
    """The full-screen app until it is left; ends the program. SettingsError where it cannot be shown."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise SettingsError("The app needs a terminal.", hint='Without one: oi-tui run "TASK".')
    if os.environ.get("TERM", "dumb") in ("dumb", "unknown"):
        raise SettingsError("This terminal cannot show the app (TERM=dumb).", hint='Use: oi-tui run "TASK".')
    # Textual paints at 60 frames a second, and a key waits for the next one while something streams in.
    os.environ.setdefault("TEXTUAL_FPS", "240")
    # The app's world: Textual and the widgets, nothing of the engine's libraries.
    from oi_tui.app.frontend.client import EngineClient, ProcessClient
    from oi_tui.app.tui import OiTui

    place = flags.workplace()
    # An engine would end at once, on a screen where f5 starts it in vain.
    require_kernel(flags.kernel or "", flags.python or "", place.folder)
    screen = _screen(place.settings, theme)
    session_id = session_asked_for(go_on, resume, str(place.folder))
    log = private_dir(log_dir()) / "engine.log"

    async def connect() -> EngineClient:
        from oi_tui.app.privacy import close_to_others

        close_to_others()  # code that runs without a sandbox could read our keys from our environment
        return await ProcessClient.start(place.setup, log=log)

    tui = OiTui(connect, screen, prompt=prompt or None, session_id=session_id, workplace=place)
    tui.run(mouse=screen.screen.mouse and mouse)
    session = tui.chat.bridge.transcript
    if transcript:
        from oi_tui.app.engine.text.plain import plain_transcript

        echo(plain_transcript(session.blocks), nl=False)
    if session.blocks:
        echo(f"Resume with: oi-tui --resume {session.session_id}", err=True)
    tell_left_alive(session.session_id)
    sys.exit(tui.return_code or 0)


def _screen(settings: Settings, theme: str | None) -> Settings:
    if theme is None:
        return settings
    import msgspec

    return msgspec.structs.replace(settings, screen=msgspec.structs.replace(settings.screen, theme=theme))


def session_asked_for(go_on: bool, resume: str | None, cwd: str) -> str | None:
    """The id of the session that is meant, None for a new one; StoreError if another program has it open."""
    if not go_on and resume is None:
        return None
    from oi_tui.app.engine.log.store import Claims, Store

    store = Store(private_dir(data_dir()) / "sessions.db")
    try:
        session_id = _last(store, cwd) if resume is None else _find_session(store, resume)
        Claims.beside(store.path).require_free(session_id)
        return session_id
    finally:
        store.close()


def _last(store: "Store", cwd: str) -> str:
    here = [record.id for record in store.sessions(cwd=cwd) if record.title]
    if not here:
        raise SettingsError(f"There is no session in {cwd} yet.", hint="`oi-tui sessions` lists all of them.")
    return here[0]


def _find_session(store: "Store", text: str) -> str:
    from oi_tui.app.engine.log.store import find_session

    try:
        return find_session(store, text)
    except StoreError:
        if not store.behind():
            raise
        store.tidy(RESUME_PATIENCE)
        return find_session(store, text)


def require_kernel(server: str, python: str, folder: Path) -> None:
    """SettingsError if this server was never added, or the environment is not there or runs no kernel; "" is none."""
    if server:
        from oi_tui.app.engine.kernels.remote.address import parse_address
        from oi_tui.app.engine.kernels.remote.servers import known_servers

        address = parse_address(server)
        known_servers().find(server if address.host else address.name)
    if python:
        from oi_tui.app.engine.environments.discovery import usable_environment

        usable_environment(python, folder, os.environ, trusted=True)


def tell_left_alive(session_id: str) -> None:
    """At the end of the program: which kernels of this session go on, and what ends them."""
    from oi_tui.app.engine.kernels.remote.address import SHORT_ID
    from oi_tui.app.engine.kernels.remote.living import living_kernels

    try:
        left = living_kernels().of_session(session_id)
    except SettingsError as error:
        echo(f"▪ {safe_text(error.title)}", err=True)
        return
    for kernel in left:
        name = f"{kernel.server}@{kernel.kernel_id[:SHORT_ID]}"
        named = not (kernel.foreign or "/" in kernel.server)
        end = f" To end it: oi-tui kernels stop {name}" if named else ""
        echo(safe_text(f"▪ Its kernel goes on at {name}; --resume comes back to it.{end}"), err=True)
