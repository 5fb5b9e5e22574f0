"""The three things by which secrets leave: something private, words that others wrote, and a way out.

Each is harmless alone. Text from the network or from a foreign file may steer the model; once a secret was read too,
what could carry it away is asked about, whatever else allows it.
"""

from typing import NamedTuple

from oi_tui.app.engine.policy.reading import SourceFacts
from oi_tui.app.engine.policy.risks import FOREIGN, NETWORK, SECRETS
from oi_tui.app.engine.policy.rules import Base

_FETCHES = frozenset({NETWORK, "installs packages"})
_OF_THE_SYSTEM = ("/dev/", "/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/", "/etc/", "/proc/", "/sys/")
"""What nobody but its administrator writes."""


class Taint(NamedTuple):
    """What a session has read so far, as far as we know from the code that ran."""

    private: bool = False
    """A place of secrets."""
    foreign: bool = False
    """What others wrote: from the network, or a file outside the workspace."""

    def and_of(self, other: "Taint") -> "Taint":
        return Taint(self.private or other.private, self.foreign or other.foreign)


def taint_of(reading: SourceFacts, base: Base) -> Taint:
    """The taint that running this source adds."""
    return Taint(
        private=any(risk.what == SECRETS for risk in reading.risks),
        foreign=any(risk.what in _FETCHES | {FOREIGN} for risk in reading.risks)
        or any(is_foreign(place.path, base) for place in reading.places if not place.writes),
    )


def is_foreign(path: str, base: Base) -> bool:
    """Whether this path leads out of the workspace; few texts that are not paths look as if they did."""
    if not path.startswith(("/", "~", "..")) or "\n" in path or len(path) < 3:
        return False
    absolute = base.absolute(path)
    return not (absolute == base.cwd or f"{absolute}/".startswith((f"{base.cwd.rstrip('/')}/", *_OF_THE_SYSTEM)))


def may_reach_network(reading: SourceFacts) -> bool:
    """Whether it may reach the network, or is not known not to."""
    return bool(reading.unread) or any(risk.what in _FETCHES for risk in reading.risks)
