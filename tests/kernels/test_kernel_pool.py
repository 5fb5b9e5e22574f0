"""Which kernel a name means, that each language has its own state, and what a kernel gets to see."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.core.settings import KernelSection
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.pool import Kernels
from oi_tui.app.engine.kernels.remote.servers import KnownServer, KnownServers
from oi_tui.app.engine.sandbox.environments import kernel_environment
from support.kernel_places import PLACES, server_at
from support.runs import collect

IN_A_FRESH_PROCESS = """
import sys
from pathlib import Path
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.pool import Kernels
kernels = Kernels(Launch(cwd=Path.cwd()))
assert [kernels.canonical(name) for name in ("py", "bash")] == ["python", "shell"]
assert not kernels.started_kernels()
print(sorted({"jupyter_client", "zmq", "IPython", "litellm", "textual", "rich"} & set(sys.modules)))
"""


@pytest_asyncio.fixture
async def kernels(tmp_path: Path, kernel_environ: dict[str, str]) -> AsyncIterator[Kernels]:
    pool = Kernels(Launch(cwd=tmp_path, environ=kernel_environ))
    yield pool
    await pool.close()


@pytest.fixture
def second_kernelspec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A kernelspec "other" of the language Other, which is a Python in disguise."""
    folder = tmp_path / "jupyter" / "kernels" / "other"
    folder.mkdir(parents=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": argv, "display_name": "Other", "language": "Other", "interrupt_mode": "message"}
    (folder / "kernel.json").write_text(json.dumps(spec))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    return "other"


@pytest.mark.parametrize(
    ("alias", "language"),
    [
        ("python", "python"),
        ("Python3", "python"),
        ("py", "python"),
        ("ipython", "python"),
        ("bash", "shell"),
        ("sh", "shell"),
        (" zsh ", "shell"),
        ("json", None),
        ("", None),
        ("text", None),
        ("console", None),
        ("shell-session", None),
    ],
)
def test_a_fence_label_means_a_language_or_nothing(kernels: Kernels, alias: str, language: str | None) -> None:
    assert kernels.canonical(alias) == language


def test_an_installed_kernel_is_found_by_its_name_and_its_language(second_kernelspec: str, kernels: Kernels) -> None:
    assert kernels.canonical("Other") == second_kernelspec
    assert kernels.languages[:2] == ("python", "shell")
    assert second_kernelspec in kernels.languages
    assert "python3" not in kernels.languages


def test_naming_python_and_the_shell_imports_nothing_heavy() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IN_A_FRESH_PROCESS], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.kernel
def test_R11_a_kernelspec_that_does_not_exist_is_an_error_that_names_those_there_are(
    second_kernelspec: str, kernels: Kernels
) -> None:
    with pytest.raises(KernelError, match="cobol") as caught:
        kernels.get("cobol")
    assert second_kernelspec in caught.value.hint
    assert "python, shell" in caught.value.hint


@pytest.mark.kernel
@pytest.mark.parametrize("place", PLACES)
async def test_R11_each_language_has_its_own_state_and_is_restarted_alone(
    request: pytest.FixtureRequest, place: str, second_kernelspec: str, tmp_path: Path, kernel_environ: dict[str, str]
) -> None:
    # A gateway has no terminals, so with one the shell is here, and so are other kernelspecs than Python's in any case.
    settings = KernelSection(shell="here" if place == "gateway" else "server")
    launch = Launch(cwd=tmp_path, environ=kernel_environ, settings=settings)
    kernels = Kernels(launch, server=server_at(request, place))
    await collect(kernels.get("python"), "word = 'p'")
    await collect(kernels.get("shell"), "word=s")
    await collect(kernels.get(second_kernelspec), "word = 'o'")
    assert [kernel.language for kernel in kernels.started_kernels()] == ["python", "shell", "other"]
    await kernels.restart("shell")
    assert (await collect(kernels.get("python"), "word")).result == "'p'"
    assert (await collect(kernels.get("shell"), "echo [$word]")).text() == "[]\n"
    assert (await collect(kernels.get("other"), "word")).result == "'o'"
    assert [kernel.generation for kernel in kernels.started_kernels()] == [1, 2, 1]
    await kernels.close()
    assert {kernel.state for kernel in kernels.started_kernels()} == {"cold"}


def test_keys_are_withheld_from_kernels_and_nothing_else_is() -> None:
    environ = {"PATH": "/bin", "HOME": "/home/ada", "OPENAI_API_KEY": "1", "JPY_PARENT_PID": "6"}
    given = kernel_environment(environ)
    assert given == {"PATH": "/bin", "HOME": "/home/ada"}


def test_a_token_of_a_server_is_withheld_from_kernels_whatever_its_variable_is_called(tmp_path: Path) -> None:
    servers = KnownServers(tmp_path / "servers.toml", owner=os.getuid())
    servers.put("cluster", KnownServer(url="https://hub.test/", token_variable="DOOR"))
    environ = {"PATH": "/bin", "DOOR": "opens", "WINDOW": "shut"}
    given = Launch(cwd=tmp_path, environ=environ, token_variables=servers.token_variables).variables
    assert "DOOR" not in given
    assert given["WINDOW"] == "shut"
