"""Finds the installed plugins, without importing any of them.

A package has entry points in the group `oi_tui.plugins`; the name of each says which process imports it:

    [project.entry-points."oi_tui.plugins"]
    engine = "oi_tui_tale.engine"
    screen = "oi_tui_tale.screen"

A single file is in the person's folder of plugins, `~/.config/oi-tui/plugins/NAME.py`; the hooks that it defines say
which process imports it. Project folders never bring plugins.
"""

import ast
import hashlib
import os
import pwd
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.values import Value
from oi_tui.app.engine.files.owned_file import read_owned_file
from oi_tui.app.engine.files.paths import config_dir
from oi_tui.app.engine.hooks.calling import hook_names
from oi_tui.app.engine.hooks.specs import EngineHooks
from oi_tui.plugins.builtin import BUILT_IN
from oi_tui.plugins.code_digest import UnknownCode, digest_of_code
from oi_tui.plugins.decisions_file import PluginDecision
from oi_tui.plugins.screen_specs import ScreenHooks

if TYPE_CHECKING:
    from importlib import metadata  # with zipfile and email: who enabled no package of plugins goes without

GROUP = "oi_tui.plugins"
"""Of entry points."""

Process = Literal["engine", "screen"]
PROCESSES: tuple[Process, ...] = ("engine", "screen")

PluginState = Literal["enabled", "disabled", "not enabled", "changed"]
"""`changed`: it has changed since it was enabled, and is not loaded."""

SPECS: dict[Process, type] = {"engine": EngineHooks, "screen": ScreenHooks}


class FoundPlugin(Value, frozen=True, kw_only=True):
    """A plugin as found on the disk. All texts are a stranger's."""

    name: str
    """Of the package, or of the file with its ending; a built-in one has a name of its own, and a file of tools of a
    folder its path."""
    kind: Literal["built-in", "package", "file", "tools"]
    """`tools`: a file whose functions the model may call. It is never imported, and runs in the sandbox only."""
    version: str = ""
    author: str = ""
    summary: str = ""
    place: str = ""
    """Where its code is."""
    digest: str = ""
    """Of the file; of a package of its version, place and the hashes that its installer wrote down, or of its files."""
    loads: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """Process -> what it imports: `module` or `module:object`."""
    hooks: tuple[str, ...] = ()
    """Those that a file defines; of a package they are known when it is imported. Of a file of tools its functions."""
    declares: tuple[str, ...] = ()
    """What a file of tools says that its functions may do, in words."""
    editable: bool = False
    """Its code is in a folder that may change without being noticed."""
    fault: str = ""
    """Why it cannot be enabled."""

    def state(self, decision: PluginDecision | None) -> PluginState:
        """What that decision means for it."""
        if self.kind == "built-in":
            return "disabled" if decision is not None and decision.state == "disabled" else "enabled"
        if decision is None or decision.state == "told":
            return "not enabled"
        if decision.state == "disabled":
            return "disabled"
        return "enabled" if decision.digest == self.digest else "changed"


def plugin_folder() -> Path:
    """The person's folder of plugins that are single files."""
    return config_dir() / "plugins"


def find_plugins() -> list[FoundPlugin]:
    """All there are, built-in ones last."""
    return [*find_added_plugins(), *built_in_plugins()]


def find_added_plugins() -> list[FoundPlugin]:
    """Plugins that oi-tui does not ship; takes some ms for the packages."""
    from importlib import metadata  # as above

    packages: dict[str, metadata.Distribution] = {}
    for dist in metadata.distributions():
        # `metadata.entry_points` would parse those of all packages first.
        if GROUP in (dist.read_text("entry_points.txt") or "") and dist.entry_points.select(group=GROUP):
            packages.setdefault(_key(dist), dist)  # the first on the path is what Python imports
    found = [package_plugin(dist) for _, dist in sorted(packages.items())]
    return [*found, *map(file_plugin, plugin_files())]


def find_plugin(name: str) -> FoundPlugin | None:
    """The plugin of this name, found without looking at all others."""
    if name in built_in_names():
        return next(plugin for plugin in built_in_plugins() if plugin.name == name)
    if name.endswith(".py"):
        return next((file_plugin(path) for path in plugin_files() if path.name == name), None)
    from importlib import metadata  # as above

    try:
        found = package_plugin(metadata.distribution(name))
    except (metadata.PackageNotFoundError, ValueError):
        return None
    return found if found.loads or found.fault else None


def built_in_names() -> frozenset[str]:
    """Names of the built-in plugins."""
    return frozenset(name for table in BUILT_IN.values() for name in table)


