"""The tool by which a model asks the person. It changes nothing: actions after the answer need approval as before."""

from collections.abc import Iterable

from oi_tui.app.engine.core.chat_model import ASK_USER
from oi_tui.app.engine.tools.ties import ToolTies
from oi_tui.app.engine.tools.tool import Arguments, Tool, ToolFailed, ToolOutput, session_tool

NO_ANSWER = "The user gave no answer. Go on without one, or say what you need."

_SCHEMA = {
    "type": "object",
    "properties": {
        "question": {"type": "string", "description": "One question, in plain words."},
        "choices": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Answers to pick from, if there are some, 9 at most; the user may type another.",
        },
        "several": {"type": "boolean", "description": "More than one choice may be picked."},
    },
    "required": ["question"],
}


def make_ask_user(ties: ToolTies) -> Iterable[Tool]:
    """The tool, which is the same in every session where somebody can be asked."""
    yield session_tool(
        name=ASK_USER,
        description="Ask the user something that you cannot find out by yourself. Not for permission to run code.",
        schema=_SCHEMA,
        run=_ask,
        unasked="it only asks you",
    )


async def _ask(arguments: Arguments, output: ToolOutput) -> str:
    question = str(arguments["question"]).strip()
    if not question:
        raise ToolFailed("The question is empty.")
    choices = list(dict.fromkeys(filter(None, map(str.strip, arguments.get("choices") or ()))))
    answer = await output.ask(question, choices, several=bool(arguments.get("several")))
    return NO_ANSWER if answer is None or not answer.strip() else answer
