"""What undo of code costs a run that changes nothing, and one file, in folders of 100, 10,000 and 100,000 files: CPU
seconds of the engine's process, which sees the folder before and after each run."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from figures import table

from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.sandbox.profile import Profile
from oi_tui.app.engine.testing import FakeKernels
from oi_tui.app.engine.tools.ties import ToolTies
from oi_tui.app.engine.workspace.checkpoints import Checkpoints
from oi_tui.app.engine.workspace.kept_folder import KeepLimits
from oi_tui.app.engine.workspace.run_changes import keep_changes

COUNTS, ROUNDS = (100, 10_000, 100_000), 9

LIMITS = KeepLimits(20_000, 20_000_000, 200_000_000)
"""Those of the settings."""


def fill(folder: Path, count: int) -> None:
    """So many files of 2 kB, fifty in a folder."""
    for number in range(count):
        if number % 50 == 0:
            (folder / f"d{number // 50}").mkdir(parents=True)
        (folder / f"d{number // 50}" / f"f{number}.txt").write_text("x" * 2_000)
    (folder / ".gitignore").write_text("*.pyc\nbuild/\n")


async def run_costs(folder: Path, data: Path, count: int) -> list[float]:
    """Milliseconds of CPU: of the first run, of one that changes nothing, of one that writes a file; and MB kept."""
    blocks = [CodeBlock(id="run", language="python")]
    ties = ToolTies(
        session_id=lambda: f"of {count}", blocks=lambda: blocks, emit=lambda event: None, kernels=FakeKernels()
    )
    sandbox = Profile(mode="workspace-write", workspace=folder, home=data)
    changes = keep_changes(sandbox, Checkpoints(data), LIMITS, [data])(ties)

    async def cost(work: Callable[[], object]) -> float:
        begun = time.process_time()
        await changes.begin("run", [])
        work()
        await changes.end("run")
        await changes.rest()
        return (time.process_time() - begun) * 1_000

    first = await cost(lambda: None)
    await changes.end("run")
    nothing = min([await cost(lambda: None) for _ in range(ROUNDS)])
    written = min([await cost(lambda: (folder / "made.txt").write_text(str(time.time()))) for _ in range(ROUNDS)])
    kept = sum(path.stat().st_size for path in data.rglob("*") if path.is_file()) / 1e6
    return [first, nothing, written, kept]


async def main() -> None:
    """Measure and print."""
    rows = []
    for count in COUNTS:
        with TemporaryDirectory() as name:
            folder = Path(name, "work")
            fill(folder, count)
            figures = await run_costs(folder, Path(name, "data"), count)
            rows.append([f"{count:,} files", *(f"{figure:.1f}" for figure in figures)])
    head = ["folder", "first run, CPU ms", "a run that changes nothing", "that writes a file", "MB on disk"]
    print("## Undo of what code changed\n")
    print(table(head, rows))


if __name__ == "__main__":
    asyncio.run(main())
