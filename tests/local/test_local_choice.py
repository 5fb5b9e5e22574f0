"""Choosing a model is a pure function of the machine; measuring honours the limits of containers."""

from pathlib import Path

import pytest

from oi_tui.app.engine.local.catalogue import GB, MB
from oi_tui.app.engine.local.model_choice import MachineResources, choose_model, measure_machine


@pytest.mark.parametrize(
    ("machine", "chosen", "why"),
    [
        (
            MachineResources(cores=2, free=20 * GB),
            "qwen2.5-coder-1.5b",
            "Qwen2.5-Coder 1.5B: this machine has 2 cores and 20 GB of memory free; it needs 2.0 GB.",
        ),
        (
            MachineResources(cores=8, free=2_500 * MB),
            "qwen2.5-coder-0.5b",
            "Qwen2.5-Coder 0.5B: this machine has 8 cores and 2.5 GB of memory free; it needs 710 MB.",
        ),
        (
            MachineResources(cores=1, free=20 * GB),
            "qwen2.5-coder-0.5b",
            "Qwen2.5-Coder 0.5B: this machine has 1 core and 20 GB of memory free; a larger model would be too slow.",
        ),
        (
            MachineResources(cores=4, free=400 * MB),
            "qwen2.5-coder-0.5b",
            "Qwen2.5-Coder 0.5B, the smallest: this machine has 4 cores and 400 MB of memory free; "
            "it needs 710 MB, so close other programs first.",
        ),
    ],
)
def test_the_machine_decides_and_one_sentence_says_why(machine: MachineResources, chosen: str, why: str) -> None:
    choice = choose_model(machine)
    assert choice.model.id == chosen
    assert choice.why == why


def test_this_machine_can_be_measured() -> None:
    machine = measure_machine()
    assert machine.cores >= 1
    assert machine.free > 0


def test_a_container_of_cgroup_2_limits_memory_and_cores(tmp_path: Path) -> None:
    own = tmp_path / "fs" / "docker" / "abc"
    own.mkdir(parents=True)
    (tmp_path / "cgroup").write_text("0::/docker/abc\n")
    (own / "memory.max").write_text("max\n")
    (own / "cpu.max").write_text("100000 100000\n")
    parent = own.parent
    (parent / "memory.max").write_text("1000000\n")
    (parent / "memory.current").write_text("900000\n")
    (parent / "memory.stat").write_text("anon 600000\ninactive_file 300000\n")
    assert measure_machine(tmp_path / "cgroup", tmp_path / "fs") == MachineResources(cores=1, free=400_000)


def test_a_container_of_cgroup_1_limits_memory(tmp_path: Path) -> None:
    own = tmp_path / "fs" / "memory" / "job"
    own.mkdir(parents=True)
    (tmp_path / "cgroup").write_text("9:name=systemd:/\n4:memory:/job\n")
    (own / "memory.limit_in_bytes").write_text("1000000\n")
    (own / "memory.usage_in_bytes").write_text("900000\n")
    assert measure_machine(tmp_path / "cgroup", tmp_path / "fs").free == 100_000


def test_no_limit_is_no_limit(tmp_path: Path) -> None:
    free = measure_machine(tmp_path / "cgroup", tmp_path).free
    assert free > 10_000_000
