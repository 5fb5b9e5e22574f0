"""`oi-tui mcp`: servers added, listed and removed; nothing is left of what is removed."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from oi_tui.app.cli import program
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.files.credentials import credential_store
from oi_tui.app.engine.mcp.packages import download_of


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


def mcp(*words: str) -> Result:
    return CliRunner().invoke(program, ["mcp", *words])


def named(home: Path) -> list[str]:
    text = (home / "config/oi-tui/mcp.json").read_text(encoding="utf-8")
    return list(json.loads(text)["mcpServers"])


def test_N11_what_a_server_asks_for_is_said_before_it_is_added(home: Path) -> None:
    line = ("add", "shop", "--write", "--", "uvx", "mcp-server-sqlite", "--db-path", "x.db")
    refused = mcp(*line)
    assert isinstance(refused.exception, SettingsError)
    asked = "shop asks for: a download from PyPI: mcp-server-sqlite; may change files in the folder. Add it?"
    assert refused.exception.title == asked
    assert not (home / "config/oi-tui/mcp.json").exists()
    assert mcp(*line[:2], "--yes", *line[2:]).exit_code == 0
    assert named(home) == ["shop"]
    assert "enabled" in mcp("list").output


def test_N11_a_download_goes_with_the_last_server_that_needs_it(home: Path) -> None:
    download = download_of("uvx", ["mcp-server-time"])
    assert download is not None
    download.folder.mkdir(parents=True)
    for name in ("a", "b"):
        assert mcp("add", name, "--yes", "--", "uvx", "mcp-server-time").exit_code == 0
    assert mcp("remove", "a").exit_code == 0
    assert download.folder.exists()
    assert mcp("remove", "b").exit_code == 0
    assert not download.folder.exists()
    assert named(home) == []


def test_N9_a_login_goes_with_the_last_server_at_its_address() -> None:
    url = "https://mcp.example.org/mcp"
    credential_store().keep_in_file(f"mcp:{url}", "{}")
    for name in ("a", "b"):
        assert mcp("add", name, "--url", url).exit_code == 0
    assert mcp("remove", "a").exit_code == 0
    assert credential_store().places() == {f"mcp:{url}": "file"}
    assert mcp("remove", "b").exit_code == 0
    assert credential_store().places() == {}
