"""`oi-tui attach`: back to a session that runs detached."""

import os
import sys
from typing import TYPE_CHECKING

import click

from oi_tui.app.engine.core.errors import StoreError
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.flags import Flags, words
from oi_tui.app.terminal.echo import echo

if TYPE_CHECKING:
    from oi_tui.app.engine.core.settings import Settings
    from oi_tui.app.frontend.attaching import LiveSession


@click.command()
@click.argument("session", metavar="[ID]", default="", type=words)
@click.option("--take-over", is_flag=True, help="If another terminal shows it: detach that one without asking.")
@click.option("--stop", is_flag=True, help="End it instead: it is saved, its kernels end.")
@click.option("--linear", is_flag=True, help="Plain lines and a prompt, for screen readers and braille lines.")
def attach(session: str, take_over: bool, stop: bool, linear: bool) -> None:
    """Attach to a session that runs detached; without ID, the only one."""
    from oi_tui.app.frontend.attaching import live_sessions
    from oi_tui.app.opening import asks_for_lines, require_terminal, require_tty, run_linear, run_screen, screen_of
    from oi_tui.app.resuming import Opening

    found = [live for live in live_sessions() if live.session_id.startswith(session)]
    if not found:
        what = f"No session {session} runs detached." if session else "No session runs detached."
        raise StoreError(what, hint="`oi-tui sessions` lists all; `oi-tui --resume ID` continues a saved one.")
    if len(found) > 1:
        echo(f"{len(found)} sessions run detached. Choose one: oi-tui attach ID", err=True)
        tell_live(found)
        sys.exit(5)
    (live,) = found
    if stop:
        stop_live(live)
        return
    live.require_attachable()
    own = _own_settings()
    linear = linear or asks_for_lines() or own.screen.linear
    (require_tty if linear else require_terminal)()
    if live.attached and not take_over:
        take_over = _agrees_to_take_over(live)
    opening = Opening(live.session_id, live, take_over=take_over)
    if linear:
        run_linear(opening, Flags().workplace())
    run_screen(screen_of(opening, own), mouse=True)


def tell_live(found: "list[LiveSession]") -> None:
    """A line for each: id, what it does, where."""
    for live in found:
        shown = ", shown in another terminal" if live.attached else ""
        echo(safe_text(f"{live.session_id}  {live.activity}{shown}  {live.cwd}"))


def stop_live(live: "LiveSession") -> None:
    """End a detached session, and say how that went; StoreError if it cannot be."""
    from oi_tui.app.frontend.attaching import stop_engine

    try:
        by_itself = stop_engine(live)
    except OSError as error:
        raise StoreError(f"Session {live.session_id} could not be stopped.", hint=f"{error}.") from error
    echo("Stopped." if by_itself else "Killed: it did not end by itself. Its last seconds may be lost.", err=True)
    echo(f"Resume with: oi-tui --resume {live.session_id}", err=True)


def _agrees_to_take_over(live: "LiveSession") -> bool:
    from oi_tui.app.terminal.tty_prompt import confirm

    if not confirm(f"Another terminal shows session {live.session_id}. Take over? That one is detached."):
        raise click.Abort
    return True


def _own_settings() -> "Settings":
    """How this person's screens look, whatever the session's engine was configured with."""
    from oi_tui.app.engine.files.paths import config_dir
    from oi_tui.app.engine.files.settings_file import load_layers

    return load_layers(config_dir(), environ=os.environ).settings
