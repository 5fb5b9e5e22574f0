"""What the code of one session changes in files: its folders are looked at before and after each run, and what is
different is kept as the doing of that run, to be undone like the changes of tools.

What changes while several runs are under way counts as the doing of the last that began. What somebody else writes
meanwhile counts as well: nobody can tell.
"""

import asyncio
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import psutil

from oi_tui.app.engine.core.blocks import Block
from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.core.events import NoticeAdded
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.outputs import WrittenFiles
from oi_tui.app.engine.policy.losses import is_within
from oi_tui.app.engine.sandbox.profile import Profile
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.words import quantity, size_in_words, some_names
from oi_tui.app.engine.tools.ties import ToolTies
from oi_tui.app.engine.workspace.checkpoints import CODE, LATE, ChangeMaker, Checkpoints, KeptChange, OpenRun
from oi_tui.app.engine.workspace.file_tools import turn_of
from oi_tui.app.engine.workspace.ignore_rules import NEVER
from oi_tui.app.engine.workspace.kept_folder import FileDifference, KeepLimits, KeptFolder, rests_within
from oi_tui.app.engine.workspace.path_rules import PathRules

PATIENCE = 3.0
"""Seconds that a run waits until its folders have been looked at; what has not been read by then is read beside it, as
long as it is as it was."""

TICKS = 0.02
"""Seconds by which the start of a process is rounded."""

NAMED = 3
"""Files that a question names."""

MOST_NAMED = 500
"""Files that a source names, or that are in a folder that it names."""

Found = TypeVar("Found")

_log = logging.getLogger(__name__)


class RunUnderWay(NamedTuple):
    """A block that runs."""

    block: str
    turn: str
    began: float
    """Unix time."""
    clock: float = 0.0
    """The same by the clock that says when processes were started."""


NO_RUN = RunUnderWay("", "", 0.0)


