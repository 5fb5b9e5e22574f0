"""Whether what a session needs works on this machine: each check says what it found, and how to fix it."""

import asyncio
import os
import shutil
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, closing
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from oi_tui.app.build import make_kernels, redactor_of
from oi_tui.app.data_files import open_store
from oi_tui.app.engine.core.chat_model import ChatMessage, ChatRequest, Model, TextDelta, ThoughtDelta, ToolDelta
from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.core.events import AnyEvent, OutputAdded
from oi_tui.app.engine.core.outputs import StreamOutput
from oi_tui.app.engine.files import paths
from oi_tui.app.engine.log.store.database import check_database
from oi_tui.app.engine.models.heartbeat import check_server
from oi_tui.app.engine.models.keys import model_keys
from oi_tui.app.engine.models.model_source import Models, is_scripted
from oi_tui.app.engine.sandbox.availability import look
from oi_tui.app.engine.sandbox.profile_choice import chosen_profile
from oi_tui.app.engine.session.recent_models import DefaultModels
from oi_tui.app.engine.session.services import KernelTies
from oi_tui.app.engine.text.words import coarse_size, duration
from oi_tui.app.screens.clipboard import native_command

HealthState = Literal["ok", "warning", "failed", "skipped"]

LOW_DISK = 1_000_000_000
"""Bytes of free space below which a session may soon fail to be written."""
PATIENCE = 90.0
"""Seconds that one check may take."""
LARGEST_CHECKED = 500_000_000
"""Bytes of a session database that is read as a whole; a larger one takes minutes."""

LIBRARIES = ("textual", "ipykernel", "jupyter_client", "litellm", "xllamacpp", "matplotlib", "pandas")
"""Whose versions matter in a report of a defect."""

COLOURS = {"truecolor": "16 million colours", "24bit": "16 million colours"}


class HealthFinding(NamedTuple):
    """What a check found."""

    state: HealthState
    found: str
    fix: str = ""
    """What to do about it, in lines."""
    seconds: float | None = None
    """How long what was tried took."""


async def check_health(
    setup: Configure, environ: Mapping[str, str] = os.environ, *, asks_model: bool = False, on_terminal: bool = False
) -> AsyncIterator[tuple[str, HealthFinding]]:
    """All checks by name, causes before what follows from them. With `asks_model` the model gets a
    prompt of three words, which may cost something. Never raises."""
    checks: dict[str, Callable[[], Awaitable[HealthFinding]]] = {
        "program": check_program,
        "files": check_folders,
        "sessions": check_sessions,
        "sandbox": lambda: check_sandbox(setup),
        "kernel": lambda: check_kernel(setup, environ),
        "model": lambda: check_model(setup, environ, asks=asks_model),
        "terminal": lambda: check_terminal(environ, on_terminal=on_terminal),
        "clipboard": lambda: check_clipboard(environ),
    }
    for name, check in checks.items():
        try:
            async with asyncio.timeout(PATIENCE):
                finding = await check()
        except OiTuiError as error:
            finding = HealthFinding("failed", error.title, error.hint)
        except TimeoutError:
            finding = HealthFinding("failed", f"no result within {PATIENCE:g} s")
        except Exception as error:  # a boundary: a check that breaks must not hide the others
            finding = HealthFinding("failed", f"the check itself failed: {error!r}")
        yield name, finding


async def check_program() -> HealthFinding:
    """Versions of the program, of Python and of the libraries that matter."""
    there = []
    for library in LIBRARIES:
        try:
            there.append(f"{library} {version(library)}")
        except PackageNotFoundError:
            continue
    python = ".".join(map(str, sys.version_info[:3]))
    found = f"oi-tui {version('oi-tui')}, Python {python} on {sys.platform}; {', '.join(there)}"
    return HealthFinding("ok", found)


async def check_folders() -> HealthFinding:
    """Whether the folders of the program can be written, and how much room there is."""
    folder = paths.private_dir(paths.data_dir())
    for one in (folder, paths.private_dir(paths.state_dir())):
        if not os.access(one, os.W_OK):
            return HealthFinding("failed", f"{one} cannot be written", "Make it writable, or set XDG_DATA_HOME.")
    free = shutil.disk_usage(folder).free
    found = f"{folder} can be written, {coarse_size(free)} free"
    if free < LOW_DISK:
        return HealthFinding("warning", found, "Free some space: a session that cannot be written stops running code.")
    return HealthFinding("ok", found)


