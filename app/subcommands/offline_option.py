"""`--offline` of commands that have no other common options."""

import os
from collections.abc import Callable
from typing import Any

import click

from oi_tui.app.engine.core.offline import go_offline
from oi_tui.app.engine.files.paths import config_dir
from oi_tui.app.engine.files.settings_file import load_layers

offline_option: Callable[..., Any] = click.option("--offline", is_flag=True, help="Reach this machine only.")


def respect_offline(offline: bool) -> None:
    """Go offline if this option, the environment or the settings say so."""
    if offline or load_layers(config_dir(), environ=os.environ).settings.network.offline:
        go_offline()
