"""All options of a session, except its model and its output type."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from oi_tui.app.api.callbacks import AnswerInput, Approve
from oi_tui.app.api.results import RunLimits
from oi_tui.app.engine.core.settings import FunctionsSection, ModelSection, PolicySection, SandboxSection
from oi_tui.app.engine.core.values import ApprovalMode, SandboxMode
from oi_tui.app.engine.tools.tool import Tool


class SessionOptions(TypedDict, total=False):
    """Keyword arguments of `open_session`, with their defaults."""

    api_key: str | None
    api_base: str
    """URL of an OpenAI-compatible server."""
    environ: Mapping[str, str]
    """Variables with keys and addresses of providers, such as `os.environ`; by default none."""
    model_settings: ModelSection
    """Temperature, time limits and the like."""
    tools: Sequence[Tool | Callable[..., Any]]
    """Tools that the model may call; `tool_of` makes them from functions."""
    instructions: str
    """Text that the model reads first; no template."""
    limits: RunLimits
    dependencies: object
    """An object for tools, which get it with `dependencies(KIND)`."""
    approval: ApprovalMode
    """`ask` (the default), `auto` or `never`, as `loop.approve`."""
    approve: Approve
    """Called for whatever needs approval. Without it, that is refused."""
    answer_input: AnswerInput
    """Answers `input()` of running code. Without it, such code is interrupted."""
    policy: PolicySection
    """Rules and modes."""
    functions: FunctionsSection
    """Functions that code and calls may use, by full names."""
    sandbox: SandboxMode | SandboxSection
    """`workspace-write` (the default), `read-only`, `danger-full-access`, or a whole section."""
    cwd: str | Path
    """The folder that code works in. Default: the current one."""
    python: str
    """Environment for Python code: an interpreter, a folder or a name. Default: the Python of this program."""
    store: str | Path | None
    """File in which to keep sessions."""
    audit: str | Path | None
    """Folder for audit logs."""
