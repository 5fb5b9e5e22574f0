"""Files whose functions the model may call: `tools/NAME.py` beside the person's settings, and `.oi/tools/NAME.py` of a
folder that is trusted. Each counts as the person agreed to it, by its digest.

None is ever imported here: what is in one is read off its text, and it runs in the sandbox of a session.
"""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from oi_tui.app.engine.core.errors import OiTuiError, SettingsError
from oi_tui.app.engine.files.owned_file import read_owned_file
from oi_tui.app.engine.files.paths import config_dir
from oi_tui.app.engine.hooks.calling import Trouble
from oi_tui.app.engine.tools.tool import Capabilities
from oi_tui.app.engine.tools.tool_file import DeclaredTools, ToolFile, WrongToolFile, declared_tools
from oi_tui.plugins.decisions_file import tool_file_decisions
from oi_tui.plugins.finding import FoundPlugin, SourceFile, file_owner

FOLDER_TOOLS = Path(".oi", "tools")
"""In a folder."""

MOST_FILES = 100
"""Of one folder."""


def own_tools_folder() -> Path:
    """The person's folder of files with tools."""
    return config_dir() / "tools"


def find_tool_files(folder: Path | None) -> list[FoundPlugin]:
    """Tool files of the person, then those of the folder, if it is trusted; None for no folder."""
    own = [_look_at(path, f"tools/{path.name}") for path in _files(own_tools_folder())]
    theirs = [] if folder is None else [_look_at(path, str(path)) for path in _files(folder.absolute() / FOLDER_TOOLS)]
    return [*own, *theirs]


def find_tool_file(name: str, folder: Path | None) -> FoundPlugin | None:
    """The one of this name, or with this ending of its path."""
    found = find_tool_files(folder)
    exact = [one for one in found if one.name == name]
    return next(iter(exact or [one for one in found if one.name.endswith(f"/{name.removesuffix('.py')}.py")]), None)


def tool_file_in(target: str, folder: Path | None) -> ToolFile:
    """The file that the person names to be tried: an enabled one, or any by its path. SettingsError."""
    found = find_tool_file(target, folder) if not Path(target).is_file() else None
    path = Path(target) if found is None else Path(found.place)
    if found is None and not path.is_file():
        raise SettingsError(f"There is no file of tools {target}.", hint="oi-tui tools list shows those there are.")
    if found is not None and found.state(tool_file_decisions().all().get(found.name)) != "enabled":
        raise SettingsError(f"{found.name} is not enabled, so nothing of it runs.", hint=f"By its path: {found.place}")
    text = _read(path.absolute())
    try:
        return ToolFile(target, str(path.absolute()), text, declared_tools(text))
    except WrongToolFile as error:
        raise SettingsError(f"{target} {error}.") from error


def tool_file_of(path: Path, name: str, text: str) -> FoundPlugin:
    """The file with this text."""
    fault = ""
    try:
        declared = declared_tools(text)
    except WrongToolFile as error:
        declared, fault = DeclaredTools(()), f"it {error}"
    return FoundPlugin(
        name=name,
        kind="tools",
        author=file_owner(path),
        summary=SourceFile(text).summary,
        place=str(path),
        digest=hashlib.sha256(text.encode()).hexdigest(),
        hooks=tuple(function.signature for function in declared.functions),
        declares=() if fault else tuple(_promises(declared.capabilities)),
        fault=fault,
    )


def enabled_tool_files(folder: Path | None) -> Iterator[ToolFile]:
    """Tool files whose present text the person agreed to, with that text. None if the record cannot be read."""
    try:
        decisions = tool_file_decisions().all()
    except OiTuiError:
        return  # the plugins say so
    for found in find_tool_files(folder):
        if found.fault or found.state(decisions.get(found.name)) != "enabled":
            continue
        text = _read(Path(found.place))
        if hashlib.sha256(text.encode()).hexdigest() == found.digest:
            yield ToolFile(found.name, found.place, text, declared_tools(text))


def tool_file_troubles(folder: Path | None) -> Iterator[Trouble]:
    """Messages about tool files: those that are new (once), have changed, or have a fault."""
    try:
        decisions = tool_file_decisions()
        known = decisions.all()
        for found in find_tool_files(folder):
            state = found.state(known.get(found.name))
            if found.fault and state in ("enabled", "changed"):
                yield Trouble(found.name, "", "cannot be loaded", found.fault, tools=True)
            elif state == "changed":
                yield Trouble(found.name, "", "has changed", tools=True)
            elif found.name not in known:
                decisions.decide(found.name, "told", found.digest)
                yield Trouble(found.name, "", "is new", found.fault or ", ".join(found.hooks), tools=True)
    except OiTuiError:
        return  # the plugins say so


def _promises(declared: Capabilities) -> Iterator[str]:
    """What a file says that its functions may do, in words that say what the sandbox makes of it."""
    yield "may write where your code may" if declared.writes else "only reads: the sandbox lets it write no file"
    yield "uses the network, as far as your code may" if declared.network else "no network"
    says = [
        *(["it deletes nothing"] if declared.writes and not declared.destroys else []),
        *(["a repeated call does no more"] if declared.repeatable else []),
    ]
    if says:
        yield f"says that {' and '.join(says)}, which nothing enforces"


def _files(folder: Path) -> list[Path]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [folder / name for name in names if name.endswith(".py") and name[0] not in "_."][:MOST_FILES]


def _look_at(path: Path, name: str) -> FoundPlugin:
    try:
        return tool_file_of(path, name, _read(path))
    except OiTuiError as error:
        return FoundPlugin(name=name, kind="tools", place=str(path), fault=error.title.rstrip("."))


def _read(path: Path) -> str:
    """Its text; SettingsError if it is no plain file, or if others can write it."""
    hint = "Make it a file that only you can write."
    return read_owned_file(path, "file of tools", hint, owner=os.getuid(), private_group=True) or ""
