"""The runs of one session: what was decided about, what the person typed, and what these call; each an `Execution`."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import NamedTuple

from oi_tui.app.engine.agent.decisions import Decisions
from oi_tui.app.engine.agent.execution import Execution, Seal, no_seal
from oi_tui.app.engine.agent.halt import Halt, TurnStopped
from oi_tui.app.engine.agent.kernel_calls import KernelCalls
from oi_tui.app.engine.agent.page_pictures import draw_results
from oi_tui.app.engine.agent.run_hints import install_note, run_hints
from oi_tui.app.engine.agent.runners import RejoinedRun, Runners
from oi_tui.app.engine.agent.session_choices import SessionChoices
from oi_tui.app.engine.agent.tool_calls import ToolCalls
from oi_tui.app.engine.agent.written_look import FindWritten, RunKeeper, look_for_written, with_undo
from oi_tui.app.engine.core.blocks import Action, ActionBlock, CallBlock, CodeBlock
from oi_tui.app.engine.core.errors import AuditError, KernelError, OiTuiError
from oi_tui.app.engine.core.events import Emit, FilesWritten, NoticeAdded, OutputAdded
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.outputs import StreamOutput, WrittenFiles
from oi_tui.app.engine.kernels.base import RejoinableKernel, Runner
from oi_tui.app.engine.policy.decide import read_source
from oi_tui.app.engine.policy.decision import PolicyDecision
from oi_tui.app.engine.transcript.transcript import Transcript

RunFailure = KernelError | AuditError
"""Why nothing could run at all."""


class RunTerms(NamedTuple):
    """The same for all runs of a session."""

    seal: Seal
    can_ask: bool
    clock: Callable[[], float]
    time_limit: float
    """Seconds, 0 is no limit."""
    find_written: FindWritten | None
    keeper: RunKeeper


class ActionRuns:
    """Runs the actions of one session; `answer` and `stop` reach into what runs."""

    def __init__(
        self,
        transcript: Transcript,
        runners: Runners,
        decisions: Decisions,
        choices: SessionChoices,
        halt: Halt,
        emit: Emit,
        terms: RunTerms,
    ) -> None:
        """The blocks that the transcript holds now ran in kernels that are gone, unless some have been started."""
        self._transcript, self._runners, self._decisions = transcript, runners, decisions
        self._choices, self._halt, self._emit = choices, halt, emit
        self._seal, self._can_ask, self._clock, self._time_limit, self._find_written, self._keeper = terms
        self._left: dict[str, WrittenFiles | None] = {}
        """By block: which file changes of a run can be undone, until they are reported."""
        self._inherited = 0 if runners.kernels.started_kernels() else len(transcript.blocks)
        self._executions: list[Execution] = []  # what runs; what it called is behind it
        self.calls = KernelCalls(runners, decisions, emit, self.action, self.execute, self.stop_called)
        self.tool_calls = ToolCalls(runners, decisions, emit, self.action, self.execute, self.stop_called)
        runners.tools.perform = self.tool_calls.perform

    @property
    def any_under_way(self) -> bool:
        """Whether an interrupt meets a run; a decision that is waited for is none."""
        return bool(self._executions)

    def take_stop(self) -> TurnStopped | None:
        """How a decision about something that was called ends the turn; None if none does."""
        return self.calls.take_stop() or self.tool_calls.take_stop()

    def action(self, block_id: str) -> ActionBlock:
        """The action of this id, as it is now."""
        block = self._transcript.block(block_id)
        assert isinstance(block, Action), block
        return block

    async def execute(
        self, block_id: str, ruling: PolicyDecision | None = None, runner: Runner | None = None
    ) -> RunFailure | None:
        """Run the block's current source; returns why nothing could run at all, after notifying the user. With a
        `runner` it runs there, apart from the kernel of its language."""
        since = time.time()
        try:
            failure = await self.perform(self.action(block_id), self._emit, ruling, runner)
        except KernelError as error:
            self._report(error)
            failure = error
        if failure is None:
            await self._tell_written(block_id, since)
            await self._draw_pages(block_id)
        block, earlier = self.action(block_id), self._transcript.blocks[: self._inherited]
        if isinstance(block, CodeBlock) and runner is None and not (ruling is not None and ruling.installs):
            confinement = self._runners.confinement(block)
            known = ruling.reading if ruling is not None else None
            if note := install_note(block, confinement, partial(read_source, self._runners.request(block, known))):
                self._emit(OutputAdded(block_id=block_id, output=StreamOutput(name="stderr", text=note)))
                return failure
            for remark in run_hints(block, earlier, confinement):
                self._emit(NoticeAdded(block_id=new_id(), level="info", title=remark.title, hint=remark.hint))
        return failure

    async def perform(
        self, block: ActionBlock, emit: Emit, ruling: PolicyDecision | None, apart: Runner | None = None
    ) -> RunFailure | None:
        """Run an approved action. KernelError where there is no such kernel or tool; a failure of the kernel that there
        is has been emitted when it is returned."""
        installs = ruling.offer if ruling is not None and ruling.installs else ()
        own = self._runners.kernels.pip_installer(installs) if installs else None
        runner = apart or own or self._runners.get(block)
        keeps = not runner.elsewhere and self._runners.may_change_files(block)
        execution = Execution(
            *(block, runner, emit, self._seal),
            can_ask=self._can_ask,
            clock=self._clock,
            time_limit=self._limit(block, ruling),
            calls=None if block.caller else self.calls,
            serves=lambda: self.tool_calls.serves(block.id),
            origin="" if (tool := self._runners.tool(block)) is None else tool.origin,
            before=partial(self._keep, block, ruling) if keeps else None,
        )
        self._executions.append(execution)
        try:
            if ruling is not None and not self._runners.is_side_by_side(block):  # else it writes no file
                await self._decisions.files.begin_run(ruling.targets)
            if apart is None and own is None:  # else it says nothing about the kernel of its language
                self._decisions.note_run(block, ruling)
            return await execution.run()
        finally:
            self._executions.remove(execution)
            if keeps:
                self._left[block.id] = await self._keeper.end(block.id)
            if own is not None:
                await own.close()

    async def _keep(self, block: ActionBlock, ruling: PolicyDecision | None) -> None:
        """Keep the files as they are before it runs."""
        reading, base = None if ruling is None else ruling.reading, self._decisions.policy.base
        await self._keeper.begin(block.id, self._decisions.folders.written_paths(block, reading, base))

    async def come_back(self, kernel: RejoinableKernel, block_id: str) -> None:
        """This kernel has the variables of earlier runs after all. If a block's run continued in it without us, follow
        that to its end: there is no new decision and no new audit record."""
        self._inherited = 0
        if not block_id:
            return
        runner, block = RejoinedRun(kernel), self.action(block_id)
        execution = Execution(block, runner, self._emit, no_seal, can_ask=self._can_ask, clock=self._clock)
        self._executions.append(execution)
        try:
            await execution.run()
        finally:
            self._executions.remove(execution)

    async def answer(self, request_id: str, text: str | None) -> bool:
        """Answer an `InputRequested`, None with no answer; False if that id is not waiting for one (any more)."""
        return any([await execution.answer(request_id, text) for execution in self._executions])

    def give_up_input(self) -> None:
        """Give up waiting for input."""
        for execution in self._executions:
            execution.give_up_input()

    def stop(self, *, force: bool) -> None:
        """Stop all that runs, what was called first."""
        self._stop(self._executions, force=force)

    def stop_called(self, caller: str) -> None:
        """Stop what the run of this block called; by force where nobody can be asked."""
        self._stop([one for one in self._executions if one.block.caller == caller], force=not self._can_ask)

    def _stop(self, executions: list[Execution], *, force: bool) -> None:
        for execution in reversed(executions):
            execution.interrupt(force=force)
            execution.tell_kernel("interrupting")

    def _limit(self, block: ActionBlock, ruling: PolicyDecision | None) -> float:
        """Seconds that it may take, 0 is no limit: what the person gave this run, else the tool's own, else the
        session's."""
        if ruling is not None and ruling.time_limit is not None:
            return ruling.time_limit
        own = self._runners.time_limit(block)
        return self._time_limit if own is None else own

    async def _tell_written(self, block_id: str, since: float) -> None:
        """Say which files it left in the folder, as far as that is quickly seen."""
        block, left = self.action(block_id), self._left.pop(block_id, None)
        reads = isinstance(block, CallBlock) and self._runners.is_side_by_side(block)  # others may write meanwhile
        if reads or self._runners.runs_elsewhere(block):
            return
        found = None if self._find_written is None else await look_for_written(self._find_written, since)
        written = with_undo(found, left)
        if written is not None and (written.files or written.undoable or written.lost or not block.outputs):
            self._emit(FilesWritten(block_id=block_id, written=written))

    async def _draw_pages(self, block_id: str) -> None:
        """Have pictures of the pages that it showed, if the model can see them."""
        if self._choices.model is not None and self._choices.model.takes_images:
            for output in await self._halt.result(partial(draw_results, self.action(block_id))) or ():
                self._emit(OutputAdded(block_id=block_id, output=output))

    def _report(self, error: OiTuiError) -> None:
        notice = NoticeAdded(
            block_id=new_id(), level="error", title=error.title, hint=error.hint, details=error.details
        )
        self._emit(notice)


async def side_by_side(runs: Sequence[Callable[[], Awaitable[RunFailure | None]]]) -> list[RunFailure | None]:
    """Run them at the same time; the results when all have ended. An exception of one is raised then."""
    if len(runs) == 1:
        return [await runs[0]()]
    tasks = [asyncio.ensure_future(run()) for run in runs]
    try:
        await asyncio.wait(tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    return [task.result() for task in tasks]
