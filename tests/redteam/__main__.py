"""Attacks of all kinds in bounded time, by a seed: prints what held and what got through, and writes RESULTS.md.

    make redteam [SEED=n] [SECONDS=n]           # all kinds, and the section of tests/benchmarks/RESULTS.md
    make redteam SEED=n KIND="..." ATTEMPT=n    # one attempt again

Each kind runs in a process of its own, as many at a time as there are cores.
"""

import argparse
import asyncio
import os
import platform
import random
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from tempfile import TemporaryDirectory
from typing import NamedTuple

import msgspec
from redteam.attempts import Attack, Order, Tally, Through
from redteam.conversations import CONVERSATION_KINDS
from redteam.kills import KILL_KINDS
from redteam.rules import RULE_KINDS

from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.shell_kernel import ShellKernel
from oi_tui.app.engine.sandbox.profile import Limits
from support.enclosure import profile, why_no_rung
from support.promises import LINUX_RUNGS
from support.runs import Collected
from support.unprivileged import ROOT, as_nobody, why_not_nobody

RESULTS = ROOT / "tests" / "benchmarks" / "RESULTS.md"
SECTION = "Red team"
GRACE = 90.0
"""Seconds that a kind may take beyond its time: to begin, for the last attempt, to end."""

OTHER = "as another user"
HERE = "as root" if os.getuid() == 0 else "as an ordinary user"


class Kind(NamedTuple):
    """One kind of attack."""

    name: str
    share: float
    """Of the time, against the others."""
    rung: str = ""
    """Of the sandbox that it is about, if it is about one."""
    other: bool = False


def kinds() -> list[Kind]:
    """All that there are, whether or not this machine has what they need."""
    users = ((HERE, False), (OTHER, True)) if os.getuid() == 0 else ((HERE, False),)
    probes = [Kind(f"sandbox {rung.name}, {who}", 3, rung.name, other) for rung in LINUX_RUNGS for who, other in users]
    rest = [Kind(name, 4 if name == "kills while a kernel starts" else 2) for name in KILL_KINDS]
    return [*probes, *rest, *(Kind(name, 2) for name in (*RULE_KINDS, *CONVERSATION_KINDS))]


def run_kind(kind: Kind, order: Order) -> Tally:
    """What came of it; a process that fails or does not end is a finding."""
    attempt = [] if order.only is None else [str(order.only)]
    given = [kind.name, order.seed, str(order.seconds), *attempt]
    with TemporaryDirectory(prefix="red-", dir="/tmp") as name:
        folder = Path(name)
        env = os.environ | {"PYTHONPATH": str(ROOT / "tests"), "TMPDIR": "/tmp", "PYTHONSAFEPATH": "1"}
        if kind.rung:
            if reason := why_no_rung(kind.rung):
                return Tally(note=reason)
            command = [sys.executable, "-m", "redteam.probes", kind.rung, str(folder), *given]
            if kind.other:
                if reason := why_not_nobody(folder):
                    return Tally(note=reason)
                command, env["HOME"] = as_nobody(command, writable=folder), str(folder)
        elif kind.name in RULE_KINDS:
            return asyncio.run(run_in_sandbox(given, folder, order.seconds + GRACE))
        else:
            command = [sys.executable, "-m", "redteam", "--one", *given]
        return run_program(command, env, folder, order.seconds + GRACE)


def run_program(command: Sequence[str], env: Mapping[str, str], folder: Path, limit: float) -> Tally:
    """The tally that a program prints at its end."""
    try:
        done = subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return Tally(got_through=1, told=[Through(-1, f"it did not end within {limit:.0f} s")])
    return read_tally(done.stdout, f"exit code {done.returncode}: {done.stderr[-400:]}")


def read_tally(said: str, otherwise: str) -> Tally:
    """The last line; without one, a finding."""
    try:
        return msgspec.json.decode(said.strip().rpartition("\n")[2], type=Tally)
    except msgspec.DecodeError:
        return Tally(got_through=1, told=[Through(-1, otherwise)])


async def run_in_sandbox(given: Sequence[str], folder: Path, limit: float) -> Tally:
    """What the policy lets run is run where it can do nothing. Without a sandbox it is not run at all."""
    rung = next((rung for rung in LINUX_RUNGS if rung.has_namespaces and not why_no_rung(rung.name)), None)
    if rung is None:
        return Tally(note="There is no sandbox to run it in: NOT TESTED")
    for part in ("work", "home"):
        (folder / part).mkdir()
    chosen = profile(folder / "work", folder / "home", readable=(ROOT,), rung=rung.name, limits=Limits())
    kernel, heard = ShellKernel(Launch(cwd=folder / "work", sandbox=chosen)), Collected()
    command = [sys.executable, "-m", "redteam.rules", *given]
    try:
        async with asyncio.timeout(limit):
            source = (
                f"PYTHONPATH={quote(str(ROOT / 'tests'))} {' '.join(map(quote, command))} 2>error || tail -c 400 error"
            )
            await kernel.run(source, "c", heard.take)
    except TimeoutError:
        return Tally(got_through=1, told=[Through(-1, f"it did not end within {limit:.0f} s")])
    finally:
        await kernel.close()
    return read_tally(heard.text(), heard.text()[-400:])


