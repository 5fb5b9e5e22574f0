"""Row R13: installing packages from a cell, where ipykernel is lent, and in a sandbox without network."""

import time
import zipfile
from pathlib import Path

import pytest

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.core.settings import SandboxSection
from oi_tui.app.engine.environments.environment import environment_at
from oi_tui.app.engine.kernels.installing import install_profile
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.pool import Kernels
from oi_tui.app.engine.policy.installs import failed_install
from oi_tui.app.engine.policy.python import read_python
from oi_tui.app.engine.policy.shell import read_shell
from oi_tui.app.engine.sandbox.profile import RungChoice
from oi_tui.app.engine.sandbox.profile_choice import chosen_profile
from support.enclosure import why_no_rung
from support.environments import make_environment
from support.runs import collect

pytestmark = pytest.mark.kernel

AT_ONCE = 30.0
"""Seconds that a refused installation may take on a busy machine; with its retries pip alone waits for 7.5."""

WANTED = {
    "python": "import subprocess, sys\nsubprocess.run([sys.executable, '-m', 'pip', 'install', 'nosuch-of-ours'])",
    "shell": "pip install nosuch-of-ours",
}
"""In the lock, `!pip` finds no terminal to run on."""


def kernels_in(folder: Path, environ: dict[str, str], rung: RungChoice | None = None, *, pip: bool = False) -> Kernels:
    """In an environment of our version, without ipykernel."""
    make_environment(folder / ".venv", pip=pip)
    found = environment_at(folder / ".venv")
    assert found is not None
    sandbox = chosen_profile(SandboxSection(rung=rung), folder) if rung else None
    return Kernels(Launch(cwd=folder, environ=environ, python=found, trusted=True, sandbox=sandbox))


@pytest.mark.parametrize("pip", [True, False])
async def test_R13_the_magic_for_pip_means_the_environment_to_which_ipykernel_is_lent(
    tmp_path: Path, kernel_environ: dict[str, str], pip: bool
) -> None:
    kernels = kernels_in(tmp_path, kernel_environ, pip=pip)
    try:
        kernel = kernels.get("python")
        assert kernel.confinement.packages is not None
        assert kernel.confinement.packages.has_pip is pip
        run = await collect(kernel, "%pip --version")
        wanted = f"from {tmp_path}/.venv/lib" if pip else f"{tmp_path}/.venv/bin/python: No module named pip"
        assert wanted in run.text(), run.events
        note = failed_install(read_python("%pip install x"), kernel.confinement, run.text())
        assert ("has no pip of its own" in note) is not pip
    finally:
        await kernels.close()


@pytest.mark.parametrize(("rung", "language"), [("bubblewrap", "python"), ("space", "shell"), ("lock", "python")])
async def test_R13_in_a_sandbox_without_network_an_installation_fails_at_once_and_is_explained(
    tmp_path: Path, kernel_environ: dict[str, str], rung: RungChoice, language: str
) -> None:
    if reason := why_no_rung(rung):
        pytest.skip(reason)
    kernels = kernels_in(tmp_path, kernel_environ, rung, pip=True)
    try:
        kernel = kernels.get(language)
        await kernel.start()
        begun = time.monotonic()
        run = await collect(kernel, WANTED[language])
        assert time.monotonic() - begun < AT_ONCE
        read = read_python if language == "python" else read_shell
        said = run.text() + run.text("stderr")
        assert "Retrying" not in said, run.events
        note = failed_install(read(WANTED[language]), kernel.confinement, said)
        assert note.startswith("Nothing was installed: the sandbox has no network" if rung != "lock" else "Nothing")
        tried = "mkdir .venv/lib/tried && echo could"
        run = await collect(kernel, f"import os; os.system({tried!r})" if language == "python" else tried)
        assert kernel.confinement.packages is not None
        assert kernel.confinement.packages.writable is ("could" in run.text())
    finally:
        await kernels.close()


def wheel_in(folder: Path) -> Path:
    """A package that is one line, as a file that can be installed."""
    path = folder / "of_ours-1.0-py3-none-any.whl"
    info = "of_ours-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("of_ours.py", "answer = 42\n")
        file.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: of-ours\nVersion: 1.0\n")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{info}/RECORD", f"of_ours.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    return path


