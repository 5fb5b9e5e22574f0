"""What was changed in files during one open session: shown, taken back, made again."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence

from msgspec.structs import replace

from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.blocks import Action
from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.core.events import FilesWritten, NoticeAdded
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.protocol import Reply
from oi_tui.app.engine.core.tool_replies import ChangedFile, ChangesFound
from oi_tui.app.engine.core.tool_verbs import ReadChanges, UndoChanges
from oi_tui.app.engine.session.services import Services
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.words import quantity
from oi_tui.app.engine.workspace.undoing import FileRestore, Undoing

NAMED = 5
"""Files that a notice names."""

ELSEWHERE = "What code changes on a server or another machine cannot be undone."

LONGEST = 2_000_000
"""Characters of all diffs that are shown at once."""


class UndoDesk:
    """Follows the verbs about changes of files."""

    def __init__(
        self,
        services: Services,
        session: Callable[[], Session],
        session_id: Callable[[], str],
        tell: Callable[[Reply], None],
        catch_up: Callable[[], Awaitable[None]],
    ) -> None:
        """`catch_up` is awaited first: something may have been written since the last run."""
        self._session, self._tell, self._catch_up = session, tell, catch_up
        kept = services.checkpoints
        self._undoing = None if kept is None else Undoing(kept, session_id, services.setup.cwd)

    async def follow(self, verb: ReadChanges | UndoChanges) -> None:
        """Do what the person wants."""
        try:
            if self._undoing is None:
                raise OiTuiError("No checkpoints are kept here: nothing can be undone.")
            await self._catch_up()
            if isinstance(verb, ReadChanges):
                self._tell(await self._look(self._undoing, verb))
            else:
                await self._undo(self._undoing, verb)
        except OiTuiError as error:
            if isinstance(verb, ReadChanges):
                away = any(kernel.elsewhere for kernel in self._session().kernels.started_kernels())
                why = f"{error.title} {ELSEWHERE}" if away else error.title
                found = ChangesFound(scope=verb.scope, block_id=verb.block_id, purpose=verb.purpose, why=why)
                self._tell(found)
            else:
                self._session().report(error)

    async def _look(self, undoing: Undoing, verb: ReadChanges) -> ChangesFound:
        if verb.purpose == "diff":
            files = await asyncio.to_thread(undoing.net_changes, verb.scope, verb.block_id)
            shown = [ChangedFile(name=safe_text(name), diff=diff.text) for name, diff in files]
            return ChangesFound(
                scope=verb.scope, block_id=verb.block_id, purpose="diff", files=_with_short_diffs(shown)
            )
        plan = await asyncio.to_thread(undoing.plan, verb.scope, verb.block_id, redo=verb.purpose == "redo")
        return ChangesFound(
            scope=verb.scope,
            block_id=verb.block_id,
            purpose=verb.purpose,
            files=_with_short_diffs([_file_change(one) for one in plan]),
            state=_state(plan),
        )

    async def _undo(self, undoing: Undoing, verb: UndoChanges) -> None:
        session = self._session()
        if session.transcript.turn_open:
            raise OiTuiError("A turn is running: stop it before files are brought back.")
        plan = await asyncio.to_thread(undoing.plan, verb.scope, verb.block_id, redo=verb.redo)
        if verb.shown and verb.shown != _state(plan):
            raise OiTuiError("Files changed since this was shown: nothing was done.", hint="Look at it once more.")
        problems = await asyncio.to_thread(undoing.apply, plan, redo=verb.redo, force=verb.force)
        done = len(plan) - len(problems)
        changed = [name for one in plan if (name := safe_text(one.place.name)) not in problems]
        names = ", ".join(changed[:NAMED]) + " …" * (len(changed) > NAMED)
        which, of = f" ({names})" if names else "", f" of {len(plan):,}" if problems else ""
        title = f"{'Made again' if verb.redo else 'Undone'}: {quantity(done, 'file')}{of}{which}."
        details = "\n".join(f"Left as it is: {problem}" for problem in problems.values())
        told = f"The user {'made changes of files again' if verb.redo else 'undid changes of files'}: {names}."
        notice = NoticeAdded(
            block_id=new_id(),
            level="warning" if problems else "info",
            title=title,
            hint="/redo makes the changes again." if done and not verb.redo else "",
            details=details,
            to_model=f"[{told}]" if done else "",
        )
        counts = await asyncio.to_thread(undoing.count_undone, {change.block for one in plan for change in one.changes})
        for block_id, undone in counts.items():
            _tell_undone(session, block_id, undone)
        session.emit(notice)


def _tell_undone(session: Session, block_id: str, undone: int) -> None:
    """The row of a block says how many of its changes can still be undone, and how many are."""
    block = next((one for one in session.transcript.blocks if one.id == block_id), None)
    if isinstance(block, Action) and (written := block.written) is not None:
        changes = written.undoable + written.undone
        undone = min(undone, changes)
        if undone != written.undone:
            now = replace(written, undoable=changes - undone, undone=undone)
            session.emit(FilesWritten(block_id=block_id, written=now))


def _with_short_diffs(files: Sequence[ChangedFile]) -> tuple[ChangedFile, ...]:
    """The same, without the diffs behind the first ones where all together are too long to be read."""
    room, found = LONGEST, list[ChangedFile]()
    for file in files:
        room -= len(file.diff)
        found.append(
            file if room >= 0 else replace(file, diff=f"{file.name}: its diff is not shown, there are too many")
        )
    return tuple(found)


def _file_change(restore: FileRestore) -> ChangedFile:
    return ChangedFile(
        name=safe_text(restore.place.name),
        diff=restore.diff.text,
        problem=restore.problem,
        forceable=restore.forceable,
    )


def _state(plan: Sequence[FileRestore]) -> str:
    """A digest that changes when a file, or what undo would make of it, changes."""
    parts = (
        f"{one.place.path}\0{None if one.now is None else one.now.digest}\0{[change.id for change in one.changes]}"
        for one in plan
    )
    return hashlib.sha256("\n".join(parts).encode(errors="surrogateescape")).hexdigest()
