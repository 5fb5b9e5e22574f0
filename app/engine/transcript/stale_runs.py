"""Which runs of a kernel used what another run has changed since: marked as stale, and so is what was made of it.

Pure: runs as they happened go in, what each of them used comes out.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from oi_tui.app.engine.core.blocks import Block, CodeBlock
from oi_tui.app.engine.core.outputs import RunInput


class TracedRun(NamedTuple):
    """A run that ended, in the order of a kernel's runs."""

    block_id: str
    source: str
    used: Mapping[str, str]
    """The names that it read, each with the block that had changed it last by then."""
    changed: frozenset[str]
    ok: bool = True
    """Whether it went through: what failed is neither stale nor a repetition."""


def run_inputs(runs: Sequence[TracedRun]) -> dict[str, tuple[RunInput, ...]]:
    """By block: what each run used, and which run made it stale. A run whose source has run again is not stale; whether
    what used it is stale depends on the repetition. A run that changed a variable in place (`df["a"] = 1`) is not stale
    by what changed it further."""
    newest: dict[str, tuple[str, str]] = {}  # by name: the block that changed it last, and the one that assigned it
    made: list[dict[str, str]] = []  # by run and name that it changed: the block that assigned it
    repeated: dict[str, str] = {}
    latest: dict[str, str] = {}
    for run in runs:
        mine = {}
        for name in run.changed:
            _, maker = newest.get(name, ("", "")) if name in run.used else ("", "")
            mine[name] = maker or run.block_id
            newest[name] = run.block_id, mine[name]
        made.append(mine)
        if run.ok:
            if (before := latest.get(run.source)) is not None:
                repeated[before] = run.block_id
            latest[run.source] = run.block_id
    found: dict[str, tuple[RunInput, ...]] = {}
    stale: set[str] = set()
    for run, mine in zip(runs, made, strict=True):
        inputs = []
        for name, by in sorted(run.used.items()):
            last, maker = newest.get(name, (by, ""))
            if last == run.block_id or mine.get(name) == maker:
                last = by
            while last == by and by in repeated:
                last = by = repeated[by]
            inputs.append(_run_input(name, run.used[name], last if last != by or by in stale else ""))
        if run.block_id in repeated or not run.ok:
            inputs = [_run_input(one.name, one.block_id, "") for one in inputs]
        elif any(one.stale_by for one in inputs):
            stale.add(run.block_id)
        found[run.block_id] = tuple(inputs)
    return found


@functools.lru_cache(1 << 15)
def _run_input(name: str, block_id: str, stale_by: str) -> RunInput:
    """The same one again: all runs are looked at after each, and few have changed."""
    return RunInput(name=name, block_id=block_id, stale_by=stale_by)


def chain(blocks: Sequence[Block], block_id: str) -> tuple[str, ...]:
    """What has to run again, in order, to have this block and all that follows from it as if nothing were stale: stale
    blocks that it uses, itself, and what uses them. Of several runs of one source, only the last one runs."""
    codes = [block for block in blocks if isinstance(block, CodeBlock) and block.state in ("ok", "error")]
    last = {block.source: block.id for block in codes}
    by_id = {block.id: block for block in codes if last[block.source] == block.id}
    now = {block.id: last[block.source] for block in codes}
    needed = {last[block.source] for block in codes if block.id == block_id}
    ahead = list(needed)
    while ahead:
        for one in by_id[ahead.pop()].inputs:
            maker = now.get(one.block_id, "")
            if now.get(one.stale_by) == maker and maker in by_id and maker not in needed:
                needed.add(maker)
                ahead.append(maker)
    count = 0
    while count < len(needed):  # what changed an input may come after it
        count = len(needed)
        for block in by_id.values():
            if any(now.get(one.block_id) in needed or now.get(one.stale_by) in needed for one in block.inputs):
                needed.add(block.id)
    ordered: dict[str, None] = {}
    ahead = [block for block in reversed(by_id) if block in needed]
    opened: set[str] = set()
    while ahead:  # each after what made its inputs, otherwise in their order
        at = ahead[-1]
        before = [now.get(one.stale_by or one.block_id, "") for one in by_id[at].inputs] if at not in opened else []
        opened.add(at)
        missing = [other for other in before if other in needed and other not in ordered and other not in opened]
        if missing:
            ahead += missing
        else:
            ordered[ahead.pop()] = None
    return tuple(ordered)


def has_run_code(blocks: Sequence[Block]) -> bool:
    """Whether there is code whose variables somebody may count on."""
    return any(isinstance(block, CodeBlock) and block.duration is not None for block in blocks)
