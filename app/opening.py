"""Start and end of the program, for every command: errors in plain words, the screen with its dependencies, the session
to resume, kernels that stay alive.

Imports at the top are few and cheap, and none of them is that of the command line.
"""

import contextlib
import gc
import io
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from oi_tui.app.engine.core.errors import OiTuiError, SettingsError
from oi_tui.app.engine.core.settings import DetachSection, Settings
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.flags import Flags
from oi_tui.app.terminal.echo import echo
from oi_tui.app.terminal.skeleton import SKELETON, look_file

if TYPE_CHECKING:
    from typing import NoReturn

    from oi_tui.app.engine.core.protocol import Detached
    from oi_tui.app.frontend.client import Connect, EngineClient
    from oi_tui.app.frontend.waiting_engine import Serve
    from oi_tui.app.frontend.workplace import Workplace
    from oi_tui.app.resuming import Elsewhere, Opening
    from oi_tui.app.tui import OiTui

THREAD_TURN = 0.0005
"""Seconds after which a thread of the screen's process yields to others, a tenth of Python's own: a key passes through
three threads before it shows, and others import meanwhile."""


@contextlib.contextmanager
def tell_errors() -> Iterator[None]:
    """End the program at an error of ours with two lines on stderr and an exit code, never a stack trace."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # as stderr is: an answer must not fail at its last step
    try:
        try:
            yield
        finally:
            SKELETON.clear()  # later messages belong on the terminal as it was
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
    elsewhere: "Elsewhere | None" = None,
    mouse: bool = True,
    theme: str | None = None,
    transcript: bool = False,
    linear: bool = False,
) -> None:
    """The full-screen app until it is left, or a `linear` session; ends the program. SettingsError where there is no
    terminal for it."""
    picks = resume is not None and not resume.strip()
    if picks and (prompt or linear or asks_for_lines() or not (sys.stdin.isatty() and sys.stdout.isatty())):
        raise unnamed_session()
    if linear or asks_for_lines():
        open_linear(flags, prompt=prompt, go_on=go_on, resume=resume, elsewhere=elsewhere)
    require_terminal()
    place = flags.workplace()
    if place.settings.screen.linear:
        if picks:
            raise unnamed_session()
        open_linear(flags, prompt=prompt, go_on=go_on, resume=resume, elsewhere=elsewhere)
    # An engine would end at once, on a screen where f5 starts it in vain.
    require_kernel(flags.kernel or "", flags.python or "", place.folder)
    screen = _screen(place.settings, theme)
    session_id = None
    if go_on or (resume is not None and not picks):
        from oi_tui.app.resuming import find_opening

        opening = find_opening(resume, str(place.folder), elsewhere)
        session_id = opening.session_id
        if opening.live is not None or opening.past is not None:
            run_screen(screen_of(opening, screen), mouse=mouse, transcript=transcript)
    from oi_tui.app.frontend.waiting_engine import WaitingEngine

    waiting = WaitingEngine.fork(_load_engine)
    # The app's world: Textual and the widgets, nothing of the engine's libraries.
    from oi_tui.app.tui import OiTui

    outlives = survives_hangup(screen.detach, os.environ)

    async def connect() -> "EngineClient":
        from oi_tui.app.engine.files.program_log import log_file
        from oi_tui.app.frontend.client import ProcessClient
        from oi_tui.app.privacy import protect_process

        protect_process()  # code that runs without a sandbox could read our keys from our environment
        setup = msgspec.structs.replace(place.setup, outlives=outlives)
        return await ProcessClient.start(setup, log=log_file(), waiting=waiting)

    tui = OiTui(
        connect,
        screen,
        prompt=prompt or None,
        session_id=session_id,
        picks=picks,
        workplace=place,
        outlives=outlives,
        flags=flags,
        expect_engine=waiting.begin_loading if waiting is not None else None,
    )
    run_screen(tui, mouse=mouse, transcript=transcript)


def _load_engine() -> "Serve":
    from oi_tui.app.serving import serve_front_end

    return serve_front_end


def unnamed_session() -> SettingsError:
    """Why nothing is resumed, with the newest sessions and how to name one."""
    from oi_tui.app.resuming import newest_sessions

    found = newest_sessions()
    if not found:
        return SettingsError("There is no session to resume yet.")
    how = (
        'Name one: oi-tui --resume ID, or without a screen oi-tui run --resume ID "TASK". `oi-tui sessions` lists all.'
    )
    return SettingsError("Which session?", hint="\n  ".join((how, *found)))


def is_dumb() -> bool:
    """Whether the terminal only takes lines."""
    return os.environ.get("TERM", "dumb") in ("dumb", "unknown")


def asks_for_lines() -> bool:
    """Whether the terminal or the environment wants plain lines; the settings may as well."""
    return is_dumb() or bool(os.environ.get("ACCESSIBLE"))


def open_linear(
    flags: Flags, *, prompt: str, go_on: bool, resume: str | None, elsewhere: "Elsewhere | None"
) -> "NoReturn":
    """A session in plain lines until it is left; ends the program."""
    gc.enable()  # the start disables it for the first frame, of which there is none
    SKELETON.clear()
    with contextlib.suppress(OSError):
        os.unlink(look_file(os.environ))  # without it, the next start shows no other screen for a moment
    require_tty()
    place = flags.workplace()
    require_kernel(flags.kernel or "", flags.python or "", place.folder)
    opening = None
    if go_on or resume is not None:
        from oi_tui.app.resuming import find_opening

        opening = find_opening(resume, str(place.folder), elsewhere)
    run_linear(opening, place, prompt=prompt)


def run_linear(opening: "Opening | None", place: "Workplace", *, prompt: str = "") -> "NoReturn":
    """The same, of a session that was found, or of a new one."""
    import asyncio

    # Nothing of Textual.
    from oi_tui.app.linear.block_words import farewell
    from oi_tui.app.linear.conversation import LinearSession

    settings, folder = place.settings, place.folder
    connect, outlives = _engine_of(opening, place)
    if opening is not None and opening.live is not None:
        settings, folder = opening.live.settings, Path(opening.live.cwd)
    runs_elsewhere = opening is not None and (opening.live is not None or opening.past is not None)
    talk = LinearSession(
        connect,
        settings,
        folder,
        place=None if runs_elsewhere else place,
        prompt=prompt,
        session_id=opening.session_id if opening is not None else None,
        outlives=outlives,
        look_only=opening is not None and opening.past is not None,
    )
    for remark in place.settings_remarks:
        talk.desk.say(remark)
    code = asyncio.run(talk.run())
    session = talk.desk.transcript
    if talk.detached is not None:
        tell_detached(talk.detached, f"oi-tui --linear --resume {session.session_id}")
    else:
        if session.blocks:
            echo(farewell(session.session_id), err=True)
        tell_left_alive(session.session_id)
    sys.exit(code)


def _engine_of(opening: "Opening | None", place: "Workplace") -> "tuple[Connect, bool]":
    """How to get at the engine of a session, and whether it outlives this front end."""
    from oi_tui.app.frontend.attaching import AttachedClient
    from oi_tui.app.frontend.client import EngineClient, ProcessClient
    from oi_tui.app.frontend.past_client import PastClient

    live = opening.live if opening is not None else None
    outlives = survives_hangup((live.settings if live is not None else place.settings).detach, os.environ)

    async def connect() -> EngineClient:
        if opening is not None and live is not None:
            return await AttachedClient.attach(live, take_over=opening.take_over, outlives=outlives)
        if opening is not None and opening.past is not None:
            return PastClient(opening.session_id or "", opening.past)
        from oi_tui.app.engine.files.program_log import log_file
        from oi_tui.app.privacy import protect_process

        protect_process()  # code that runs without a sandbox could read our keys from our environment
        return await ProcessClient.start(msgspec.structs.replace(place.setup, outlives=outlives), log=log_file())

    return connect, outlives


def require_tty() -> None:
    """SettingsError without a terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise SettingsError("The app needs a terminal.", hint='Without one: oi-tui run "TASK".')