async def check_sessions() -> HealthFinding:
    """Whether the database of sessions is whole."""
    path = paths.data_dir() / "sessions.db"
    if not path.exists():
        return HealthFinding("ok", "none yet")
    size = path.stat().st_size
    if size > LARGEST_CHECKED:
        return HealthFinding("skipped", f"{path} has {coarse_size(size)}: too large to be read here")
    begun = time.monotonic()
    count, problem = await asyncio.to_thread(check_database, path)
    if problem:
        return HealthFinding(
            "failed", f"{path}: {problem}", "Move it away to start over; `oi-tui audit` knows what ran."
        )
    found = f"{count:,} in {path} ({coarse_size(size)})"
    return HealthFinding("ok", found, seconds=time.monotonic() - begun)


async def check_sandbox(setup: Configure) -> HealthFinding:
    """Start a sandbox as the settings ask for it, and have it proven from inside."""
    sandbox = setup.settings.sandbox
    if sandbox.mode == "danger-full-access":
        return HealthFinding("warning", "off: code has your full permissions", "Start with --sandbox workspace-write.")
    begun = time.monotonic()
    found = await look(chosen_profile(sandbox, Path(setup.cwd), hidden=paths.own_dirs()))
    if not found.works:
        return HealthFinding("failed", found.why, found.fix)
    said = f"{found.rung} works: {sandbox.mode}, network: {sandbox.network}"
    if found.gaps:
        return HealthFinding("warning", f"{said}; it leaves open: {'; '.join(found.gaps)}")
    return HealthFinding("ok", said, seconds=time.monotonic() - begun)


async def check_kernel(setup: Configure, environ: Mapping[str, str]) -> HealthFinding:
    """Start a Python kernel as a session would, run one line in it, and end it."""

    cwd, printed = Path(setup.cwd), []
    profile = chosen_profile(setup.settings.sandbox, cwd, hidden=paths.own_dirs())
    spill_dir = paths.private_dir(paths.data_dir() / "outputs")
    begun = time.monotonic()
    kernels = make_kernels(
        setup, environ, KernelTies(session_id="doctor"), profile, redactor_of(setup, environ), spill_dir
    )

    def note(event: AnyEvent) -> None:
        match event:
            case OutputAdded(output=StreamOutput(text=text)):
                printed.append(text)

    try:
        kernel = kernels.get("python")
        await kernel.run("import sys; print(sys.executable, sys.version.split()[0])", "", note)
    finally:
        await kernels.close()
    if not (said := "".join(printed).split()):
        return HealthFinding("failed", "a Python kernel started, but printed nothing", "oi-tui logs says more.")
    found = f"Python {said[-1]} at {' '.join(said[:-1])}"
    return HealthFinding("ok", found, seconds=time.monotonic() - begun)


_CHOOSE = (
    "Start oi-tui and choose one, or set it: `oi-tui config set model.name NAME`; `oi-tui models list` has the names."
)


async def check_model(setup: Configure, environ: Mapping[str, str], *, asks: bool = False) -> HealthFinding:
    """Whether the server of the model in the settings answers, without a request that costs something."""

    section = setup.settings.model
    if not section.name:
        section = msgspec.structs.replace(section, **await asyncio.to_thread(_remembered_model, setup))
    if not section.name:
        return HealthFinding("warning", "none chosen yet", _CHOOSE)
    models = Models(section, environ=environ, keys=model_keys(environ))
    try:
        if is_scripted(section.name):
            await models.open(section.name)
            return HealthFinding("ok", f"{section.name} is a script, which asks nobody")
        key = await models.find_key(section.name, section.api_base, setup.api_key)
        if not models.can_open(section.name):
            return HealthFinding("failed", f"{section.name} is not on this machine", "Run `oi-tui models fetch`.")
        if asks:
            begun = time.monotonic()
            model = await models.open(section.name, section.api_base or None, key, check=True)
            if not await _has_answer(model):
                return HealthFinding("failed", f"{section.name} sent an empty answer")
            found = f"{section.name} answers"
            return HealthFinding("ok", found, seconds=time.monotonic() - begun)
        if models.is_embedded(section.name):
            return HealthFinding("ok", f"{section.name} is on this machine; --ask asks it")
        beat = await check_server(section, key, environ)
        if beat.obstacle is not None:
            return HealthFinding("failed", beat.obstacle.title, beat.obstacle.hint)
        if not beat.server:
            await models.open(section.name, section.api_base or None, key, check=True)
            return HealthFinding("ok", f"{section.name} has a key; --ask asks it, which may cost something")
        found = f"{section.name}: {beat.server} answers"
        return HealthFinding("ok", found, seconds=beat.seconds)
    finally:
        await models.close()


