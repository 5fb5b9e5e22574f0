"""Every setting, as one frozen value: what may be set, its default, and what it means.

Reading files, environment and flags into it is `settings_file.py`'s work. Theme and key names are plain
strings here: the front end judges them.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec

from oi_tui.app.engine.core.values import ApprovalMode, PermissionMode, SandboxMode


class SettingsSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the settings file; an unknown key is an error that names it."""


class ModelSection(SettingsSection, frozen=True, kw_only=True):
    """Which model answers, and how it is asked."""

    name: str = ""
    """`PROVIDER/NAME` as LiteLLM spells it (`gpt-5`, `ollama/llama3`, `openai/anything` with `api_base`); `local/ID` is
    the embedded one."""
    api_base: str = ""
    """URL of an OpenAI-compatible server."""
    temperature: float | None = None
    max_output_tokens: int | None = None
    context_window: int | None = None
    """Tokens; None takes what is known of the model. Ollama is told to keep so many."""
    input_price: Annotated[float, msgspec.Meta(ge=0)] | None = None
    """US dollars for a million tokens that this model reads; for models whose price is not known, or is another."""
    output_price: Annotated[float, msgspec.Meta(ge=0)] | None = None
    """US dollars for a million tokens that it writes."""
    tools: Literal["auto", "on", "off"] = "auto"
    """Native tool calls: `auto` uses them where the model is known to have them, else fenced code."""
    images: Literal["auto", "on", "off"] = "auto"
    """Whether pictures are sent to the model."""
    retries: Annotated[int, msgspec.Meta(ge=0, le=10)] = 3
    """How often a request is repeated after 429, 5xx or a refused connection, before anything arrived."""
    timeout: Annotated[float, msgspec.Meta(gt=0)] = 120.0
    """Seconds without any byte from the server."""
    content_timeout: Annotated[float, msgspec.Meta(gt=0)] = 300.0
    """Seconds without any part of an answer, whatever else comes: comments that keep a connection alive are none."""
    answer_timeout: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """Seconds for one whole answer; 0 is no limit, for reasoning and slow machines take long."""
    titles: bool = True
    """Ask the model for a title of the session when the first turn is over (never an embedded one: it takes its time).
    """


class LoopSection(SettingsSection, frozen=True, kw_only=True):
    """When code is run and when a turn ends."""

    approve: ApprovalMode = "ask"
    max_steps: Annotated[int, msgspec.Meta(ge=1)] = 20
    """Model answers in one turn."""
    max_repeats: Annotated[int, msgspec.Meta(ge=1)] = 2
    """The same code this often in one turn is asked about (or ends the turn where nobody can be asked)."""
    max_cost: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """US dollars that one session may cost: no further request is sent then; 0 is no limit."""
    max_tokens: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Tokens, in and out, that one session may use; 0 is no limit."""
    complete: bool = False
    """Insist, up to `max_steps`, until the model says that the task is done or impossible, or that it needs input."""
    time_limit: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """Seconds after which a run is interrupted, and, where nobody is there, its kernel restarted if it goes on; 0 is no
    limit."""
    output_to_model: Annotated[int, msgspec.Meta(ge=1000)] = 12_000
    """Characters of one run's output that go to the model: head and tail, with the count of what was left out."""


class KernelSection(SettingsSection, frozen=True, kw_only=True):
    """Settings of the kernels: how code runs."""

    python: str = ""
    """What Python code runs in: a program, the folder of an environment, or its name. Without one: the environment that
    is active, else that of the folder, else the Python of oi-tui."""
    server: str = ""
    """A Jupyter server or gateway on which Python code runs, by the name that it was added with, or `ssh://HOST`;
    `NAME:KERNELSPEC` for another kernelspec, `NAME@ID` for a kernel that lives there; "" is this machine."""
    shell: Literal["server", "here"] = "server"
    """With a server: whether shell code runs in a terminal of it, or on this machine."""
    ssh_command: str = "ssh"
    """The ssh that leads to `ssh://` machines, with options if need be: `ssh -F FILE`."""
    keep: bool = False
    """Leave kernels that were started on a server alive at the end; `--resume` comes back to them."""
    attach: bool = False
    """Use a kernel that somebody else started (`kernel.server = "cluster@ID"`), with what that costs them."""
    start_timeout: Annotated[float, msgspec.Meta(gt=0)] = 60.0
    """Seconds."""
    output_cap: Annotated[int, msgspec.Meta(ge=10_000)] = 2_000_000
    """Characters of text that one run may put on the screen; the rest is counted and kept on disk."""
    interrupt_step: Annotated[float, msgspec.Meta(gt=0)] = 2.0
    """Seconds that each rung of the interrupt ladder has."""
    preload: Literal["auto", "on", "off"] = "auto"
    """Import numpy as np, pandas as pd and pyplot as plt beforehand where installed; `auto`: for embedded models."""


