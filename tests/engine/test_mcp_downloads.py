"""Servers that uvx or npx would download: read off the command, downloaded once, after a yes."""

import asyncio
import os
import shutil
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from oi_tui.app.engine.mcp.entries import NamedServer, ServerEntry
from oi_tui.app.engine.mcp.packages import PackageDownload, download_of
from support.mcp_servers import SCRIPT, joined

UV = shutil.which("uv") or str(Path(sys.prefix, "bin/uv"))


def uv(*packages: str, program: str, args: tuple[str, ...] = (), python: str = "") -> PackageDownload:
    return PackageDownload(tool="uv", packages=packages, program=program, args=args, python=python)


def npm(*packages: str, program: str = "", args: tuple[str, ...] = ()) -> PackageDownload:
    return PackageDownload(tool="npm", packages=packages, program=program, args=args)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("uvx mcp-server-time", uv("mcp-server-time", program="mcp-server-time")),
        ("/home/a/.local/bin/uvx time --tz X", uv("time", program="time", args=("--tz", "X"))),
        ("uv tool run time", uv("time", program="time")),
        ("uvx time@1.2", uv("time==1.2", program="time")),
        ("uvx time@latest", uv("time", program="time")),
        ("uvx --with mcp<2 -q time --with x", uv("time", "mcp<2", program="time", args=("--with", "x"))),
        ("uvx --from=big[cli]>=2 small", uv("big[cli]>=2", program="small")),
        ("uvx -p 3.12 time", uv("time", program="time", python="3.12")),
        ("npx -y @a/server-b ./", npm("@a/server-b", args=("./",))),
        ("npx --yes @a/b@1.2.3", npm("@a/b@1.2.3")),
        ("npx -p @a/b c -y", npm("@a/b", program="c", args=("-y",))),
        ("npx -- @a/b", npm("@a/b")),
        # what is not known is started as it is
        ("uvx", None),
        ("uvx --index https://x.example time", None),
        ("uvx --from git+https://x.example/y time", None),
        ("uvx ./here", None),
        ("uvx time@", None),
        ("uvx --from", None),
        ("uvx --from -e time", None),
        ("uv run time", None),
        ("npx --call id", None),
        ("npx ../here", None),
        ("npx a@file:..", None),
        ("npx", None),
        ("node x.js", None),
    ],
)
def test_N11_what_is_downloaded_is_read_off_the_command(line: str, found: PackageDownload | None) -> None:
    command, *args = line.split()
    assert download_of(command, args) == found


def test_N11_a_download_is_asked_about_and_without_a_sandbox_is_left_to_the_program() -> None:
    entry = ServerEntry(command="uvx", args=("--with", "mcp<2", "mcp-server-sqlite"))
    assert entry.wishes == ("a download from PyPI: mcp-server-sqlite, mcp<2",)
    assert ServerEntry(command="npx", args=("@a/b",)).wishes == ("a download from npm: @a/b",)
    assert ServerEntry(command="uvx", args=("x",), sandbox=False).download is None


def write_wheel(folder: Path) -> None:
    """A package whose program is the scripted server."""
    folder.mkdir()
    info = "scripted_mcp-1.0.dist-info"
    files = {
        "scripted_mcp.py": SCRIPT.read_text(encoding="utf-8"),
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: scripted-mcp\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: a\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "[console_scripts]\nscripted-mcp = scripted_mcp:main\n",
    }
    record = "".join(f"{name},,\n" for name in (*files, f"{info}/RECORD"))
    with zipfile.ZipFile(folder / "scripted_mcp-1.0-py3-none-any.whl", "w") as wheel:
        for name, text in {**files, f"{info}/RECORD": record}.items():
            wheel.writestr(name, text)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Where uv finds one package, and a folder to work in."""
    if not Path(UV).exists():
        pytest.skip("NOT TESTED: uv is not installed: pip has a setting here that uv lacks")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    write_wheel(tmp_path / "wheels")
    (tmp_path / "work").mkdir()
    environ = {"PATH": f"{Path(UV).parent}:/usr/bin:/bin", "HOME": str(tmp_path)}
    more = {"UV_OFFLINE": "1", "UV_FIND_LINKS": str(tmp_path / "wheels"), "UV_CACHE_DIR": str(tmp_path / "cache")}
    return {"folder": tmp_path / "work", "environ": environ | more | {"UV_PYTHON": sys.executable}}


@pytest.mark.sandbox
async def test_N11_a_server_is_downloaded_once_and_starts_in_the_sandbox_from_then_on(
    place: dict[str, Any], tmp_path: Path
) -> None:
    entry = ServerEntry(command="uvx", args=("scripted-mcp", "good"))
    folder, environ = place["folder"], place["environ"]
    for again in (False, True):
        async with asyncio.timeout(60), joined(folder, NamedServer(name="x", entry=entry), environ=environ) as stage:
            await stage.only.settle()
            assert stage.only.state == "ready", (stage.notices, stage.only.log)
            assert await stage.call("x__echo") == "echo: hi"
            (tool,) = stage.toolbox
            assert tool.confinement.sandboxed
            assert tool.confinement.offline
        if not again:  # what it came from is not needed any more
            shutil.rmtree(tmp_path / "wheels")
            shutil.rmtree(tmp_path / "cache")
            del environ["UV_FIND_LINKS"]
    assert len(os.listdir(tmp_path / "data/oi-tui-servers")) == 1


async def test_N11_a_download_that_fails_is_one_notice_that_says_why_and_leaves_nothing(
    place: dict[str, Any], tmp_path: Path
) -> None:
    entry = ServerEntry(command="uvx", args=("no-such-package", "good"))
    named = NamedServer(name="x", entry=entry)
    async with asyncio.timeout(60), joined(place["folder"], named, environ=place["environ"]) as stage:
        await stage.only.settle()
        assert stage.only.state == "failed"
        (warning,) = [notice for notice in stage.notices if notice[0] == "warning"]
        assert "no-such-package could not be downloaded. Install it yourself" in warning[1]
        assert "no-such-package" in warning[3]
    assert not any((tmp_path / "data/oi-tui-servers").glob("*/*"))


async def test_N11_a_package_without_such_a_program_is_said(place: dict[str, Any]) -> None:
    entry = ServerEntry(command="uvx", args=("--from", "scripted-mcp", "other"))
    named = NamedServer(name="x", entry=entry)
    async with asyncio.timeout(60), joined(place["folder"], named, environ=place["environ"]) as stage:
        await stage.only.settle()
        assert "scripted-mcp has no program other" in stage.warnings[0]


async def test_N11_nothing_is_downloaded_before_a_yes(place: dict[str, Any], tmp_path: Path) -> None:
    named = NamedServer(name="x", entry=ServerEntry(command="uvx", args=("scripted-mcp", "good")))
    async with asyncio.timeout(60), joined(place["folder"], environ=place["environ"]) as stage:
        stage.named = (named,)
        await stage.servers.look_again()
        await stage.servers.settle()
        assert stage.only.state == "not agreed"
        assert "a download from PyPI: scripted-mcp" in stage.only.trouble
    assert not (tmp_path / "data/oi-tui-servers").exists()