def _remembered_model(setup: Configure) -> dict[str, str]:
    """Name and server of the model that new sessions begin with."""

    with closing(open_store()) as store:
        chosen = DefaultModels(store, setup.cwd, setup.profile).find()
        return {} if chosen is None else {"name": chosen.name, "api_base": chosen.api_base}


async def _has_answer(model: Model) -> bool:
    """Whether anything comes back for a prompt. ModelError if the model cannot be asked."""

    request = ChatRequest(messages=(ChatMessage(role="user", text="Say only: ok"),))
    async with aclosing(model.stream(request)) as deltas:
        async for delta in deltas:
            if isinstance(delta, TextDelta | ThoughtDelta | ToolDelta):
                return True
    return False


async def check_terminal(environ: Mapping[str, str], *, on_terminal: bool) -> HealthFinding:
    """What the terminal can show, by what it says in the environment."""
    if not on_terminal:
        return HealthFinding("skipped", "the output is no terminal")
    term, size = environ.get("TERM", ""), shutil.get_terminal_size()
    if term in ("", "dumb", "unknown"):
        return HealthFinding(
            "warning", f"TERM is {term or 'not set'}: a session is plain lines, without a screen", "Set TERM."
        )
    colours = COLOURS.get(environ.get("COLORTERM", ""), "256 colours" if "256" in term else "few colours")
    inside = " in tmux" if "TMUX" in environ else " in screen" if "STY" in environ else ""
    away = ", over SSH" if "SSH_CONNECTION" in environ else ""
    found = f"{term}{inside}{away}, {size.columns}x{size.lines}, {colours}"
    if "utf-8" not in (encoding := sys.stdout.encoding.lower()) and "utf8" not in encoding:
        return HealthFinding("warning", f"{found}, encoding {encoding}", "Set a UTF-8 locale: export LANG=C.UTF-8")
    if size.columns < 60 or size.lines < 16:
        return HealthFinding("warning", found, "Make the window larger: 80x24 shows everything.")
    if "TMUX" in environ and environ.get("COLORTERM", "") not in COLOURS:
        return HealthFinding("warning", found, "In ~/.tmux.conf: set -as terminal-features ',*:RGB'")
    return HealthFinding("ok", found)


async def check_clipboard(environ: Mapping[str, str]) -> HealthFinding:
    """How copied text reaches the clipboard."""

    if (command := native_command(environ)) is not None:
        return HealthFinding("ok", f"{command[0]}, and the terminal (OSC 52)")
    found = "the terminal only (OSC 52), which some terminals ignore"
    if "WAYLAND_DISPLAY" in environ or "DISPLAY" in environ:
        return HealthFinding("warning", found, "Install wl-clipboard (Wayland) or xclip (X11).")
    return HealthFinding("ok", found)


def describe_finding(name: str, finding: HealthFinding) -> list[str]:
    """The finding as lines: a mark, what was found, and below it what to do."""
    mark = {"ok": "✓", "warning": "!", "failed": "✗", "skipped": "·"}[finding.state]
    took = f" ({duration(finding.seconds)})" if finding.seconds is not None else ""
    lines = [f"{mark} {name:9} {finding.found}{took}"]
    return lines + [f"  {'':9} → {line}" for line in finding.fix.splitlines()]
