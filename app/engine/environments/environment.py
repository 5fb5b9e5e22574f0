"""One Python environment, known from its files only: nothing in it ever runs.

An environment may be hostile (it came with a folder) and its python may take seconds to start. `pyvenv.cfg` (venv,
virtualenv, uv), `conda-meta` and folder names say enough.
"""

import os
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Literal

import msgspec

from oi_tui.app.engine.files.given_file import UnusableFile, read_given_file

EnvironmentKind = Literal["venv", "conda", "python"]
"""A `python` is an installation as it is, with no environment around it."""

CONFIG_SIZE = 64_000
"""Bytes of a `pyvenv.cfg` that are believed to be one."""

MOST_ENTRIES = 20_000
"""Entries of a folder that are looked at."""

MOST_TOLD = 12
"""Packages the model reads about, at most."""

USUAL = (
    *("numpy", "pandas", "matplotlib", "scipy", "scikit-learn", "polars", "seaborn", "plotly", "torch", "tensorflow"),
    *("jax", "xarray", "geopandas", "statsmodels", "sympy", "networkx", "pyarrow", "duckdb", "sqlalchemy", "requests"),
    *("httpx", "beautifulsoup4", "lxml", "openpyxl", "pillow", "opencv-python", "transformers", "biopython", "astropy"),
)
"""What code for data counts on most, the most usual first."""

_LIBRARY = re.compile(r"python(\d+\.\d+)(t?)")
_VERSION = re.compile(r"(\d+\.\d+(?:\.\d+)?)")
_DISTRIBUTION = re.compile(r"([A-Za-z0-9][A-Za-z0-9._]*)-([^-]+)\.dist-info")


class PythonEnvironment(msgspec.Struct, frozen=True, dict=True):
    """Where a Python is, and what it is."""

    prefix: Path
    """Its folder."""
    python: Path
    """The program."""
    kind: EnvironmentKind
    version: str = ""
    """`3.12.4`, or only `3.12`; "" if nothing tells."""
    threaded: bool = False
    """Built without the global lock: another ABI than the usual one."""
    base: Path | None = None
    """The folder of the Python that a venv was made with."""
    shares_base: bool = False
    """Whether a venv sees the packages of its base."""
    folder: tuple[int, int] | None = None
    """Device and number of its folder when it was found."""

    @property
    def minor(self) -> tuple[int, ...]:
        """(3, 12); empty if it is not known."""
        return tuple(map(int, self.version.split(".")[:2])) if self.version else ()

    @property
    def is_replaced(self) -> bool:
        """Whether another folder is in its place by now."""
        return self.folder is None or self.folder != _folder_id(self.prefix)

    @property
    def is_ours(self) -> bool:
        """Whether it is the Python that oi-tui itself runs in."""
        return os.path.realpath(self.prefix) == os.path.realpath(sys.prefix)

    def describe(self, folder: Path) -> str:
        """For the person, whose folder this is: "Python 3.12.4 in .venv"."""
        if self.is_ours:
            return f"Python {self.version} of oi-tui"
        where = self.prefix.relative_to(folder) if self.prefix.is_relative_to(folder) else self.prefix
        if self.kind == "python":
            return f"Python {self.version}, {self.python}"
        return f"Python {self.version} in {where}".replace("  ", " ")

    def tell_model(self) -> str:
        """What the model reads about the environment: a missing package costs it a step."""
        there = [f"{name} {self.packages[name]}" for name in USUAL if name in self.packages][:MOST_TOLD]
        found = f"there are {', '.join(there)}" if there else "there is none"
        return f"Python is {self.version}; of the usual packages {found}."

    @cached_property
    def packages(self) -> dict[str, str]:
        """Names and versions of what is installed, names in lower case with `-`. Reads folders."""
        found: dict[str, str] = {}
        for folder in self.package_folders():
            for name in _names_in(folder):
                if match := _DISTRIBUTION.fullmatch(name):
                    found.setdefault(re.sub(r"[-_.]+", "-", match[1]).lower(), match[2])
        return found

    @property
    def has_ipykernel(self) -> bool:
        """Whether a Jupyter kernel can be started in it as it is."""
        return "ipykernel" in self.packages

    def package_folders(self) -> Iterator[Path]:
        """Where its packages are, the first the most important."""
        for prefix in (self.prefix, self.base) if self.shares_base and self.base is not None else (self.prefix,):
            libraries = _libraries(prefix)
            yield from (library / "site-packages" for library in libraries)
            if prefix == Path("/usr"):  # Debian's way
                yield from (Path("/usr/local/lib", library.name, "dist-packages") for library in libraries)
                yield Path("/usr/lib/python3/dist-packages")


