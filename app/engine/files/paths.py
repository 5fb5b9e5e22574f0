"""Where files live: one place that knows, honouring XDG variables through platformdirs."""

import os
import sys
from pathlib import Path

import platformdirs

from oi_tui.app.engine.core.errors import OiTuiError

APP = "oi-tui"

PROJECT = ".oi"
"""The folder of a project's own rules and settings."""

COMMANDS_FOLDER = "commands"
"""Beside the settings, and in a project's own folder: commands as files."""

SKILLS_FOLDERS = (f"{PROJECT}/skills", ".agents/skills")
"""Where a project has skills."""


def config_dir() -> Path:
    """Settings and profiles (`$XDG_CONFIG_HOME/oi-tui`)."""
    return platformdirs.user_config_path(APP, appauthor=False)


def admin_dir() -> Path:
    """The administrator's settings and rules. No variable of the environment leads elsewhere."""
    return Path("/Library/Application Support" if sys.platform == "darwin" else "/etc", APP)


def data_dir() -> Path:
    """The folder with the sessions: `$XDG_DATA_HOME/oi-tui`."""
    return platformdirs.user_data_path(APP, appauthor=False)


def inputs_dir() -> Path:
    """Input piped into a task (`$XDG_DATA_HOME/oi-tui-inputs`): outside our own folder, which code cannot see."""
    return data_dir().with_name(f"{APP}-inputs")


def servers_dir() -> Path:
    """Programs of MCP servers that were downloaded (`$XDG_DATA_HOME/oi-tui-servers`): those see them, code does not."""
    return data_dir().with_name(f"{APP}-servers")


def cache_dir() -> Path:
    """Weights of embedded models (`$XDG_CACHE_HOME/oi-tui`)."""
    return platformdirs.user_cache_path(APP, appauthor=False)


def log_dir() -> Path:
    """Logs, never on the terminal (`$XDG_STATE_HOME/oi-tui/log`)."""
    return platformdirs.user_log_path(APP, appauthor=False)


def state_dir() -> Path:
    """What outlives a session and is nobody's work (`$XDG_STATE_HOME/oi-tui`)."""
    return platformdirs.user_state_path(APP, appauthor=False)


def audit_dir() -> Path:
    """The audit logs, one a session (`$XDG_STATE_HOME/oi-tui/audit`)."""
    return state_dir() / "audit"


def own_dirs() -> tuple[Path, ...]:
    """All folders that are ours: nothing that runs has any business in them."""
    return (config_dir(), data_dir(), servers_dir(), cache_dir(), state_dir(), log_dir())


def private_dir(path: Path) -> Path:
    """The folder, made with mode 0700 if it is not there; an error in plain words if that fails."""
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise OiTuiError(
            f"Cannot write in {path}: {error.strerror}.",
            hint="Make the folder writable, or set XDG_DATA_HOME, XDG_CACHE_HOME or XDG_STATE_HOME to one that is.",
        ) from error
    return path


def socket_dir() -> Path:
    """Where a new private folder for sockets can be made: a name that nobody has, and a short absolute path, because
    UNIX socket paths end at 108 bytes."""
    base = os.environ.get("XDG_RUNTIME_DIR", "")
    usable = len(base) < 40 and os.path.isdir(base) and os.access(base, os.W_OK)
    return Path(base if usable else "/tmp", f"oi-tui-{os.urandom(6).hex()}")
