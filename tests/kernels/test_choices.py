"""Row R16: what Python code can run in, as it is found here and told by servers."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.core.kernel_choice import KernelChoice, tell_choices
from oi_tui.app.engine.environments.discovery import named_environment
from oi_tui.app.engine.kernels.choices import ask_server, find_choices
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.remote.servers import KnownServer, known_servers
from oi_tui.app.engine.kernels.remote.terminals import find_obstacle


@pytest.fixture
def launch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Launch:
    """A home with two environments of one name, one that has ours', and a server that is called as one is."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for name in ("work/.venv", ".virtualenvs/.venv", ".virtualenvs/oi-tui", ".virtualenvs/cluster", ".virtualenvs/a@b"):
        prefix = tmp_path / name
        (prefix / "bin").mkdir(parents=True)
        (prefix / "bin" / "python").symlink_to(sys.executable)
        (prefix / "pyvenv.cfg").write_text("version = 3.9.1\n")
    known_servers().put("cluster", KnownServer(url="http://127.0.0.1:1/", token="s3cret"))
    environ = {"HOME": str(tmp_path), "PATH": os.defpath}
    return Launch(cwd=tmp_path / "work", environ=environ, trusted=True)


def test_R16_each_name_leads_to_the_environment_that_it_stands_for(launch: Launch, tmp_path: Path) -> None:
    found = [choice for choice in find_choices(launch, None, {}) if choice.kind == "environment"]
    assert len({choice.name for choice in found}) == len(found)
    names = {choice.name for choice in found}
    paths = {str(tmp_path / ".virtualenvs" / name) for name in (".venv", "oi-tui", "cluster", "a@b")}
    assert {".venv", "oi-tui", *paths} <= names
    for choice in found:
        meant = named_environment(choice.name, launch.cwd, launch.environ, trusted=True)
        assert f"Program: {meant.python}" in choice.detail
    assert found[0].in_use
    assert found[0].name == "oi-tui"


def test_R16_the_environment_of_a_folder_that_is_not_trusted_is_there_with_its_obstacle(launch: Launch) -> None:
    found = find_choices(replace(launch, trusted=False), None, {})
    (waiting,) = [choice for choice in found if choice.name == str(launch.cwd / ".venv")]
    assert "once the folder is trusted: /sandbox" in waiting.obstacle
    assert not waiting.remedy
    assert not waiting.in_use


def test_R16_what_is_in_use_is_first_wherever_it_is(launch: Launch) -> None:
    used = known_servers().find("cluster")
    first, *others = find_choices(launch, used, {})
    assert (first.name, first.in_use) == ("cluster", True)
    assert not any(choice.in_use for choice in others)
    gone = KnownServer(url="https://elsewhere.example.org/")
    first, *others = find_choices(launch, gone, {"ir": "R"})
    assert (first.title, first.in_use) == (gone.place, True)
    assert not any(choice.in_use for choice in others)
    assert (others[-1].name, others[-1].is_language) == ("ir", True)


def test_R16_the_list_as_text_has_a_line_for_each_and_the_address_of_a_server_without_secrets(launch: Launch) -> None:
    url = "https://me:s3cret@hub.example.org/user/me/?token=s3cret"
    known_servers().put("cluster", KnownServer(url=url))
    prefix = "/home/me/.pyenv/versions/old"
    old = KernelChoice(
        name=prefix, kind="environment", title=f"Python 3.9.1 in {prefix}", obstacle=f"{prefix} …", remedy=f"{prefix} …"
    )
    lines = tell_choices([old, *find_choices(launch, None, {})]).splitlines()
    assert lines[0] == f"{prefix} Python 3.9.1, needs ipykernel"
    assert "cluster          python3 at https://hub.example.org/user/me/" in lines
    assert not any("s3cret" in line for line in lines)


def test_R16_a_list_of_servers_that_cannot_be_read_hides_nothing_else(launch: Launch, tmp_path: Path) -> None:
    (path,) = tmp_path.rglob("servers.toml")
    path.write_text("[server")
    found = find_choices(launch, None, {})
    assert "servers.toml" in next(choice.obstacle for choice in found if choice.kind == "server")
    assert ".venv" in [choice.name for choice in found]


