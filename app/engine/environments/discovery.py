"""Which Python environments there are, and which one code runs in. Only files are read, nothing is run."""

import base64
import hashlib
import os
import re
import shlex
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.environments.environment import (
    PythonEnvironment,
    environment_at,
    environment_of,
    own_environment,
)
from oi_tui.app.engine.environments.lending import can_lend
from oi_tui.app.engine.files.given_file import UnusableFile, read_given_file

IN_FOLDER = (".venv", "venv", ".pixi/envs/default")
"""Folders in which tools create the environment of a project; the first that exists is used."""

OLDEST = (3, 8)
"""The oldest Python for which an ipykernel can be had that works with what we run in a kernel."""

AFTER_TRUST = "It is used once the folder is trusted: /sandbox."
"""Of the environment of a folder."""

MOST_FOUND = 100
"""Environments that are listed."""

_ODD = re.compile(r'[ $`!*@"\\\r\n\t]')
"""What Poetry does not put into a folder's name."""

PROJECT_SIZE = 1_000_000
"""Bytes of a `pyproject.toml` that is read."""


class EnvironmentChoice(NamedTuple):
    """An environment, and what the person has to know of the choice; nothing of our own."""

    environment: PythonEnvironment
    remark: str = ""


def choose_environment(
    folder: Path, environ: Mapping[str, str], *, asked: str = "", trusted: bool = False
) -> EnvironmentChoice:
    """Choose where Python code runs: in what is `asked` for (a program, a folder, a name), else in the active
    environment, else in that of the working folder once it is trusted (before that, a remark names it), else in ours.
    SettingsError if what is asked for does not exist or has no ipykernel. One that was only found and has none is
    skipped, with a remark.
    """
    if asked:
        found = usable_environment(asked, folder, environ, trusted=trusted)
        return EnvironmentChoice(found, "" if found.is_ours else f"Code runs in {found.describe(folder)}.")
    active = [environ.get(variable, "") for variable in ("VIRTUAL_ENV", "CONDA_PREFIX")]
    # An environment inside the folder that is active was activated by the person.
    prefixes = [Path(prefix) for prefix in active if os.path.isabs(prefix)]
    prefixes += project_prefixes(folder, environ) if trusted else ()
    remark = ""
    for prefix in prefixes:
        if (there := environment_at(prefix)) is None or there.is_ours:
            continue
        if obstacle := kernel_obstacle(there):
            remark = remark or f"{obstacle} Until then code runs in the Python of oi-tui. {how_to_mend(there, environ)}"
            continue
        return EnvironmentChoice(there, remark or f"Code runs in {there.describe(folder)}.")
    if not remark and not trusted and (waiting := waiting_environment(folder, environ)) is not None:
        remark = f"This folder has an environment, {name_environment(folder, waiting)}. {AFTER_TRUST}"
    return EnvironmentChoice(own_environment(), remark)


def waiting_environment(folder: Path, environ: Mapping[str, str]) -> PythonEnvironment | None:
    """The environment of a folder that is not trusted, where code would run if it were; None if it has none.

    Nothing of it is used unasked. A person who names its path (`/kernel .venv`, `--python`) has asked for it: the code
    in it runs then, in the sandbox of a folder that is not trusted.
    """
    found = (environment_at(prefix) for prefix in project_prefixes(folder, environ))
    return next((one for one in found if one is not None and not one.is_ours), None)


def name_environment(folder: Path, environment: PythonEnvironment) -> str:
    """The name of an environment in a sentence: ".venv (Python 3.12.4)"."""
    prefix = environment.prefix
    where = prefix.relative_to(folder) if prefix.is_relative_to(folder) else prefix
    return f"{where} (Python {environment.version or 'of unknown version'})"


def usable_environment(
    asked: str, folder: Path, environ: Mapping[str, str], *, trusted: bool = False
) -> PythonEnvironment:
    """The environment of this name or path; SettingsError if it is not there or no kernel can be started in it."""
    found = named_environment(asked, folder, environ, trusted=trusted)
    if obstacle := kernel_obstacle(found):
        raise SettingsError(obstacle, hint=how_to_mend(found, environ))
    return found


def kernel_obstacle(environment: PythonEnvironment) -> str:
    """Why no kernel can be started there, as a sentence; "" if one can."""
    if environment.is_ours or environment.has_ipykernel or can_lend(environment):
        return ""
    named = f"{environment.prefix} (Python {environment.version or 'of unknown version'})"
    return f"{named} is too old for a kernel." if _is_too_old(environment) else f"{named} has no ipykernel."


def install_command(environment: PythonEnvironment, environ: Mapping[str, str]) -> str:
    """The command that installs what a kernel needs; "" if there is no ipykernel for it, or it is no environment but an
    installation, of the system or of a tool, which others use too."""
    python = shlex.quote(str(environment.python))
    if environment.kind == "python" or _is_too_old(environment):
        return ""
    if shutil.which("uv", path=environ.get("PATH", os.defpath)) is not None:
        return f"uv pip install --python {python} ipykernel"
    pip = f"{python} -I -m pip install ipykernel"  # -I: no pip.py of the folder that it is run in
    return pip if "pip" in environment.packages else f"{python} -I -m ensurepip && {pip}"


