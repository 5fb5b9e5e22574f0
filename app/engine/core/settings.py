"""Every setting, as one frozen value: what may be set, its default, and what it means.

Reading files, environment and flags into it is `settings_file.py`'s work. Theme and key names are plain
strings here: the front end judges them.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec.structs import replace

from oi_tui.app.engine.core.settings_section import SettingsSection, UndoSection, WebSection
from oi_tui.app.engine.core.values import ApprovalMode, PermissionMode, SandboxMode

SET_BY_US = frozenset({
    *("model", "messages", "stream", "stream_options", "tools", "n", "input", "contents", "system"),
    *("temperature", "max_tokens", "max_completion_tokens", "num_predict", "api_key", "api_base", "base_url"),
    *("reasoning_effort", "thinking", "top_p", "seed", "headers", "extra_headers", "extra_body"),
})  # fmt: skip
"""Names of the body of a request that have a setting of their own, or none at all."""

HEADERS_SET_BY_US = frozenset({
    *("authorization", "x-api-key", "x-goog-api-key", "proxy-authorization", "host", "connection", "content-type"),
    *("content-length", "content-encoding", "transfer-encoding", "accept", "accept-encoding", "user-agent", "expect"),
    *("upgrade", "te", "trailer", "anthropic-version"),
})  # fmt: skip

_HEADER_NAME = r"[A-Za-z0-9-]+"


CodeForm = Literal["auto", "on", "off", "helpers"]
"""How code comes from a model."""


class ModelExtra(SettingsSection, frozen=True, kw_only=True):
    """Further parameters of each request; a name that oi-tui sets by itself is an error."""

    reasoning_effort: str = ""
    """How long the model thinks, in the provider's words: `low`, `medium`, `high`."""
    thinking_budget: Annotated[int, msgspec.Meta(ge=0)] | None = None
    """Tokens for thinking (Anthropic, Google, OpenRouter)."""
    top_p: Annotated[float, msgspec.Meta(gt=0, le=1)] | None = None
    """The model chooses among the likeliest tokens that have this share."""
    seed: int | None = None
    """The same seed gives similar answers, where the provider can."""
    headers: dict[str, str] = {}
    """Sent to the server of `model.api_base`, or the provider of `model.name`; `$NAME` is that environment variable."""
    body: dict[str, Any] = {}
    """Any other fields of the request."""

    def __post_init__(self) -> None:
        for name in self.body:
            if name in SET_BY_US:
                raise ValueError(f"body.{name} cannot be set: it has a setting of its own, or oi-tui sets it")
        for name, value in self.headers.items():
            if name.lower() in HEADERS_SET_BY_US:
                raise ValueError(f"headers.{name} cannot be set: oi-tui sets it")
            if not re.fullmatch(_HEADER_NAME, name) or not (value.isascii() and value.isprintable()):
                raise ValueError("headers: a name or value has characters in it that no header has")


class ModelSection(SettingsSection, frozen=True, kw_only=True):
    """Which model answers, and how it is asked."""

    name: str = ""
    """`PROVIDER/NAME` in LiteLLM's spelling (`gpt-5`, `ollama/llama3`, `openai/anything` with `api_base`), or
    `local/ID` for a built-in one."""
    api_base: str = ""
    """URL of an OpenAI-compatible server."""
    servers: tuple[str, ...] = ()
    """More servers to look for models on, beside the usual ports of this machine: `http://gpu-box:8000/v1`."""
    temperature: float | None = None
    """How much chance is in an answer; default: the provider's."""
    max_output_tokens: int | None = None
    """Tokens of one answer; default: the provider's."""
    context_window: int | None = None
    """Tokens; default: what is known of the model. Ollama keeps this many."""
    input_price: Annotated[float, msgspec.Meta(ge=0)] | None = None
    """Price of a million input tokens in US dollars, where the price list has none or another."""
    output_price: Annotated[float, msgspec.Meta(ge=0)] | None = None
    """Price of a million output tokens in US dollars."""
    prices: dict[str, tuple[Annotated[float, msgspec.Meta(ge=0)], Annotated[float, msgspec.Meta(ge=0)]]] = {}
    """The same of any models, by name: `{ "openrouter/x/y" = [3.0, 15.0] }`."""
    tools: CodeForm = "auto"
    """Native tool calls: `auto` uses them if the model has them, else fenced code, and fenced code after two calls that
    cannot be read. `off` is fenced code, `helpers` is Python code between lines `<helpers>` and `</helpers>`."""
    tools_by_model: dict[str, CodeForm] = {}
    """The same of any models, by name: `{ "ollama/qwen3-coder" = "off" }`."""
    images: Literal["auto", "on", "off"] = "auto"
    """Send pictures to the model."""
    retries: Annotated[int, msgspec.Meta(ge=0, le=10)] = 3
    """Retries of a request after 429, 5xx or a refused connection, before anything arrived."""
    timeout: Annotated[float, msgspec.Meta(gt=0)] = 120.0
    """Timeout in seconds without any byte from the server."""
    content_timeout: Annotated[float, msgspec.Meta(gt=0)] = 300.0
    """Timeout in seconds without any part of an answer; comments that keep a connection alive are none."""
    answer_timeout: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """Timeout in seconds for a whole answer; 0 is no limit, because reasoning and slow machines take long."""
    fallback: tuple[str, ...] = ()
    """Models that answer instead, in this order, while this one cannot: `["ollama/llama3", "qwen3@http://gpu:8000/v1"]`."""
    cache: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """Hours for which the answer to the very same request is taken from a cache; 0 is no cache."""
    extra: ModelExtra = ModelExtra()
    """Table `[model.extra]`: further parameters of each request."""

    def form_of(self, name: str) -> CodeForm:
        """How code comes from the model of this name."""
        return self.tools_by_model.get(name, self.tools)

    aside: tuple[str, ...] = ()
    """Models for requests beside the conversation (titles, summaries): the cheapest is asked. None: the one in use."""
    titles: bool = True
    """Ask the model for a title of the session after the first turn (never a built-in one: it is slow)."""


