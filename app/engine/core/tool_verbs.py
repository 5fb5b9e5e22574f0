"""What a front end can ask about the tools of a session; `session/tool_desk.py` follows it."""

from oi_tui.app.engine.core.values import SessionVerb


class FindTools(SessionVerb, frozen=True, kw_only=True, tag=True):
    """Which tools the model may call; answered with `ToolsFound`."""


ToolVerb = FindTools
