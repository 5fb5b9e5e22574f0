"""What the audit log costs a run, how long a look at a large folder takes, and the verification of a long log."""

import time
from pathlib import Path
from tempfile import TemporaryDirectory

from figures import ROUNDS, Budget, judge, spread, table

from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.events import DecisionMade, ExecutionFinished, ExecutionStarted
from oi_tui.app.engine.log.audit.auditor import Auditor
from oi_tui.app.engine.log.audit.records import Surroundings
from oi_tui.app.engine.log.audit.verify import verify_folder
from oi_tui.app.engine.trust.change_scan import FolderScanner

RUNS = 50 * ROUNDS
FILES, FOLDERS = 20_000, 400
BUDGET = 0.005


def audited(folder: Path) -> dict[str, list[float]]:
    """Seconds that the records of runs take: what a run waits for before it begins, and all of them."""
    where = Surroundings(cwd="/work", sandbox="workspace-write", network="none")
    auditor = Auditor(folder / "audit", where, "session")
    seconds: dict[str, list[float]] = {"before the run, on disk": [], "decision, run and end": []}
    block = CodeBlock(id="b", language="python", source="x = 1\n" * 40, state="proposed")
    for number in range(RUNS + 5):
        begun = time.perf_counter()
        auditor.take(DecisionMade(block_id="b", verdict="run", decider="person", source=block.source))
        decided = time.perf_counter()
        auditor.admit(ExecutionStarted(block_id="b", generation=1), block)
        admitted = time.perf_counter()
        auditor.take(ExecutionFinished(block_id="b", status="ok", duration=0.1))
        ended = time.perf_counter()
        auditor.note_files("b", changed=0, later=(), entries=0, cut="")  # while the model is asked
        if number >= 5:
            seconds["before the run, on disk"].append(admitted - decided)
            seconds["decision, run and end"].append(ended - begun)
    auditor.end()
    return seconds


def looked(folder: Path) -> list[float]:
    """Seconds of a look at a folder of many files, in which one has changed."""
    for number in range(FILES):
        path = folder / f"{number % FOLDERS}" / f"{number}.py"
        path.parent.mkdir(exist_ok=True)
        path.touch()
    watch = FolderScanner([folder])
    watch.look(time.time())
    seconds = []
    for _ in range(ROUNDS):
        since = time.time()
        (folder / "Makefile").write_text("all:")
        begun = time.perf_counter()
        left = watch.look(since)
        seconds.append(time.perf_counter() - begun)
        assert (left.later, left.cut) == (("Makefile",), ""), left
    return seconds


def main() -> None:
    """Measure and print the section."""
    with TemporaryDirectory(dir=Path.home()) as own:  # /tmp may be in memory, where nothing has to be synced
        folder = Path(own)
        seconds = audited(folder)
        begun = time.perf_counter()
        verdicts = verify_folder(folder / "audit")
        verified = time.perf_counter() - begun
        assert all(verdict.intact for verdict in verdicts), verdicts
        (folder / "work").mkdir()
        seconds[f"a look at {FILES:,} files, in a thread"] = looked(folder / "work")
    print("## Audit log\n")
    print(
        f"{RUNS} runs. Each is on disk before its code runs; its end is written at once, and synced with what the look"
    )
    print("at the folder finds, which goes on while the model is asked. Most of it is waiting for the disk.\n")
    print(table(("ms", "p50", "p90", "p99", "max"), [(name, *spread(own)) for name, own in seconds.items()]))
    lines = sum(verdict.lines for verdict in verdicts)
    print(f"Verifying {lines:,} lines took {verified * 1000:.0f} ms.\n")
    before = sorted(seconds["before the run, on disk"])[RUNS // 2]
    measured = f"{before * 1000:.1f} ms"
    judge(Budget("audit log before a run", f"<= {BUDGET * 1000:.0f} ms", measured, before <= BUDGET))


if __name__ == "__main__":
    main()
