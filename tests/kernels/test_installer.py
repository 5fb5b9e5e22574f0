"""Row R16: ipykernel is installed where it is missing, by the command that was agreed to; nothing else is changed."""

import os
import re
import shutil
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from msgspec.structs import replace as replace_fields

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.settings import SandboxSection
from oi_tui.app.engine.environments.discovery import install_command, kernel_obstacle
from oi_tui.app.engine.environments.environment import PythonEnvironment, environment_at
from oi_tui.app.engine.kernels.installing import installer
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.pool import Kernels
from oi_tui.app.engine.sandbox.profile import RungChoice
from oi_tui.app.engine.sandbox.profile_choice import chosen_profile
from support.enclosure import why_no_rung
from support.environments import make_environment
from support.runs import collect

pytestmark = pytest.mark.kernel

LAUNCHER = f"""
import sys
sys.path += {[sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]!r}
from ipykernel import kernelapp
kernelapp.launch_new_instance()
"""
"""What stands in for ipykernel: the one that is installed for us."""


def make_wheel(folder: Path) -> None:
    """A distribution called ipykernel, for any Python."""
    folder.mkdir()
    info = "ipykernel-99.0.dist-info"
    files = {
        "ipykernel_launcher.py": LAUNCHER,
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: ipykernel\nVersion: 99.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in (*files, f"{info}/RECORD"))
    with zipfile.ZipFile(folder / "ipykernel-99.0-py3-none-any.whl", "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)


def old_environment(tmp_path: Path, *, pip: bool = False) -> PythonEnvironment:
    """An environment that says it is of another version, so that nothing is lent to it."""
    prefix = tmp_path / "project" / "old"
    make_environment(prefix, pip=pip)
    (prefix / "pyvenv.cfg").write_text(
        re.sub(r"version = 3\.\d+", "version = 3.9", (prefix / "pyvenv.cfg").read_text())
    )
    make_wheel(prefix / "wheels")
    found = environment_at(prefix)
    assert found is not None
    assert kernel_obstacle(found)
    return found


@pytest.fixture
def old(tmp_path: Path) -> PythonEnvironment:
    """Such an environment, without pip."""
    return old_environment(tmp_path)


def launched(old: PythonEnvironment, environ: dict[str, str], rung: RungChoice | None = None, **more: str) -> Launch:
    folder = old.prefix.parent
    names = ("VIRTUAL_ENV", "CONDA_PREFIX", *(name for name in environ if name.startswith(("PIP_", "UV_"))))
    environ = {name: value for name, value in environ.items() if name not in names}
    environ |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(old.prefix / "wheels"), **more}
    environ |= {"UV_NO_INDEX": "1", "UV_FIND_LINKS": str(old.prefix / "wheels")}
    sandbox = chosen_profile(SandboxSection(rung=rung), folder) if rung else None
    return Launch(cwd=folder, environ=environ, trusted=True, sandbox=sandbox)


def no_uv(environ: dict[str, str]) -> dict[str, str]:
    """Without a uv that may be on this machine."""
    folders = [folder for folder in environ["PATH"].split(os.pathsep) if not Path(folder, "uv").exists()]
    return environ | {"PATH": os.pathsep.join(folders)}


