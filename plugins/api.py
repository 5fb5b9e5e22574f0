"""The public interface for plugins: import nothing else of oi-tui, which may change from version to version.

    from oi_tui.plugins.api import RichOutput, hookimpl

    @hookimpl
    def register_renderers():
        return {"application/vnd.tale+json": tale_in_words}

    def tale_in_words(output: RichOutput) -> RichOutput | Drawing | None:
        return RichOutput(data={"text/markdown": f"**Tale**: {output.data['application/vnd.tale+json']['title']}"})

The guide (`oi-tui help plugins`) has an example for each hook.
"""

from msgspec.structs import replace

from oi_tui.app.engine.core.blocks import (
    Action,
    ActionBlock,
    Block,
    CallBlock,
    CodeBlock,
    NoticeBlock,
    ProseBlock,
    SummaryBlock,
    ThoughtBlock,
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
from oi_tui.app.engine.core.embedding import Embedding
from oi_tui.app.engine.core.errors import StoreError
from oi_tui.app.engine.core.events import AnyEvent
from oi_tui.app.engine.core.outputs import ErrorOutput, Output, RichOutput, StreamOutput, Tail
from oi_tui.app.engine.core.plan import PlanStep
from oi_tui.app.engine.core.programs import KernelForm, KernelProgram, LanguageProgram
from oi_tui.app.engine.core.widget_controls import ControlKind, ControlValue, WidgetControl
from oi_tui.app.engine.core.widget_views import KernelWidget, WidgetView
from oi_tui.app.engine.formats.export.json_reading import read_json
from oi_tui.app.engine.hooks.specs import hookimpl
from oi_tui.app.engine.hooks.values import Exporter, ImportedContent, Importer, Judgement, Refuse, SessionContent
from oi_tui.app.engine.text.attached import attached_file
from oi_tui.app.engine.text.compact_table import TABLE_TYPE
from oi_tui.app.engine.text.html import Document, Grid, Passage, Span, as_text
from oi_tui.app.engine.text.html_reader import read_html
from oi_tui.app.engine.text.markdown import (
    FrameExcerpt,
    as_markdown,
    data_url,
    escape_markdown,
    fenced_block,
    frame_of,
    info_word,
    picture_bytes,
    run_end,
    transcript_markdown,
)
from oi_tui.app.engine.text.mime import apply_carriage_returns, plain_text, without_escapes
from oi_tui.app.engine.text.operable_widgets import value_words
from oi_tui.app.engine.text.plan_document import evidence_anchors, plan_heading, plan_markdown, step_line
from oi_tui.app.engine.text.plotly_svg import PLOTLY_TYPE, plotly_summary
from oi_tui.app.engine.text.raw_html import escape_html
from oi_tui.app.engine.text.rich_text import says_something
from oi_tui.app.engine.text.safe import safe_text, visible_text
from oi_tui.app.engine.text.summaries import summary_title
from oi_tui.app.engine.text.thoughts import thought_title
from oi_tui.app.engine.text.whereabouts import tell_places
from oi_tui.app.engine.text.words import quantity
from oi_tui.app.engine.tools.function import tool_of
from oi_tui.app.engine.tools.later import LaterResult, Pending
from oi_tui.app.engine.tools.tool import Arguments, CallingOutput, Capabilities, Tool, ToolFailed, ToolOutput
from oi_tui.app.engine.transcript.from_blocks import has_run
from oi_tui.app.engine.transcript.outline import SessionOutline, attribute_to_file, block_of, block_outline
from oi_tui.plugins.screen_values import Drawing, Insert, SessionView, SidePanel, SlashCommand, StatusItem

API_VERSION = 1
"""Raised when what is on this page changes so that a plugin must change, too."""

__all__ = [
    "API_VERSION",
    "PLOTLY_TYPE",
    "TABLE_TYPE",
    "Action",
    "ActionBlock",
    "AnswerEnded",
    "AnswerUsage",
    "AnyEvent",
    "Arguments",
    "Block",
    "CallBlock",
    "CallingOutput",
    "Capabilities",
    "ChatMessage",
    "ChatRequest",
    "CodeBlock",
    "ControlKind",
    "ControlValue",
    "Delta",
    "Document",
    "Drawing",
    "Embedding",
    "ErrorOutput",
    "Exporter",
    "FrameExcerpt",
    "Grid",
    "ImportedContent",
    "Importer",
    "Insert",
    "Judgement",
    "KernelForm",
    "KernelProgram",
    "KernelWidget",
    "LanguageProgram",
    "LaterResult",
    "Model",
    "NoticeBlock",
    "Output",
    "Passage",
    "Pending",
    "PlanStep",
    "ProseBlock",
    "Refuse",
    "RichOutput",
    "SessionContent",
    "SessionOutline",
    "SessionView",
    "SidePanel",
    "SlashCommand",
    "Span",
    "StatusItem",
    "StoreError",
    "StreamOutput",
    "SummaryBlock",
    "Tail",
    "TextDelta",
    "ThoughtBlock",
    "Tool",
    "ToolDelta",
    "ToolFailed",
    "ToolOutput",
    "UserBlock",
    "WidgetControl",
    "WidgetView",
    "apply_carriage_returns",
    "as_markdown",
    "as_text",
    "attached_file",
    "attribute_to_file",
    "block_of",
    "block_outline",
    "data_url",
    "escape_html",
    "escape_markdown",
    "evidence_anchors",
    "fenced_block",
    "frame_of",
    "has_run",
    "hookimpl",
    "info_word",
    "picture_bytes",
    "plain_text",
    "plan_heading",
    "plan_markdown",
    "plotly_summary",
    "quantity",
    "read_html",
    "read_json",
    "replace",
    "run_end",
    "safe_text",
    "says_something",
    "step_line",
    "summary_title",
    "tell_places",
    "thought_title",
    "tool_of",
    "transcript_markdown",
    "value_words",
    "visible_text",
    "without_escapes",
]
