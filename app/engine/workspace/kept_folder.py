"""One folder whose files are kept outside of it, so that what code does to them can be undone.

`refresh` looks at all of them and reads those that have another identity than last time: what is different is what
happened in between. Files are read through no link, and only if they are plain, small enough and not hidden.
"""

import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from oi_tui.app.engine.workspace.beneath import FILE, opened_beneath
from oi_tui.app.engine.workspace.birth_time import birth_time
from oi_tui.app.engine.workspace.checkpoints import Checkpoints, KeptFile
from oi_tui.app.engine.workspace.folder_states import FileIdentity, FolderState, FolderStates
from oi_tui.app.engine.workspace.path_rules import HiddenFiles

COARSE = 10_000_000
"""Nanoseconds by which a file system's clock may be behind ours."""

WHOLE_SECONDS = 2_000_000_000
"""The same where it counts in whole seconds."""

PAUSE = 60.0
"""Seconds until a folder that was too large is looked at again."""

GROWN = 3
"""How much larger than its limit a folder may have become by a run, to be looked at once more."""

TOO_LATE = "had not been read in time"

MEGABYTE = 1_000_000


class KeepLimits(NamedTuple):
    """How much of a folder is kept."""

    files: int
    """Files and folders in it; a larger one is not looked at."""
    file_bytes: int
    """Of one file."""
    folder_bytes: int
    """Of all together."""


class FileDifference(NamedTuple):
    """A file that changed since the last look."""

    rest: str
    before: KeptFile | None
    """None: it was not there."""
    after: KeptFile | None
    above: int = 0
    """How many of the folders above it are new."""