class RunChanges:
    """The changes that runs of one session made."""

    def __init__(
        self,
        checkpoints: Checkpoints,
        folders: Sequence[KeptFolder],
        session: Callable[[], str],
        blocks: Callable[[], Sequence[Block]],
        tell: Callable[[str], None],
    ) -> None:
        """`tell` is given what the person must know, once."""
        self._checkpoints, self._folders, self._session, self._blocks = checkpoints, folders, session, blocks
        self._tell = tell
        self._running: list[RunUnderWay] = []
        """What others called is behind them."""
        self._ended: tuple[RunUnderWay, float] | None = None
        """The run that ended last, and when."""
        self._last: asyncio.Future[Any] | None = None
        self._stuck: asyncio.Future[Any] | None = None
        """A look that was waited for long enough; until it ends, no other one is waited for."""
        self._told: set[str] = set()
        self._boot = psutil.boot_time()
        self._engine = f"{os.getpid()}:{psutil.Process().create_time():.2f}"

    # -- runs ------------------------------------------------------------------------------------------

    async def begin(self, block_id: str, named: Sequence[str]) -> None:
        """A run is about to begin that names these paths. Never raises."""
        if self._is_stuck:
            return
        before, turn = self._current, turn_of(self._blocks(), block_id)
        run = RunUnderWay(block_id, turn, time.time(), self._process_clock())
        self._running.append(run)
        job = self._in_order(lambda: self._look_before(run, named, before))
        try:
            async with asyncio.timeout(PATIENCE):
                await asyncio.shield(job)
        except TimeoutError:
            self._stuck = job
            self._tell_once("Not all files here could be read in time: some changes of this run cannot be undone.")

    async def end(self, block_id: str) -> WrittenFiles | None:
        """Finish a run: its changes, None if finding them takes too long; then they are found later. Never raises."""
        run = next((one for one in self._running if one.block == block_id), None)
        if run is None:
            return None
        self._running.remove(run)
        self._ended = (run, self._process_clock())
        current = self._current
        for folder in self._folders:
            folder.hurry()
        job = self._in_order(lambda: self._look_after(run, current))
        try:
            async with asyncio.timeout(PATIENCE):
                found = await asyncio.shield(job)
        except TimeoutError:
            self._stuck = job
            return None
        if dropped := self._checkpoints.take_dropped():
            went = f"{quantity(dropped, 'older change')} of files can no longer be undone"
            self._tell(f"{went}: no more is kept than undo.disk_mb says.")
        return found

    @property
    def _is_stuck(self) -> bool:
        return self._stuck is not None and not self._stuck.done()

    @property
    def _current(self) -> RunUnderWay:
        return self._running[-1] if self._running else NO_RUN

    async def rest(self) -> None:
        """Wait until nothing is looked at any more."""
        if self._last is not None:
            await asyncio.wait([self._last])

    def prepare(self) -> None:
        """Look for the first time, while nothing runs yet."""
        if self._last is None:
            self._in_order(lambda: self._record(NO_RUN))

    async def catch_up(self) -> None:
        """Look for what was written since the last run ended: if processes that it started are still there, it may be
        theirs."""
        if not self._running and not self._is_stuck:
            await asyncio.shield(self._in_order(lambda: self._record(NO_RUN)))

    async def recover(self) -> None:
        """Runs of this session, or of others in these folders, whose engine ended in the middle of them: what is
        different since they began counts as their doing."""
        told: list[str] = []
        await asyncio.shield(self._in_order(lambda: self._recover(told)))
        for text in told:
            self._tell(text)

    def _in_order(self, look: Callable[[], Found]) -> "asyncio.Future[Found | None]":
        """One look after the other, each in a thread, to its end."""
        before = self._last
        waits = before is not None and not before.done()
        at_once = None if waits else asyncio.get_running_loop().run_in_executor(None, look)

        async def follow() -> Found | None:
            if before is not None and waits:
                await asyncio.wait([before])
            try:
                return await (at_once or asyncio.to_thread(look))
            except OiTuiError as error:
                self._tell_once(f"What code changes in files cannot be undone: {error.title}")
            except Exception:
                # Boundary: undo is a help, and whatever is in a folder must not keep code from running.
                _log.exception("a folder could not be looked at for undo")
                self._tell_once("What code changes in files cannot be undone here. See the log.")
            return None

        job = asyncio.ensure_future(follow())
        self._last = job
        return job

    def _tell_once(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self._tell(text)

    # -- looking, in a thread ----------------------------------------------------------------------------

    def _look_before(self, run: RunUnderWay, named: Sequence[str], before: RunUnderWay) -> None:
        if not before.block:
            for folder in self._folders:
                folder.recall()
        self._record(before, named)
        self._note(run)

    def _look_after(self, run: RunUnderWay, current: RunUnderWay) -> WrittenFiles:
        found = self._record(run, grown=True)
        if not current.block:
            for folder in self._folders:
                folder.forget_named()
        self._note(current)
        self._checkpoints.prune_grown()
        return found

    def _note(self, run: RunUnderWay) -> None:
        """Have on disk what is under way, in case this process is killed."""
        for folder in self._folders:
            # Of a folder that was not looked at as a whole, nobody could tell afterwards what is new there.
            turn, block = ("", "") if folder.cut else (run.turn, run.block)
            noted = OpenRun(self._session(), turn, block, self._engine)
            self._checkpoints.note_run(folder.root, noted)

    def _record(self, run: RunUnderWay, named: Sequence[str] = (), *, grown: bool = False) -> WrittenFiles:
        """Look at all folders. What is different is the doing of this run; without one it was somebody else's."""
        changes: list[KeptChange] = []
        lost = 0
        since = run.began if run.block or self._ended is None else self._ended[0].began
        for folder in self._folders:
            differences = folder.refresh(_files_within(folder.root, named), grown=grown, since=since)
            doer, maker = (run, CODE) if run.block else (self._lingering_run() if differences else NO_RUN, LATE)
            for one in differences if doer.block else ():
                if (change := self._change(folder.root, one, doer, maker)) is not None:
                    changes.append(change)
                    lost += one.before is not None and not one.before.digest
        if changes:
            self._checkpoints.add(*changes)
        for folder in self._folders:
            folder.save()
        deleted = [change.rest for change in changes if change.after is None]
        return WrittenFiles(
            undoable=len(changes) - lost,
            lost=lost,
            deleted=tuple(safe_text(rest) for rest in deleted[:NAMED]),
            more_deleted=len(deleted[NAMED:]),
        )

    def _process_clock(self) -> float:
        """The moment as psutil gives it for the start of a process: on Linux it counts from a boot in whole seconds."""
        return self._boot + time.clock_gettime(time.CLOCK_BOOTTIME) if sys.platform == "linux" else time.time()

    def _lingering_run(self) -> RunUnderWay:
        """The run that ended last, if processes that it started are still there."""
        if self._ended is None:
            return NO_RUN
        run, ended = self._ended
        try:
            processes = psutil.Process().children(recursive=True)
            there = any(run.clock - TICKS <= process.create_time() <= ended + TICKS for process in processes)
        except psutil.Error:  # they come and go
            return NO_RUN
        return run if there else NO_RUN

    def _change(self, root: str, one: FileDifference, run: RunUnderWay, maker: ChangeMaker = CODE) -> KeptChange | None:
        """What is kept of it; None where a tool made this very change in the course of the run."""
        change = KeptChange(
            id=0,
            session=self._session(),
            turn=run.turn,
            block=run.block,
            root=root,
            rest=one.rest,
            before=None if one.before is None else one.before.content_name,
            after=None if one.after is None else one.after.content_name,
            mode=0 if one.before is None else one.before.identity.mode,
            maker=maker,
            at=0.0,
            modified=0 if one.before is None else one.before.identity.modified,
            above=one.above,
        )
        other = self._checkpoints.last_after(change, run.began)
        if other is None:
            return change
        return None if other.after == change.after else change._replace(before=other.after)

    def _recover(self, told: list[str]) -> None:
        for folder in self._folders:
            lost = [(run, at) for run, at in self._checkpoints.open_runs(folder.root) if not _is_alive(run.engine)]
            differences = folder.refresh(since=min(at for _, at in lost)) if lost else []
            for run, at in lost:
                under_way = RunUnderWay(run.block, run.turn, at)
                changes = [self._change(folder.root, one, under_way) for one in differences]
                mine = [change._replace(session=run.session) for change in changes if change is not None]
                if mine:
                    self._checkpoints.add(*mine)
                folder.save()
                self._checkpoints.note_run(folder.root, run._replace(turn="", block=""))
                if run.session == self._session():
                    what = f"{quantity(len(mine), 'file')} changed" if mine else "no file changed that /undo covers"
                    told.append(
                        f"oi-tui ended during a run: since that began, {what}. "
                        + ("/undo shows what, also what somebody else changed meanwhile." if mine else "")
                    )

    # -- questions ---------------------------------------------------------------------------------------

    async def remarks(self, named: Sequence[str]) -> tuple[str, ...]:
        """Which changes to these paths could not be undone, in words for a question; without paths, to the whole
        folder."""
        if not self._is_stuck:
            job = self._in_order(lambda: self._unkept(named))
            try:
                async with asyncio.timeout(PATIENCE):
                    return await asyncio.shield(job) or ()
            except TimeoutError:
                self._stuck = job
        return ("it took too long to find out which changes of files can be undone",)

    def _unkept(self, named: Sequence[str]) -> tuple[str, ...]:
        found: list[str] = []
        for folder in self._folders:
            for rest in _files_within(folder.root, named):
                path = os.path.join(folder.root, rest)
                if os.path.isfile(path) and folder.why_not(rest):
                    found.append(f"{safe_text(rest)} ({size_in_words(os.path.getsize(path))})")
        told = [f"{some_names(found, NAMED)} cannot be undone"] if found else []
        cut = next((folder.cut for folder in self._folders if folder.cut), "")
        if cut:
            told.append(f"other changes of files cannot be undone: {cut} here")
        outside = [path for path in named if not any(is_within(path, folder.root) for folder in self._folders)]
        if outside := [path for path in outside if os.path.isfile(path)]:
            told.append(f"{', '.join(map(safe_text, outside[:NAMED]))} cannot be undone: outside of the folder")
        return tuple(told)


def _files_within(root: str, paths: Sequence[str]) -> list[str]:
    """The files of a folder that these paths mean: themselves, and what is beneath them."""
    found: dict[str, None] = {}
    for rest in rests_within(root, paths):
        whole = os.path.join(root, rest)
        if NEVER.isdisjoint(rest.split("/")):
            is_folder = os.path.isdir(whole) and not os.path.islink(whole)
            found.update(dict.fromkeys(islice(_beneath(root, whole), MOST_NAMED) if is_folder else (rest,)))
    return list(found)[:MOST_NAMED]


def _beneath(root: str, folder: str) -> Iterator[str]:
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in NEVER]
        yield from (os.path.relpath(os.path.join(place, name), root) for name in files)


