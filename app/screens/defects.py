"""Defects of ours: what is logged of one, and work whose defects end nothing."""

import traceback
from collections.abc import Awaitable
from datetime import datetime
from pathlib import Path
from typing import Any

from textual.app import App

from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.files.paths import log_dir, private_dir


def keep_trace() -> Path:
    """Write the stack trace of the present exception into the log, without the locals, which may be keys; OSError or
    OiTuiError where that is not possible."""
    log = private_dir(log_dir()) / "screen.log"
    with log.open("a", encoding="utf-8", errors="replace") as file:
        file.write(f"{datetime.now().astimezone().isoformat()}\n{traceback.format_exc()}\n")
    log.chmod(0o600)
    return log


async def spare(app: App[Any], work: Awaitable[None], name: str) -> None:
    """Do work that the session can do without: a defect in it is logged and shown."""
    try:
        await work
    except Exception:  # whatever it is, the session is worth more
        try:
            details = f" Details: {keep_trace()}"
        except (OSError, OiTuiError):
            details = ""
        app.notify(f"{name} failed; the session continues.{details}", severity="warning", timeout=15)
