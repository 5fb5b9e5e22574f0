"""`oi-tui replay`: a recording played on the screen, or its code run again and compared."""

import asyncio
import os
import sys
from pathlib import Path

import click

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.text.safe import visible_text
from oi_tui.app.engine.text.words import plural, quantity
from oi_tui.app.flags import Flags
from oi_tui.app.options import common
from oi_tui.app.terminal.echo import echo
from oi_tui.app.terminal.tty_prompt import confirm


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--speed", type=click.FloatRange(min=0.01), default=1.0, metavar="X", help="Play this many times faster.")
@click.option("--instant", is_flag=True, help="Show everything at once.")
@click.option("--verify", is_flag=True, help="Run its code again, in new kernels, and report differences.")
@common
def replay(flags: Flags, file: Path, speed: float, instant: bool, verify: bool) -> None:
    """Play a recording made by `oi-tui run --record FILE`: no model is asked, and without --verify nothing runs."""
    from oi_tui.app.engine.log.recording.form import read_recording

    recording = read_recording(file)
    if verify:
        from oi_tui.app.privacy import protect_process
        from oi_tui.app.subcommands.verification import Verification

        protect_process()  # the engine is in this process
        place = flags.workplace(can_ask=False)
        verification = Verification(recording, place.setup)
        count = len(verification.blocks)
        calls = quantity(verification.calls, "call of a tool", "calls of tools")
        if not count and verification.calls:
            echo(f"Nothing was verified: {calls} ran in this recording, and calls are not run again.")
            sys.exit(1)
        if not count:
            echo("Nothing ran in this recording.")
            return
        if verification.calls:
            echo(f"{calls} ran too; calls are not run again.")
        for block in verification.blocks:  # read before it is agreed to
            echo(f"── {visible_text(block.runs_in).text}\n{visible_text(block.source).text}")
        what = f"{count} {plural(count, 'piece')} of code of {file} in {place.folder}"
        if not flags.yes and not (sys.stdin.isatty() and confirm(f"Run {what}?", err=True)):
            raise SettingsError("Nothing was run.", hint="To run it without a question: --yes.")
        sys.exit(asyncio.run(verification.run(echo)))
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM", "dumb") in ("dumb", "unknown"):
        raise SettingsError("Playing needs a terminal.", hint="Without one: --verify.")
    # The app's world.
    from oi_tui.app.frontend.client import EngineClient
    from oi_tui.app.subcommands.replay_client import ReplayClient
    from oi_tui.app.tui import OiTui

    async def connect() -> EngineClient:
        return ReplayClient(recording, speed=None if instant else speed)

    settings = flags.settings().settings
    tui = OiTui(connect, settings, recorded=True)
    tui.run(mouse=settings.screen.mouse)
    sys.exit(tui.return_code or 0)
