"""Changes of files taken back, and made again: of one block, of a turn, of the whole session.

A file is brought back only if it is as the last of these changes left it: what the person changed since stays, unless
they say otherwise.
"""

import stat
import time
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.core.tool_verbs import UndoScope
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.tools.tool import ToolFailed
from oi_tui.app.engine.workspace.checkpoints import LATE, Checkpoints, KeptChange
from oi_tui.app.engine.workspace.diffs import TextDiff, unified_diff
from oi_tui.app.engine.workspace.file_access import (
    LARGEST_READ,
    UNREAD,
    FileContent,
    content_digest,
    read_place,
    remove_place,
    replace_place,
    state_of,
    unread_name,
)
from oi_tui.app.engine.workspace.file_text import read_text
from oi_tui.app.engine.workspace.path_rules import FilePlace

MOST_FILES = 2_000
"""That are brought back at once."""


MOST_AT_ONCE = 500_000_000
"""Bytes of them, before and after."""


class FileRestore(NamedTuple):
    """What becomes of one file."""

    place: FilePlace
    changes: tuple[KeptChange, ...]
    """Those that are taken back, in order."""
    now: FileContent | None
    """None also where it is `unread`."""
    goal: bytes | None
    """Its content afterwards, None if there is no file then."""
    mode: int
    diff: TextDiff
    problem: str = ""
    """Why it is not brought back, in words that follow its name; "" if it is."""
    forceable: bool = False
    """Whether it is, if the person insists."""
    unread: str = ""
    """The name of a file that is too large to read."""
    modified: int = 0
    """When it says afterwards that it was modified; 0 is now."""

    @property
    def present(self) -> str | None:
        """Digest or name of the present content."""
        return self.unread or (None if self.now is None else self.now.digest)


