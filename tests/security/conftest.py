"""Real sandboxes with real kernels. Where there can be none, every test that needs one is skipped, and says so."""

import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from oi_tui.app.engine.core.settings import KernelSection
from oi_tui.app.engine.kernels.base import Kernel
from oi_tui.app.engine.kernels.jupyter import JupyterKernel
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.shell_kernel import ShellKernel
from oi_tui.app.engine.kernels.spec import KernelSpec
from oi_tui.app.engine.sandbox.profile import Profile
from support import light_kernel
from support.enclosure import RUNG, make_home, make_project, profile, why_no_rung

QUICK = KernelSection(interrupt_step=1.0, output_cap=100_000)


FULL = (pytest.param("bubblewrap", marks=pytest.mark.thorough), "space")
"""The kinds of sandbox that keep every promise. They are made from the same plan: what that gives in bubblewrap,
`test_sandbox_rungs.py` shows in the check, and the rest `make check-all`."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tests marked `sandbox` are run in each of them; where this machine has one kind only, the other is skipped
    loudly."""
    if metafunc.definition.get_closest_marker("sandbox"):
        metafunc.parametrize("rung", FULL, indirect=True, scope="module")
    elif metafunc.definition.get_closest_marker("bubblewrap"):
        metafunc.parametrize("rung", ["bubblewrap"], indirect=True, scope="module")


@pytest.fixture(scope="module", autouse=True)
def rung(request: pytest.FixtureRequest) -> Iterator[str]:
    """The kind of sandbox that everything in the test has; "" where it is not said."""
    name = getattr(request, "param", "")
    if name and (reason := why_no_rung(name)):
        pytest.skip(reason)
    with pytest.MonkeyPatch.context() as patch:
        if name:
            patch.setenv(RUNG, name)
        yield name


@pytest.fixture(scope="session")
def kernel_environ() -> dict[str, str]:
    """What kernels are started with; some of it must not get through."""
    given = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    return given | {"OPENAI_API_KEY": "a-key", "INNOCENT": "a-value"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, rung: str) -> Path:
    """A home folder with secrets."""
    return make_home(tmp_path_factory.mktemp("home").resolve())


@pytest.fixture(scope="module")
def project(home: Path) -> Path:
    """A project in the home folder."""
    return make_project(home / "project")


@pytest.fixture(scope="module")
def usual(project: Path, home: Path) -> Profile:
    """The sandbox that most tests look at."""
    return profile(project, home)


def launch(sandbox: Profile, environ: dict[str, str], **options: Any) -> Launch:
    """Of kernels in this sandbox."""
    return Launch(**{"cwd": sandbox.workspace, "settings": QUICK, "environ": environ, "sandbox": sandbox, **options})


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def python(usual: Profile, kernel_environ: dict[str, str]) -> AsyncIterator[Kernel]:
    """A Python kernel in it that the tests of a module share."""
    kernel = JupyterKernel(launch(usual, kernel_environ))
    await kernel.start()
    yield kernel
    await kernel.close()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def shell(usual: Profile, kernel_environ: dict[str, str]) -> AsyncIterator[Kernel]:
    """A shell in it."""
    kernel = ShellKernel(launch(usual, kernel_environ))
    await kernel.start()
    yield kernel
    await kernel.close()


LIGHT = KernelSpec(
    name="light",
    argv=(sys.executable, "-P", "-c", Path(light_kernel.__file__).read_text(encoding="utf-8"), "{connection_file}"),
)


@pytest_asyncio.fixture(loop_scope="module")
async def enclosed(kernel_environ: dict[str, str]) -> AsyncIterator[Callable[..., Kernel]]:
    """Makes kernels ("python", "shell", or "light": that of `support.light_kernel`) in a sandbox of their own, which
    end with the test."""
    made: list[Kernel] = []

    def make(chosen: Profile, language: str = "light", **options: Any) -> Kernel:
        launched = launch(chosen, kernel_environ, **options)
        spec = LIGHT if language == "light" else None
        made.append(ShellKernel(launched) if language == "shell" else JupyterKernel(launched, spec=spec))
        return made[-1]

    yield make
    for kernel in made:
        await kernel.close()
