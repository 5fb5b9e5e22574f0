"""Kernels through a real JupyterHub, whose tokens have scopes: the person's server is started where it does not run."""

import os
import secrets
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.remote.kernel import remote_kernel
from oi_tui.app.engine.kernels.remote.servers import KnownServer
from oi_tui.app.engine.kernels.remote.site import open_site
from support.ports import free_port
from support.runs import collect

pytestmark = pytest.mark.thorough  # a hub takes half a minute to start

SERVERS = Path(os.environ.get("OI_TUI_SERVERS", ""))
ADMIN = secrets.token_hex(16)

CONFIG = """
import sys
c.JupyterHub.authenticator_class = "dummy"
c.JupyterHub.spawner_class = "simple"
c.Authenticator.allow_all = True
c.JupyterHub.hub_port = {hub_port}
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{api_port}"
c.ConfigurableHTTPProxy.command = ["{proxy}"]
c.JupyterHub.db_url = "sqlite:///{folder}/hub.sqlite"
c.JupyterHub.cookie_secret_file = "{folder}/cookie"
c.JupyterHub.allow_named_servers = True
c.JupyterHub.cleanup_servers = True
c.JupyterHub.services = [dict(name="tests", api_token="{admin}", admin=True)]
c.SimpleLocalProcessSpawner.home_dir_template = "{folder}/home/{{username}}"
c.Spawner.cmd = [sys.executable, "-m", "jupyterhub.singleuser"]
c.Spawner.args = ["--allow-root"]
def refuse(spawner):
    if spawner.name == "broken":
        raise RuntimeError("no machine is free \\x1b[2J")
c.Spawner.pre_spawn_hook = refuse
"""

TokenOf = Callable[..., str]


@pytest.fixture(scope="module")
def hub(serve: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a hub that runs."""
    proxy = SERVERS / "node" / "node_modules" / ".bin" / "configurable-http-proxy"
    if not proxy.exists():
        pytest.skip("NOT TESTED: JupyterHub's proxy is not installed; make check-servers does that where there is npm")
    folder = tmp_path_factory.mktemp("hub")
    (folder / "home").mkdir()
    own = CONFIG.format(hub_port=free_port(), api_port=free_port(), proxy=proxy, folder=folder, admin=ADMIN)
    (folder / "config.py").write_text(own)
    address = "--JupyterHub.bind_url=http://127.0.0.1:{port}"
    return serve("jupyterhub", "-f", str(folder / "config.py"), address, health="/hub/api")


@pytest.fixture(scope="module")
def token_of(hub: str) -> TokenOf:
    """A token of this user: `token_of("ann", "servers!user")`; without scopes it may do all that she may."""

    def make(user: str, *scopes: str) -> str:
        body = {"scopes": list(scopes)} if scopes else {}
        with httpx.Client(headers={"Authorization": f"token {ADMIN}"}, trust_env=False, timeout=20) as asking:
            asking.post(f"{hub}/hub/api/users/{user}")
            made = asking.post(f"{hub}/hub/api/users/{user}/tokens", json=body)
        return str(made.raise_for_status().json()["token"])

    return make


async def open_steps(url: str, token: str, folder: Path) -> list[str]:
    """What is told until the server can be used."""
    steps: list[str] = []
    async with open_site(KnownServer(url=url, token=token), Launch(cwd=folder), steps.append) as site:
        assert "python3" in await site.kernelspecs()
    return steps


async def test_the_server_of_the_person_is_started_and_runs_code(hub: str, token_of: TokenOf, tmp_path: Path) -> None:
    token = token_of("ann")
    steps = await open_steps(f"{hub}/", token, tmp_path)
    assert "is a JupyterHub" in steps[0]
    assert steps[1] == "Starting the server of ann"
    assert steps[-1] == "The server of ann runs"
    assert not any(token in step for step in steps)
    for url in (f"{hub}/user/ann/", f"{hub}/user/ann/lab/tree/work", f"{hub}/hub/home"):
        assert "Starting the server of ann" not in await open_steps(url, token, tmp_path)
    blind = token_of("ann", "start:servers!user", "access:servers!user")
    assert (await open_steps(f"{hub}/", blind, tmp_path))[-1] == "The server of ann runs"
    kernel = remote_kernel(Launch(cwd=tmp_path), KnownServer(url=f"{hub}/", token=token))
    try:
        assert (await collect(kernel, "import os\nprint(os.environ['JUPYTERHUB_USER'])")).text() == "ann\n"
    finally:
        await kernel.close()


async def test_a_named_server_is_started_and_one_that_cannot_be_is_told(
    hub: str, token_of: TokenOf, tmp_path: Path
) -> None:
    token = token_of("cy", "servers!user", "access:servers!user", "read:users!user")
    steps = await open_steps(f"{hub}/user/cy/gpu/", token, tmp_path)
    assert steps[1] == "Starting the server gpu of cy"
    with pytest.raises(KernelError, match="start the server broken of cy") as told:
        await open_steps(f"{hub}/user/cy/broken", token, tmp_path)
    assert "\x1b" not in f"{told.value} {told.value.details}"
    assert token not in f"{told.value} {told.value.details} {told.value.hint}"


@pytest.mark.parametrize(
    ("scopes", "words"),
    [
        (
            ("read:users!user", "access:servers!user"),
            "does not start the server of bob: the token lacks the scope (start:)?servers",
        ),
        (("access:servers!user",), "lacks the scope"),
        (None, "does not say whose token this is: it does not know the token"),
    ],
)
async def test_what_a_token_may_not_do_is_said_in_plain_words(
    hub: str, token_of: TokenOf, tmp_path: Path, scopes: tuple[str, ...] | None, words: str
) -> None:
    token = "nonsense" if scopes is None else token_of("bob", *scopes)
    with pytest.raises(KernelError, match=words) as told:
        await open_steps(f"{hub}/", token, tmp_path)
    assert token not in f"{told.value} {told.value.hint} {told.value.details}"


async def test_a_user_who_is_not_there_is_said(hub: str, token_of: TokenOf, tmp_path: Path) -> None:
    with pytest.raises(KernelError, match=r"no such user|lacks the scope"):
        await open_steps(f"{hub}/user/nobody/", token_of("bob"), tmp_path)
