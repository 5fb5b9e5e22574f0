"""All that a plugin imports. What is not on this page may change from one version of oi-tui to the next.

    from oi_tui.plugins.api import RichOutput, hookimpl

    @hookimpl
    def register_renderers():
        return {"application/vnd.tale+json": tale_in_words}

    def tale_in_words(output: RichOutput) -> RichOutput | Drawing | None:
        return RichOutput(data={"text/markdown": f"**Tale**: {output.data['application/vnd.tale+json']['title']}"})

The guide (`oi-tui help plugins`) has an example for each hook.
"""

from oi_tui.app.engine.core.blocks import (
    ActionBlock,
    Block,
    CallBlock,
    CodeBlock,
    NoticeBlock,
    ProseBlock,
    UserBlock,
)
from oi_tui.app.engine.core.chat_model import (
    AnswerEnded,
    AnswerUsage,
    ChatMessage,
    ChatRequest,
    Delta,
    Model,
    TextDelta,
    ToolDelta,
)
from oi_tui.app.engine.core.events import AnyEvent
from oi_tui.app.engine.core.outputs import ErrorOutput, Output, RichOutput, StreamOutput
from oi_tui.app.engine.core.programs import KernelForm, KernelProgram, LanguageProgram
from oi_tui.app.engine.hooks.specs import hookimpl
from oi_tui.app.engine.hooks.values import Exporter, ImportedContent, Importer, Judgement, Refuse, SessionContent
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.words import quantity
from oi_tui.app.engine.tools.tool import Arguments, Capabilities, Tool, ToolFailed, ToolOutput
from oi_tui.plugins.screen_values import Drawing, Insert, SessionView, SidePanel, SlashCommand, StatusItem

API_VERSION = 1
"""Raised when what is on this page changes so that a plugin must change, too."""

__all__ = [
    "API_VERSION",
    "ActionBlock",
    "AnswerEnded",
    "AnswerUsage",
    "AnyEvent",
    "Arguments",
    "Block",
    "CallBlock",
    "Capabilities",
    "ChatMessage",
    "ChatRequest",
    "CodeBlock",
    "Delta",
    "Drawing",
    "ErrorOutput",
    "Exporter",
    "ImportedContent",
    "Importer",
    "Insert",
    "Judgement",
    "KernelForm",
    "KernelProgram",
    "LanguageProgram",
    "Model",
    "NoticeBlock",
    "Output",
    "ProseBlock",
    "Refuse",
    "RichOutput",
    "SessionContent",
    "SessionView",
    "SidePanel",
    "SlashCommand",
    "StatusItem",
    "StreamOutput",
    "TextDelta",
    "Tool",
    "ToolDelta",
    "ToolFailed",
    "ToolOutput",
    "UserBlock",
    "hookimpl",
    "quantity",
    "safe_text",
]