@pytest_asyncio.fixture
async def serve(launch: Launch) -> AsyncIterator[Callable[[Any], Any]]:
    """Has the server called cluster answer each request by this handler."""
    runners: list[web.AppRunner] = []

    async def serving(handle: Any) -> None:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", handle)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        runners.append(runner)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
        known_servers().put("cluster", KnownServer(url=url, token="s3cret"))

    yield serving
    for runner in runners:
        await runner.cleanup()


async def test_R16_a_server_is_believed_in_bounds(launch: Launch, serve: Callable[[Any], Any]) -> None:
    names = ["ir", "../etc", "a b", "x" * 101, "\x1b[2J", *(f"spec{number}" for number in range(300))]

    async def handle(request: web.Request) -> web.Response:
        specs = {name: {"spec": {"language": "R" * 10_000}} for name in names}
        return web.Response(text=json.dumps({"kernelspecs": specs}), content_type="application/json")

    await serve(handle)
    told = await ask_server(launch, "cluster")
    assert told[0].name == "cluster:ir"
    assert len(told) <= 200
    assert all(len(choice.detail) < 300 and "\x1b" not in choice.title for choice in told)
    assert not {"cluster:../etc", "cluster:a b"} & {choice.name for choice in told}


async def test_R16_what_lives_on_a_server_is_told_from_what_would_be_new_and_whose_it_is(
    launch: Launch, serve: Callable[[Any], Any]
) -> None:
    ids = ("aaaaaaaa-1", "bbbbbbbb-2", "cccccccc-3")

    async def handle(request: web.Request) -> web.Response:
        match request.path:
            case "/api/kernelspecs":
                return web.json_response({"kernelspecs": {"python3": {"spec": {"language": "python"}}}})
            case "/api/kernels":
                one = {"name": "python3", "execution_state": "idle", "last_activity": "2026-01-31T12:00:05Z"}
                kernels = [{**one, "id": name, "connections": int(name == ids[2])} for name in ids]
                return web.json_response(kernels)
        return web.json_response([])

    await serve(handle)
    mine, theirs, shared, new = await ask_server(launch, "cluster", ours={ids[0], ids[2]})
    assert mine.title == "aaaaaaaa python3 on 127.0.0.1, idle since 2026-01-31 12:00 UTC"
    assert (mine.costs, bool(theirs.costs), bool(shared.costs)) == ("", True, True)
    assert (new.kind, new.title) == ("kernelspec", "a new python3 on 127.0.0.1")


async def test_R16_a_server_that_is_silent_is_not_waited_for(launch: Launch, serve: Callable[[Any], Any]) -> None:
    async def handle(request: web.Request) -> web.Response:
        await asyncio.Event().wait()
        return web.Response()

    await serve(handle)
    with pytest.raises(KernelError) as failed:
        async with asyncio.timeout(10):
            await ask_server(launch, "cluster", patience=0.2)
    assert "s3cret" not in str(failed.value)


async def test_K41_asking_a_hub_what_it_has_starts_nothing_there(launch: Launch, serve: Callable[[Any], Any]) -> None:
    asked: list[str] = []

    async def handle(request: web.Request) -> web.Response:
        asked.append(f"{request.method} {request.path}")
        match request.path:
            case "/hub/api/":
                return web.json_response({"version": "5.0"})
            case "/hub/api/user":
                return web.json_response({"kind": "user", "name": "me"})
            case "/hub/api/users/me":
                return web.json_response({"servers": {}})
        return web.json_response({}, status=404)

    await serve(handle)
    with pytest.raises(KernelError, match="No Jupyter server runs on"):
        await ask_server(launch, "cluster")
    assert await find_obstacle(launch, known_servers().find("cluster")) == ""
    assert asked.count("GET /hub/api/users/me") == 2
    assert not [one for one in asked if not one.startswith("GET ")]
