"""`oi-tui doctor`: what works here, and what to do about what does not."""

import asyncio
import json
import os
import sys
from collections import Counter
from typing import TYPE_CHECKING

import click

from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.offline import go_offline
from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.engine.files.paths import config_dir
from oi_tui.app.engine.files.settings_file import settings_path
from oi_tui.app.flags import Flags
from oi_tui.app.options import common
from oi_tui.app.terminal.echo import echo

if TYPE_CHECKING:
    from oi_tui.app.health import HealthFinding


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
@click.option("--ask", is_flag=True, help="Send the model a prompt of three words, which may cost something.")
@common
def doctor(flags: Flags, as_json: bool, ask: bool) -> None:
    """Check settings, files, sandbox, kernel, model, terminal and clipboard; say how to fix what fails.

    Exit code 1 if a check failed.
    """
    from oi_tui.app.health import check_health, describe_finding

    states: Counter[str] = Counter()

    def tell(name: str, finding: "HealthFinding") -> None:
        states[finding.state] += 1
        if as_json:
            echo(json.dumps({"name": name, **finding._asdict()}, ensure_ascii=False))
        else:
            for line in describe_finding(name, finding):
                echo(line)

    setup, finding = _setup(flags)
    tell("settings", finding)

    async def run_checks() -> None:
        async for name, found in check_health(setup, os.environ, asks_model=ask, on_terminal=sys.stdout.isatty()):
            tell(name, found)

    asyncio.run(run_checks())
    if not as_json:
        failed, warned = states["failed"], states["warning"]
        echo(f"\n{failed} failed, {warned} to look at." if failed or warned else "\nEverything works.")
    if states["failed"]:
        sys.exit(1)


def _setup(flags: Flags) -> tuple[Configure, "HealthFinding"]:
    """What an engine here would be configured with; the defaults if the settings are wrong, which the finding says."""
    from oi_tui.app.health import HealthFinding

    try:
        place = flags.workplace(can_ask=False)
    except SettingsError as error:
        setup = Configure(settings=Settings(), cwd=os.getcwd(), can_ask=False)
        wrong = f"{error.title} The checks below use the defaults."
        return setup, HealthFinding("failed", wrong, error.hint)
    if place.settings.network.offline:
        go_offline()
    path = settings_path(config_dir())
    found = str(path) if path.exists() else f"defaults ({path} does not exist)"
    remarks = place.remarks()
    if place.settings.keys:
        from oi_tui.app.screens.key_sets import check_in_set, place_of_fault

        faults = check_in_set(place.settings.keys, place.settings.screen.keys).faults
        remarks += [f"{place_of_fault(fault)}." for fault in faults]
    if remarks:
        return place.setup, HealthFinding("warning", found, "\n".join(remarks))
    return place.setup, HealthFinding("ok", found)