class SandboxSection(SettingsSection, frozen=True, kw_only=True):
    """What running code can reach. Where there can be no sandbox, nothing is run rather than run without."""

    mode: SandboxMode = "workspace-write"
    """Write nothing, write in the folder that you started in, or no sandbox: code can do all that you can."""
    rung: Literal["auto", "bubblewrap", "space", "lock"] = "auto"
    """How: by bubblewrap, by a space of our own, or (`auto`) by the first of these that works here. `lock` is weaker,
    for where neither can be had: files and network are held, .git and .env of the folder are not protected."""
    network: Literal["none", "hosts", "full"] = "none"
    """Nothing, the `hosts` only (by HTTP and HTTPS through a proxy), or everything."""
    hosts: tuple[str, ...] = ()
    """`example.org`, `*.example.org`, `example.org:8443`; nothing can be reached where the list is empty."""
    writable: tuple[str, ...] = ()
    """More folders that may be written."""
    readable: tuple[str, ...] = ()
    """More files and folders that may be read."""
    environment: tuple[str, ...] = ()
    """Names of more variables that are passed on, be they secret."""
    memory_mb: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Of one process; 0 is three quarters of this machine's memory."""
    processes: Annotated[int, msgspec.Meta(ge=0)] = 512
    """Processes and threads of one kernel; 0 is no limit."""
    file_mb: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Size of one file; 0 is no limit."""
    open_files: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Of one process; 0 leaves the system's limit."""
    cpu_seconds: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Processor time of one process, after which it is ended; 0 is no limit."""
    scratch_mb: Annotated[int, msgspec.Meta(ge=1)] = 1000
    """Room in /tmp and in the home folder, which are in memory and empty."""


class PolicySection(SettingsSection, frozen=True, kw_only=True):
    """Who may run what. Of all that is said here and by `loop.approve`, the strictest counts."""

    mode: PermissionMode | Literal[""] = ""
    """`plan`, `dontAsk`, `default`, `acceptEdits`, `auto`, `unlessDestructive` (the default) or `bypassPermissions`."""
    safe_mode: Literal["off", "ask", "auto"] = "off"
    """Open Interpreter's name: `ask` is the mode `default`, `auto` the mode `auto`, `off` demands nothing."""
    auto_run: bool | None = None
    """Open Interpreter's name: false is the mode `default`; true stands for `--yes` where nothing stricter is said."""
    allow_destructive: bool = False
    """Deletes, forced pushes, dropped tables and the like run as anything else does, in every mode."""
    allow: tuple[str, ...] = ()
    """Rules such as `Shell(git log *)`: run without a question where they cover all of a command."""
    ask: tuple[str, ...] = ()
    """Rules for what is asked about each time, whatever the mode."""
    deny: tuple[str, ...] = ()
    """Rules for what never runs. More rules stand in `permissions.toml`."""


class DetachSection(SettingsSection, frozen=True, kw_only=True):
    """When a session goes on without a screen."""

    on_hangup: Literal["ssh", "always", "never"] = "ssh"
    """Whether a session detaches when its terminal is lost: over SSH only, always, or never (it is saved and ends)."""
    idle_limit: Annotated[float, msgspec.Meta(gt=0)] = 28_800.0
    """Seconds without work after which a detached session is saved and ends."""


class ScreenSection(SettingsSection, frozen=True, kw_only=True):
    """Settings of the screen: how it looks."""

    theme: str = "harbour"
    mouse: bool = True
    images: Literal["auto", "kitty", "sixel", "sextant", "quadrant", "half", "off"] = "auto"
    """How pictures are shown: `auto` asks the terminal; `sextant`, `quadrant` and `half` draw them with characters, of
    which a font may have only some; `off` only names them."""
    editor: str = ""
    """Command for `$EDITOR`; empty takes VISUAL, EDITOR, then vi."""
    bell: bool = True
    """Ring when approval or input is needed or a turn ends while the window has no focus."""
    notifications: bool = True
    """Show a desktop notification then, in terminals that can."""
    title: bool = True
    """Show it in the window's title then."""


def survives_hangup(settings: DetachSection, environ: Mapping[str, str]) -> bool:
    """Whether a session detaches when this terminal is lost."""
    match settings.on_hangup:
        case "always":
            return True
        case "never":
            return False
        case "ssh":
            return bool(environ.get("SSH_CONNECTION"))


def describe_sandbox(settings: SandboxSection) -> str:
    """What holds code back, for a line that has little room: no kernel starts with less than is said here."""
    if settings.mode == "danger-full-access":
        return "no sandbox"
    count = len(settings.hosts)
    hosts = f"{count} host{'s' if count > 1 else ''}" if count else "no network"
    network = {"none": "no network", "hosts": hosts, "full": "network"}[settings.network]
    held = "lock only (.git, .env open)" if settings.rung == "lock" else "sandbox"
    return f"{held}{' read-only' if settings.mode == 'read-only' else ''}, {network}"


class Settings(SettingsSection, frozen=True, kw_only=True):
    """All settings of the program, section by section."""

    model: ModelSection = ModelSection()
    loop: LoopSection = LoopSection()
    kernel: KernelSection = KernelSection()
    sandbox: SandboxSection = SandboxSection()
    policy: PolicySection = PolicySection()
    detach: DetachSection = DetachSection()
    screen: ScreenSection = ScreenSection()
