"""`oi-tui doctor`: what it finds on a machine where things are missing, and what it says to do."""

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from oi_tui.app.cli import program
from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.errors import ModelError
from oi_tui.app.engine.core.settings import ModelSection, SandboxSection, Settings
from oi_tui.app.engine.core.values import TOUR
from oi_tui.app.engine.files import paths
from oi_tui.app.health import (
    HealthFinding,
    check_clipboard,
    check_model,
    check_sandbox,
    check_sessions,
    check_terminal,
    describe_finding,
)
from support.openai_server import OpenAIServer, Turn
from support.ports import free_port

Run = Callable[..., Result]


@pytest.fixture
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    made = {f"XDG_{kind}_HOME": str(tmp_path / kind.lower()) for kind in ("DATA", "STATE", "CONFIG", "CACHE")}
    for name, folder in made.items():
        monkeypatch.setenv(name, folder)
    return made


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        yield running


def setup(cwd: Path, *, name: str = "", api_base: str = "", sandbox: SandboxSection | None = None) -> Configure:
    settings = Settings(model=ModelSection(name=name, api_base=api_base), sandbox=sandbox or SandboxSection())
    return Configure(settings=settings, cwd=str(cwd), can_ask=False)


def doctor(*args: str, env: Mapping[str, str]) -> Result:
    return CliRunner(env=env).invoke(program, ["doctor", *args])


def test_V16_all_that_a_session_needs_is_checked(homes: dict[str, str], tmp_path: Path, server: OpenAIServer) -> None:
    result = doctor("--json", "-m", "openai/scripted", "--api-base", server.url, "--cwd", str(tmp_path), env=homes)

    found = [json.loads(line) for line in result.stdout.splitlines()]
    names = ["settings", "program", "files", "sessions", "sandbox", "kernel", "model", "terminal", "clipboard"]
    assert [check["name"] for check in found] == names
    assert [check for check in found if check["state"] == "failed"] == []
    kernel, model = found[5], found[6]
    assert kernel["found"].startswith("Python 3.")
    assert kernel["seconds"] is not None
    assert model["found"] == f"openai/scripted: {server.url.split('/')[2]} answers"
    assert result.exit_code == 0
    assert server.requests == []  # nothing was asked that a provider would charge


def test_V16_wrong_settings_are_named_and_the_rest_is_checked_with_defaults(homes: dict[str, str]) -> None:
    folder = Path(homes["XDG_CONFIG_HOME"]) / "oi-tui"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("[model]\nnmae = 'x'\n[sandbox]\nmode = 'danger-full-access'\n")

    result = doctor("--json", "--sandbox", "danger-full-access", env=homes)

    first = json.loads(result.stdout.splitlines()[0])
    assert (first["name"], first["state"]) == ("settings", "failed")
    assert "unknown key `nmae`" in first["found"]
    assert first["fix"] == "Did you mean 'name'?"
    assert len(result.stdout.splitlines()) == 9
    assert result.exit_code == 1


async def test_V16_a_server_that_is_down_or_refuses_the_key_is_found(tmp_path: Path, homes: dict[str, str]) -> None:
    port = free_port()
    down = setup(tmp_path, name="openai/x", api_base=f"http://127.0.0.1:{port}/v1")
    assert await check_model(down, {}) == (
        "failed",
        f"127.0.0.1:{port} does not answer: nothing listens there (connection refused).",
        "Start the server, or choose another model with /model.",
        None,
    )
    keyless = await check_model(setup(tmp_path, name="groq/x"), {})
    assert keyless[:2] == ("failed", "No API key for Groq.")
    assert "GROQ_API_KEY" in keyless.fix


async def test_V16_a_model_is_asked_only_when_that_is_wanted(
    tmp_path: Path, homes: dict[str, str], server: OpenAIServer
) -> None:
    server.script("ok", Turn(status=401, error="Incorrect API key provided"))
    there = setup(tmp_path, name="openai/scripted", api_base=server.url)
    assert (await check_model(there, {}, asks=True)).found == "openai/scripted answers"
    with pytest.raises(ModelError, match="API key"):
        await check_model(there, {}, asks=True)


async def test_V16_a_script_is_no_model_that_is_missing(tmp_path: Path, homes: dict[str, str]) -> None:
    assert (await check_model(setup(tmp_path, name=TOUR), {})).state == "ok"
    with pytest.raises(ModelError, match="There is no script"):
        await check_model(setup(tmp_path, name="fake/nowhere.json"), {})


async def test_V16_a_broken_database_is_found(homes: dict[str, str]) -> None:
    assert (await check_sessions()).found == "none yet"
    path = paths.private_dir(paths.data_dir()) / "sessions.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE sessions (id)")
        database.execute("INSERT INTO sessions VALUES ('a')")
    assert (await check_sessions()).found.startswith("1 in ")
    path.write_bytes(b"SQLite format 3\x00" + b"\xff" * 4096)
    broken = await check_sessions()
    assert broken.state == "failed"
    assert str(path) in broken.found
    assert "audit" in broken.fix


async def test_V16_no_sandbox_is_said(tmp_path: Path) -> None:
    off = setup(tmp_path, sandbox=SandboxSection(mode="danger-full-access"))
    assert (await check_sandbox(off))[:2] == ("warning", "off: code has your full permissions")


@pytest.mark.parametrize(
    ("environ", "state", "said"),
    [
        ({"TERM": "dumb"}, "warning", "plain lines, without a screen"),
        ({"TERM": "tmux-256color", "TMUX": "x", "COLUMNS": "120", "LINES": "40"}, "warning", "in tmux"),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "ok", "16 million colours"),
    ],
)
async def test_V16_a_poor_terminal_is_said(
    environ: dict[str, str], state: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("LINES", "40")
    found = await check_terminal(environ, on_terminal=True)
    assert (found.state, said in found.found) == (state, True)


async def test_V16_the_clipboard_of_a_desktop_needs_a_program() -> None:
    found = await check_clipboard({"WAYLAND_DISPLAY": "wayland-0", "PATH": "/nowhere"})
    assert (found.state, found.fix) == ("warning", "Install wl-clipboard (Wayland) or xclip (X11).")
    assert (await check_clipboard({"PATH": "/nowhere"})).state == "ok"


def test_V16_what_to_do_stands_below_what_was_found() -> None:
    finding = HealthFinding("failed", "there is none", "one\ntwo")
    assert describe_finding("sandbox", finding) == [
        "✗ sandbox   there is none",
        "            → one",
        "            → two",
    ]