class InstructionsSection(SettingsSection, frozen=True, kw_only=True):
    """What the model reads before your first prompt, beside what oi-tui says itself."""

    text: str = ""
    """Your own instructions to the model. They can be a template: `{{current_date}}`, `{{cwd}}`, `{{os}}`."""
    file: str = ""
    """A file with more of them, which come first. A relative path begins at the folder of `config.toml`."""
    variables: Mapping[str, str | int | float | bool | tuple[str, ...]] = {}
    """Variables of your own for the template: `variables = { team = "data", tools = ["git", "dvc"] }`."""


class LoopSection(SettingsSection, frozen=True, kw_only=True):
    """When code is run and when a turn ends."""

    approve: ApprovalMode = "ask"
    """`ask`: you approve all code before it runs; `auto`: it runs without asking, except destructive code; `never`: no
    code runs."""
    max_steps: Annotated[int, msgspec.Meta(ge=1)] = 20
    """Model answers in one turn."""
    max_repeats: Annotated[int, msgspec.Meta(ge=1)] = 2
    """Ask before the same code runs this often in one turn; where nobody can be asked, the turn ends."""
    max_cost: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """Budget of a session in US dollars; no request is sent once it is spent; 0 is no limit."""
    max_tokens: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Budget of a session in tokens, input and output; 0 is no limit."""
    complete: bool = False
    """Insist, up to `max_steps`, until the model says that the task is done or impossible, or that it needs input."""
    answer_tries: Annotated[int, msgspec.Meta(ge=0, le=20)] = 3
    """How often a model is asked again for an answer that does not fit the schema of `oi-tui run --schema`."""
    output_to_model: Annotated[int, msgspec.Meta(ge=1000)] = 12_000
    """Characters of one cell's output that go to the model: head and tail, with the count of the rest."""


class KernelSection(SettingsSection, frozen=True, kw_only=True):
    """Settings of the kernels: how code runs."""

    python: str = ""
    """Environment of Python code: a program, the folder of an environment, or its name. Default: the active one, else
    the folder's, else the Python of oi-tui."""
    server: str = ""
    """Jupyter server or gateway that runs Python code: the name of an added one, or `ssh://HOST`; `NAME:KERNELSPEC` for
    another kernelspec, `NAME@ID` for a running kernel; "" is this machine."""
    shell: Literal["server", "here"] = "server"
    """With a server: run shell code in a terminal there (`server`) or on this machine (`here`)."""
    ssh_command: str = "ssh"
    """The ssh command for `ssh://` machines, with its options: `ssh -F FILE`."""
    keep: bool = False
    """Leave kernels on a server running at the end; `--resume` reconnects to them."""
    attach: bool | Literal["never"] = False
    """Attach to a kernel that somebody else started (`kernel.server = "cluster@ID"`); false asks, "never" refuses."""
    start_timeout: Annotated[float, msgspec.Meta(gt=0)] = 60.0
    """Seconds a kernel has to get ready."""
    output_cap: Annotated[int, msgspec.Meta(ge=10_000)] = 2_000_000
    """Characters of one cell that the screen shows; the rest is counted and kept on disk."""
    time_limit: Annotated[float, msgspec.Meta(ge=0)] | None = None
    """Time limit of a cell in seconds; then it is interrupted and, where nobody is there, its kernel restarted if it
    still runs; 0 is no limit. Default: none on the screen, 600 for `oi-tui run`. `ctrl+t` at the question sets that of
    one run."""
    interrupt_step: Annotated[float, msgspec.Meta(gt=0)] = 2.0
    """Seconds between an interrupt and the next, harder one."""
    preload: Literal["auto", "on", "off"] = "auto"
    """Import numpy as np, pandas as pd and pyplot as plt at the start, if installed; `auto`: for built-in models."""


