"""Plugins as pip or a person would have put them there."""

import hashlib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from oi_tui.plugins.decisions_file import plugin_decisions
from oi_tui.plugins.finding import find_plugin
from oi_tui.plugins.host import load_screen_hooks
from oi_tui.widgets.timeline.outputs import registry


def install(folder: Path, name: str, modules: Mapping[str, str], points: Mapping[str, str]) -> None:
    """Put a package with these modules and entry points into a folder of packages."""
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    about = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nAuthor: Ada\nSummary: Tells tales.\n"
    (info / "METADATA").write_text(about)
    entries = "\n".join(f"{point} = {value}" for point, value in points.items())
    (info / "entry_points.txt").write_text(f"[oi_tui.plugins]\n{entries}\n")
    for module, source in modules.items():
        (folder / f"{module}.py").parent.mkdir(exist_ok=True)
        (folder / f"{module}.py").write_text(source)
    record(folder, name, modules)


def install_stranger(folder: Path) -> None:
    """The package with every hook, enabled."""
    sources = Path(__file__).parents[1] / "plugins" / "stranger" / "oi_tui_stranger"
    modules = {f"oi_tui_stranger/{path.stem}": path.read_text() for path in sources.glob("*.py")}
    points = {"engine": "oi_tui_stranger.engine", "screen": "oi_tui_stranger.screen"}
    install(folder, "oi-tui-stranger", modules, points)
    enable("oi-tui-stranger")


def record(folder: Path, name: str, modules: Mapping[str, str]) -> None:
    """Write down the hashes of the modules, as an installer does."""
    digests = {module: hashlib.sha256(source.encode()).hexdigest() for module, source in modules.items()}
    lines = [f"{module}.py,sha256={digest}," for module, digest in digests.items()]
    (folder / f"{name.replace('-', '_')}-1.0.dist-info" / "RECORD").write_text("\n".join(lines) + "\n")


def enable(name: str) -> None:
    """As the person does who has looked at it."""
    found = find_plugin(name)
    assert found is not None, name
    plugin_decisions().decide(name, "enabled", found.digest)


@contextmanager
def plugin_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A person with no plugins yet; yields a folder of packages on `sys.path`. What was imported is forgotten at the
    end."""
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / name.lower()))
    packages = home / "packages"
    packages.mkdir(parents=True)
    monkeypatch.syspath_prepend(packages)
    before = set(sys.modules)
    _forget()
    try:
        yield packages
    finally:
        _forget()
        for name in set(sys.modules) - before:
            file = getattr(sys.modules[name], "__file__", None)
            if file is not None and os.path.realpath(file).startswith(os.path.realpath(home)):
                del sys.modules[name]


def _forget() -> None:
    registry.plugin_renderers.cache_clear()
    load_screen_hooks.cache_clear()
