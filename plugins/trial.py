"""Tries a plugin in processes of their own: what it has, how long its import takes, and its own tests."""

import os
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.plugins.decisions_file import plugin_decisions
from oi_tui.plugins.finding import GROUP, PROCESSES, find_plugin, plugin_of_text, read_plugin_file

LONGEST = 300.0
"""Seconds for the tests."""


def try_target(target: str) -> tuple[list[str], bool]:
    """The report about an enabled plugin, a file or a package's folder, and whether it has no fault."""
    path = Path(target)
    known = find_plugin(target) if path.name == target else None  # no folder that we are in has a plugin's name
    if known is None and path.is_dir():
        return _try_folder(path.absolute())
    if known is None and path.suffix == ".py" and path.is_file():
        found = plugin_of_text(path, read_plugin_file(path.absolute()))
        if found.fault:
            return [f"{target}: {found.fault}"], False
        points = [(process, str(path.absolute())) for process in found.loads]
        return _import_all(points, None)
    if known is None:
        raise SettingsError(f"There is no plugin, file or folder {target}.")
    if known.state(plugin_decisions().all().get(known.name)) != "enabled":
        raise SettingsError(f"{known.name} is not enabled, so nothing of it is imported.", hint="oi-tui plugins enable")
    points = [(process, reference) for process, references in known.loads.items() for reference in references]
    if known.kind == "file":
        points = [(process, known.place) for process in known.loads]
    return _import_all(points, None)


def _try_folder(folder: Path) -> tuple[list[str], bool]:
    try:
        project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
        points = project["project"]["entry-points"][GROUP]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SettingsError(f'{folder}: no pyproject.toml with [project.entry-points."{GROUP}"].') from error
    wrong = [name for name in points if name.partition(".")[0] not in PROCESSES]
    if wrong:
        return [f"The entry point {wrong[0]} says neither engine nor screen."], False
    sources = folder / "src" if (folder / "src").is_dir() else folder
    lines, passed = _import_all([(name.partition(".")[0], str(value)) for name, value in points.items()], sources)
    tests = folder / "tests"
    if passed and tests.is_dir():
        command = ["pytest", "-q", str(tests)] if find_spec("pytest") else ["unittest", "discover", "-s", str(tests)]
        told, passed = _run(["-m", *command], sources, folder)
        lines += told
    return lines, passed


def _run(words: list[str], sources: Path | None, cwd: Path | None = None) -> tuple[list[str], bool]:
    """What a process wrote, and whether it ended well."""
    paths = [str(sources)] * (sources is not None) + [os.environ.get("PYTHONPATH", "")]
    environ = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    try:
        ended = subprocess.run(
            [sys.executable, *words],
            env=environ,
            cwd=cwd,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LONGEST,
            text=True,
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        return [f"It took longer than {LONGEST:.0f} s."], False
    return ended.stdout.strip().splitlines(), ended.returncode == 0


def _import_all(points: list[tuple[str, str]], sources: Path | None) -> tuple[list[str], bool]:
    command = ["-P", "-m", "oi_tui.plugins.one_trial"]  # nothing of the folder that we are in
    tried = [_run([*command, process, reference], sources) for process, reference in points]
    return [line for lines, _ in tried for line in lines], all(passed for _, passed in tried)
