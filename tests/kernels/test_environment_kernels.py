"""Row R13: code runs in the environment that was chosen, in each kind of sandbox and without it."""

import os
import shutil
import sys
import venv
from pathlib import Path

import pytest

from oi_tui.app.engine.core.errors import KernelError, SettingsError
from oi_tui.app.engine.core.kernel_choice import tell_choices
from oi_tui.app.engine.core.settings import SandboxSection
from oi_tui.app.engine.environments.discovery import choose_environment
from oi_tui.app.engine.environments.environment import PythonEnvironment, environment_at
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.pool import Kernels
from oi_tui.app.engine.sandbox.profile import RungChoice
from oi_tui.app.engine.sandbox.profile_choice import chosen_profile
from support.enclosure import why_no_rung
from support.runs import collect

pytestmark = pytest.mark.kernel

WHERE = """
import sys, of_the_project
print(sys.prefix, of_the_project.__name__)
try:
    import msgspec
except ImportError:
    print("nothing of ours")
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an environment of our version that has a package, and no ipykernel."""
    folder = tmp_path_factory.mktemp("project").resolve()
    venv.create(folder / ".venv", symlinks=True)
    site = folder / ".venv" / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    (site / "of_the_project.py").write_text("")
    return folder


def launched(folder: Path, environ: dict[str, str], rung: RungChoice | None = None, asked: str = "") -> Kernels:
    environ = {name: value for name, value in environ.items() if name not in ("VIRTUAL_ENV", "CONDA_PREFIX")}
    chosen = choose_environment(folder, environ, asked=asked, trusted=True)
    sandbox = chosen_profile(SandboxSection(rung=rung), folder) if rung else None
    return Kernels(Launch(cwd=folder, environ=environ, python=chosen.environment, trusted=True, sandbox=sandbox))


@pytest.mark.parametrize("rung", [None, "bubblewrap", "space", "lock"])
async def test_R13_code_runs_in_the_folders_environment_and_sees_nothing_of_ours(
    project: Path, kernel_environ: dict[str, str], rung: RungChoice | None
) -> None:
    if rung and (reason := why_no_rung(rung)):
        pytest.skip(reason)
    kernels = launched(project, kernel_environ, rung)
    try:
        run = await collect(kernels.get("python"), WHERE)
        assert run.text() == f"{project}/.venv of_the_project\nnothing of ours\n", run.events
        assert kernels.get("python").place == f"Python {'.'.join(map(str, sys.version_info[:3]))} in .venv"
        run = await collect(kernels.get("shell"), "python -c 'import sys; print(sys.prefix)'; echo $VIRTUAL_ENV")
        assert run.text() == f"{project}/.venv\n" * 2, run.events
    finally:
        await kernels.close()


async def test_R13_a_switch_is_a_fresh_kernel_of_another_generation(
    project: Path, kernel_environ: dict[str, str]
) -> None:
    old = project / "old"
    (old / "bin").mkdir(parents=True)
    (old / "pyvenv.cfg").write_text("version = 3.9.1\n")
    (old / "bin" / "python").symlink_to(sys.executable)
    kernels = launched(project, kernel_environ, asked="oi-tui")
    try:
        run = await collect(kernels.get("python"), "import sys, msgspec\nx = 1\nprint(sys.prefix)")
        assert run.text() == f"{sys.prefix}\n"
        with pytest.raises(SettingsError):
            await kernels.use("nosuch")
        assert (await collect(kernels.get("python"), "print(x)")).text() == "1\n"  # what failed changed nothing
        assert (await kernels.use(".venv")).place == kernels.get("python").place
        run = await collect(kernels.get("python"), "import sys\nprint(sys.prefix, 'x' in dir())")
        assert run.text() == f"{project}/.venv False\n"
        assert kernels.get("python").generation == 2
        used, *others = await kernels.choices()
        assert used.in_use
        assert used.name == ".venv"
        assert "lent by oi-tui" in used.detail
        assert not any(choice.in_use for choice in others)
        assert "oi-tui" in [choice.name for choice in others]
        lacking = next(choice for choice in others if choice.name == "old")
        assert "has no ipykernel" in lacking.obstacle
        assert "install ipykernel" in lacking.remedy or "pip install" in lacking.remedy
        assert "old" in tell_choices(others)
    finally:
        await kernels.close()


async def test_R13_packages_of_conda_set_their_variables(tmp_path: Path, kernel_environ: dict[str, str]) -> None:
    prefix = tmp_path.resolve() / "env"
    venv.create(prefix, symlinks=True)
    (prefix / "pyvenv.cfg").rename(prefix / "bin" / "pyvenv.cfg")  # what else makes it find its library
    (prefix / "conda-meta").mkdir()
    scripts = prefix / "etc" / "conda" / "activate.d"
    scripts.mkdir(parents=True)
    (scripts / "proj.sh").write_text('export PROJ_DATA="$CONDA_PREFIX/share/proj"\n')
    found = environment_at(prefix)
    assert found is not None
    assert found.kind == "conda"
    kernels = Kernels(Launch(cwd=tmp_path, environ=kernel_environ, python=found))
    try:
        run = await collect(kernels.get("python"), "import os\nprint(os.environ['PROJ_DATA'])")
        assert run.text() == f"{prefix}/share/proj\n", run.events
        run = await collect(kernels.get("shell"), "echo $PROJ_DATA $CONDA_DEFAULT_ENV")
        assert run.text() == f"{prefix}/share/proj env\n", run.events
    finally:
        await kernels.close()


async def test_R13_an_environment_that_cannot_start_says_why(tmp_path: Path, kernel_environ: dict[str, str]) -> None:
    (tmp_path / "bin").mkdir()
    shutil.copy("/bin/false", tmp_path / "bin" / "python")
    broken = PythonEnvironment(tmp_path, tmp_path / "bin" / "python", "venv", "3.12.1")
    kernels = Kernels(Launch(cwd=tmp_path, environ=kernel_environ, python=broken))
    with pytest.raises(KernelError, match="could not be started"):
        await kernels.get("python").start()
    await kernels.close()
    assert os.listdir(tmp_path) == ["bin"]
