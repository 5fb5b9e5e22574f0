"""Where a test has its kernel: on this machine, on a real Jupyter Server (version 1 of the protocol), or through a real
Enterprise Gateway (JSON).

A fixture with `params=PLACES`, or a test that is parametrised with them, is run in all three: here by `make test`, on
the servers, which carry the mark `servers`, by `make check-servers`. The kernels are all of the Python that the tests
run in, with its libraries, so what differs is the way to them.
"""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from oi_tui.app.engine.kernels.jupyter import JupyterKernel
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.remote.kernel import remote_kernel
from oi_tui.app.engine.kernels.remote.servers import KnownServer
from support.foreign_servers import Serve, serving
from support.kernelspecs import CALM, install_kernelspec

ELSEWHERE = [pytest.param(name, marks=[pytest.mark.servers, pytest.mark.thorough]) for name in ("server", "gateway")]
PLACES = [pytest.param("here"), *ELSEWHERE]

HERE_ALONE = pytest.mark.parametrize("python", ["here"], indirect=True)
"""For a test with the fixture `python` that elsewhere cannot hold, or has nothing to show; it says why."""

TOKEN = "a-token-of-the-tests"

OWN_KERNEL = "of-the-tests"
"""The kernelspec of our Python; `python3` is that of the server's environment."""
CALM_NAME = "calm"
"""The kernelspec of a kernel that is not IPython's."""

OPTIONS = ("--ip=127.0.0.1", "--port={port}")
JUPYTER_SERVER = (*OPTIONS, "--allow-root", "--no-browser", f"--IdentityProvider.token={TOKEN}")
ENTERPRISE_GATEWAY = (
    *OPTIONS,
    f"--EnterpriseGatewayApp.auth_token={TOKEN}",
    "--EnterpriseGatewayApp.list_kernels=True",
)

FindServer = Callable[[str], KnownServer]


def serve_kernels(serve: Serve, place: str, specs: Path) -> KnownServer:
    """Start a "server" or a "gateway" with the kernelspecs of the tests, beside its own."""
    if place == "server":
        url = serve("jupyter-server", *JUPYTER_SERVER, health="/api", JUPYTER_PATH=str(specs))
    else:
        health = f"/api?token={TOKEN}"
        path = str(specs)
        url = serve("jupyter-enterprisegateway", *ENTERPRISE_GATEWAY, health=health, place="gateway", JUPYTER_PATH=path)
    return KnownServer(url=url, token=TOKEN, kernel=OWN_KERNEL)


@pytest.fixture(scope="session")
def kernel_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FindServer]:
    """A server of kernels by its kind, started when it is first asked for; all tests of a process share it."""
    specs = tmp_path_factory.mktemp("specs")
    install_kernelspec(specs, OWN_KERNEL, language="python")
    install_kernelspec(specs, CALM_NAME, CALM, language="python")
    # A gateway starts nothing for root.
    with serving(tmp_path_factory.mktemp) as serve, pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNEL_USERNAME", "tester")
        yield cache(lambda place: serve_kernels(serve, place, specs))


def server_at(request: pytest.FixtureRequest, place: str) -> KnownServer | None:
    """A "server" or a "gateway", without which the test is skipped; None for this machine."""
    find: FindServer = request.getfixturevalue("kernel_server")
    return find(place) if place in ("server", "gateway") else None


def kernel_at(request: pytest.FixtureRequest, place: str, launch: Launch) -> JupyterKernel:
    """A Python kernel there, not started."""
    server = server_at(request, place)
    return JupyterKernel(launch) if server is None else remote_kernel(launch, server)
