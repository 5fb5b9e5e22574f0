"""MCP servers from PyPI and npm as they are: started in the sandbox, listed, called, read, ended."""

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from aiohttp import web

from oi_tui.app.engine.files.credentials import CredentialStore
from oi_tui.app.engine.files.keyring import Keyring
from oi_tui.app.engine.mcp.entries import NamedServer, ServerEntry
from oi_tui.app.engine.mcp.logins import KeptTokens, Login, kept_login
from support.foreign_servers import SERVERS
from support.keyrings import environ_with
from support.mcp_servers import Said, Stage, joined
from support.ports import free_port

NODE = SERVERS.parent / "node/node_modules"
PLACES = {"sqlite": SERVERS, "node": NODE / ".bin"}
"""SQLite's server needs version 1 of the SDK; the others are in an environment for version 2."""

pytestmark = pytest.mark.sandbox


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    return place


def installed(name: str, place: str = "") -> str:
    """Its path; a skipped test where it could not be installed."""
    program = PLACES.get(place, SERVERS.parent.parent / "mcp2/bin") / name
    if not program.exists():
        pytest.skip(f"NOT TESTED: {name} is not installed; make check-servers does that")
    return str(program)


@asynccontextmanager
async def running(folder: Path, command: str, *args: str, **more: Any) -> AsyncIterator[Stage]:
    """A server in the sandbox, without a word of complaint, and with nothing left behind it."""
    before = set(psutil.Process().children(recursive=True))
    entry = ServerEntry(command=command, args=args, **more)
    async with (
        asyncio.timeout(90),
        joined(folder, NamedServer(name="x", entry=entry), environ=dict(os.environ), pauses=()) as stage,
    ):
        await stage.only.settle()
        assert stage.only.state == "ready", (stage.only.trouble, stage.only.log)
        assert not stage.warnings, stage.notices
        yield stage
        assert not stage.warnings, stage.notices
    assert not set(psutil.Process().children(recursive=True)) - before


async def test_N10_the_time_server(folder: Path) -> None:
    async with running(folder, installed("mcp-server-time")) as stage:
        assert stage.toolbox.names == {"x__get_current_time", "x__convert_time"}
        zones = {"source_timezone": "Asia/Seoul", "time": "12:00", "target_timezone": "Asia/Tokyo"}
        assert "T12:00:00+09:00" in await stage.call("x__convert_time", **zones)


async def test_N10_the_sqlite_server_writes_where_its_entry_lets_it(folder: Path) -> None:
    program = installed("mcp-server-sqlite", "sqlite")
    async with running(folder, program, "--db-path", "people.db", write=True) as stage:
        await stage.call("x__create_table", query="CREATE TABLE people (name TEXT, age INTEGER)")
        await stage.call("x__write_query", query="INSERT INTO people VALUES ('Ada', 36)")
        assert "Ada" in await stage.call("x__read_query", query="SELECT * FROM people")
        assert [one.uri for one in stage.only.texts.resources] == ["memo://insights"]
        assert "No business insights" in await stage.only.texts.read("memo://insights")
        assert "database" in await stage.only.texts.prompt("mcp-demo", {"topic": "shops"})
    with sqlite3.connect(folder / "people.db") as there:
        assert there.execute("SELECT name FROM people").fetchall() == [("Ada",)]
    async with running(folder, program, "--db-path", "people.db") as stage:
        assert "Ada" in await stage.call("x__read_query", query="SELECT * FROM people")
        said = await stage.call("x__write_query", query="DELETE FROM people")
        assert "readonly" in said


async def test_N10_the_fetch_server_reaches_what_its_entry_names_only(folder: Path) -> None:
    async def page(request: web.Request) -> web.Response:
        return web.Response(text="<h1>Opening hours</h1>", content_type="text/html")

    app = web.Application()
    app.router.add_get("/page", page)
    runner = web.AppRunner(app)
    await runner.setup()
    port = free_port()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    program, url = installed("mcp-server-fetch"), f"http://127.0.0.1:{port}/page"
    options = ("--ignore-robots-txt", "--allow-private-ips")
    try:
        async with running(folder, program, *options, network="full") as stage:
            assert "Opening hours" in await stage.call("x__fetch", url=url, raw=True)
            assert [(one.name, one.required) for one in stage.only.texts.prompts] == [("fetch", ("url",))]
        async with running(folder, program, *options) as stage:
            with pytest.raises(Exception, match=r"(?i)failed|fault|connect"):
                await stage.call("x__fetch", url=url)
    finally:
        await runner.cleanup()


