"""From a real program to the screen's and the model's words: output of any length, by the transcript."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from oi_tui.app.engine.agent.execution import Execution, no_seal
from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.events import AnyEvent, CodeFinished, CodeStarted, OutputTailMoved
from oi_tui.app.engine.core.outputs import StreamOutput
from oi_tui.app.engine.kernels.shell_kernel import ShellKernel
from oi_tui.app.engine.text.mime import report
from oi_tui.app.engine.transcript.coalesce import coalesce
from oi_tui.app.engine.transcript.transcript import Transcript

pytestmark = [pytest.mark.kernel, pytest.mark.asyncio(loop_scope="module")]

MakeShell = Callable[..., ShellKernel]


async def run(kernel: ShellKernel, source: str) -> tuple[CodeBlock, list[AnyEvent]]:
    """The block as it is after the run, and what happened."""
    block = CodeBlock(id="c", language="shell", source=source, state="proposed")
    events: list[AnyEvent] = [
        CodeStarted(block_id="c", language="shell"),
        CodeFinished(block_id="c", language="shell", source=source),
    ]
    execution = Execution(block, kernel, events.append, no_seal, can_ask=False, clock=time.monotonic)
    async with asyncio.timeout(60):
        await execution.run()
    transcript = Transcript()
    for event in coalesce(events):
        transcript.apply(event)
    ran = transcript.block("c")
    assert isinstance(ran, CodeBlock)
    return ran, events


async def test_L14_a_million_lines_reach_the_model_by_their_ends_and_the_user_by_a_file(
    make_shell: MakeShell, tmp_path: Path
) -> None:
    block, events = await run(make_shell(spill_dir=tmp_path), "seq 1 1000000; echo failed >&2")
    told = report(block, 12_000)
    assert told.startswith("1\n2\n3\n")
    assert told.endswith("999999\n1000000\nfailed")
    assert block.whole is not None
    assert f"lines left out; all of the output is in the file {block.whole.path}" in told
    lines = Path(block.whole.path).read_text().splitlines()
    assert sorted(lines) == sorted(["failed", *map(str, range(1, 1_000_001))])
    assert sum(isinstance(event, OutputTailMoved) for event in events) < 100
    kept = sum(len(output.text) + 32_768 for output in block.outputs if isinstance(output, StreamOutput))
    assert kept < 200_000


async def test_R8_stdout_and_stderr_of_a_long_run_stay_apart(make_shell: MakeShell, tmp_path: Path) -> None:
    source = "for n in $(seq 1 3000); do printf '\\r%d%%' $n >&2; echo line $n; done"
    block, _ = await run(make_shell(spill_dir=tmp_path), source)
    written = {"stdout": "", "stderr": ""}
    for output in block.outputs:
        assert isinstance(output, StreamOutput)
        written[output.name] += output.text
    assert len(block.outputs) <= 100
    assert written == {
        "stdout": "".join(f"line {n}\n" for n in range(1, 3_001)),
        "stderr": "".join(f"\r{n}%" for n in range(1, 3_001)),
    }
