"""The hosts that a source names: arguments of a call, and addresses in code."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from oi_tui.app.engine.policy.reading import SourceFacts
from oi_tui.app.engine.policy.risks import NETWORK

_ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]{0,20}://(?:[^/\s\"'@]{0,200}@)?(\[[0-9a-fA-F:.]+\]|[^\s/:\"'?#]{1,253})")
HOST_PATTERN = re.compile(r"(?:\*\.)?[a-z0-9_](?:[a-z0-9_.-]{0,250}[a-z0-9_])?|[0-9a-f:]{2,45}")
"""What a rule can say of hosts: `example.org`, `*.example.org` (all names beneath it), an address."""


def find_hosts(reading: SourceFacts) -> frozenset[str]:
    """In lower case; what only the run tells is not among them."""
    return frozenset(host.lower().rstrip(".").strip("[]") for host in (*reading.hosts, *_in_texts(reading)))


def has_unnamed_hosts(reading: SourceFacts) -> bool:
    """Whether it may reach hosts that it does not name."""
    if reading.unread:
        return True
    return not reading.hosts and any(risk.what == NETWORK for risk in reading.risks)


def matches_host(pattern: str, host: str) -> bool:
    """Whether a rule's pattern speaks of this host."""
    return fnmatchcase(host, pattern)


def _in_texts(reading: SourceFacts) -> Iterator[str]:
    words = (word.text for command in reading.commands for word in command.words)
    for text in (*(place.path for place in reading.places), *words):
        yield from _ADDRESS.findall(text[:2_000])
