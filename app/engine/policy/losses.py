"""What a source would overwrite, and which of it nobody could recover: the vocabulary shared by the policy, which reads
sources, and the code that looks at the disk for it."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from oi_tui.app.engine.core.values import Reach
from oi_tui.app.engine.policy.reading import SourceFacts
from oi_tui.app.engine.policy.rules import Base

MANY = 200
"""Targets of one source; the ones behind are not looked at, which counts as a loss."""


class Target(NamedTuple):
    """A file that a source would overwrite. All paths are absolute."""

    path: str
    line: int = 0
    pattern: bool = False
    """`path` has `*`, `?` or `[…]` in it, and means all matching files."""
    source: str = ""
    """What is copied or moved there: where `path` is a folder, the file of that name within is meant."""
    tree: bool = False
    """With all that is beneath `source`."""
    moved: bool = False
    """It is not overwritten, but moved to where nothing is kept."""


class Loss(NamedTuple):
    """Something that would be gone."""

    target: Target
    path: str
    """Absolute; "" where it cannot be named."""
    why: str
    """In words that follow its name: `, whose changes are not committed`."""


class WorkLook(Protocol):
    """Looks at the disk. The methods are called in a thread, need not be done when nobody waits any longer, and never
    raise."""

    def list_files(self, targets: Sequence[Target]) -> Sequence[str]:
        """The files these targets name, existing or not; absolute and without links."""
        ...

    def find_losses(self, targets: Sequence[Target]) -> Sequence[Loss]:
        """Targets whose content nobody could restore."""
        ...


MANY_FOLDERS = 20
"""That relative paths may begin in."""


class _NoLook:
    """Finds nothing, whatever it is asked."""

    def list_files(self, targets: Sequence[Target]) -> Sequence[str]:
        """No files at all."""
        return ()

    def find_losses(self, targets: Sequence[Target]) -> Sequence[Loss]:
        """No losses at all."""
        return ()


NO_LOOK: WorkLook = _NoLook()
"""For where there are no files of a person."""


def targets_of(
    reading: SourceFacts, base: Base, folders: Iterable[str] = (), reach: Reach | None = None
) -> tuple[Target, ...]:
    """What the source would overwrite as far as it says so, or move out of `reach`, into the memory of a sandbox.
    `folders` are those that relative paths may begin in beside the one of the base, absolute; those that the source
    itself changes to are added."""
    bases = [base, *(base._replace(cwd=folder) for folder in (*folders, *folders_of(reading, base, folders)))]
    found: dict[Target, None] = {}
    for one in reading.replaced:
        for start in bases if not one.path.startswith(("/", "~")) or not one.source.startswith(("/", "~")) else [base]:
            source = start.absolute(one.source) if one.source else ""
            path = start.absolute(one.path)
            found[Target(path, one.line, one.pattern, source, one.tree)] = None
            if one.moved and source and reach is not None and not any(is_within(path, place) for place in reach.writes):
                found[Target(source, one.line, one.pattern, moved=True)] = None
    return tuple(found)


def named_paths(reading: SourceFacts, base: Base, folders: Iterable[str] = ()) -> tuple[str, ...]:
    """What the source names and would write, move or delete, absolute; `folders` as in `targets_of`."""
    bases = [base, *(base._replace(cwd=folder) for folder in (*folders, *folders_of(reading, base, folders)))]
    written = [use.path for use in reading.places if use.writes] + [one.path for one in reading.replaced]
    found = {start.absolute(path): None for path in dict.fromkeys(written[:MANY]) for start in bases}
    return tuple(found)[:MANY]


def is_within(path: str, place: str) -> bool:
    """Whether it is this place or in it; both are absolute."""
    return f"{path}/".startswith(f"{place.rstrip('/')}/")


def folders_of(reading: SourceFacts, base: Base, folders: Iterable[str] = ()) -> tuple[str, ...]:
    """The folders that the source may be in after it ran; absolute."""
    known = [base.cwd, *folders]
    found: dict[str, None] = {}
    for path in reading.folders[:MANY_FOLDERS]:
        for start in (*known, *found)[:MANY_FOLDERS]:
            found[base._replace(cwd=start).absolute(path)] = None
    return tuple(found)[:MANY_FOLDERS]


def made_paths(reading: SourceFacts, source: str, base: Base) -> frozenset[str]:
    """Absolute paths of the files this source certainly created if it ran to its end: not those under a condition, in a
    loop or in a function."""
    if reading.moves or reading.unread or _CONDITION.search(source):
        return frozenset()
    return frozenset(base.absolute(place.path) for place in reading.places if place.whole)


_CONDITION = re.compile(
    r"&&|\|\||\(\s*\)\s*\{|\b(?:if|else|elif|for|while|until|case|function|select|def|class|lambda|try|match|and|or"
    r"|suppress|exit|return|yield|trap|false)\b"
)
