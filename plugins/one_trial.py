"""The process of one trial, `python -m oi_tui.plugins.one_trial PROCESS REFERENCE`: what a plugin has."""

import hashlib
import sys
import time
from pathlib import Path
from pkgutil import resolve_name

from oi_tui.app.engine.hooks.calling import Hooks
from oi_tui.plugins.finding import SPECS, Process, read_plugin_file
from oi_tui.plugins.host import import_file


def tell_plugin(process: Process, reference: str) -> tuple[list[str], bool]:
    """Import it, call what registers, and tell what it has; whether all is well."""
    began = time.perf_counter()
    if reference.endswith(".py"):
        digest = hashlib.sha256(read_plugin_file(Path(reference)).encode()).hexdigest()
        plugin: object = import_file(Path(reference), digest)
    else:
        plugin = resolve_name(reference)
    lines = [f"{process}: {reference}, imported in {(time.perf_counter() - began) * 1000:.0f} ms"]
    hooks = Hooks(SPECS[process], [(reference, plugin)])
    for name in (name for names in hooks.plugins.values() for name in names):
        count = ""
        if name.startswith("register_"):
            for _, given in hooks.results(name):
                count = f", {len(given)} of them" if hasattr(given, "__len__") else ""
        lines.append(f"  {name}{count}")
    lines += [f"  ! {trouble.title} {trouble.detail}" for trouble in hooks.troubles]
    if not hooks.plugins:
        lines.append("  ! it has no hook of this process")
    return lines, bool(hooks.plugins) and not hooks.troubles


if __name__ == "__main__":
    told, passed = tell_plugin("screen" if sys.argv[1] == "screen" else "engine", sys.argv[2])
    sys.stdout.write("\n".join(told) + "\n")
    raise SystemExit(0 if passed else 1)
