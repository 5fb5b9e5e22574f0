"""Which embedded model suits this machine: measured by `measure_machine`, decided by the pure `choose_model`."""

import os
from pathlib import Path
from typing import NamedTuple

import psutil

from oi_tui.app.engine.local.catalogue import GB, LocalModel, offered_models
from oi_tui.app.engine.text.words import coarse_size, plural

HEADROOM = 1 * GB
"""Left for the kernel, the screen and everything else that runs."""
FEWEST_CORES = 2
"""With fewer, only the smallest model answers at a bearable pace."""


class MachineResources(NamedTuple):
    """Resources that a model server may use here."""

    cores: int
    free: int
    """Bytes of memory that can be had without swapping."""


class ModelChoice(NamedTuple):
    """A model, and one plain sentence that says why."""

    model: LocalModel
    why: str


def choose_model(machine: MachineResources) -> ModelChoice:
    """The best model that fits with room to spare, else the smallest one."""
    models = offered_models()
    smallest = min(models, key=lambda model: model.memory)
    best = next((model for model in models if model.memory + HEADROOM <= machine.free), smallest)
    cores = f"{machine.cores} {plural(machine.cores, 'core')}"
    here = f"this machine has {cores} and {coarse_size(machine.free)} of memory free"
    if machine.cores < FEWEST_CORES and best is not smallest:
        return ModelChoice(smallest, f"{smallest.title}: {here}; a larger model would be too slow.")
    needs = f"it needs {coarse_size(best.memory)}"
    if best.memory > machine.free:
        return ModelChoice(best, f"{best.title}, the smallest: {here}; {needs}, so close other programs first.")
    return ModelChoice(best, f"{best.title}: {here}; {needs}.")


def measure_machine(cgroup: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> MachineResources:
    """Cores and memory that this process may use, a container's limits included."""
    free = psutil.virtual_memory().available
    limits = [room for folder in _memory_folders(cgroup, root) if (room := _room(folder)) is not None]
    return MachineResources(cores=_cores(cgroup, root), free=max(0, min([free, *limits])))


def _cores(cgroup: Path, root: Path) -> int:
    physical = psutil.cpu_count(logical=False) or os.cpu_count() or 1
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else physical
    quotas = [quota for folder in _folders(cgroup, root, "") if (quota := _quota(folder / "cpu.max")) is not None]
    return max(1, min([physical, allowed, *quotas]))


def _quota(file: Path) -> int | None:
    match _read(file).split():
        case [quota, period] if quota.isdigit() and period.isdigit() and int(period):
            return max(1, int(quota) // int(period))
        case _:
            return None


def _room(folder: Path) -> int | None:
    """What the group's limit leaves: limit less use, where cached files count as free."""
    for limit_name, use_name, cached_name in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        limit, use = _read(folder / limit_name).strip(), _read(folder / use_name).strip()
        if limit.isdigit() and use.isdigit():
            stat = dict(line.split(" ", 1) for line in _read(folder / "memory.stat").splitlines() if " " in line)
            return int(limit) - int(use) + int(stat.get(cached_name, "0"))
    return None


def _memory_folders(cgroup: Path, root: Path) -> list[Path]:
    return [*_folders(cgroup, root, ""), *_folders(cgroup, root / "memory", "memory")]


def _folders(cgroup: Path, root: Path, controller: str) -> list[Path]:
    """This process's group and the groups above it ("" is version 2), innermost first; none outside Linux."""
    for line in _read(cgroup).splitlines():
        match line.split(":", 2):
            case [_, controllers, path] if controller in controllers.split(","):
                own = root / path.strip("/")
                return [own, *(parent for parent in own.parents if parent.is_relative_to(root))]
            case _:
                continue
    return []


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