def built_in_plugins() -> Iterator[FoundPlugin]:
    """The plugins that oi-tui ships."""
    for name in sorted(built_in_names()):
        loads: dict[str, tuple[str, ...]] = {
            process: (table[name],) for process, table in BUILT_IN.items() if name in table
        }
        module = next(module for references in loads.values() for module in references)
        path = Path(__file__).with_name("builtin") / f"{module.rpartition('.')[2]}.py"
        summary = SourceFile(path.read_text(encoding="utf-8")).summary
        yield FoundPlugin(
            name=name, kind="built-in", author="oi-tui", summary=summary, place="part of oi-tui", loads=loads
        )


def package_plugin(dist: "metadata.Distribution") -> FoundPlugin:
    """A package as its installer described it."""
    name, points = _key(dist), [point for point in dist.entry_points if point.group == GROUP]
    about, record = dist.metadata, dist.read_text("RECORD") or ""
    loads: dict[str, tuple[str, ...]] = {}
    fault = "a built-in plugin has this name" if name in built_in_names() else ""
    for point in points:
        process = point.name.partition(".")[0]
        if process not in PROCESSES:
            fault = f"its entry point {point.name} says neither engine nor screen"
        else:
            loads[process] = (*loads.get(process, ()), point.value)
    place = str(dist.locate_file(""))
    editable = '"editable": true' in (dist.read_text("direct_url.json") or "")
    if not (editable or _has_hashes(record)):
        try:
            record = digest_of_code(Path(place), {point.value for point in points})
        except UnknownCode as error:
            fault = fault or str(error)
    parts = (name, dist.version, place, str(sorted((point.name, point.value) for point in points)), record)
    return FoundPlugin(
        name=name,
        kind="package",
        version=dist.version,
        author=next((str(about[key]) for key in _AUTHORS if key in about), ""),
        summary=str(about["Summary"]) if "Summary" in about else "",
        place=place,
        digest=hashlib.sha256("\0".join(parts).encode()).hexdigest(),
        loads=loads,
        editable=editable,
        fault=fault,
    )


def _has_hashes(record: str) -> bool:
    """Whether the installer wrote down a hash of each module."""
    modules = [line for line in record.splitlines() if line.split(",")[0].endswith((".py", ".so"))]
    return bool(modules) and all("sha" in line.rsplit(",", 2)[1] for line in modules if line.count(",") >= 2)


_AUTHORS = ("Author", "Author-email", "Maintainer", "Maintainer-email")


def _key(dist: "metadata.Distribution") -> str:
    return str(dist.metadata["Name"] or "").lower().replace("_", "-")


def plugin_files() -> list[Path]:
    """Files in the person's folder."""
    try:
        names = sorted(os.listdir(plugin_folder()))
    except OSError:
        return []
    return [plugin_folder() / name for name in names if name.endswith(".py") and name[0] not in "_."]


def read_plugin_file(path: Path) -> str:
    """Its text; SettingsError if it is no plain file, or if others can write it."""
    text = read_owned_file(path, "plugin", "Make it a file that only you can write.", owner=os.getuid())
    if text is None:
        raise SettingsError(f"There is no plugin {path}.")
    return text


def file_plugin(path: Path) -> FoundPlugin:
    """A single file, with the digest of what was read just now."""
    try:
        text = read_plugin_file(path)
    except SettingsError as error:
        return FoundPlugin(name=path.name, kind="file", place=str(path), fault=error.title)
    return plugin_of_text(path, text)


def plugin_of_text(path: Path, text: str) -> FoundPlugin:
    """The plugin that this file is, with this text."""
    source = SourceFile(text)
    blank = FoundPlugin(
        name=path.name,
        kind="file",
        author=file_owner(path),
        summary=source.summary,
        place=str(path),
        digest=hashlib.sha256(text.encode()).hexdigest(),
    )
    if source.fault:
        return msgspec.structs.replace(blank, fault=source.fault)
    loads = {process: (path.name,) for process, specs in SPECS.items() if source.names & hook_names(specs)}
    known = frozenset[str]().union(*map(hook_names, SPECS.values()))
    return msgspec.structs.replace(
        blank,
        loads=dict(loads),
        hooks=tuple(sorted(source.names & known)),
        fault="" if loads else "it defines no hook",
    )


def file_owner(path: Path) -> str:
    """The owner of a file, "" if unknown."""
    try:
        return pwd.getpwuid(path.stat().st_uid).pw_name
    except (OSError, KeyError):
        return ""


class SourceFile:
    """What can be read off the source of a plugin."""

    def __init__(self, text: str) -> None:
        self.fault = ""
        self._tree = ast.Module([], [])
        try:
            self._tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            self.fault = f"it is no Python: {error}"

    @cached_property
    def names(self) -> frozenset[str]:
        """Functions on its top level."""
        return frozenset(node.name for node in self._tree.body if isinstance(node, ast.FunctionDef))

    @property
    def summary(self) -> str:
        """First line of what it says of itself."""
        return (ast.get_docstring(self._tree) or "").partition("\n")[0]
