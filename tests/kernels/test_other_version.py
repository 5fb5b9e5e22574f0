"""Row R13: an environment of another minor version of Python than ours, for real: refused honestly without ipykernel,
and everything that a kernel does with it."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.core.settings import SandboxSection
from oi_tui.app.engine.environments.discovery import choose_environment, usable_environment
from oi_tui.app.engine.environments.environment import environment_at
from oi_tui.app.engine.kernels.jupyter import JupyterKernel
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.sandbox.profile import RungChoice
from oi_tui.app.engine.sandbox.profile_choice import chosen_profile
from oi_tui.app.frontend.session_status import kernel_label
from support.enclosure import why_no_rung
from support.kinds import of
from support.runs import collect, interrupted, prints

pytestmark = pytest.mark.kernel

OTHERS = [(3, minor) for minor in (13, 12, 14, 11, 10) if minor != sys.version_info[1]]
"""The newest that packages are built for first; ipykernel needs 3.10."""

INSTALLING = 150
"""Seconds that ipykernel and what it needs may take to be fetched."""

UV = Path(sys.executable).with_name("uv")


def _candidates(name: str) -> Iterator[str]:
    """Programs of this name on the search path, what pyenv's stand-ins there stand for, and what uv knows of."""
    for folder in filter(None, os.environ.get("PATH", os.defpath).split(os.pathsep)):
        program = Path(folder, name)
        if program.parent.name == "shims":
            yield from map(
                str, sorted(program.parent.parent.glob(f"versions/{name.removeprefix('python')}*/bin/{name}"))
            )
        elif os.access(program, os.X_OK):
            yield str(program)
    if UV.exists():
        asked = [str(UV), "python", "find", "--offline", "--no-project", "--managed-python", name]
        found = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=False)
        if found.returncode == 0:
            yield found.stdout.strip()


def other_python() -> tuple[str, str]:
    """A Python of another minor version that works, and its version; a skip that says what was looked for."""
    for major, minor in OTHERS:
        for program in _candidates(f"python{major}.{minor}"):
            asked = [program, "-c", "import venv, ensurepip, platform; print(platform.python_version())"]
            told = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=False)
            if told.stdout.startswith(f"{major}.{minor}."):
                return program, told.stdout.strip()
    names = ", ".join(f"python{major}.{minor}" for major, minor in OTHERS)
    pytest.skip(f"there is no other Python here ({names}; on PATH, with pyenv or uv), so another version is not tried")


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with an environment of another minor version without ipykernel, and that version."""
    program, version = other_python()
    folder = tmp_path_factory.mktemp("other").resolve()
    subprocess.run([program, "-m", "venv", "--without-pip", str(folder / ".venv")], check=True, timeout=120)
    return folder, version


@pytest.fixture(scope="module")
def equipped(bare: tuple[Path, str], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The same with ipykernel installed there, from a cache or the index."""
    program, version = other_python()
    folder = tmp_path_factory.mktemp("equipped").resolve()
    without = ["--without-pip"] if UV.exists() else []
    subprocess.run([program, "-m", "venv", *without, str(folder / ".venv")], check=True, timeout=120)
    python = str(folder / ".venv" / "bin" / "python")
    if UV.exists():
        installs = [str(UV), "pip", "install", "--quiet", "--python", python, "ipykernel"]
    else:
        installs = [python, "-m", "pip", "install", "--quiet", "ipykernel"]
    try:
        subprocess.run(installs, check=True, timeout=INSTALLING, capture_output=True, text=True)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        said = str(error.stderr or error)[-300:]
        pytest.skip(
            f"ipykernel cannot be had for Python {version}, so a kernel of another version is not tried: {said}"
        )
    return folder, version


def launched(folder: Path, environ: dict[str, str], rung: RungChoice | None = None) -> Launch:
    environ = {name: value for name, value in environ.items() if name not in ("VIRTUAL_ENV", "CONDA_PREFIX")}
    python = choose_environment(folder, environ, trusted=True).environment
    sandbox = chosen_profile(SandboxSection(rung=rung), folder) if rung else None
    return Launch(cwd=folder, environ=environ, python=python, trusted=True, sandbox=sandbox)


def test_R13_another_version_without_ipykernel_is_an_offer_and_code_runs_in_ours_until_then(
    bare: tuple[Path, str],
) -> None:
    folder, version = bare
    chosen = choose_environment(folder, {}, trusted=True)
    assert chosen.environment.is_ours
    assert f"{folder}/.venv (Python {version}) has no ipykernel." in chosen.remark
    assert "Until then code runs in the Python of oi-tui." in chosen.remark
    assert "/kernel on the screen installs it" in chosen.remark
    command = re.search(r"do it yourself: (\S+) -I -m ensurepip && (\S+) -I -m pip install ipykernel", chosen.remark)
    assert command is not None, chosen.remark
    assert command[1] == command[2]
    told = subprocess.run([command[1], "--version"], capture_output=True, text=True, timeout=60, check=True)
    assert told.stdout == f"Python {version}\n"  # the command that is offered is of that environment
    with pytest.raises(SettingsError, match="has no ipykernel"):
        usable_environment(".venv", folder, {}, trusted=True)


