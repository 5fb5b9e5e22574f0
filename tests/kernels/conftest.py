"""Real kernels, started once for each module that uses them."""

import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from oi_tui.app.engine.core.settings import KernelSection
from oi_tui.app.engine.kernels.base import Kernel
from oi_tui.app.engine.kernels.jupyter import JupyterKernel
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.remote.servers import KnownServer
from oi_tui.app.engine.kernels.remote.terminal import remote_shell
from oi_tui.app.engine.kernels.shell_kernel import ShellKernel
from oi_tui.app.engine.kernels.spec import KernelSpec
from support.kernel_places import PLACES, kernel_at, server_at
from support.terminal_server import TerminalServer

QUICK = KernelSection(interrupt_step=0.5, output_cap=100_000)


@pytest.fixture(scope="session")
def kernel_environ() -> dict[str, str]:
    """What kernels are started with; under pytest's variable ipykernel would not catch output of subprocesses."""
    return {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}


def long_outputs(tmp_path_factory: pytest.TempPathFactory, environ: dict[str, str]) -> Launch:
    """In a folder of its own, with another one for the whole of long outputs."""
    return Launch(
        cwd=tmp_path_factory.mktemp("cwd"),
        settings=KernelSection(output_cap=100_000),
        environ=environ,
        spill_dir=tmp_path_factory.mktemp("spill"),
    )


@pytest_asyncio.fixture(loop_scope="module", scope="module", params=PLACES)
async def python(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, kernel_environ: dict[str, str]
) -> AsyncIterator[Kernel]:
    """A Python kernel that the tests of a module share, in each place."""
    kernel = kernel_at(request, request.param, long_outputs(tmp_path_factory, kernel_environ))
    await kernel.start()
    yield kernel
    await kernel.close()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def terminal_server() -> AsyncIterator[KnownServer]:
    """A server with terminals."""
    server = TerminalServer()
    yield KnownServer(url=await server.open(), token="t")
    await server.close()


Shells = Callable[[Launch], ShellKernel]


@pytest.fixture(
    scope="module",
    params=["here", "terminal", pytest.param("server", marks=[pytest.mark.servers, pytest.mark.thorough])],
)
def shells(request: pytest.FixtureRequest) -> Shells:
    """Makes a shell on this machine, or in a terminal of a server, ours or a real one. A gateway has no terminals."""
    if request.param == "here":
        return ShellKernel
    server: KnownServer = server_at(request, request.param) or request.getfixturevalue("terminal_server")
    return lambda launch: remote_shell(launch, server)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def shell(
    shells: Shells, tmp_path_factory: pytest.TempPathFactory, kernel_environ: dict[str, str]
) -> AsyncIterator[Kernel]:
    """A shell that the tests of a module share."""
    kernel = shells(long_outputs(tmp_path_factory, kernel_environ))
    await kernel.start()
    yield kernel
    await kernel.close()


@pytest_asyncio.fixture(loop_scope="module")
async def make_python(
    request: pytest.FixtureRequest, tmp_path: Path, kernel_environ: dict[str, str]
) -> AsyncIterator[Callable[..., JupyterKernel]]:
    """Makes Python kernels that end with the test: of a `spec`, or in a `place`."""
    made: list[JupyterKernel] = []

    def make(
        settings: KernelSection = QUICK, spec: KernelSpec | None = None, place: str = "here", **options: Any
    ) -> JupyterKernel:
        launch = Launch(settings=settings, **{"cwd": tmp_path, "environ": kernel_environ, **options})
        made.append(JupyterKernel(launch, spec=spec) if spec is not None else kernel_at(request, place, launch))
        return made[-1]

    yield make
    for kernel in made:
        await kernel.close()


@pytest_asyncio.fixture(loop_scope="module")
async def make_shell(
    shells: Shells, tmp_path: Path, kernel_environ: dict[str, str]
) -> AsyncIterator[Callable[..., ShellKernel]]:
    """Makes shells that end with the test."""
    made: list[ShellKernel] = []

    def make(settings: KernelSection = QUICK, **options: Any) -> ShellKernel:
        launch = Launch(settings=settings, **{"cwd": tmp_path, "environ": kernel_environ, **options})
        made.append(shells(launch))
        return made[-1]

    yield make
    for kernel in made:
        await kernel.close()
