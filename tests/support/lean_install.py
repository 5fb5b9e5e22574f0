"""The program installed without LiteLLM and what only that brings: an environment of links to what is installed here.

program = LeanInstall(tmp_path / "lean")
subprocess.run([*program.command, "run", "-m", "openai/NAME", "TASK"], env=program.environ(clean_env))
"""

import os
import re
import tomllib
import venv
from collections.abc import Iterable, Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution, version
from pathlib import Path

from packaging.requirements import Requirement

from support.house import ROOT

_START = "from oi_tui.app.start import main; main()"


def canonical_name(name: str) -> str:
    """A distribution's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def closure(requirements: Iterable[str], left_out: Iterable[str] = ()) -> dict[str, Distribution]:
    """The installed dependencies of these requirements, by name; packages left out bring nothing."""
    found: dict[str, Distribution] = {}
    seen = {(name, "") for name in left_out}
    waiting = [(Requirement(line), "") for line in requirements]
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonical_name(requirement.name)
        wanted = [part for part in ("", *requirement.extras) if (name, part) not in seen]
        if not wanted or name in left_out:
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:  # of another system, say
            continue
        seen |= {(name, part) for part in wanted}
        waiting += [(Requirement(line), part) for line in found[name].requires or () for part in wanted]
    return found


def own_requirements(*extras: str) -> list[str]:
    """What pyproject.toml asks for, with these extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [
        *project["dependencies"],
        *(line for extra in extras for line in project["optional-dependencies"][extra]),
    ]


def installed_mb(distributions: Iterable[Distribution]) -> float:
    """What they weigh: MB of their files, bytecode aside."""
    files = (file.locate() for one in distributions for file in one.files or ())
    return sum(os.stat(file).st_size for file in files if Path(file).suffix != ".pyc" and os.path.isfile(file)) / 1e6


class LeanInstall:
    """An environment in which the program is, its requirements but LiteLLM, and nothing else."""

    def __init__(self, folder: Path, *extras: str) -> None:
        """Makes it in `folder`, which is not there yet."""
        self.kept = closure(own_requirements(*extras), left_out=["litellm"])
        self.missing = closure(own_requirements(*extras)).keys() - self.kept.keys()
        """Names of what only LiteLLM brings."""
        venv.create(folder, with_pip=False, symlinks=True)
        self.python = folder / "bin" / "python"
        self.command = [str(self.python), "-c", _START]
        (packages,) = (folder / "lib").glob("python*/site-packages")
        for found in self.kept.values():
            self._link(found, packages)
        (packages / "oi_tui").symlink_to(ROOT / ".dev" / "oi_tui")
        told = packages / "oi_tui-0.dist-info" / "METADATA"
        told.parent.mkdir()
        told.write_text(f"Metadata-Version: 2.1\nName: oi-tui\nVersion: {version('oi-tui')}\n")

    def environ(self, environ: Mapping[str, str]) -> dict[str, str]:
        """The environment variables of a program that runs there."""
        return {**environ, "PATH": f"{self.python.parent}:{environ['PATH']}"}

    @staticmethod
    def _link(found: Distribution, packages: Path) -> None:
        for top in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
            link = packages / top
            if not link.is_symlink():
                link.symlink_to(Path(str(found.locate_file(top))))
