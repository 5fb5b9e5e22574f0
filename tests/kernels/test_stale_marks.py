"""Runs that used what another run changed since are marked as a real kernel and their sources tell, and run again."""

from pathlib import Path

import pytest

from oi_tui.app.engine.core.blocks import CodeBlock, NoticeBlock
from oi_tui.app.engine.core.events import NoticeAdded, RunTraced
from oi_tui.app.engine.core.protocol import Batch, Reply
from oi_tui.app.engine.core.verbs import Fork, Open, Rebuild, Restart, Run
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.pool import Kernels
from oi_tui.app.engine.testing import FakeModel
from oi_tui.app.engine.transcript.stale_runs import chain
from support.front import Front, engine

pytestmark = pytest.mark.kernel


async def ran(front: Front, source: str) -> None:
    """Until something is told of it, or through it of others: that is when the kernel has been asked."""
    await front.client.send(Run(language="python", source=source))

    def is_told(reply: Reply) -> bool:
        named = [event for event in reply.events if isinstance(event, RunTraced)] if isinstance(reply, Batch) else []
        last = codes(front)[-1] if codes(front) else None
        if last is None or last.source != source:
            return False
        return any(last.id in (event.block_id, *(one.stale_by for one in event.inputs)) for event in named)

    await front.until(is_told)


def block(front: Front, block_id: str) -> CodeBlock:
    found = front.transcript.block(block_id)
    assert isinstance(found, CodeBlock)
    return found


def codes(front: Front) -> list[CodeBlock]:
    return [one for one in front.transcript.blocks if isinstance(one, CodeBlock)]


def stale(front: Front) -> dict[str, str]:
    """Source of each stale run, with the names by which it is."""
    return {
        one.source: " ".join(used.name for used in one.inputs if used.stale_by) for one in codes(front) if one.is_stale
    }


async def test_R19_marks_follow_what_sources_and_the_kernel_tell(
    tmp_path: Path, kernel_environ: dict[str, str]
) -> None:
    launch = Launch(cwd=tmp_path, environ=kernel_environ)
    async with engine(tmp_path, FakeModel(), kernels=lambda ties: Kernels(launch)) as front:
        await front.client.send(Open())
        for source in ("import math\nrows = [1, 2]", "low = math.floor(1.5)", "big = [r for r in rows if r > low]"):
            await front.client.send(Run(language="python", source=source))
        await ran(front, "print(big)")
        assert [[used.name for used in one.inputs] for one in codes(front)] == [[], ["math"], ["low", "rows"], ["big"]]
        await ran(front, "low  # looked at")
        assert stale(front) == {}

        await ran(front, "rows.append(3)")
        assert stale(front) == {"big = [r for r in rows if r > low]": "rows", "print(big)": "big"}

        await ran(front, "exec('low' + ' = 2')")  # only the kernel knows
        assert stale(front)["big = [r for r in rows if r > low]"] == "low rows"
        await ran(front, "low = 2; rows")  # what it was
        assert [used.name for used in codes(front)[2].inputs if used.stale_by == codes(front)[-1].id] == []

        again = chain(front.transcript.blocks, codes(front)[3].id)
        assert [block(front, name).source for name in again] == ["big = [r for r in rows if r > low]", "print(big)"]
        await front.client.send(Rebuild(block_ids=again, here=True))
        await front.until(lambda reply: len(codes(front)) == 10 and codes(front)[-1].inputs != ())
        assert [one.source for one in codes(front)[-2:]] == ["big = [r for r in rows if r > low]", "print(big)"]
        assert stale(front) == {"low  # looked at": "low"}

        place = codes(front)[-1].id
        await front.client.send(Fork(block_id=place))  # the kernel goes on, and so does what is known of it
        await front.until(lambda reply: front.transcript.session_id != "" and isinstance(reply, Batch) and reply.replay)
        await ran(front, "rows = []\nrows")
        assert "rows" in stale(front)["big = [r for r in rows if r > low]"]

        await front.client.send(Restart(language="python"))
        await front.until(lambda reply: not any(one.inputs for one in codes(front)))  # nothing is left to be stale


async def test_R19_what_fails_ends_the_runs_and_is_told(tmp_path: Path, kernel_environ: dict[str, str]) -> None:
    launch = Launch(cwd=tmp_path, environ=kernel_environ)
    async with engine(tmp_path, FakeModel(), kernels=lambda ties: Kernels(launch)) as front:
        await front.client.send(Open())
        for source in ("n = 1", "1 / n", "n + 1"):
            await front.client.send(Run(language="python", source=source))
        await ran(front, "n = 0")
        again = chain(front.transcript.blocks, codes(front)[0].id)
        assert len(again) == 3
        await front.client.send(Rebuild(block_ids=(codes(front)[1].id, codes(front)[2].id), here=True))
        await front.until_event(NoticeAdded)
        (notice,) = (one for one in front.transcript.blocks if isinstance(one, NoticeBlock))
        assert (notice.title, notice.details) == ("Ran 1 of 2 cells again, then stopped.", "1 / n: error")
        assert [one.source for one in codes(front)].count("n + 1") == 1
