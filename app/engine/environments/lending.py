"""Lends ipykernel to an environment without one: nothing is installed there, and nothing else of ours is visible.

A kernel gets the names of ipykernel and its dependencies. It finds these, and no others, where they are installed for
us, after everything of the environment's own. That needs the same minor version and ABI as ours.
"""

import sysconfig
from collections.abc import Iterator
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from oi_tui.app.engine.environments.environment import PythonEnvironment, own_environment

LEND = """\
import sys
sys.path[:] = [*filter(None, sys.path)]
folders, names = (sys.argv.pop(1).split(sep) for sep in ":,")
class LentFinder:
    from importlib.machinery import PathFinder as finder
    def find_spec(self, name, path=None, target=None):
        if path is None and name in names:
            return self.finder.find_spec(name, folders, target)
sys.meta_path.append(LentFinder())
"""
"""Run in the environment, with the folders and the names of what is lent, or "" for each. Works in every Python 3."""


def can_lend(environment: PythonEnvironment) -> bool:
    """Whether what is installed for us works there."""
    ours = own_environment()
    return environment.minor == ours.minor and environment.threaded == ours.threaded


@cache
def lent_modules() -> tuple[str, str]:
    """Where they are, with `:` between, and their names, with `,` between. Reads what some 30 packages say of
    themselves."""
    folders = dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
    return ":".join(folders), ",".join(sorted(set(_names())))


def _names() -> Iterator[str]:
    for package in _closure("ipykernel"):
        for file in package.files or ():
            first = file.parts[0]
            name = first.removesuffix(".py") if len(file.parts) == 1 else first
            if name.isidentifier() and name != "__pycache__":
                yield name


def _closure(name: str) -> Iterator[Distribution]:
    """The package and all that it needs here, each once."""
    from packaging.requirements import InvalidRequirement, Requirement  # deferred: only where something is lent

    waiting, seen = [name], set[str]()
    while waiting:
        wanted = waiting.pop().lower().replace("_", "-")
        if wanted in seen:
            continue
        seen.add(wanted)
        try:
            package = distribution(wanted)
        except PackageNotFoundError:
            continue  # not needed here, or the start of the kernel will say what is missing
        yield package
        for line in package.requires or ():
            try:
                requirement = Requirement(line)
            except InvalidRequirement:
                continue
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(requirement.name)
