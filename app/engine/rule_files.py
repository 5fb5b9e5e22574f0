"""The files that rules stand in: the administrator's and the person's own. One that cannot be trusted stops the start.

No rule of it is skipped and none is guessed: whoever wrote `deny` must be able to rely on it.
"""

import os
import stat
from pathlib import Path

from oi_tui.app.engine.errors import SettingsError
from oi_tui.app.engine.policy.decide import Policy
from oi_tui.app.engine.policy.modes import demanded
from oi_tui.app.engine.policy.rule_text import parse_rules, parse_short
from oi_tui.app.engine.policy.rules import Base, Origin, Rule
from oi_tui.app.engine.settings import Settings

ADMIN = Path("/etc/oi-tui/permissions.toml")
NAME = "permissions.toml"
LARGEST = 1_000_000
"""Bytes of a rules file."""


def load_policy(settings: Settings, *, folder: Path, cwd: Path, admin: Path = ADMIN) -> Policy:
    """Rules of the administrator, of the file in `folder`, and of the settings, as one policy; SettingsError if one of
    them cannot be kept."""
    section, sandbox = settings.policy, settings.sandbox
    return Policy(
        mode=demanded(section),
        sandboxed=sandbox.mode != "danger-full-access",
        offline=sandbox.network == "none",
        rules=(
            *read_rules(admin, "admin", owner=0),
            *read_rules(folder / NAME, "user", owner=os.getuid()),
            *parse_short(section.deny, "deny", "settings, policy.deny"),
            *parse_short(section.ask, "ask", "settings, policy.ask"),
            *parse_short(section.allow, "allow", "settings, policy.allow"),
        ),
        base=Base(cwd=str(cwd), home=str(Path.home())),
        own=tuple(dict.fromkeys((str(folder), os.path.realpath(folder), str(admin.parent)))),
    )


def read_rules(path: Path, origin: Origin, *, owner: int) -> tuple[Rule, ...]:
    """The rules of this file, none if there is no such file.

    It must be a plain file of `owner` (or of root) that nobody else can write.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return ()
    except OSError as error:
        what = "is a link" if path.is_symlink() else f"cannot be read: {error.strerror}"
        raise _refused(path, what) from error
    try:
        _check(path, os.fstat(descriptor), owner)
        data = _all_of(descriptor)
    finally:
        os.close(descriptor)
    if len(data) > LARGEST:
        raise _refused(path, f"is larger than {LARGEST:,} bytes")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise _refused(path, "is not UTF-8") from error
    return parse_rules(text, str(path), origin)


def _check(path: Path, state: os.stat_result, owner: int) -> None:
    if not stat.S_ISREG(state.st_mode):
        raise _refused(path, "is no plain file")
    if state.st_uid not in (owner, 0):
        raise _refused(path, "belongs to somebody else")
    if state.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise _refused(path, f"can be written by others (chmod go-w {path} mends that)")


def _all_of(descriptor: int) -> bytes:
    data = b""
    while len(data) <= LARGEST and (more := os.read(descriptor, LARGEST + 1)):
        data += more
    return data


def _refused(path: Path, what: str) -> SettingsError:
    return SettingsError(f"The rules file {path} {what}.", hint="Nothing is run until its rules can be relied on.")