class Undoing:
    """Undo and redo in one session."""

    def __init__(
        self, checkpoints: Checkpoints, session: Callable[[], str], folder: str, clock: Callable[[], float] = time.time
    ) -> None:
        self._checkpoints, self._session, self._folder, self._clock = checkpoints, session, folder, clock

    def plan(self, scope: UndoScope, block: str = "", *, redo: bool = False) -> list[FileRestore]:
        """What would be brought back. "" as the block is the last one, or its turn. OiTuiError if there is nothing."""
        changes = self._of_scope(scope, block, redo=redo)
        by_path: dict[str, list[KeptChange]] = {}
        for change in changes:
            by_path.setdefault(change.path, []).append(change)
        if len(by_path) > MOST_FILES:
            raise OiTuiError(f"These are {len(by_path):,} files: more than {MOST_FILES} are not brought back at once.")
        found, size = list[FileRestore](), 0
        for group in by_path.values():
            found.append(restore := self._restore(group, redo=redo))
            size += len(restore.goal or b"") + len(b"" if restore.now is None else restore.now.data)
            if size > MOST_AT_ONCE:
                raise OiTuiError(
                    f"These files have more than {MOST_AT_ONCE // 1_000_000:,} MB: that is too much at once.",
                    hint="Undo less: a block, or a turn.",
                )
        return found

    def net_changes(self, scope: UndoScope, block: str = "") -> list[tuple[str, TextDiff]]:
        """What these changes did to each file, by name, from before the first to after the last."""
        found = []
        for restore in self.plan(scope, block):
            if restore.unread or (restore.goal is None and restore.changes[0].before is not None):
                what = "is there" if restore.unread or restore.now is not None else "deleted"
                told = f"File {safe_text(restore.place.name)}: {what}; what it was before is not kept, or too large"
                found.append((restore.place.name, TextDiff(told, 0, 0)))
                continue
            before = None if restore.goal is None else FileContent(restore.goal, 0)
            now = None if restore.now is None else restore.now.data
            found.append((restore.place.name, _diff(before, now, restore.place.name)))
        return found

    def count_undone(self, blocks: Collection[str]) -> dict[str, int]:
        """How many changes of each of these blocks are undone now."""
        counts = dict.fromkeys(blocks, 0)
        for change in self._checkpoints.changes(self._session()):
            if change.undone and change.block in counts:
                counts[change.block] += 1
        return counts

    def _of_scope(self, scope: UndoScope, block: str, *, redo: bool) -> list[KeptChange]:
        known = [change for change in self._checkpoints.changes(self._session()) if bool(change.undone) == redo]
        if redo:
            last = max((change.undone for change in known), default=0.0)
            found = [change for change in known if change.undone == last]
        elif scope == "session":
            found = known
        elif block:
            mine = next((change for change in known if change.block == block), None)
            turn = block if mine is None else mine.turn
            found = [one for one in known if (one.block == block if scope == "block" else one.turn == turn)]
        else:
            last_one = known[-1:]
            found = [
                one
                for one in known
                for last in last_one
                if (one.block == last.block if scope == "block" else one.turn == last.turn)
            ]
        if not found:
            what = "undone" if not redo else "made again"
            raise OiTuiError(f"There is nothing to be {what}: no change of a file is kept.")
        return found

    def _restore(self, group: Sequence[KeptChange], *, redo: bool) -> FileRestore:
        first, last = group[0], group[-1]
        name = first.path.removeprefix(f"{self._folder}/")
        place = FilePlace(first.root, first.rest, name)
        goal_digest, there = (last.after, first.before) if redo else (first.before, last.after)
        goal = None if goal_digest is None else self._checkpoints.content(goal_digest)
        now, problem, forceable, unread = None, "", False, ""
        try:
            state = state_of(place)
            large = (there or "").startswith(UNREAD) or (state is not None and state.st_size > LARGEST_READ)
            if large and state is not None and stat.S_ISREG(state.st_mode):
                unread = unread_name(state)
            else:
                now = read_place(place)
            if (unread or (None if now is None else now.digest)) != there:
                problem, forceable = "was changed since by somebody else", True
            elif any(change.maker == LATE for change in group):
                problem, forceable = "was changed after the run, by what it started or by somebody else", True
        except ToolFailed as error:
            problem = f"cannot be looked at: {error}"
        if goal is None and goal_digest is not None:
            never = goal_digest.startswith(UNREAD)
            problem, forceable = "was not kept as it was" if never else "is no longer kept as it was", False
        diff = _large_diff(goal, name) if unread else _diff(now, goal, name)
        modified = 0 if redo else first.modified
        return FileRestore(
            place, tuple(group), now, goal, first.mode, diff, problem, forceable, unread=unread, modified=modified
        )

    def apply(self, restores: Sequence[FileRestore], *, redo: bool = False, force: bool = False) -> dict[str, str]:
        """Bring these files back; of each that was not, by its name, why. Those with a problem are left as they are,
        unless it can be forced and the person says so."""
        stamp, problems = self._clock(), dict[str, str]()
        for restore in restores:
            name = safe_text(restore.place.name)
            if restore.problem and not (force and restore.forceable):
                problems[name] = f"{name} {restore.problem}"
                continue
            try:
                self._apply_one(restore, stamp, redo=redo)
            except (ToolFailed, OiTuiError) as error:
                problems[name] = str(error)
        return problems

    def _apply_one(self, restore: FileRestore, stamp: float, *, redo: bool) -> None:
        now, place, there = restore.now, restore.place, restore.present
        if now is not None:  # for the way back
            kept = self._checkpoints.keep_content(now.data)
            if not redo:
                self._checkpoints.set_after(restore.changes[-1].id, kept)
        if restore.goal is None:
            if there is not None:
                remove_place(place, there, max(change.above for change in restore.changes))
        elif there is None or content_digest(restore.goal) != there:
            mode = restore.mode if now is None else now.mode
            replace_place(place, restore.goal, there, mode or None, restore.modified)
        self._checkpoints.mark([change.id for change in restore.changes], 0.0 if redo else stamp)


def _large_diff(goal: bytes | None, name: str) -> TextDiff:
    """The diff of a file that is too large to read now."""
    size = "deleted" if goal is None else f"{len(goal):,} bytes"
    return TextDiff(f"Large file {safe_text(name)}: {size} afterwards", 0, 0)


def _diff(now: FileContent | None, goal: bytes | None, name: str) -> TextDiff:
    """The diff from the present content to the restored one."""
    before = None if now is None else read_text(now.data)
    after = None if goal is None else read_text(goal)
    if (now is not None and before is None) or (goal is not None and after is None):
        size = "nothing" if goal is None else f"{len(goal):,} bytes"
        return TextDiff(f"Binary file {safe_text(name)}: {size} afterwards", 0, 0)
    return unified_diff(None if before is None else before.text, None if after is None else after.text, name)
