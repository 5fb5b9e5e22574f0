"""A small slice of `make redteam` with a fixed seed, so that it cannot rot; that it finds what is open; and what it
found and is not mended yet."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from redteam.__main__ import describe, kinds
from redteam.attempts import Attack, Order, Tally, Through
from redteam.conversations import CONVERSATION_KINDS
from redteam.probes import Prober, Sentinels, changes
from redteam.rules import RULE_KINDS, run_python

from oi_tui.app.engine.kernels.jupyter import JupyterKernel
from oi_tui.app.engine.kernels.launch import Launch
from support.bash_stubs import EVADING_PROGRAMS, Bash
from support.enclosure import profile, why_no_rung
from support.runs import collect

SEED = "20261122"
SLICE = {
    "nesting": 6,
    "servers of models": 0,
    "imports that were tampered with": 15,
    "text that commands terminals": 30,
}
"""Attempts where the usual number would take too long; none of servers, which load LiteLLM."""
USUAL = 60

pytestmark = pytest.mark.timeout(120)


def order(kind: str, most: int = USUAL) -> Order:
    return Order(kind, SEED, 10.0, most=most)


@pytest.mark.parametrize("kind", [*RULE_KINDS, *CONVERSATION_KINDS])
def test_a_slice_of_each_kind_gets_nothing_through(kind: str) -> None:
    most = SLICE.get(kind, USUAL)
    if not most:
        assert kind in {one.name for one in kinds()}
        return
    attack = Attack(order(kind, most))
    (RULE_KINDS | CONVERSATION_KINDS)[kind](attack)
    assert attack.tally.told == []
    assert 0 < attack.tally.attempts <= most


def test_an_attempt_is_the_same_each_time() -> None:
    first, again = (Attack(order("nesting")).chance(7).random() for _ in range(2))
    assert first == again != Attack(order("nesting")).chance(8).random()


def test_what_runs_is_seen_by_whoever_watches_it() -> None:
    assert any("os.remove" in did for did in run_python("import os; os.remove('x')"))
    assert any("config" in did for did in run_python("open('.git/config', 'w')"))
    assert run_python("print(1)") == []
    assert "ran-rm" in Bash(*EVADING_PROGRAMS).run("env rm x")[1]


def test_what_got_through_is_told_with_the_way_to_repeat_it() -> None:
    tally = Tally(attempts=3, got_through=1, told=[Through(2, "it ran rm")], note="of three")
    text = describe({"a kind": tally}, "5", 1.0)
    assert "| a kind | 3 | 2 | 1 |" in text
    assert "it ran rm `make redteam SEED=5 KIND='a kind' ATTEMPT=2`" in text


# -- the sandbox


@pytest.fixture
def sentinels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sentinels]:
    """Of a scene of its own; their process ends with it."""
    with TemporaryDirectory(prefix="red-", dir="/tmp") as runtime, ExitStack() as stack:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        yield Sentinels(tmp_path, stack, weaker=False)


@pytest.mark.kernel
@pytest.mark.sandbox
async def test_a_hole_that_is_left_open_on_purpose_is_found(sentinels: Sentinels, rung: str) -> None:
    sentinels.listen()
    prober = Prober(Attack(order("sandbox")), rung, sentinels, writable=(sentinels.out,))
    before = sentinels.state()
    try:
        found = await prober.batch(0, 80, 4.0)
        after = sentinels.state()
    finally:
        await prober.close()
    assert [what for _, what, got in found if got] == []
    different = changes(before, after)
    assert different
    assert [change for change in different if str(sentinels.out) not in change] == []


async def tried_in_lock(sentinels: Sentinels, source: str) -> None:
    """Run a source in the lock, the weakest kind of sandbox."""
    if reason := why_no_rung("lock"):
        pytest.skip(reason)
    kernel = JupyterKernel(Launch(cwd=sentinels.work, sandbox=profile(sentinels.work, sentinels.home, rung="lock")))
    try:
        await collect(kernel, source)
    finally:
        await kernel.close()


@pytest.mark.kernel
@pytest.mark.parametrize(
    "call",
    [
        "os.chmod(name, 0o4755)",
        "os.chmod(os.open(name, os.O_RDONLY), 0o4755)",
        "resource.prlimit(pid, resource.RLIMIT_NOFILE, (0, 0))",
        "os.setpriority(os.PRIO_PROCESS, pid, 19)",
    ],
)
async def test_S17_S27_in_the_lock_no_program_becomes_its_owners_and_other_processes_keep_their_limits(
    sentinels: Sentinels, call: str
) -> None:
    sentinels.listen()
    before = sentinels.state()
    known = f"name, pid = {str(sentinels.out / 'file')!r}, {sentinels.process.pid}"
    await tried_in_lock(sentinels, f"import os, resource\n{known}\n{call}")
    assert changes(before, sentinels.state()) == []