@pytest.mark.parametrize(("rung", "pip"), [(None, True), ("bubblewrap", True), ("space", False), ("lock", True)])
async def test_R16_what_is_installed_is_used_and_only_that_environment_is_changed(
    tmp_path: Path, kernel_environ: dict[str, str], rung: RungChoice | None, pip: bool
) -> None:
    if rung and (reason := why_no_rung(rung)):
        pytest.skip(reason)
    old = old_environment(tmp_path, pip=pip)
    kernels = Kernels(launched(old, no_uv(kernel_environ), rung))
    with pytest.raises(SettingsError, match="has no ipykernel"):
        await kernels.use("./old")
    kernel, command = await kernels.installer("old")
    python = old.prefix / "bin" / "python"
    assert command == ("" if pip else f"{python} -I -m ensurepip && ") + f"{python} -I -m pip install ipykernel"
    try:
        if rung:
            beside = await collect(kernel, f"touch {old.prefix.parent}/beside; ls {old.prefix.parent}")
            assert not (old.prefix.parent / "beside").exists(), beside.text()
        run = await collect(kernel, command)
        assert run.finished.status == "ok", run.text() + run.text("stderr")
        assert "Successfully installed ipykernel-99.0" in run.text()
    finally:
        await kernel.close()
    try:
        assert "old" in (await kernels.use("old")).place
        run = await collect(kernels.get("python"), "import sys; print(sys.prefix)")
        assert run.text() == f"{old.prefix}\n", run.events
        with pytest.raises(SettingsError, match="nothing to install"):
            await kernels.installer("old")
    finally:
        await kernels.close()


async def test_R16_uv_installs_where_there_is_one(old: PythonEnvironment, kernel_environ: dict[str, str]) -> None:
    uv = shutil.which("uv", path=os.path.dirname(sys.executable) + os.pathsep + kernel_environ["PATH"])
    if uv is None:
        pytest.skip("there is no uv on this machine: that uv installs is not tested here")
    path = f"{os.path.dirname(uv)}{os.pathsep}{kernel_environ['PATH']}"
    kernel, command = installer(launched(old, kernel_environ, PATH=path), old)
    assert command == f"uv pip install --python {old.python} ipykernel"
    try:
        run = await collect(kernel, command)
        assert run.finished.status == "ok", run.text() + run.text("stderr")
        assert (site_of(old) / "ipykernel_launcher.py").is_file()
    finally:
        await kernel.close()


async def test_R16_without_packages_to_be_had_it_says_why_and_changes_nothing(
    tmp_path: Path, kernel_environ: dict[str, str]
) -> None:
    old = old_environment(tmp_path, pip=True)
    shutil.rmtree(old.prefix / "wheels")
    (old.prefix / "wheels").mkdir()
    kernel, command = installer(launched(old, no_uv(kernel_environ)), old)
    try:
        run = await collect(kernel, command)
        assert run.finished.status == "error"
        assert "No matching distribution found for ipykernel" in run.text("stderr")
        assert kernel_obstacle(old)
    finally:
        await kernel.close()


@pytest.mark.parametrize("rung", ["bubblewrap", "space", "lock"])
async def test_R16_packages_that_are_kept_elsewhere_are_not_changed(
    old: PythonEnvironment, kernel_environ: dict[str, str], rung: RungChoice, tmp_path: Path
) -> None:
    if reason := why_no_rung(rung):
        pytest.skip(reason)
    site = site_of(old)
    site.rename(tmp_path / "elsewhere")
    site.symlink_to(tmp_path / "elsewhere")
    kernel, command = installer(launched(old, no_uv(kernel_environ), rung), old)
    try:
        run = await collect(kernel, command)
        assert run.finished.status == "error", run.text() + run.text("stderr")
        assert os.listdir(tmp_path / "elsewhere") == []
    finally:
        await kernel.close()


def test_R16_an_environment_that_holds_the_persons_files_is_none(
    old: PythonEnvironment, kernel_environ: dict[str, str]
) -> None:
    launch = launched(old, kernel_environ)
    around = replace_fields(old, prefix=launch.cwd)
    with pytest.raises(SettingsError, match="your files are in it"):
        installer(launch, around)


def test_R16_an_installation_that_is_no_environment_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "lib" / "python3.9" / "site-packages").mkdir(parents=True)
    found = PythonEnvironment(tmp_path, tmp_path / "bin" / "python", "python", "3.9.1")
    assert install_command(found, {"PATH": ""}) == ""


def site_of(environment: PythonEnvironment) -> Path:
    return environment.prefix / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
