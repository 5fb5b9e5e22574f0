"""Follows which variables each run of Python code used, and tells which runs are stale (`transcript/stale_runs.py`).

What a run changed comes from its source, and from the kernel where it can be asked: an import that was run again, or a
number that is what it was, changes nothing; what `exec` made does.
"""

from collections import deque
from collections.abc import Callable
from itertools import islice

from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.events import (
    AnyEvent,
    ConversationCleared,
    Emit,
    ExecutionFinished,
    ExecutionStarted,
    KernelChanged,
    RerunFinished,
    RerunStarted,
    RunTraced,
)
from oi_tui.app.engine.core.outputs import RunInput
from oi_tui.app.engine.core.values import Language
from oi_tui.app.engine.kernels.inspection import Listing
from oi_tui.app.engine.parsing.name_use import CellNames, name_use
from oi_tui.app.engine.session.variable_inspector import TellListings, run_difference
from oi_tui.app.engine.transcript.stale_runs import TracedRun, run_inputs
from oi_tui.app.engine.transcript.transcript import Transcript

RUNS = 500
"""Runs of a kernel that are followed, the last ones."""
NAMES = 50
"""Variables of a run that are followed; of more, those that its own source reads come first."""
LONGEST_NAME = 100
"""Characters of a name that is followed."""
RETOLD = 4
"""Reports for one run that another changed what it used: in a long loop each run would for all before it."""


class RunTracer:
    """The runs of the Python kernel of a session, as long as it lives."""

    def __init__(
        self,
        transcript: Transcript,
        emit: Emit,
        compare: Callable[[Language, TellListings], None],
        past: "RunTracer | None" = None,
    ) -> None:
        """`compare` calls a function with the listings before and after the last run, at once or later. `past` followed
        the same kernel before a fork."""
        self._transcript = transcript
        self._emit = emit
        self._compare = compare
        self._generation = 0
        self._runs: deque[TracedRun] = deque(maxlen=RUNS)
        self._told: dict[str, tuple[RunInput, ...]] = {}
        self._retold: dict[str, int] = {}
        """By block that was stale before: how often another run made it stale again."""
        self._behind: dict[str, frozenset[str]] = {}
        """By function: names that it reads when it is called."""
        self._last: dict[str, str] = {}
        """By name: the block that changed it last."""
        self._pending: tuple[str, str, CellNames, bool] | None = None
        """A run that has ended and whose changes the kernel has not reported yet."""
        if past is not None:
            self._generation, self._runs = past._generation, past._runs.copy()
            self._behind, self._last, self._told = dict(past._behind), dict(past._last), dict(past._told)
            self._retold = dict(past._retold)

    def follow(self, event: AnyEvent) -> None:
        """Events of the session."""
        match event:
            case ExecutionStarted() | RerunStarted() if self._is_traced(event.block_id):
                self._settle()
                self._live_in(event.generation)
            case ExecutionFinished() if self._is_traced(event.block_id):
                self._end(event.block_id, ok=event.status == "ok")
            case RerunFinished() if self._is_traced(event.block_id):
                self._end(event.block_id, ok=event.outcome in ("same", "differs"))
            case KernelChanged(language="python"):
                self._live_in(event.generation if event.state not in ("dead", "cold") else 0)
                if event.state == "idle" and self._pending is not None:
                    self._compare("python", self._settle)
            case ConversationCleared():
                self._told.clear()
                self._forget()
            case _:
                pass

    def _is_traced(self, block_id: str) -> bool:
        transcript = self._transcript
        block = transcript.block(block_id) if transcript.has(block_id) else None
        return isinstance(block, CodeBlock) and block.language == "python" and not block.apart

    def _end(self, block_id: str, *, ok: bool) -> None:
        self._settle()
        block = self._transcript.block(block_id)
        assert isinstance(block, CodeBlock), block
        use = name_use(block.source)
        self._pending = block_id, block.source, use, ok
        if not (use.binds or use.mutates or use.calls):
            self._settle()  # there is nothing to ask the kernel about

    def _settle(self, before: Listing | None = None, now: Listing | None = None) -> None:
        """The pending run, with what the kernel had before it and has now, as far as that is known."""
        if self._pending is None:
            return
        (block_id, source, use, ok), self._pending = self._pending, None
        names = sorted(self._reads(use) & self._last.keys(), key=lambda name: (name not in use.reads, name))
        used = {name: self._last[name] for name in names if len(name) <= LONGEST_NAME}
        used = dict(islice(used.items(), NAMES))
        changed = self._changes(use, before, now)
        self._behind |= use.behind
        self._last |= dict.fromkeys(changed, block_id)
        self._runs = deque((run for run in self._runs if run.block_id != block_id), RUNS)  # it may be repeated
        self._runs.append(TracedRun(block_id, source, used, changed, ok))
        self._tell(run_inputs(self._runs))

    def _reads(self, use: CellNames) -> set[str]:
        """The names that the source reads itself, and those of the functions that it may call."""
        found, ahead = set(use.reads), list(use.reads)
        while ahead:
            for name in self._behind.get(ahead.pop(), ()):
                if name not in found:
                    found.add(name)
                    ahead.append(name)
        return found

    def _changes(self, use: CellNames, before: Listing | None, now: Listing | None) -> frozenset[str]:
        """Names that have other values after the run."""
        bound = use.binds - {name for name in use.imports if name in self._last}  # kernels do not list modules
        if now is None:
            return bound | use.mutates
        marks = {row.name: row.mark for row in before.variables} if before is not None else {}
        same = {row.name for row in now.variables if marks.get(row.name) == row.mark}
        return (bound - same) | use.mutates | frozenset(name for names in run_difference(before, now) for name in names)

    def _tell(self, inputs: dict[str, tuple[RunInput, ...]]) -> None:
        """Report the runs whose state changed."""
        told = {}
        for block_id in {**self._told, **inputs}:
            old, new = self._told.get(block_id, ()), inputs.get(block_id, ())
            if old != new and _names(old) == _names(new):  # only another run by which it is stale
                self._retold[block_id] = count = self._retold.get(block_id, 0) + 1
                new = old if count > RETOLD else new
            if old != new and self._transcript.has(block_id):
                self._emit(RunTraced(block_id=block_id, inputs=new))
            if new:
                told[block_id] = new
        self._told = told

    def _live_in(self, generation: int) -> None:
        """In another process than before there is none of the variables."""
        if generation != self._generation:
            self._generation = generation
            self._forget()

    def _forget(self) -> None:
        self._pending = None
        self._runs.clear()
        self._behind, self._last, self._retold = {}, {}, {}
        self._tell({})


def _names(inputs: tuple[RunInput, ...]) -> list[tuple[str, str, bool]]:
    return [(one.name, one.block_id, bool(one.stale_by)) for one in inputs]