class SandboxSection(SettingsSection, frozen=True, kw_only=True):
    """What running code can reach. Where there can be no sandbox, nothing is run rather than run without."""

    mode: SandboxMode = "workspace-write"
    """What code can write: nothing, the folder you started in, or everything (no sandbox, your full permissions)."""
    rung: Literal["auto", "bubblewrap", "space", "lock"] = "auto"
    """Kind of sandbox: `auto` takes bubblewrap, else our own. `lock` is weaker, for systems with neither: it protects
    files elsewhere and the network, not .git and .env of the folder."""
    network: Literal["none", "hosts", "full"] = "none"
    """What code can reach: nothing, the `hosts` only (HTTP and HTTPS through a proxy), or everything."""
    hosts: tuple[str, ...] = ()
    """`example.org`, `*.example.org`, `example.org:8443`; an empty list allows none."""
    writable: tuple[str, ...] = ()
    """More folders that code can write."""
    readable: tuple[str, ...] = ()
    """More files and folders that code can read."""
    environment: tuple[str, ...] = ()
    """More environment variables that code gets, even secret ones."""
    memory_mb: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Memory of one process; 0 is three quarters of this machine's memory."""
    processes: Annotated[int, msgspec.Meta(ge=0)] = 512
    """Processes and threads of one kernel; 0 is no limit."""
    file_mb: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Size of one file that code writes; 0 is no limit."""
    open_files: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Open files of one process; 0 is the system's limit."""
    cpu_seconds: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Processor time of one process; then it is ended; 0 is no limit."""
    scratch_mb: Annotated[int, msgspec.Meta(ge=1)] = 1000
    """Size of /tmp and of the home folder, which are empty and in memory."""


class PolicySection(SettingsSection, frozen=True, kw_only=True):
    """Who may run what. The strictest of these settings and `loop.approve` applies."""

    mode: PermissionMode | Literal[""] = ""
    """`plan`, `dontAsk`, `default`, `acceptEdits`, `auto`, `unlessDestructive` (the default) or `bypassPermissions`."""
    safe_mode: Literal["off", "ask", "auto"] = "off"
    """Open Interpreter's name: `ask` is the mode `default`, `auto` the mode `auto`, `off` sets nothing."""
    auto_run: bool | None = None
    """Open Interpreter's name: false is the mode `default`; true is `--yes` unless something stricter is set."""
    allow_destructive: bool = False
    """Run destructive code (deletes, forced pushes, dropped tables and the like) like any other, in every mode."""
    allow: tuple[str, ...] = ()
    """Rules such as `Shell(git log *)`: run without asking what they cover completely."""
    ask: tuple[str, ...] = ()
    """Rules for code that needs approval each time, whatever the mode."""
    deny: tuple[str, ...] = ()
    """Rules for code that never runs. More rules are in `permissions.toml`."""


class FunctionsSection(SettingsSection, frozen=True, kw_only=True):
    """Limited functions: what the model's code and calls may use, by full names. See `oi-tui help approval`."""

    allow: tuple[str, ...] = ()
    """Regular expressions over full names of functions, programs and tools; nothing else may be called:
    `["pandas\\..*", "shell:git", "tool:fetch_url"]`. An empty list limits nothing."""
    deny: tuple[str, ...] = ()
    """Regular expressions over full names that may not be called: `["os\\.system", "subprocess\\..*"]`."""


class ProviderBudget(SettingsSection, frozen=True, kw_only=True):
    """What requests to one provider may cost, in US dollars; 0 is no limit."""

    day: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    month: Annotated[float, msgspec.Meta(ge=0)] = 0.0


class BudgetSection(SettingsSection, frozen=True, kw_only=True):
    """What models may cost over all sessions. `loop.max_cost` is the budget of one session."""

    turn: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """Budget of one turn in US dollars; 0 is no limit."""
    day: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """Budget of a day."""
    month: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """Budget of a month."""
    scope: Literal["all", "profile"] = "all"
    """What counts towards day and month: every session, or those with the same profile."""
    at_limit: Literal["stop", "warn", "switch"] = "stop"
    """At a limit: stop before the next request, warn and continue, or continue with `cheaper_model`."""
    cheaper_model: str = ""
    """Model to continue with at a limit (`at_limit = "switch"`)."""
    requests_per_minute: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Requests in a minute, over all sessions; a further one waits. 0 is no limit."""
    tokens_per_minute: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Tokens in a minute, input and output, over all sessions; a further request waits. 0 is no limit."""
    providers: dict[str, ProviderBudget] = {}
    """`[budget.providers.openai]`: `day` and `month` of one provider."""


