"""What the guard of names costs code that makes many files, in the same sandbox with it and without: in memory, where
nothing else takes long."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from figures import table

from oi_tui.app.engine.kernels.jupyter import JupyterKernel
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.sandbox import guarding
from support.enclosure import make_home, profile
from support.runs import collect

ROUNDS = 3

TASKS = {
    "10,000 files by Python": (10_000, "for n in range(10_000):\n    with open(f'f{n}', 'w') as file: file.write('x')"),
    "the same again, over what is there": (
        10_000,
        "for n in range(10_000):\n    with open(f'f{n}', 'w') as f: f.write('y')",
    ),
    "tar x of 5,000 files": (5_000, "run('mkdir out && tar xf ../t.tar -C out')"),
    "cp -a of 5,000 files": (5_000, "run('cp -a out copy')"),
    "rm -r of these": (5_000, "run('rm -r copy')"),
    "1,000 commits to SQLite": (
        1_000,
        "import sqlite3\ndb = sqlite3.connect('db')\ndb.execute('create table t (n)')\n"
        "for n in range(1_000):\n    db.execute('insert into t values (?)', (n,)); db.commit()",
    ),
    "git init, add, commit of 1,000 files": (
        1_000,
        "os.makedirs('repository/sub')\n"
        "for n in range(1_000): open(f'repository/sub/{n}', 'w').write(str(n))\n"
        "run('cd repository && git init -q && git add . && git -c user.name=a -c user.email=b commit -qm x')",
    ),
    "100 starts of a program with >/dev/null": (100, "for n in range(100): run('/bin/true >/dev/null')"),
}
BEGINNING = """
import os, subprocess, tempfile, time
def run(text): subprocess.run(text, shell=True, check=True)
begun_in, top = os.getcwd(), tempfile.mkdtemp(dir='.')
os.chdir(top)
os.mkdir('all')
for n in range(5_000):
    with open(f'all/{n}', 'w') as file: file.write('x' * 100)
run('tar cf t.tar all')
os.mkdir('work'); os.chdir('work')
"""
END = "os.chdir(begun_in); run(f'rm -r {top}')"


async def measured(folder: Path) -> dict[str, float]:
    """Seconds of each task."""
    (folder / "work").mkdir(exist_ok=True)
    sandbox = profile(folder / "work", make_home(folder / "home"), rung="space")
    kernel = JupyterKernel(Launch(cwd=folder / "work", sandbox=sandbox))
    seconds = {}
    try:
        await collect(kernel, BEGINNING)
        for name, (_, source) in TASKS.items():
            timed = f"os.sync(); begun = time.perf_counter()\n{source}\nprint(time.perf_counter() - begun)"
            run = await collect(kernel, timed)
            assert run.finished.status == "ok", run.events
            seconds[name] = float(run.text())
        await collect(kernel, END)
        return seconds
    finally:
        await kernel.close()


def main() -> None:
    """Print the section."""
    obstacle = guarding.guard_obstacle
    taken: dict[bool, list[dict[str, float]]] = {True: [], False: []}
    with TemporaryDirectory(dir="/dev/shm") as folder:
        for _ in range(ROUNDS):
            for guarded in (True, False):
                guarding.guard_obstacle = obstacle if guarded else lambda *_: "measured without"
                taken[guarded].append(asyncio.run(measured(Path(folder))))
    rows = []
    for name, (count, _) in TASKS.items():
        with_it, without = (min(each[name] for each in taken[guarded]) for guarded in (True, False))
        rows.append(
            (
                name,
                f"{without:.2f}",
                f"{with_it:.2f}",
                f"{with_it / without:.1f}",
                f"{(with_it - without) / count * 1e6:.0f}",
            )
        )
    print("## The guard of names\n")
    print(table(("task", "without, s", "with, s", "ratio", "more for each, µs"), rows))


if __name__ == "__main__":
    main()