class KeptFolder:
    """One of a session. For a thread, one call at a time; `hurry` may come from another."""

    def __init__(
        self,
        root: str,
        checkpoints: Checkpoints,
        limits: KeepLimits,
        view: Callable[[], HiddenFiles],
        passed_over: Iterable[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`view` says what no tool reads, and is therefore not kept either."""
        self.root, self.cut = root, ""
        """`cut` is why the folder as a whole is not kept, "" if it is: there are only files that were named then."""
        self._checkpoints, self._limits, self._view, self._clock = checkpoints, limits, view, clock
        self._states = FolderStates(root, passed_over=frozenset(passed_over))
        self._files: dict[str, KeptFile] | None = None
        self._folders: frozenset[str] = frozenset()
        self._named: frozenset[str] = frozenset()
        self._is_whole: bool | None = None
        """Whether the last look saw all files: else nobody knows which of those that are there now are new."""
        self._renewed: dict[str, KeptFile] = {}
        self._dropped: set[str] = set()
        """What looks found and `save` has not written down yet."""
        self._next = 0.0
        self._hurried = False
        self._room = 0

    @property
    def files(self) -> dict[str, KeptFile]:
        """The files at the last look."""
        if self._files is None:
            self._files = self._checkpoints.load_files(self.root)
        return self._files

    def hurry(self) -> None:
        """Read no more files in the present look."""
        self._hurried = True

    def recall(self) -> None:
        """Before a run: if what was kept of this folder was pruned meanwhile, all of it is read once more."""
        if self._files and not self._checkpoints.has_files(self.root):
            self._files = self._is_whole = None

    def refresh(self, named: Iterable[str] = (), *, grown: bool = False, since: float = 0.0) -> list[FileDifference]:
        """Look; what is different from the last look. `named` files count also where the folder is too large or ignores
        them. With `grown`, a folder that was not too large may be larger now. A file that nobody has changed `since`
        then (Unix time) was there before, also if the last look did not see it. OiTuiError if nothing can be kept."""
        self._hurried = False
        before = self.files
        was_named, was_whole = self._named, bool(before) if self._is_whole is None else self._is_whole
        self._named |= frozenset(named)
        state = self._look(grown=grown)
        found = dict(state.files)
        for rest in self._named - found.keys():
            if self._is_own(rest) and (identity := _identity(os.path.join(self.root, rest))) is not None:
                found[rest] = identity
        gone = [rest for rest in before.keys() - found.keys() if not self._exists(rest)]
        left_out = before.keys() - found.keys() - set(gone)
        differences = [FileDifference(rest, before[rest], None) for rest in sorted(gone)]
        moved = {before[rest].identity.inode for rest in gone}
        renewed: dict[str, KeptFile] = {}
        if wanted := self._in_order(found):
            view = self._view()
            self._room = self._free_room({*wanted, *gone, *left_out})
        for rest in wanted:
            known = before.get(rest)
            renewed[rest] = kept = self._keep(rest, found[rest], view)
            if known is None:
                was_looked_at = was_whole if rest in state.files else rest in was_named
                if not was_looked_at:
                    continue
                was_ignored = rest in state.files and self._states.was_ignored(rest)
                is_moved = kept.identity.inode in moved and not was_ignored
                if is_moved or _may_be_after(kept.identity.changed, since):
                    is_new = is_moved or not (was_ignored or self._is_older(rest, since))
                    old = None if is_new else KeptFile(kept.identity, "", "was not looked at before")
                    differences.append(FileDifference(rest, old, kept, self._new_above(rest, state) if is_new else 0))
            elif _differs(known, kept):
                differences.append(FileDifference(rest, known, kept))
        for rest in (*gone, *left_out):
            del before[rest]
        before.update(renewed)
        self._is_whole = not self.cut
        if not self.cut:
            self._folders = frozenset(state.folders)
        self._dropped |= {*gone, *left_out}
        self._dropped -= renewed.keys()
        self._renewed = {rest: one for rest, one in self._renewed.items() if rest not in self._dropped} | renewed
        return sorted(differences, key=lambda one: one.rest)

    def save(self) -> None:
        """Write down what looks found. Only after what followed from it: else a kill in between would lose that."""
        self._checkpoints.save_files(self.root, self._renewed, self._dropped)
        self._renewed, self._dropped = {}, set()

    def forget_named(self) -> None:
        """The run that named files is over."""
        self._named = frozenset()

    def why_not(self, rest: str) -> str:
        """Why a file could not be restored, in words that follow its name; "" if it could."""
        identity = _identity(os.path.join(self.root, rest))
        if identity is None:
            return ""
        known = self.files.get(rest)
        if known is not None and known.identity == identity:
            return known.why
        self._room = self._free_room({rest})
        return self._objection(rest, identity, self._view())

    # -- looking ---------------------------------------------------------------------------------------

    def _look(self, *, grown: bool) -> FolderState:
        if self.cut and self._clock() < self._next:
            return FolderState({}, ())
        most = self._limits.files * (GROWN if grown and not self.cut else 1)
        state = self._states.look(most)
        self.cut = state.cut
        if state.cut:
            self._next = self._clock() + PAUSE
            return FolderState({}, ())
        return state

    def _exists(self, rest: str) -> bool:
        return self._is_own(rest) and os.path.lexists(os.path.join(self.root, rest))

    def _is_own(self, rest: str) -> bool:
        """Whether no link is on the way to it."""
        above = rest.rpartition("/")[0]
        return not above or os.path.realpath(f"{self.root}/{above}") == f"{os.path.realpath(self.root)}/{above}"

    def _is_older(self, rest: str, since: float) -> bool:
        """Whether a file that is new here was made before: it was moved, or came into view, and undo must not delete
        it."""
        born = birth_time(os.path.join(self.root, rest))
        return born is not None and not _may_be_after(born, since)

    def _new_above(self, rest: str, state: FolderState) -> int:
        """How many of the folders above are new since the last look."""
        above, count = rest.rpartition("/")[0], 0
        while above and above in state.folders and above not in self._folders:
            above, count = above.rpartition("/")[0], count + 1
        return count

    def _in_order(self, found: dict[str, FileIdentity]) -> list[str]:
        """The files to read: first those named, then those modified last."""
        wanted = [
            rest
            for rest, identity in found.items()
            if (known := self.files.get(rest)) is None
            or known.identity != identity
            or known.fresh
            or known.why == TOO_LATE
        ]
        wanted.sort(key=lambda rest: (rest not in self._named, -found[rest].modified))
        return wanted

    # -- keeping ---------------------------------------------------------------------------------------

    def _objection(self, rest: str, identity: FileIdentity, view: HiddenFiles) -> str:
        limits = self._limits
        if why := view.why_hidden(os.path.join(self.root, rest), by_rule=True):
            return why
        if identity.size > limits.file_bytes:
            return f"is larger than {limits.file_bytes // MEGABYTE:,} MB"
        if rest not in self._named and self._room < identity.size:
            return f"is not kept: the folder has more than {limits.folder_bytes // MEGABYTE:,} MB"
        return ""

    def _keep(self, rest: str, identity: FileIdentity, view: HiddenFiles) -> KeptFile:
        if why := self._objection(rest, identity, view):
            return KeptFile(identity, "", why)
        if self._hurried:
            return KeptFile(identity, "", TOO_LATE)
        try:
            with opened_beneath(self.root, rest, FILE) as file:
                for _ in range(2):
                    identity = FileIdentity.of(os.fstat(file))
                    if identity.size > self._limits.file_bytes:
                        break
                    data = _read(file, identity.size + 1)
                    if FileIdentity.of(os.fstat(file)) == identity and len(data) == identity.size:
                        digest = self._checkpoints.keep_content(data, sync=False)
                        self._room -= len(data)
                        return KeptFile(identity, digest, fresh=_is_fresh(identity))
        except OSError as error:
            return KeptFile(identity, "", f"cannot be read: {error.strerror}")
        return KeptFile(identity, "", "was being written")

    def _free_room(self, left: set[str]) -> int:
        """Bytes that may still be kept, without those of the files that are `left`."""
        used = sum(one.identity.size for rest, one in self.files.items() if one.digest and rest not in left)
        return self._limits.folder_bytes - used


def _differs(known: KeptFile, now: KeptFile) -> bool:
    if known.digest and now.digest:
        return known.digest != now.digest
    return known.identity[:4] != now.identity[:4]


def _identity(path: str) -> FileIdentity | None:
    """The identity of a plain file, None for anything else."""
    try:
        state = os.lstat(path)
    except (OSError, ValueError):
        return None
    return FileIdentity.of(state) if (state.st_mode & 0o170000) == 0o100000 else None


def _read(file: int, most: int) -> bytes:
    os.lseek(file, 0, os.SEEK_SET)
    pieces = []
    while most > 0 and (piece := os.read(file, min(most, 1 << 20))):
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)


def _is_fresh(identity: FileIdentity) -> bool:
    """Whether it changed so shortly ago that another change might not show."""
    return time.time_ns() - identity.changed < _coarseness(identity.changed)


def _may_be_after(moment: int, since: float) -> bool:
    """Whether a file's time (in nanoseconds) is not before this Unix time, as far as the file's clock says."""
    return moment + _coarseness(moment) >= since * 1_000_000_000


def _coarseness(moment: int) -> int:
    return COARSE if moment % 1_000_000_000 else WHOLE_SECONDS


def rests_within(root: str, paths: Sequence[str]) -> list[str]:
    """The paths within a folder, relative to it."""
    return [os.path.relpath(path, root) for path in paths if path.startswith(f"{root.rstrip('/')}/")]
