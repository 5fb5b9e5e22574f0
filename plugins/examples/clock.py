"""A tool: the date and time in any zone, which the model cannot know. The person is asked about each call.

To install it, copy it to ~/.config/oi-tui/plugins and enable it: oi-tui plugins enable clock.py
"""

from datetime import datetime
from zoneinfo import ZoneInfo

from oi_tui.plugins.api import Arguments, Capabilities, Tool, ToolOutput, hookimpl

SCHEMA = {"type": "object", "properties": {"zone": {"type": "string"}}, "required": ["zone"]}


async def now(arguments: Arguments, output: ToolOutput) -> str:
    """The time as ISO 8601; the exception for an unknown zone goes to the model."""
    return datetime.now(ZoneInfo(arguments["zone"])).isoformat(timespec="seconds")


@hookimpl
def register_tools() -> list[Tool]:
    """Asked once, when the engine starts."""
    about = "The date and time now in a time zone such as Europe/Rome."
    harmless = Capabilities(writes=False, network=False)
    return [Tool(name="clock", description=about, schema=SCHEMA, run=now, capabilities=harmless)]
