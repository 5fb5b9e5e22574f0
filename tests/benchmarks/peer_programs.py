"""The programs that ours is compared with: how they are installed, set up, and kept from reaching out.

Each has a virtual environment of its own in `$XDG_CACHE_HOME/oi-tui-bench`, made once, from whatever index
pip is set up with. They run in a home of their own and know one server, on the loopback; a proxy that is not
there ends what would go anywhere else.
"""

import os
import subprocess
import sys
import venv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from programs import OI_TUI, oi_tui

INSTALL_LIMIT = 600
"""Seconds for one peer."""

NOWHERE = "http://127.0.0.1:9"
LOOPBACK_ONLY = {
    **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"), NOWHERE),
    **dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost"),
    "ANONYMIZED_TELEMETRY": "False",
    "DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "1",
    "GPTME_TELEMETRY_ENABLED": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_TELEMETRY": "False",
    "OPENAI_API_KEY": "none",
}


class Command(NamedTuple):
    """How a program is started."""

    argv: Sequence[str]
    env: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Peer:
    """One program."""

    name: str
    kind: str
    start: Callable[[Path, Path, str], Command]
    """Given the folder of its commands, its home, and the URL of the server; writes what it needs into the home."""
    ready: str
    """Regular expression of what its screen shows when it can be typed into."""
    requirements: Sequence[str] = ()
    """For pip, the program first; none: it is installed already."""
    send: str = "\r"
    """The key that sends a prompt."""
    full_screen: bool = False
    """Whether it takes keys while it answers."""

    @property
    def folder(self) -> Path:
        """Where its environment is."""
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return Path(cache, "oi-tui-bench", self.name)

    @property
    def commands(self) -> Path:
        """Where its commands are."""
        return self.folder / "bin" if self.requirements else OI_TUI.parent

    def install(self) -> str:
        """Its version; RuntimeError says why it could not be installed."""
        distribution, *_ = self.requirements or ("oi-tui",)
        python = self.commands / "python" if self.requirements else Path(sys.executable)
        complete = self.folder / "complete"
        if self.requirements and not complete.exists():
            venv.create(self.folder, clear=True, with_pip=True)
            pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *self.requirements]
            run(pip)
            complete.touch()
        return run([str(python), "-c", f"import importlib.metadata as m; print(m.version({distribution!r}))"])


def run(command: Sequence[str]) -> str:
    """What a command prints; RuntimeError with the last of its errors."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_LIMIT)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"not installed within {INSTALL_LIMIT} s") from None
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no reason given"])[-1])
    return done.stdout.strip()


def start_ours(commands: Path, home: Path, url: str) -> Command:
    return Command(oi_tui(url, home), {})


def start_elia(commands: Path, home: Path, url: str) -> Command:
    folder = home / "config" / "elia"
    folder.mkdir(parents=True)
    lines = ('default_model = "openai/scripted"', "[[models]]", 'name = "openai/scripted"', f'api_base = "{url}"')
    (folder / "config.toml").write_text("\n".join((*lines, 'api_key = "none"', "")), encoding="utf-8")
    return Command([str(commands / "elia")], {})


def start_gptme(commands: Path, home: Path, url: str) -> Command:
    argv = [str(commands / "gptme"), "--tools", "none", "--model", "local/scripted", "--name", "bench"]
    return Command(argv, {"OPENAI_BASE_URL": url})


def start_llm(commands: Path, home: Path, url: str) -> Command:
    folder = home / "llm"
    folder.mkdir()
    model = f"- model_id: scripted\n  model_name: scripted\n  api_base: {url}\n"
    (folder / "extra-openai-models.yaml").write_text(model, encoding="utf-8")
    return Command([str(commands / "llm"), "chat", "-m", "scripted"], {"LLM_USER_PATH": str(folder)})


def start_interpreter(commands: Path, home: Path, url: str) -> Command:
    model = ("--model", "openai/scripted", "--api_base", url, "--api_key", "none")
    limits = ("--context_window", "32000", "--max_tokens", "16000", "--disable_telemetry")
    return Command([str(commands / "interpreter"), *model, *limits], {})


PROMPT = r"(?m)^> ?$"

PEERS = (
    Peer(name="oi-tui", kind="Textual, full screen", start=start_ours, ready="Ask", full_screen=True),
    Peer(
        name="elia",
        kind="Textual, full screen",
        requirements=("elia-chat",),
        start=start_elia,
        ready="Enter your message",
        send="\n",
        full_screen=True,
    ),
    Peer(name="gptme", kind="prompt, plain text", requirements=("gptme",), start=start_gptme, ready="User:"),
    Peer(name="llm", kind="prompt, plain text", requirements=("llm",), start=start_llm, ready=PROMPT),
    Peer(
        name="open-interpreter",
        kind="prompt, Rich Live",
        requirements=("open-interpreter", "setuptools<81"),  # it imports pkg_resources, which newer ones have not
        start=start_interpreter,
        ready=PROMPT,
    ),
)