def require_terminal() -> None:
    """SettingsError where no screen can be shown."""
    require_tty()
    if is_dumb():
        raise SettingsError("This terminal cannot show the app (TERM=dumb).", hint="Use: oi-tui --linear.")
    # Whatever is called so has had 256 colours for twenty years, and says so nowhere; it is what containers say.
    if os.environ.get("TERM") == "xterm" and not os.environ.get("COLORTERM"):
        os.environ.setdefault("TEXTUAL_COLOR_SYSTEM", "256")
    # Textual paints at 60 frames a second, and a key waits for the next one while something streams in.
    os.environ.setdefault("TEXTUAL_FPS", "240")


def screen_of(opening: "Opening", own: Settings) -> "OiTui":
    """A screen on a session that runs detached, or is only looked at, with the person's `own` look and keys."""
    from oi_tui.app.frontend.attaching import AttachedClient
    from oi_tui.app.frontend.client import EngineClient
    from oi_tui.app.frontend.past_client import PastClient
    from oi_tui.app.tui import OiTui

    live, past, session_id = opening.live, opening.past, opening.session_id or ""
    settings = live.settings if live is not None else Settings()
    outlives = live is not None and survives_hangup(settings.detach, os.environ)

    async def connect() -> EngineClient:
        if live is None:
            return PastClient(session_id, past or ())
        return await AttachedClient.attach(live, take_over=opening.take_over, outlives=outlives)

    shown = msgspec.structs.replace(settings, screen=own.screen, keys=own.keys)
    return OiTui(connect, shown, session_id=session_id, recorded=live is None, outlives=outlives)


