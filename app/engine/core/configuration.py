"""What a front end tells an engine before anything else: the one part of the protocol that a screen needs at its first
frame."""

from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.engine.core.values import Value


class Configure(Value, frozen=True, kw_only=True, tag=True):
    """Second line of a front end, before any verb: what its flags and files came to."""

    settings: Settings
    cwd: str
    """Absolute path of the folder that the kernels work in."""
    api_key: str | None = None
    """Kept in memory only."""
    trusted: bool = False
    """Whether the person trusts the folder: rules in it that allow count then."""
    rules: str = ""
    """Digest of the rules in it that the person looked at (see `project.Seen`): others do not allow anything."""
    instructions: str = ""
    """The same of its instructions to the model: others are not used."""
    skills: str = ""
    """The same of its skills."""
    profile: str = ""
    """Name of the profile that the settings come from, "" if none."""
    can_ask: bool = True
    """Whether somebody can decide; if not, code that needs approval is refused."""
    outlives: bool = False
    """Whether the engine keeps running, detached, if it loses the front end without a `Close`."""
    verbose: bool = False
    """Whether requests and answers are logged as a whole."""