def how_to_mend(environment: PythonEnvironment, environ: Mapping[str, str]) -> str:
    """What the person can do about it, as sentences."""
    if command := install_command(environment, environ):
        return f"/kernel on the screen installs it; or do it yourself: {command}"
    if _is_too_old(environment):
        return f"Python {'.'.join(map(str, OLDEST))} is the oldest that works."
    return f"Make an environment with it: {shlex.quote(str(environment.python))} -m venv .venv, then /kernel .venv"


def _is_too_old(environment: PythonEnvironment) -> bool:
    return bool(environment.minor) and environment.minor < OLDEST


def named_environment(
    asked: str, folder: Path, environ: Mapping[str, str], *, trusted: bool = False
) -> PythonEnvironment:
    """The environment named by a path or a name; SettingsError that lists where we searched."""
    if "/" in asked or asked.startswith((".", "~")):
        path = Path(os.path.abspath(folder / Path(asked).expanduser()))
        found = environment_at(path) if path.is_dir() else environment_of(path)
        if found is None:
            raise SettingsError(
                f"There is no Python in {asked}.",
                hint="Name a program such as .venv/bin/python, or the folder of an environment.",
            )
        return found
    if asked == "oi-tui":
        return own_environment()
    known = list(find_environments(folder, environ, trusted=trusted))
    for environment in known:
        if environment.prefix.name == asked:
            return environment
    for program in filter(None, environ.get("PATH", os.defpath).split(os.pathsep)):
        path = Path(program, asked)
        if re.match("python|pypy", asked) and (found := environment_of(path)) is not None:
            return found
    names = ", ".join(sorted({environment.prefix.name for environment in known})) or "none"
    raise SettingsError(
        f"There is no Python environment called “{asked}”.", hint=f"Found: {names}. A path such as ./env works as well."
    )


def find_environments(folder: Path, environ: Mapping[str, str], *, trusted: bool) -> Iterator[PythonEnvironment]:
    """All environments, each once: active ones, the folder's if it is trusted, conda's and pyenv's, and ours."""
    seen: set[str] = set()
    for prefix in _prefixes(folder, environ, trusted=trusted):
        real = os.path.realpath(prefix)
        if real not in seen and len(seen) < MOST_FOUND and (found := environment_at(prefix)) is not None:
            seen.add(real)
            yield found
    ours = own_environment()
    if os.path.realpath(ours.prefix) not in seen:
        yield ours


def project_prefixes(folder: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """Where the environment of a folder would be, of whatever tool made it."""
    if named := environ.get("UV_PROJECT_ENVIRONMENT"):
        yield folder / named
    yield from (folder / name for name in IN_FOLDER)
    yield from _poetry_prefixes(folder, environ)


def _prefixes(folder: Path, environ: Mapping[str, str], *, trusted: bool) -> Iterator[Path]:
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if os.path.isabs(environ.get(variable, "")):
            yield Path(environ[variable])
    if trusted:
        yield from project_prefixes(folder, environ)
        yield from _subfolders(folder)
        yield from _subfolders(folder / ".pixi" / "envs")
    home = Path(environ.get("HOME") or Path.home())
    roots = [environ.get("MAMBA_ROOT_PREFIX", ""), str(Path(environ.get("CONDA_EXE", "")).parent.parent)]
    roots += [str(home / name) for name in ("miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba")]
    for root in filter(os.path.isabs, roots):
        yield Path(root)
        yield from _subfolders(Path(root, "envs"))
    yield from _listed_by_conda(home / ".conda" / "environments.txt")
    yield from _subfolders(Path(environ.get("WORKON_HOME") or home / ".virtualenvs"))
    yield from _subfolders(Path(environ.get("PYENV_ROOT") or home / ".pyenv") / "versions")
    yield Path("/usr/local")
    yield Path("/usr")


def _subfolders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return sorted(
                Path(entry.path) for entry, _ in zip(entries, range(MOST_FOUND), strict=False) if entry.is_dir()
            )
    except OSError:
        return []


def _listed_by_conda(path: Path) -> list[Path]:
    try:
        lines = read_given_file(path, PROJECT_SIZE).decode(errors="replace").splitlines()
    except UnusableFile:
        return []
    return [Path(line) for line in lines if os.path.isabs(line)]


def _poetry_prefixes(folder: Path, environ: Mapping[str, str]) -> list[Path]:
    """Poetry keeps environments in its cache, under the project's name and a digest of its folder."""
    try:
        project = tomllib.loads(read_given_file(folder / "pyproject.toml", PROJECT_SIZE).decode(errors="replace"))
    except (UnusableFile, tomllib.TOMLDecodeError, RecursionError):
        return []
    match project:
        case {"tool": {"poetry": {"name": str(name)}}} | {"project": {"name": str(name)}, "tool": {"poetry": dict()}}:
            digest = base64.urlsafe_b64encode(hashlib.sha256(os.path.realpath(folder).encode()).digest()).decode()[:8]
            start = f"{_ODD.sub('_', name)[:42]}-{digest}-py"
        case _:
            return []
    cache = Path(environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME") or Path.home(), ".cache"))
    kept = Path(environ.get("POETRY_VIRTUALENVS_PATH") or cache / "pypoetry" / "virtualenvs")
    return [prefix for prefix in _subfolders(kept) if prefix.name.startswith(start)]
