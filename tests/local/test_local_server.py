"""The model server: how it starts, fails and ends. A stand-in for llama.cpp here, the real one below and with weights
in `test_local_model.py`."""

import asyncio
import importlib.util
import os
import signal
import sys
from functools import partial
from pathlib import Path

import psutil
import pytest

from oi_tui.app.engine.core.errors import LocalModelError
from oi_tui.app.engine.core.settings import ModelSection
from oi_tui.app.engine.local.catalogue import MODELS, find
from oi_tui.app.engine.local.model_server import LocalServer, obstacle, try_runtime
from oi_tui.app.engine.local.weights import Weights
from oi_tui.app.engine.models.model_source import Models

MODEL = find("smollm2-135m")
OTHER = MODELS[0]

STAND_IN = """
import os, runpy, sys, types
class Settings(types.SimpleNamespace):
    pass
def params():
    return Settings(model=Settings(), cpuparams=Settings(), cpuparams_batch=Settings())
class Server:
    listening_address = "http://127.0.0.1:1"
    def __init__(self, params):
        os.write(1, b"native noise on stdout\\n")
        print("serves", params.model.path, params.cpuparams.n_threads, params.hostnames, params.port, file=sys.stderr)
        if params.model.path == "/broken":
            raise RuntimeError("failed to load the model")
        if params.model.path == "/slow":
            import threading
            threading.Event().wait()
module = types.ModuleType("xllamacpp")
module.CommonParams, module.Server = params, Server
sys.modules["xllamacpp"] = module
runpy.run_module("oi_tui.app.engine.local.server", run_name="__main__", alter_sys=True)
"""
COMMAND = (sys.executable, "-c", STAND_IN)
WITHOUT_RUNTIME = (
    sys.executable,
    "-c",
    "import runpy, sys; sys.modules['xllamacpp'] = None;"
    "runpy.run_module('oi_tui.app.engine.local.server', run_name='__main__', alter_sys=True)",
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log" / "local-model.log"


def children() -> list[psutil.Process]:
    return psutil.Process().children()


async def test_a_server_gives_its_url_and_ends_when_stopped(log: Path) -> None:
    async with asyncio.timeout(60):
        server = LocalServer(log=log, threads=3, command=COMMAND)
        urls = [server.url]
        assert await server.start(MODEL, Path("/weights.gguf")) == "http://127.0.0.1:1/v1"
        urls.append(server.url)
        (child,) = children()
        await server.stop()
        await server.stop()
        assert not child.is_running()
        assert [*urls, server.url] == [None, "http://127.0.0.1:1/v1", None]
    assert "serves /weights.gguf 3 ['127.0.0.1'] 0" in log.read_text()
    assert "native noise on stdout" in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600


async def test_a_running_server_is_used_again_and_replaced_for_another_model(log: Path) -> None:
    async with asyncio.timeout(60), LocalServer(log=log, command=COMMAND) as server:
        await asyncio.gather(*(server.start(MODEL, Path("/a")) for _ in range(3)))
        (first,) = children()
        await server.start(OTHER, Path("/b"))
        (second,) = children()
        assert first != second
        assert not first.is_running()
    assert children() == []


async def test_a_server_that_died_is_started_again(log: Path) -> None:
    async with asyncio.timeout(60), LocalServer(log=log, command=COMMAND) as server:
        await server.start(MODEL, Path("/a"))
        (first,) = children()
        first.kill()
        while server.url is not None:  # noqa: ASYNC110 (bounded; until the loop has heard of it)
            await asyncio.sleep(0)
        assert await server.start(MODEL, Path("/a")) == server.url


async def test_a_server_that_dies_while_it_starts_is_an_error_with_the_end_of_its_log(log: Path) -> None:
    async with asyncio.timeout(60), LocalServer(log=log, command=COMMAND) as server:
        with pytest.raises(LocalModelError, match="ended while it started") as caught:
            await server.start(MODEL, Path("/broken"))
    assert "failed to load the model" in caught.value.details
    assert str(log) in caught.value.details
    assert children() == []


async def test_a_server_that_is_never_ready_is_ended_and_told(log: Path) -> None:
    async with asyncio.timeout(60), LocalServer(log=log, command=COMMAND, start_timeout=1) as server:
        with pytest.raises(LocalModelError, match="not ready after 1 seconds"):
            await server.start(MODEL, Path("/slow"))
        assert children() == []


async def test_cancelling_the_start_ends_the_process(log: Path) -> None:
    async with asyncio.timeout(60), LocalServer(log=log, command=COMMAND) as server:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await server.start(MODEL, Path("/slow"))
        assert children() == []
        assert server.url is None


async def test_without_the_runtime_the_error_tells_how_to_install_it(log: Path) -> None:
    async with asyncio.timeout(60), LocalServer(log=log, command=WITHOUT_RUNTIME) as server:
        with pytest.raises(LocalModelError, match="xllamacpp, which is not installed") as caught:
            await server.start(MODEL, Path("/a"))
    assert "pip install '.[local]'" in caught.value.hint
    with pytest.raises(LocalModelError, match="xllamacpp, which is not installed"):
        await try_runtime(WITHOUT_RUNTIME)


@pytest.fixture
def broken_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An xllamacpp whose import fails as it does where a library of the system is missing."""
    package = tmp_path / "path" / "xllamacpp" / "__init__.py"
    package.parent.mkdir(parents=True)
    package.write_text("raise ImportError('libgomp.so.1: cannot open shared object file: No such file or directory')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "path"))
    return package


async def test_a_library_of_the_system_that_is_missing_is_told_as_what_it_is(log: Path, broken_runtime: Path) -> None:
    async with asyncio.timeout(60):
        with pytest.raises(LocalModelError, match=r"cannot be loaded: libgomp\.so\.1: cannot open shared") as caught:
            await try_runtime()
        assert "apt install libgomp1" in caught.value.hint
        async with LocalServer(log=log) as server:
            with pytest.raises(LocalModelError, match=r"libgomp\.so\.1"):
                await server.start(MODEL, Path("/a"))


async def test_nothing_is_offered_or_downloaded_where_the_runtime_cannot_be_loaded(
    tmp_path: Path, broken_runtime: Path
) -> None:
    asked: list[str] = []
    models = Models(ModelSection(), environ={}, weights=Weights(tmp_path / "models"))
    async with asyncio.timeout(60):
        found = await models.find_models()
        assert not [offer for offer in found.offers if offer.kind == "embedded"]
        assert "libgomp.so.1: cannot open shared object file" in found.why
        with pytest.raises(LocalModelError, match=r"libgomp\.so\.1"):
            await models.fetch(OTHER.id, lambda progress: asked.append(progress.stage))
        await models.close()
    assert asked == []
    assert not (tmp_path / "models").exists()


async def test_a_runtime_that_breaks_python_while_it_loads_is_told(broken_runtime: Path) -> None:
    broken_runtime.write_text("import os\nos.abort()\n")
    async with asyncio.timeout(60):
        with pytest.raises(LocalModelError, match="Python ended with status -6"):
            await try_runtime()


async def test_a_session_takes_no_server_from_another_that_uses_it_and_leaves_none_that_nobody_uses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    weights = Weights(tmp_path / "models")
    weights.folder.mkdir()
    for model in (MODEL, OTHER):
        weights.path(model).touch()
        os.truncate(weights.path(model), model.size)
    models = Models(ModelSection(), environ={}, weights=weights, make_server=partial(LocalServer, command=COMMAND))
    first, second = f"local/{MODEL.id}", f"local/{OTHER.id}"
    async with asyncio.timeout(60):
        await models.open(first)
        (one,) = children()
        await models.open(first, elsewhere=lambda: {first})  # another session: the same server
        assert children() == [one]
        await models.open(second, elsewhere=lambda: {first, "openai/gpt"})
        assert one.is_running()
        (other,) = (child for child in children() if child != one)
        await models.open(first, elsewhere=lambda: {"", "openai/gpt"})  # nobody uses the second any more
        assert children() == [one]
        assert not other.is_running()
        await models.close()
    assert children() == []


async def test_ctrl_c_in_the_terminal_does_not_reach_the_server(log: Path) -> None:
    async with asyncio.timeout(60), LocalServer(log=log, command=COMMAND) as server:
        await server.start(MODEL, Path("/a"))
        (child,) = children()
        assert os.getpgid(child.pid) != os.getpgid(0)


async def test_the_server_ends_when_its_parent_is_killed(log: Path, tmp_path: Path) -> None:
    program = tmp_path / "parent.py"
    program.write_text(
        "import asyncio, pathlib, psutil\n"
        "from oi_tui.app.engine.local.catalogue import find\n"
        "from oi_tui.app.engine.local.model_server import LocalServer\n"
        "async def main():\n"
        f"    server = LocalServer(log=pathlib.Path({str(log)!r}), command={COMMAND!r})\n"
        "    await server.start(find('smollm2-135m'), pathlib.Path('/a'))\n"
        "    print(psutil.Process().children()[0].pid, flush=True)\n"
        "    await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )
    async with asyncio.timeout(60):
        parent = await asyncio.create_subprocess_exec(sys.executable, str(program), stdout=asyncio.subprocess.PIPE)
        assert parent.stdout is not None
        child = psutil.Process(int(await parent.stdout.readline()))
        parent.send_signal(signal.SIGKILL)
        await parent.wait()
        await asyncio.to_thread(child.wait, 20)
    assert not child.is_running()


@pytest.mark.skipif(
    importlib.util.find_spec("xllamacpp") is None, reason="NOT TESTED: xllamacpp, pip install '.[local]'"
)
async def test_the_real_runtime_refuses_a_broken_file_with_a_clear_error(log: Path, tmp_path: Path) -> None:
    if why := await obstacle():
        pytest.skip(f"NOT TESTED: the real runtime: {why.title} {why.hint}")
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + b"\x03\x00\x00\x00" + b"\xff" * 1000)
    async with asyncio.timeout(60), LocalServer(log=log) as server:
        with pytest.raises(LocalModelError, match="SmolLM2 135M ended while it started") as caught:
            await server.start(MODEL, broken)
    assert caught.value.details
    assert "oi-tui models remove smollm2-135m" in caught.value.hint
