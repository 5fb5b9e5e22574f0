"""What the engine answers about the tools of a session."""

from oi_tui.app.engine.core.tool_verbs import LookPurpose, UndoScope
from oi_tui.app.engine.core.values import SessionReply, Value


class ToolRecord(Value, frozen=True, kw_only=True):
    """A tool, as it is listed."""

    name: str
    description: str
    origin: str = ""
    """Who brought it: "plugin lab", "MCP server time"; "" is the program itself."""
    effects: tuple[str, ...] = ()
    """What its calls may do, in plain words."""
    schema: str = ""
    """Of its arguments, as JSON."""
    time_limit: float | None = None
    """Seconds that a call may take, None where it says nothing."""
    off: bool = False
    """The person switched it off."""


class ToolsFound(SessionReply, frozen=True, kw_only=True, tag=True):
    """Answer to `FindTools` and `SwitchTool`: what the model may call in this session, but `execute`."""

    tools: tuple[ToolRecord, ...] = ()


class ServerRecord(Value, frozen=True, kw_only=True):
    """An MCP server, as it is listed."""

    name: str
    state: str
    """`disabled`, `not agreed`, `starting`, `ready`, `changed`, `failed`, `ended`."""
    trouble: str = ""
    """Why it is not ready, as a sentence."""
    about: str = ""
    """What is started or asked."""
    folder: str = ""
    """The folder that names it; "" is the person's own file."""
    wishes: tuple[str, ...] = ()
    """What it asks for beyond what each server gets, in words."""
    variables: tuple[str, ...] = ()
    """Of the environment, which it is given."""
    tools: tuple[str, ...] = ()
    """Each with what it says of itself, on one line."""
    changes: str = ""
    """What changed since the person agreed, as a diff."""
    digest: str = ""
    """Of what there is to agree to."""
    log: str = ""
    resources: tuple[str, ...] = ()
    """Addresses of what there is to read."""
    prompts: tuple[str, ...] = ()
    """Prompts that it has ready, each with the names of its arguments: "explain topic"."""


class ServersFound(SessionReply, frozen=True, kw_only=True, tag=True):
    """Answer to `FindServers` and `ChangeServer`: all that the files name."""

    servers: tuple[ServerRecord, ...] = ()
    problem: str = ""
    """What could not be done, as a sentence."""


class ChangedFile(Value, frozen=True, kw_only=True):
    """A file that was changed, or would be."""

    name: str
    """Relative to the folder where it is in it."""
    diff: str
    """Unified, bounded."""
    problem: str = ""
    """Why it would not be brought back, in words that follow its name; "" if it would."""
    forceable: bool = False
    """Whether it would be, if the person insists."""


class ChangesFound(SessionReply, frozen=True, kw_only=True, tag=True):
    """Answer to `ReadChanges`: each file once, whatever was done to it in between."""

    scope: UndoScope = "turn"
    block_id: str = ""
    purpose: LookPurpose = "diff"
    files: tuple[ChangedFile, ...] = ()
    state: str = ""
    """Differs where anything of it would be another by now."""
    why: str = ""
    """Why there is nothing, "" if there is something."""


AboutTools = ToolsFound | ServersFound | ChangesFound
