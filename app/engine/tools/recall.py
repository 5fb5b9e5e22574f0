"""The tool by which a model reads what was left out of its context: it sees nothing that is not in the conversation."""

from oi_tui.app.engine.core.chat_model import RECALL, ToolSpec


def recall_spec() -> ToolSpec:
    """What a model is offered where something was left out."""
    properties = {
        "block": {"type": "integer", "description": "Number of the message or output to read."},
        "from_line": {"type": "integer", "description": "Where to begin in it."},
        "search": {"type": "string", "description": "Words to look for instead."},
    }
    return ToolSpec(
        name=RECALL,
        description="Read what was left out of this conversation.",
        schema={"type": "object", "properties": properties},
    )
