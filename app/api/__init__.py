"""oi-tui for Python programs and notebooks: the same engine, without a screen and without settings.

    from oi_tui.app.api import open_session

    with open_session(model="gpt-5", api_key=KEY) as session:
        print(session.run_sync("How many rows has data.csv?").output)

It reads neither the user's settings nor keys from the environment, only what you pass, and applies the limits and rules
of the machine's administrator. The guide has a page with examples: `oi-tui help python-api`.
"""

from oi_tui.app.api.opening import open_session
from oi_tui.app.api.program_session import ProgramSession
from oi_tui.app.api.results import (
    ApprovalRequest,
    Result,
    RunLimits,
    RunStopped,
    StepAnswered,
    StepAsked,
    StepDecided,
    StepMoment,
    StepRan,
)
from oi_tui.app.api.run_stream import RunStream
from oi_tui.app.api.session_options import SessionOptions
from oi_tui.app.api.tool_dependencies import dependencies
from oi_tui.app.engine.core.chat_model import ChatMessage
from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.core.settings import FunctionsSection, ModelSection, PolicySection, SandboxSection
from oi_tui.app.engine.core.usage import Usage
from oi_tui.app.engine.tools.function import tool_of
from oi_tui.app.engine.tools.tool import Capabilities, Tool, ToolFailed, ToolOutput

__all__ = [
    "ApprovalRequest",
    "Capabilities",
    "ChatMessage",
    "FunctionsSection",
    "ModelSection",
    "OiTuiError",
    "PolicySection",
    "ProgramSession",
    "Result",
    "RunLimits",
    "RunStopped",
    "RunStream",
    "SandboxSection",
    "SessionOptions",
    "StepAnswered",
    "StepAsked",
    "StepDecided",
    "StepMoment",
    "StepRan",
    "Tool",
    "ToolFailed",
    "ToolOutput",
    "Usage",
    "dependencies",
    "open_session",
    "tool_of",
]
