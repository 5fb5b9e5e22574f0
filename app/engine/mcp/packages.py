"""What `uvx` and `npx` would download before they start a program, read off their arguments. Pure."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from oi_tui.app.engine.core.encoding import text_digest
from oi_tui.app.engine.core.values import Value
from oi_tui.app.engine.files.paths import servers_dir

CURRENT = "current"
"""A link to what was downloaded, when all of it is there."""

_PYTHON_PACKAGE = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[A-Za-z0-9._,-]+\])?(?:(?:==|>=|<=|~=|!=|<|>)[A-Za-z0-9.*+!<>=~,-]+)?"
)
NODE_PACKAGE = re.compile(r"(?P<name>(?:@[a-z0-9][\w.-]*/)?[a-z0-9][\w.-]*)(?:@[\w.^~<>=*-]+)?")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+!_-]*")


class PackageDownload(Value, frozen=True, kw_only=True):
    """A package that must be downloaded before a server can start."""

    tool: Literal["uv", "npm"]
    packages: tuple[str, ...]
    """The one with the program comes first."""
    program: str
    """What is started; "" is the one that the first package is for."""
    python: str = ""
    """The version of Python that was asked for."""
    args: tuple[str, ...] = ()
    """What the program is given."""

    @property
    def source(self) -> str:
        """The source of the package, as people call it."""
        return "PyPI" if self.tool == "uv" else "npm"

    @property
    def folder(self) -> Path:
        """The folder where it is kept."""
        told = json.dumps([self.tool, self.packages, self.program, self.python])
        return servers_dir() / text_digest(told)[:16]

    @property
    def is_here(self) -> bool:
        """Whether it was downloaded."""
        return (self.folder / CURRENT).is_dir()


def download_of(command: str, args: Sequence[str]) -> PackageDownload | None:
    """The download of this command; None if it is not uvx or npx, or has unknown options."""
    words = list(args)
    match Path(command).name:
        case "uvx":
            return _of_uvx(words)
        case "uv" if words[:2] == ["tool", "run"]:
            return _of_uvx(words[2:])
        case "npx":
            return _of_npx(words)
        case _:
            return None


def _of_uvx(words: list[str]) -> PackageDownload | None:
    options: dict[str, list[str]] = {"--from": [], "--with": [], "--python": []}
    rest = _options(words, options, {"-w": "--with", "-p": "--python"}, ("-q", "--quiet"))
    if not rest:
        return None
    program, at, version = rest[0].partition("@")
    package = program if version in ("", "latest") else f"{program}=={version}"
    if options["--from"]:
        package = options["--from"][-1]
    if (at and not version) or (version and not _VERSION.fullmatch(version)):
        return None
    packages = (package, *options["--with"])
    python = (options["--python"] or [""])[-1]
    plain = all(_PYTHON_PACKAGE.fullmatch(one) for one in (program, *packages))
    if not plain or (python and not _VERSION.fullmatch(python)):
        return None
    return PackageDownload(tool="uv", packages=packages, program=program, python=python, args=tuple(rest[1:]))


def _of_npx(words: list[str]) -> PackageDownload | None:
    options: dict[str, list[str]] = {"--package": []}
    rest = _options(words, options, {"-p": "--package"}, ("-y", "--yes", "-q", "--quiet"))
    if not rest:
        return None
    packages = tuple(options["--package"]) or (rest[0],)
    program = rest[0] if options["--package"] else ""
    if not all(NODE_PACKAGE.fullmatch(one) for one in (*packages, program) if one):
        return None
    return PackageDownload(tool="npm", packages=packages, program=program, args=tuple(rest[1:]))


def _options(
    words: list[str], valued: dict[str, list[str]], short: Mapping[str, str], flags: tuple[str, ...]
) -> list[str]:
    """The words behind the options, whose values are put into `valued`; none where there is an unknown one."""
    left = list(words)
    while left and left[0].startswith("-"):
        name, sign, value = left.pop(0).partition("=")
        name = short.get(name, name)
        if name == "--":
            return left
        if name in flags and not sign:
            continue
        if name not in valued or not (sign or left):
            return []
        valued[name].append(value if sign else left.pop(0))
    return left
