"""Servers of tools behind an address: called, logged in at, and misbehaving.

The SDK is loaded by what needs it: a second for each of the test processes, of which one comes here.
"""

import asyncio
from pathlib import Path

import pytest

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.files.credentials import CredentialStore
from oi_tui.app.engine.files.keyring import Keyring
from oi_tui.app.engine.mcp.entries import NamedServer, ServerEntry
from oi_tui.app.engine.tools.tool import Capabilities
from support.keyrings import environ_with
from support.mcp_servers import Stage, joined


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    return place


def at(url: str) -> NamedServer:
    return NamedServer(name="far", entry=ServerEntry(url=url, timeout=5))


async def test_N3_a_server_behind_an_address_is_called_and_the_worst_is_assumed_of_it(folder: Path) -> None:
    from support.mcp_http import served

    async with asyncio.timeout(30), served() as url, joined(folder, at(url)) as stage:
        assert not stage.warnings
        (tool,) = stage.toolbox
        assert tool.capabilities == Capabilities()
        assert not tool.confinement.sandboxed
        assert "42" in await stage.call("far__double", number=21)


@pytest.mark.parametrize(
    "behaviour",
    [
        "redirect_to_a_link_local_address",
        "redirect_to_another_port",
        "endless_body",
        "page_instead_of_an_answer",
        "login_wanted",
        "failure",
    ],
)
async def test_N5_an_address_that_misbehaves_costs_one_notice(behaviour: str, folder: Path) -> None:
    from support.mcp_http import misbehaving

    async with asyncio.timeout(40), misbehaving(behaviour) as (url, asked), joined(folder, at(url)) as stage:
        assert stage.only.state == "failed"
        assert len(stage.warnings) == 1
        assert asked
        assert ("oi-tui mcp login far" in stage.warnings[0]) == (behaviour == "login_wanted")


async def test_N9_a_login_is_kept_in_the_keyring_and_signs_the_requests_of_later_sessions(
    folder: Path, tmp_path: Path
) -> None:
    import httpx

    from oi_tui.app.engine.mcp.logins import KeptTokens, Login, kept_login
    from support.mcp_http import Logins, served

    kept = tmp_path / "keyring.json"
    store = CredentialStore(tmp_path / "credentials.toml", Keyring(environ_with("KeyringOfFile", kept)), owner=0)
    learned: dict[str, str] = {}
    logins = Logins()
    browsing: list[asyncio.Task[httpx.Response]] = []

    def browse(address: str) -> None:
        async def follow() -> httpx.Response:
            async with httpx.AsyncClient(follow_redirects=True) as browser:
                return await browser.get(address)

        browsing.append(asyncio.create_task(follow()))

    async with asyncio.timeout(60), served(logins=logins) as url:
        tokens = KeptTokens(store, url, learned.__setitem__, anew=True)
        async with Login(url, tokens, browse) as auth:
            stage = Stage(folder, at(url), find_auth=lambda server: auth)
            stage.servers.join(stage.member)
            await stage.servers.settle()
            assert stage.toolbox.names == {"far__double"}
            await stage.servers.close()
        assert "Logged in" in (await browsing[0]).text
        assert tokens.unkept == ""
        (token,) = logins.tokens
        assert token in kept.read_text()
        assert token not in (tmp_path / "credentials.toml").read_text()
        assert token in learned.values()
        later = kept_login(store, url, learned.__setitem__)
        async with joined(folder, at(url), find_auth=lambda server: later) as stage:
            assert "42" in await stage.call("far__double", number=21)
        assert len(browsing) == 1
        assert kept_login(store, f"{url}/other", learned.__setitem__) is None


@pytest.mark.parametrize("address", ["http://login.example/x", "file:///etc/passwd", "javascript:alert(1)", "https://"])
def test_N9_no_server_sends_the_person_to_a_page_that_is_not_safe(address: str) -> None:
    from oi_tui.app.engine.mcp.logins import check_login_address

    with pytest.raises(SettingsError):
        check_login_address(address)
    check_login_address("https://login.example/x")
    check_login_address("http://127.0.0.1:9/x")