@pytest.mark.parametrize("rung", ["bubblewrap", "space"])
async def test_R13_an_installation_that_was_allowed_reaches_the_kernel_that_runs_and_writes_nothing_else(
    tmp_path: Path, kernel_environ: dict[str, str], rung: RungChoice
) -> None:
    if reason := why_no_rung(rung):
        pytest.skip(reason)
    folder = tmp_path.resolve()
    kernels = kernels_in(folder, kernel_environ, rung, pip=True)
    (folder / "pip.py").write_text("raise SystemExit('this is not pip')")
    wheel = wheel_in(folder / ".venv")
    try:
        kernel = kernels.get("python")
        run = await collect(kernel, "import of_ours")
        assert run.error.name == "ModuleNotFoundError"
        installer = kernels.pip_installer(("--no-index", str(wheel)))
        try:
            run = await collect(installer, "%pip install of_ours")
            assert "Successfully installed of-ours-1.0" in run.text(), run.events
            assert installer.place.startswith("Python ")
            assert "pypi.org" in installer.place
        finally:
            await installer.close()
        run = await collect(kernel, "import of_ours\nprint(of_ours.answer)")
        assert run.text() == "42\n", run.events
        run = await collect(kernel, "open('.venv/lib/more', 'w')")
        assert run.error.name == "OSError"  # its own sandbox is what it was
        assert sorted(path.name for path in folder.iterdir()) == [".venv", "pip.py"]
    finally:
        await kernels.close()


async def test_R13_an_environment_that_code_put_in_the_place_of_the_chosen_one_is_not_run(
    tmp_path: Path, kernel_environ: dict[str, str]
) -> None:
    folder = tmp_path.resolve()
    (folder / "sub").mkdir()
    make_environment(folder / "sub" / "env", pip=True)
    found = environment_at(folder / "sub" / "env")
    assert found is not None
    sandbox = chosen_profile(SandboxSection(rung="space"), folder)
    kernels = Kernels(Launch(cwd=folder, environ=kernel_environ, python=found, trusted=True, sandbox=sandbox))
    await kernels.pip_installer(("x",)).close()
    (folder / "sub").rename(folder / "sub2")  # as code in the sandbox can
    fake = folder / "sub" / "env" / "bin" / "python"
    fake.parent.mkdir(parents=True)
    fake.write_text("#!/bin/sh\necho this is no pip")
    fake.chmod(0o755)
    with pytest.raises(KernelError, match="is another one than when it was chosen"):
        kernels.pip_installer(("x",))


@pytest.mark.parametrize("index", ["", "https://pypi.example.org:port/simple"])
def test_R13_what_cannot_be_installed_from_here_is_said_as_of_a_kernel_that_cannot_start(
    tmp_path: Path, index: str
) -> None:
    folder = tmp_path.resolve()
    make_environment(folder / ".venv")
    found = environment_at(folder / ".venv")
    assert found is not None
    inside = folder / ".venv" / "work"  # the person works within the environment
    inside.mkdir()
    cwd = folder if index else inside
    sandbox = chosen_profile(SandboxSection(rung="space"), cwd)
    launch = Launch(cwd=cwd, environ={"PIP_INDEX_URL": index}, python=found, sandbox=sandbox)
    with pytest.raises(KernelError, match="cannot be installed from here"):
        Kernels(launch).pip_installer(("x",))


def test_R13_what_installs_sees_neither_the_working_folder_nor_any_host_but_those_of_the_index(tmp_path: Path) -> None:
    folder = tmp_path.resolve()
    make_environment(folder / ".venv")
    found = environment_at(folder / ".venv")
    assert found is not None
    usual = chosen_profile(SandboxSection(), folder)
    environ = {"PIP_INDEX_URL": "https://me:pw@pypi.example.org/simple", "PIP_CERT": "/etc/ssl/x"}
    profile = install_profile(Launch(cwd=folder, environ=environ, python=found, sandbox=usual), usual)
    assert (profile.writes, profile.readable) == ((folder / ".venv",), ())
    assert (profile.network, profile.hosts) == ("hosts", ("pypi.org", "files.pythonhosted.org"))
    assert profile.environment == ("PIP_CERT",)  # an address with a password stays outside
    environ["PIP_INDEX_URL"] = "https://pypi.example.org:8443/simple"
    profile = install_profile(Launch(cwd=folder, environ=environ, python=found, sandbox=usual), usual)
    assert profile.hosts == ("pypi.example.org:8443",)
    assert profile.environment == ("PIP_INDEX_URL", "PIP_CERT")