class DetachSection(SettingsSection, frozen=True, kw_only=True):
    """When a session keeps running without a screen."""

    on_hangup: Literal["ssh", "always", "never"] = "ssh"
    """Whether a session detaches when its terminal is lost: over SSH only, always, or never (it is saved and ends)."""
    idle_limit: Annotated[float, msgspec.Meta(gt=0)] = 28_800.0
    """Seconds without work after which a detached session is saved and ends."""


class NetworkSection(SettingsSection, frozen=True, kw_only=True):
    """What oi-tui itself reaches."""

    offline: bool = False
    """Reach this machine only: models, lists and prices, downloads, Jupyter servers, and code in the sandbox."""


ImageMode = Literal["auto", "kitty", "sixel", "sextant", "quadrant", "half", "off"]


class ScreenSection(SettingsSection, frozen=True, kw_only=True):
    """Settings of the screen: how it looks."""

    theme: str = "harbour"
    """A theme (`oi-tui theme` lists them), or `auto`: dark or light as the terminal."""
    keys: Literal["default", "vim", "emacs"] = "default"
    """Set of keys; your own of `[keys]` are over it."""
    linear: bool = False
    """Plain lines and a prompt instead of the screen, for screen readers and braille lines, as `--linear` does."""
    mouse: bool = True
    """Use the mouse here; off, the terminal selects text by itself."""
    images: ImageMode = "auto"
    """How pictures are shown: `auto` asks the terminal; `sextant`, `quadrant` and `half` draw them with characters that
    some fonts lack; `off` only names them."""
    editor: str = ""
    """Command for `$EDITOR`; empty takes VISUAL, EDITOR, then vi."""
    bell: bool = True
    """Ring when approval or input is needed or a turn ends while the window has no focus."""
    notifications: bool = True
    """Show a desktop notification then, in terminals that can."""
    title: bool = True
    """Show it in the window's title then."""
    motion: Literal["full", "reduced"] = "full"
    """`reduced`: nothing turns or slides; a clock moves once a second."""
    cursor: Literal["drawn", "terminal"] = "drawn"
    """`terminal`: show the terminal's own cursor, too: at the caret, or the chosen line of a list. Screen readers,
    magnifiers and braille displays follow it."""


HEADLESS_LIMIT = 600.0
"""Seconds that a cell of `oi-tui run` may take by default: nobody would see that it hangs."""


def describe_sandbox(settings: SandboxSection) -> str:
    """What isolates code, for a short line: no kernel starts with less."""
    if settings.mode == "danger-full-access":
        return "no sandbox"
    count = len(settings.hosts)
    hosts = f"{count} host{'s' if count > 1 else ''}" if count else "no network"
    network = {"none": "no network", "hosts": hosts, "full": "network"}[settings.network]
    held = "lock only (.git, .env open)" if settings.rung == "lock" else "sandbox"
    return f"{held}{' read-only' if settings.mode == 'read-only' else ''}, {network}"


class ProfileSection(SettingsSection, frozen=True, kw_only=True):
    """Which profile is used where `--profile` names none. Only `config.toml` says that."""

    default: str = ""
    """Name of a profile (`oi-tui profile` lists them), for every folder without one of its own; "" is none."""
    folders: dict[str, str] = {}
    """Profiles of folders, and of what is in them: `{ "/home/me/sales" = "data-analysis" }`."""


class Settings(SettingsSection, frozen=True, kw_only=True):
    """All settings of the program, section by section."""

    model: ModelSection = ModelSection()
    instructions: InstructionsSection = InstructionsSection()
    loop: LoopSection = LoopSection()
    kernel: KernelSection = KernelSection()
    sandbox: SandboxSection = SandboxSection()
    policy: PolicySection = PolicySection()
    functions: FunctionsSection = FunctionsSection()
    budget: BudgetSection = BudgetSection()
    detach: DetachSection = DetachSection()
    network: NetworkSection = NetworkSection()
    web: WebSection = WebSection()
    undo: UndoSection = UndoSection()
    screen: ScreenSection = ScreenSection()
    profile: ProfileSection = ProfileSection()
    keys: dict[str, str] = {}
    """Keys by the id of what they do: `sessions = "ctrl+o,f9"`; `none` unbinds."""


AT_ONCE = frozenset({
    *("screen.theme", "screen.mouse", "screen.images", "screen.bell", "screen.notifications", "screen.title"),
    *("screen.keys", "keys"),
    *("loop.complete", "loop.max_cost", "loop.max_tokens"),
})  # fmt: skip
"""Keys whose change applies in the session that is open; others wait for the next start, but for what is stricter."""


def without_network(settings: Settings) -> Settings:
    """The same, with a sandbox that reaches nothing where `network.offline` says so."""
    if not settings.network.offline:
        return settings
    return replace(settings, sandbox=replace(settings.sandbox, network="none"))