def run_one(given: Sequence[str]) -> None:
    """In a process of its own: print the tally."""
    kind, seed, seconds, *only = given
    attack = Attack(Order(kind, seed, float(seconds), int(only[0]) if only else None))
    (CONVERSATION_KINDS | KILL_KINDS)[kind](attack)
    print(msgspec.json.encode(attack.tally).decode())


def describe(tallies: Mapping[str, Tally], seed: str, took: float) -> str:
    """The section of RESULTS.md."""
    attempts = sum(tally.attempts for tally in tallies.values())
    through = sum(tally.got_through for tally in tallies.values())
    lines = [
        f"## {SECTION}\n",
        f"Written by `make redteam SEED={seed}`, last on {datetime.now(UTC):%Y-%m-%d}: Python "
        f"{platform.python_version()}, Linux {platform.release().partition('-')[0]}, {os.cpu_count()} shared cores, "
        f"{took:.0f} s. {attempts:,} attempts, {through:,} got through.\n",
        "| attack | attempts | held | got through | of which |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, tally in tallies.items():
        held = tally.attempts - tally.got_through - tally.known
        parts = ", ".join(f"{part} {count:,}" for part, count in sorted(tally.parts.items()))
        lines.append(f"| {name} | {tally.attempts:,} | {held:,} | {tally.got_through:,} | {parts.replace('|', '/')} |")
    notes = [f"- {name}: {tally.note}" for name, tally in tallies.items() if tally.note]
    known = sum(tally.known for tally in tallies.values())
    if known:
        notes.append(
            f"- {known:,} attempts (`known:` above) did what the lock does not promise to hold, which the sandbox's "
            "README says: neither held nor counted as got through."
        )
    for name, tally in tallies.items():
        for one in tally.told:
            again = f"`make redteam SEED={seed} KIND={quote(name)} ATTEMPT={one.attempt}`" if one.attempt >= 0 else ""
            what = one.what.replace("\n", "⏎")
            notes.append(f"- **got through**, {name}: {what} {again}")
    return "\n".join([*lines, "", *notes]).rstrip() + "\n"


def write_section(text: str) -> None:
    """In the place of the one before, or at the end."""
    head, *sections = RESULTS.read_text(encoding="utf-8").split("\n## ")
    kept = [section.rstrip() for section in sections if not section.startswith(f"{SECTION}\n")]
    whole = [head.rstrip(), *(f"## {section}" for section in kept), text.rstrip()]
    RESULTS.write_text("\n\n".join(whole) + "\n", encoding="utf-8")


def main() -> int:
    """The exit code: 1 if anything got through."""
    parser = argparse.ArgumentParser(description="Attack, and write a section of RESULTS.md.")
    parser.add_argument("--seed", default="")
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--kind", default="")
    parser.add_argument("--attempt", type=int)
    parser.add_argument("--dry", action="store_true", help="only print")
    parser.add_argument("--one", nargs="+", metavar="GIVEN", help="what a process of its own is told")
    options = parser.parse_args()
    if options.one:
        run_one(options.one)
        return 0
    seed = options.seed or str(random.SystemRandom().randrange(10**6))
    wanted = [kind for kind in kinds() if options.kind in ("", kind.name)]
    if not wanted:
        parser.error("there is no such kind; there are:\n" + "\n".join(kind.name for kind in kinds()))
    cores = os.cpu_count() or 1
    unit = options.seconds * cores / sum(kind.share for kind in wanted)
    begun = time.monotonic()
    found: dict[str, Tally] = {}

    def attack(kind: Kind) -> None:
        tally = found[kind.name] = run_kind(kind, Order(kind.name, seed, kind.share * unit, options.attempt))
        said = f"{tally.attempts:>8,} attempts, {tally.got_through} got through  {kind.name}  {tally.note}"
        print(said, *(f"    THROUGH {one.attempt}: {one.what}" for one in tally.told), sep="\n", flush=True)

    print(f"seed {seed}, about {options.seconds:.0f} s", flush=True)
    with ThreadPoolExecutor(cores) as pool:
        list(pool.map(attack, wanted))
    text = describe({kind.name: found[kind.name] for kind in wanted}, seed, time.monotonic() - begun)
    if not options.kind and not options.dry:
        write_section(text)
    print("\n" + text)
    return int(any(tally.got_through for tally in found.values()))


if __name__ == "__main__":
    sys.exit(main())
