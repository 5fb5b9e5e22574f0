"""What a front end can ask about the tools of a session; `session/tool_desk.py` follows it."""

from typing import Literal

from oi_tui.app.engine.core.values import SessionVerb


class FindTools(SessionVerb, frozen=True, kw_only=True, tag=True):
    """Which tools the model may call; answered with `ToolsFound`."""


ServerChange = Literal["agree", "restart", "disable", "enable", "look"]
"""To agree to what was shown, to start anew, to end until it is enabled, and to read the files again."""


class FindServers(SessionVerb, frozen=True, kw_only=True, tag=True):
    """Which MCP servers there are, now and whenever one changes; answered with `ServersFound`."""

    on: bool = True
    """False: nobody looks any more."""


class ChangeServer(SessionVerb, frozen=True, kw_only=True, tag=True):
    """Does something with an MCP server, for all sessions of the engine; answered with `ServersFound`."""

    name: str = ""
    change: ServerChange
    digest: str = ""
    """Of what was shown when the person agreed."""


ToolVerb = FindTools | FindServers | ChangeServer