async def test_N10_the_reference_server_with_everything(folder: Path) -> None:
    async with running(folder, installed("mcp-server-everything", "node")) as stage:
        assert "Echo: hi" in await stage.call("x__echo", message="hi")
        assert "5" in await stage.call("x__get-sum", a=2, b=3)
        said = Said()
        await stage.call("x__get-tiny-image", said, nothing="")
        assert [list(one.data) for one in said.shown] == [["image/png"]]
        assert str(folder) in await stage.call("x__get-roots-list", nothing="")
        assert await stage.only.texts.read(stage.only.texts.resources[0].uri)
        assert "Rome" in await stage.only.texts.prompt("args-prompt", {"city": "Rome"})


async def test_N10_the_filesystem_server_sees_the_folder(folder: Path) -> None:
    (folder / "notes.txt").write_text("Buy milk.", encoding="utf-8")
    program = installed("mcp-server-filesystem", "node")
    async with running(folder, program, str(folder)) as stage:
        assert "notes.txt" in await stage.call("x__list_directory", path=str(folder))
        assert "Buy milk." in await stage.call("x__read_text_file", path=str(folder / "notes.txt"))


async def test_N9_N10_a_login_at_the_example_of_the_sdk(folder: Path, tmp_path: Path) -> None:
    example = NODE / "@modelcontextprotocol/sdk/dist/esm/examples/server/simpleStreamableHttp.js"
    if not example.exists():
        pytest.skip("NOT TESTED: the SDK for node is not installed; make check-servers does that")
    port, place = free_port(), tmp_path / "credentials.toml"
    ports = {"MCP_PORT": str(port), "MCP_AUTH_PORT": str(free_port())}
    program = await asyncio.create_subprocess_exec(
        "node", str(example), "--oauth", env=os.environ | ports, stdout=asyncio.subprocess.PIPE
    )
    assert program.stdout is not None
    store = CredentialStore(place, Keyring(environ_with("KeyringOfFile", tmp_path / "keyring.json")), owner=os.getuid())
    browsing: list[asyncio.Task[httpx.Response]] = []

    async def follow(address: str) -> httpx.Response:
        async with httpx.AsyncClient(follow_redirects=True, trust_env=False) as browser:
            return await browser.get(address)

    try:
        async with asyncio.timeout(60):
            while b"MCP Streamable HTTP Server listening" not in (line := await program.stdout.readline()):
                assert line, "it has ended"
        url = f"http://localhost:{port}/mcp"
        named = NamedServer(name="x", entry=ServerEntry(url=url))
        tokens = KeptTokens(store, url, lambda name, value: None, anew=True)
        async with (
            asyncio.timeout(60),
            Login(url, tokens, lambda address: browsing.append(asyncio.create_task(follow(address)))) as auth,
            joined(folder, named, pauses=(), find_auth=lambda server: auth) as stage,
        ):
            await stage.only.settle()
            assert stage.only.state == "ready", stage.only.trouble
        assert "Logged in" in (await browsing[0]).text
        later = kept_login(store, url, lambda name, value: None)
        async with asyncio.timeout(60), joined(folder, named, pauses=(), find_auth=lambda server: later) as stage:
            assert "Hello, Ada" in await stage.call("x__greet", name="Ada")
        assert len(browsing) == 1
    finally:
        program.terminate()
        await program.wait()


async def test_N10_the_example_of_the_sdk_behind_an_address(folder: Path) -> None:
    example = NODE / "@modelcontextprotocol/sdk/dist/esm/examples/server/simpleStreamableHttp.js"
    if not example.exists():
        pytest.skip("NOT TESTED: the SDK for node is not installed; make check-servers does that")
    port = free_port()
    program = await asyncio.create_subprocess_exec(
        "node", str(example), env=os.environ | {"MCP_PORT": str(port)}, stdout=asyncio.subprocess.PIPE
    )
    assert program.stdout is not None
    try:
        async with asyncio.timeout(60):
            while b"listening" not in (line := await program.stdout.readline()):
                assert line, "it has ended"
        named = NamedServer(name="x", entry=ServerEntry(url=f"http://127.0.0.1:{port}/mcp"))
        async with asyncio.timeout(60), joined(folder, named, pauses=()) as stage:
            assert stage.only.state == "ready", stage.only.trouble
            assert "Hello, Ada" in await stage.call("x__greet", name="Ada")
            said = Said("Ada", "ada@example.org", "skip")
            assert "ada@example.org" in await stage.call("x__collect-user-info", said, infoType="contact")
            assert said.questions[0][0].startswith("The MCP server x asks:")
            assert "Hello, world!" in await stage.only.texts.read("https://example.com/greetings/default")
            assert "Ada" in await stage.only.texts.prompt("greeting-template", {"name": "Ada"})
            assert not stage.warnings
    finally:
        program.terminate()
        await program.wait()