def _is_alive(engine: str) -> bool:
    """Whether this process, by its number and when it began, is still there."""
    number, _, begun = engine.partition(":")
    try:
        return f"{psutil.Process(int(number)).create_time():.2f}" == begun
    except (psutil.Error, ValueError):
        return False


def keep_changes(
    profile: Profile, checkpoints: Checkpoints, limits: KeepLimits, own: Sequence[Path]
) -> Callable[[ToolTies], RunChanges]:
    """Makes that of a session whose code runs with this profile: of the folders that it can write, without a sandbox of
    the working folder alone. `own` folders are ours."""
    roots = [str(root) for root in (profile.writes if profile.encloses else (profile.workspace,)) if root.is_dir()]
    outer = [root for root in roots if not any(is_within(root, other) and root != other for other in roots)]
    passed_over = [str(path) for path in own]

    def make(ties: ToolTies) -> RunChanges:
        rules = PathRules(profile, ties.policy)
        folders = [KeptFolder(root, checkpoints, limits, rules.view, passed_over) for root in dict.fromkeys(outer)]
        return RunChanges(
            checkpoints,
            folders,
            ties.session_id,
            ties.blocks,
            lambda text: ties.emit(NoticeAdded(block_id=new_id(), level="info", title=text)),
        )

    return make
