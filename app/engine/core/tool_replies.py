"""What the engine answers about the tools of a session."""

from oi_tui.app.engine.core.values import SessionReply, Value


class ToolRecord(Value, frozen=True, kw_only=True):
    """A tool, as it is listed."""

    name: str
    description: str
    origin: str = ""
    """Who brought it: "plugin lab", "MCP server time"; "" is the program itself."""
    effects: tuple[str, ...] = ()
    """What its calls may do, in plain words."""


class ToolsFound(SessionReply, frozen=True, kw_only=True, tag=True):
    """Answer to `FindTools`: what the model may call in this session, but `execute`."""

    tools: tuple[ToolRecord, ...] = ()


AboutTools = ToolsFound
