"""The files with rules: the administrator's, the user's own, and a folder's. An unreliable one stops the start.

No rule is skipped or guessed: the author of a `deny` must be able to rely on it.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.modes import requested_mode
from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.engine.files.owned_file import read_owned_file
from oi_tui.app.engine.files.paths import PROJECT, admin_dir
from oi_tui.app.engine.policy.decision import Policy
from oi_tui.app.engine.policy.functions import check_lists
from oi_tui.app.engine.policy.rule_text import parse_rules, section_rules
from oi_tui.app.engine.policy.rules import Base, Origin, Rule
from oi_tui.app.engine.trust.folder_settings import RULES, digest_of

ADMIN = admin_dir() / RULES
HINT = "Nothing is run until its rules can be relied on."


def load_policy(
    settings: Settings,
    *,
    folder: Path,
    cwd: Path,
    admin: Path = ADMIN,
    trusted: bool = False,
    seen: str | None = None,
    own: Iterable[Path] = (),
) -> Policy:
    """Rules of the administrator, of the file in `folder`, of the settings and of the folder that is worked in, as one
    policy; SettingsError if one of them cannot be kept.

    `trusted` is the folder that is worked in, with the rules that the person has `seen`; `own` is what else must not
    be changed unasked.
    """
    section = settings.policy
    check_lists(settings.functions)
    return Policy(
        mode=requested_mode(section),
        allow_destructive=section.allow_destructive,
        functions=settings.functions,
        rules=(
            *read_rules(admin, "admin", owner=0),
            *read_rules(folder / RULES, "user", owner=os.getuid()),
            *section_rules(section, "settings, "),
            *project_rules(cwd, trusted=trusted, seen=seen),
        ),
        base=Base(cwd=str(cwd), home=str(Path.home())),
        own=tuple(
            dict.fromkeys(
                (str(folder), os.path.realpath(folder), str(admin.parent), str(cwd / PROJECT), *map(str, own))
            )
        ),
    )


def admin_rules() -> tuple[Rule, ...]:
    """The administrator's rules, for everybody on this machine."""
    return read_rules(admin_dir() / RULES, "admin", owner=0)


def read_rules(path: Path, origin: Origin, *, owner: int) -> tuple[Rule, ...]:
    """The rules of this file, none if there is no such file.

    It must be a plain file of `owner` (or of root) that nobody else can write.
    """
    text = read_owned_file(path, "rules file", HINT, owner=owner)
    return parse_rules(text, str(path), origin) if text is not None else ()


def project_rules(cwd: Path, *, trusted: bool, seen: str | None = None) -> tuple[Rule, ...]:
    """The rules of the working folder.

    In an untrusted folder, rules that allow are ignored; the others apply, since they can only be stricter. The same is
    true of a trusted folder whose rules have changed since they were `seen` (a digest); None takes them as they are, to
    show them.
    """
    folder = cwd / PROJECT
    if folder.is_symlink():
        raise SettingsError(f"{folder} is a link.", hint=HINT)
    owner = os.getuid() if trusted else None
    text = read_owned_file(folder / RULES, "rules file", HINT, owner=owner, private_group=True)
    rules = parse_rules(text, str(folder / RULES), "project") if text is not None else ()
    allows = trusted and seen in (None, digest_of(text))
    return rules if allows else tuple(rule for rule in rules if rule.verdict != "allow")
