"""Offline: nothing but this machine is reached, and no socket is opened for the attempt. Each in a process of its own,
because it cannot be undone."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.offline import is_offline, is_this_machine, require_here
from oi_tui.app.engine.core.settings import NetworkSection, SandboxSection, Settings, without_network
from oi_tui.app.engine.files.settings_file import load_layers
from support.openai_server import OpenAIServer

PROGRAM = str(Path(sys.executable).with_name("oi-tui"))

WATCH = """
import asyncio, json, socket, sys
from pathlib import Path
opened = []
def watch(event, arguments):
    if event == "socket.__new__" and arguments[1] in (socket.AF_INET, socket.AF_INET6):
        opened.append(arguments[1:3])
sys.addaudithook(watch)
from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.core.offline import go_offline
go_offline()
go_offline()
"""

ATTEMPTS = (
    WATCH
    + """
from oi_tui.app.engine.core.chat_model import ChatMessage, ChatRequest
from oi_tui.app.engine.core.http_session import open_http
from oi_tui.app.engine.core.settings import KernelSection, ModelSection
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.remote.servers import KnownServer
from oi_tui.app.engine.kernels.remote.site import open_site
from oi_tui.app.engine.local import catalogue
from oi_tui.app.engine.local.fetch import fetch
from oi_tui.app.engine.local.weights import Weights
from oi_tui.app.engine.models.hosted import HOSTED
from oi_tui.app.engine.models.model_list import fetch_list
from oi_tui.app.engine.models.model_servers import hosted_place
from oi_tui.app.engine.models.model_source import Models
from oi_tui.app.engine.models.price_update import fetch_prices

KEYS = {"ANTHROPIC_API_KEY": "k", "GROQ_API_KEY": "k", "HTTPS_PROXY": "http://192.0.2.1:3128"}

async def ask(name, base=""):
    models = Models(ModelSection(name=name, api_base=base, retries=0), environ=KEYS)
    try:
        model = await models.open(name, base)
        async for _ in model.stream(ChatRequest(messages=(ChatMessage(role="user", text="hi"),))):
            pass
    finally:
        await models.close()

async def visit(url):
    async with open_site(KnownServer(url=url), Launch(cwd=Path.cwd(), settings=KernelSection())) as site:
        await site.kernelspecs()

async def listing():
    found = await fetch_list(hosted_place(HOSTED[0]), "k", KEYS)
    raise OiTuiError(found.trouble)

async def main():
    attempts = {
        "http": open_http("http://198.51.100.7/x"),
        "provider": ask("groq/a"),
        "gateway": ask("a", "https://gateway.test/v1"),
        "litellm": ask("anthropic/claude-sonnet-4-5"),
        "cloud": ask("ollama/big:cloud"),
        "list": listing(),
        "prices": fetch_prices(),
        "weights": fetch(catalogue.find("smollm2-135m"), Weights(Path("weights")), progress=lambda _: None),
        "jupyter": visit("https://hub.test/user/me"),
        "ssh": visit("ssh://lab.test"),
    }
    said = {}
    for name, attempt in attempts.items():
        try:
            await attempt
        except OiTuiError as error:
            said[name] = error.title
    print(json.dumps({"said": said, "opened": len(opened)}))

asyncio.run(main())
"""
)

LIBRARIES = (
    WATCH
    + """
