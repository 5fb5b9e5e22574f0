"""Everything that can be said of a session beside its model and its output."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from oi_tui.app.api.callbacks import AnswerInput, Approve
from oi_tui.app.api.results import RunLimits
from oi_tui.app.engine.core.settings import FunctionsSection, ModelSection, PolicySection, SandboxSection
from oi_tui.app.engine.core.values import ApprovalMode, SandboxMode
from oi_tui.app.engine.tools.tool import Tool


class SessionOptions(TypedDict, total=False):
    """Keywords of `open_session`; what is left out has its default."""

    api_key: str | None
    api_base: str
    """URL of an OpenAI-compatible server."""
    environ: Mapping[str, str]
    """Where keys and addresses of providers are looked for; empty unless you give one, such as `os.environ`."""
    model_settings: ModelSection
    """Temperature, time limits and the like."""
    tools: Sequence[Tool | Callable[..., Any]]
    """What the model may call beside code; functions become tools by `tool_of`."""
    instructions: str
    """What the model reads first, as it is."""
    limits: RunLimits
    dependencies: object
    """For tools: `dependencies(KIND)` gives it to them."""
    approval: ApprovalMode
    """`ask` (the default), `auto` or `never`, as `loop.approve`."""
    approve: Approve
    """Decides what is asked about. Without it, that is refused."""
    answer_input: AnswerInput
    """Gives running code the lines that it asks for. Without it, such code is interrupted."""
    policy: PolicySection
    """Rules and modes."""
    functions: FunctionsSection
    """What code and calls may use, by full names."""
    sandbox: SandboxMode | SandboxSection
    """`workspace-write` (the default), `read-only`, `danger-full-access`, or all of it."""
    cwd: str | Path
    """The folder that code works in. Default: the current one."""
    python: str
    """The environment of Python code: a program, a folder or a name. Default: the Python of this program."""
    store: str | Path | None
    """A file that sessions are kept in."""
    audit: str | Path | None
    """A folder of audit logs."""