PLOT = """
from IPython.display import display
class Picture:
    def _repr_png_(self):
        return b"\\x89PNG\\r\\n\\x1a\\n"
display(Picture())
"""


@pytest.mark.parametrize("rung", [None, "bubblewrap", "space", "lock"])
async def test_R13_code_runs_in_an_environment_of_another_version(
    equipped: tuple[Path, str], kernel_environ: dict[str, str], rung: RungChoice | None
) -> None:
    if rung and (reason := why_no_rung(rung)):
        pytest.skip(reason)
    folder, version = equipped
    kernel = JupyterKernel(launched(folder, kernel_environ, rung))
    try:
        run = await collect(kernel, "import platform, sys\nprint(platform.python_version(), sys.prefix)\nx = 41")
        assert run.text() == f"{version} {folder}/.venv\n", run.events
        assert kernel.place == f"Python {version} in .venv"
        assert kernel_label("python", kernel.place) == "python in .venv"
        run = await collect(kernel, "x + 1")
        assert [output.data["text/plain"] for output in of(RichOutput, run.outputs)] == ["42"]
        assert await kernel.variables((), again=False) is not None
        listing = await kernel.variables((), again=True)
        assert listing is not None
        assert [(one.name, one.type) for one in listing.variables] == [("x", "int")]
        run = await collect(kernel, PLOT)
        assert ["image/png" in output.data for output in of(RichOutput, run.outputs)] == [True]
        run = await collect(kernel, "def f(:")
        assert run.finished.status == "error"
    finally:
        await kernel.close()


async def test_R13_a_loop_in_another_version_is_interrupted_and_keeps_its_variables(
    equipped: tuple[Path, str], kernel_environ: dict[str, str]
) -> None:
    kernel = JupyterKernel(launched(equipped[0], kernel_environ))
    try:
        await collect(kernel, "x = 41")
        run, means = await interrupted(kernel, "print('on', flush=True)\nwhile True: pass", prints("on"))
        assert (run.finished.status, means) == ("interrupted", "signal")
        assert (await collect(kernel, "print(x)")).text() == "41\n"
        assert kernel.generation == 1
    finally:
        await kernel.close()


@pytest.fixture
def made_by_uv(equipped: tuple[Path, str], tmp_path: Path) -> tuple[Path, str]:
    """The same as uv makes it, which has no pip."""
    if not UV.exists():
        pytest.skip("uv is not beside this Python, so an environment that it made is not tried")
    folder, version = equipped
    program, _ = other_python()
    subprocess.run([str(UV), "venv", "--quiet", "--python", program, str(tmp_path / ".venv")], check=True, timeout=120)
    library = f"lib/python{'.'.join(version.split('.')[:2])}/site-packages"
    there = folder / ".venv" / library
    without = shutil.ignore_patterns(
        "pip", "pip-*"
    )  # what is installed there already, for it need not be fetched again
    shutil.copytree(there, tmp_path / ".venv" / library, dirs_exist_ok=True, ignore=without, copy_function=os.link)
    return tmp_path, version


async def test_R13_an_environment_that_uv_made_of_another_version_runs_code(
    made_by_uv: tuple[Path, str], kernel_environ: dict[str, str]
) -> None:
    folder, version = made_by_uv
    kernel = JupyterKernel(launched(folder, kernel_environ))
    try:
        run = await collect(kernel, "import sys\nprint(sys.prefix)")
        assert run.text() == f"{folder}/.venv\n", run.events
        assert kernel.place == f"Python {version} in .venv"
        assert kernel.confinement.packages is not None
        assert not kernel.confinement.packages.has_pip
    finally:
        await kernel.close()


async def test_R13_a_conda_environment_of_another_version_is_told_by_its_record_and_runs_code(
    equipped: tuple[Path, str], tmp_path: Path, kernel_environ: dict[str, str]
) -> None:
    folder, version = equipped
    prefix = tmp_path / "env"
    shutil.copytree(folder / ".venv", prefix, symlinks=True, copy_function=os.link)
    (prefix / "pyvenv.cfg").rename(prefix / "bin" / "pyvenv.cfg")  # what else makes it find its library
    (prefix / "conda-meta").mkdir()
    (prefix / "conda-meta" / f"python-{version}-h1234567_0_cpython.json").write_text("{}")
    found = environment_at(prefix)
    assert found is not None
    assert (found.kind, found.version, found.has_ipykernel) == ("conda", version, True)
    kernel = JupyterKernel(Launch(cwd=tmp_path, environ=kernel_environ, python=found))
    try:
        run = await collect(kernel, "import os, sys\nprint(os.environ['CONDA_DEFAULT_ENV'], sys.version.split()[0])")
        assert run.text() == f"env {version}\n", run.events
    finally:
        await kernel.close()