import http.client, urllib.request
def refused(act):
    try:
        act()
    except OSError as error:
        return "offline" in str(error)
    return False
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
six = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
print(json.dumps([
    refused(lambda: socket.create_connection(("192.0.2.1", 80), timeout=5)),
    refused(lambda: socket.getaddrinfo("example.org", 80)),
    refused(lambda: socket.gethostbyname("example.org")),
    refused(lambda: urllib.request.urlopen("http://example.org/", timeout=5)),
    refused(lambda: udp.sendto(b"x", ("192.0.2.1", 53))),
    refused(lambda: udp.connect(("169.254.169.254", 80))),
    refused(lambda: six.connect(("2001:db8::1", 80))),
    refused(lambda: six.connect(("::ffff:192.0.2.1", 80))),
]))
"""
)


def run_python(program: str, folder: Path, environ: dict[str, str]) -> object:
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder, env=environ, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_m6_every_way_out_is_refused_in_plain_words_before_a_socket_is_opened(
    tmp_path: Path, clean_env: dict[str, str]
) -> None:
    found = run_python(ATTEMPTS, tmp_path, clean_env)
    assert isinstance(found, dict)
    assert found["opened"] == 0
    said = found["said"]
    assert said.pop("litellm") == "The provider anthropic is not on this machine, and oi-tui is offline."
    assert said == {
        "http": "oi-tui is offline: 198.51.100.7 is not on this machine.",
        "provider": "oi-tui is offline: api.groq.com is not on this machine.",
        "gateway": "oi-tui is offline: gateway.test is not on this machine.",
        "cloud": "oi-tui is offline: big:cloud runs on another machine.",
        "list": "cannot be asked: oi-tui is offline: api.anthropic.com is not on this machine",
        "prices": "oi-tui is offline: raw.githubusercontent.com is not on this machine.",
        "weights": "oi-tui is offline: SmolLM2 135M cannot be downloaded.",
        "jupyter": "oi-tui is offline: hub.test is not on this machine.",
        "ssh": "oi-tui is offline: lab.test is not on this machine.",
    }


def test_m6_a_library_that_connects_by_itself_is_refused_too(tmp_path: Path, clean_env: dict[str, str]) -> None:
    assert run_python(LIBRARIES, tmp_path, clean_env) == [True] * 8


def test_m6_what_is_on_this_machine_works_and_the_command_line_and_settings_switch_it(
    tmp_path: Path, clean_env: dict[str, str]
) -> None:
    with OpenAIServer() as server:
        done = subprocess.run(
            [PROGRAM, "run", "--offline", "--approve=never", "-m", "scripted", f"--api-base={server.url}", "hi"],
            env=clean_env, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stdout.strip()) == (0, "Hello."), done.stderr
    refused = subprocess.run(
        [PROGRAM, "run", "--approve=never", "-m", "groq/a", "hi"],
        env=clean_env | {"OI_TUI_OFFLINE": "1", "GROQ_API_KEY": "k"},
        cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert refused.returncode == 3
    assert "oi-tui is offline: api.groq.com is not on this machine." in refused.stderr


@pytest.mark.parametrize(
    ("value", "offline"), [("1", True), ("true", True), ("please", True), ("0", False), ("no", False)]
)
def test_m6_the_variable_switches_it_and_code_in_the_sandbox_goes_along(
    value: str, offline: bool, tmp_path: Path
) -> None:
    settings = load_layers(tmp_path, environ={"OI_TUI_OFFLINE": value}).settings
    assert settings.network.offline is offline
    open_settings = Settings(network=NetworkSection(offline=offline), sandbox=SandboxSection(network="full"))
    assert without_network(open_settings).sandbox.network == ("none" if offline else "full")
    assert not is_offline()
    require_here("https://example.org/")  # nothing is refused in this process


@pytest.mark.parametrize(
    ("host", "here"),
    [
        ("localhost", True), ("a.localhost", True), ("127.0.0.9", True), ("::1", True), ("::ffff:127.0.0.1", True),
        ("0.0.0.0", False), ("::", False), ("127.0.0.1.evil.test", False), ("localhost.evil.test", False),
        ("10.0.0.1", False), ("169.254.169.254", False), ("::ffff:8.8.8.8", False), ("2130706433", False), ("", False),
    ],
)  # fmt: skip
def test_m6_this_machine_is_known_by_its_addresses_and_not_by_what_looks_like_them(host: str, here: bool) -> None:
    assert is_this_machine(host) is here


def test_m6_a_wrong_switch_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[network]\noffline = 'maybe'\n")
    with pytest.raises(SettingsError):
        load_layers(tmp_path, environ={})
