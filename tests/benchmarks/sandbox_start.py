"""What the sandbox adds to the start of a kernel, and what lending ipykernel to an environment does: from nothing to a
kernel that answers, with its proof."""

import asyncio
import os
import statistics
import time
import venv
from pathlib import Path
from tempfile import TemporaryDirectory

from figures import ROUNDS, Budget, judge, middle, table

from oi_tui.app.engine.core.settings import SandboxSection
from oi_tui.app.engine.environments.environment import PythonEnvironment, environment_at, own_environment
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.pool import Kernels
from oi_tui.app.engine.sandbox.profile import Profile
from oi_tui.app.engine.sandbox.profile_choice import chosen_profile
from support.terminal import clean_env

BUDGET = 0.08
LENDING = 1.25
"""A start with what is lent, in starts of ours."""
LANGUAGES = ("python", "shell")


async def start(
    language: str, folder: Path, sandbox: Profile | None, python: PythonEnvironment | None = None
) -> tuple[float, float]:
    """Seconds of a start, and of the end after it; in our own environment if in no other."""
    kernels = Kernels(Launch(cwd=folder, sandbox=sandbox, python=python or own_environment()))
    begun = time.perf_counter()
    async with asyncio.timeout(60):
        await kernels.get(language).start()
    started = time.perf_counter()
    await kernels.close()
    return started - begun, time.perf_counter() - started


async def measured(folder: Path) -> dict[tuple[str, str], list[tuple[float, float]]]:
    """Of every kernel without and with, by turns, after a warm-up."""
    network = SandboxSection(network="hosts", hosts=("example.org",))
    kinds = {
        "no sandbox": None,
        "bubblewrap": chosen_profile(SandboxSection(rung="bubblewrap"), folder),
        "space": chosen_profile(SandboxSection(rung="space"), folder),
        "lock": chosen_profile(SandboxSection(rung="lock"), folder),
        "sandbox with allowed hosts": chosen_profile(network, folder),
    }
    seconds: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for number in range(ROUNDS + 1):
        for language in LANGUAGES:
            for name, sandbox in kinds.items():
                taken = await start(language, folder, sandbox)
                if number:
                    seconds.setdefault((language, name), []).append(taken)
    return seconds


async def measured_abroad(folder: Path) -> tuple[list[float], list[float]]:
    """Starts in our environment and in another one of the same version to which ipykernel is lent, by turns."""
    venv.create(folder / ".venv", symlinks=True)
    other = environment_at(folder / ".venv")
    assert other is not None
    assert not other.has_ipykernel
    ours: list[float] = []
    lent: list[float] = []
    for number in range(ROUNDS + 1):
        for seconds, python in ((ours, None), (lent, other)):
            taken, _ = await start("python", folder, chosen_profile(SandboxSection(), folder), python)
            if number:
                seconds.append(taken)
    return ours, lent


def main() -> None:
    """Measure in a home of its own and print the section."""
    with TemporaryDirectory() as home:
        os.environ.clear()
        os.environ.update(clean_env(Path(home)))
        work = Path(home, "work")
        work.mkdir()
        seconds = asyncio.run(measured(work))
        abroad = Path(home, "abroad")
        abroad.mkdir()
        ours, lent = asyncio.run(measured_abroad(abroad))
    rows = []
    for (language, name), taken in seconds.items():
        starts, ends = zip(*taken, strict=True)
        bare = statistics.median(start for start, _ in seconds[language, "no sandbox"])
        more = f"{(statistics.median(starts) - bare) * 1000:+.0f}"
        rows.append((language, name, middle(starts), more, middle(ends)))
    print("## Start of a kernel in the sandbox\n")
    print(
        f"{ROUNDS} starts of each by turns: median and (minimum). The proof of every promise is part of it; which kind"
    )
    print("of sandbox works here is found out once, before.")
    print(f"Budget: {BUDGET * 1000:.0f} ms more than without.\n")
    print(table(("kernel", "", "start, ms", "more", "end, ms"), rows))
    most = max(
        statistics.median(start for start, _ in seconds[language, name])
        - statistics.median(start for start, _ in seconds[language, "no sandbox"])
        for language in LANGUAGES
        for name in ("bubblewrap", "space", "lock")
    )
    limit = f"<= {BUDGET * 1000:.0f} ms more than without"
    judge(Budget("start of a kernel in the sandbox", limit, f"{most * 1000:.0f} ms", most <= BUDGET))
    ratio = statistics.median(lent) / statistics.median(ours)
    print("## Start of a Python kernel in an environment of the person\n")
    print(
        f"{ROUNDS} starts of each by turns, in the sandbox: median and (minimum). The other environment is a fresh one"
    )
    print("of the same version without ipykernel, which is lent to it.\n")
    compared = [("ours", middle(ours), "1.00"), ("another, ipykernel lent", middle(lent), f"{ratio:.2f}")]
    print(table(("environment", "start, ms", "ratio"), compared))
    limit = f"<= {LENDING:.2f} times ours"
    judge(Budget("start of a kernel in another environment", limit, f"{ratio:.2f} times", ratio <= LENDING))


if __name__ == "__main__":
    main()