def run_screen(tui: "OiTui", *, mouse: bool, transcript: bool = False) -> "NoReturn":
    """Run it to its end, print how to resume, and end the program."""
    sys.setswitchinterval(THREAD_TURN)
    tui.run(mouse=tui.chat.settings.screen.mouse and mouse)
    session = tui.chat.bridge.transcript
    if transcript:
        from oi_tui.app.engine.text.plain import plain_transcript

        echo(plain_transcript(session.blocks), nl=False)
    if (left := tui.chat.leaving.detached) is not None:
        tell_detached(left, f"oi-tui attach {session.session_id}")
    else:
        if session.blocks:
            echo(f"Resume with: oi-tui --resume {session.session_id}", err=True)
        tell_left_alive(session.session_id)
    sys.exit(tui.return_code or 0)


def tell_detached(left: "Detached", command: str) -> None:
    """At the end of the program: the engine keeps running without it, and this command reconnects."""
    said = "Detached: another terminal took over."
    if not (left.taken_over or left.idle_limit):
        said = "Detached: the session continues for its assistant."
    elif not left.taken_over:
        said = f"Detached: the session continues. After {hours(left.idle_limit)} without work it is saved and ends."
    echo(f"{said}\nReconnect with: {command}", err=True)


def hours(seconds: float) -> str:
    """A long time in words: 8 h, 90 s."""
    return f"{seconds / 3600:g} h" if seconds >= 3600 else f"{seconds:g} s"


def _screen(settings: Settings, theme: str | None) -> Settings:
    if theme is None:
        return settings
    return msgspec.structs.replace(settings, screen=msgspec.structs.replace(settings.screen, theme=theme))


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
    """At the end of the program: which kernels of this session stay alive, and how to end them."""
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
        echo(safe_text(f"▪ Its kernel keeps running at {name}; --resume reconnects to it.{end}"), err=True)


def survives_hangup(settings: DetachSection, environ: Mapping[str, str]) -> bool:
    """Whether a session detaches when this terminal is lost."""
    match settings.on_hangup:
        case "always":
            return True
        case "never":
            return False
        case "ssh":
            return bool(environ.get("SSH_CONNECTION"))
