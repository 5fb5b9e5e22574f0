"""The first tool: code for a kernel. What its calls propose is a `CodeBlock`, as fenced code does."""

from collections.abc import Sequence

from oi_tui.app.engine.core.chat_model import ToolSpec
from oi_tui.app.engine.core.values import Language

EXECUTE = "execute"


def execute_spec(languages: Sequence[Language]) -> ToolSpec:
    """`execute(language, code)` for these languages."""
    properties = {
        "language": {"type": "string", "enum": list(languages)},
        "code": {"type": "string", "description": "The code; what it prints and its last value come back."},
    }
    return ToolSpec(
        name=EXECUTE,
        description="Run code on the user's machine, in a session that keeps its variables.",
        schema={"type": "object", "properties": properties, "required": ["language", "code"]},
    )