def active_environ(environ: Mapping[str, str], environment: PythonEnvironment) -> dict[str, str]:
    """The variables with this environment activated: `python` and `pip` are its own."""
    found = {name: value for name, value in environ.items() if name != "PYTHONHOME"}
    programs = str(environment.python.parent)
    folders = [programs, *found.get("PATH", os.defpath).split(os.pathsep)]
    found["PATH"] = os.pathsep.join(dict.fromkeys(folders))
    match environment.kind:
        case "venv":
            found["VIRTUAL_ENV"] = str(environment.prefix)
        case "conda":
            found.pop("VIRTUAL_ENV", None)
            found |= {"CONDA_PREFIX": str(environment.prefix), "CONDA_DEFAULT_ENV": environment.prefix.name}
        case "python":
            found.pop("VIRTUAL_ENV", None)
    return found


def can_install(environment: PythonEnvironment) -> bool:
    """Whether packages can be put into it without changing anything of the system's or of ours."""
    return environment.kind != "python" and not environment.is_ours and "pip" in environment.packages


def environment_at(prefix: Path) -> PythonEnvironment | None:
    """The environment in this folder, None if it holds none that could be started."""
    python = prefix / "bin" / "python"
    if not os.access(python, os.X_OK) or python.is_dir():
        return None
    folder = _folder_id(prefix)  # before anything in it is read
    if (config := _config(prefix)) is not None:
        return msgspec.structs.replace(_venv(prefix, python, config), folder=folder)
    version, threaded = _version_of(prefix)
    if (prefix / "conda-meta").is_dir():
        return PythonEnvironment(prefix, python, "conda", _conda_version(prefix) or version, threaded, folder=folder)
    return PythonEnvironment(prefix, python, "python", version, threaded, folder=folder)


def environment_of(python: Path) -> PythonEnvironment | None:
    """The environment that this program belongs to; None if it is no program."""
    if not os.access(python, os.X_OK) or python.is_dir():
        return None
    prefix = python.parent.parent
    if (found := environment_at(prefix)) is not None and found.kind != "python":
        return msgspec.structs.replace(found, python=python)
    # An installation: its folder may hold several; the program's own name picks one.
    real = Path(os.path.realpath(python))
    match = _LIBRARY.fullmatch(real.name)
    version, threaded = (match[1], bool(match[2])) if match else _version_of(real.parent.parent)
    return PythonEnvironment(real.parent.parent, python, "python", version, threaded)


def own_environment() -> PythonEnvironment:
    """The Python that we run in."""
    version = ".".join(map(str, sys.version_info[:3]))
    kind: EnvironmentKind = "conda" if os.path.isdir(f"{sys.prefix}/conda-meta") else "venv"
    if kind == "venv" and sys.prefix == sys.base_prefix:
        kind = "python"
    threaded = bool(getattr(sys, "abiflags", "").count("t"))
    return PythonEnvironment(Path(sys.prefix), Path(sys.executable), kind, version, threaded, Path(sys.base_prefix))


def _venv(prefix: Path, python: Path, config: dict[str, str]) -> PythonEnvironment:
    told = _VERSION.match(config.get("version_info", "") or config.get("version", ""))
    version, threaded = _version_of(prefix)
    home = config.get("home", "")
    return PythonEnvironment(
        prefix,
        python,
        "venv",
        told[1] if told else version,
        threaded,
        Path(home).parent if os.path.isabs(home) else None,
        config.get("include-system-site-packages", "").lower() == "true",
    )


def _folder_id(prefix: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(prefix)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _config(prefix: Path) -> dict[str, str] | None:
    """The settings in `pyvenv.cfg`, None if there is no such file."""
    try:
        text = read_given_file(prefix / "pyvenv.cfg", CONFIG_SIZE).decode(errors="replace")
    except UnusableFile:
        return None
    pairs = (line.partition("=") for line in text.splitlines())
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def _conda_version(prefix: Path) -> str:
    """The version in the name of its package record: `python-3.12.4-h99e1_0.json`."""
    for name in _names_in(prefix / "conda-meta"):
        if name.startswith("python-") and (match := _VERSION.fullmatch(name.split("-")[1])):
            return match[1]
    return ""


def _version_of(prefix: Path) -> tuple[str, bool]:
    """The version in the name of its library folder; none if there is no such folder, or several."""
    found = {match.groups() for path in _libraries(prefix) if (match := _LIBRARY.fullmatch(path.name))}
    version, threaded = found.pop() if len(found) == 1 else ("", "")
    return version, bool(threaded)


def _libraries(prefix: Path) -> list[Path]:
    lib = prefix / "lib"
    return [lib / name for name in sorted(_names_in(lib)) if _LIBRARY.fullmatch(name)]


def _names_in(folder: Path) -> list[str]:
    names: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                names.append(entry.name)
                if len(names) == MOST_ENTRIES:
                    break
    except OSError:
        pass  # what cannot be listed holds nothing that we could use
    return names
