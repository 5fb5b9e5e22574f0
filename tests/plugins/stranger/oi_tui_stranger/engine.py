"""Imported by the engine."""

import sys
from collections.abc import AsyncGenerator, Iterable, Mapping

from oi_tui.plugins.api import (
    ActionBlock,
    AnswerEnded,
    AnyEvent,
    Arguments,
    Capabilities,
    ChatRequest,
    Delta,
    Embedding,
    Exporter,
    ImportedContent,
    Importer,
    Judgement,
    KernelForm,
    KernelProgram,
    KernelWidget,
    LanguageProgram,
    Model,
    ProseBlock,
    Refuse,
    SessionContent,
    TextDelta,
    Tool,
    ToolDelta,
    ToolOutput,
    WidgetControl,
    WidgetView,
    hookimpl,
    replace,
)

seen: list[str] = []
"""What was called, in order."""

requests: list[ChatRequest] = []
"""What the model was asked."""

SCRIPT: list[str | ToolDelta] = [
    ToolDelta(index=0, id="c1", name="stamp", arguments='{"text": "a letter"}'),
    "```python\nforbidden()\n```",
    "```python\nfrom fractions import Fraction\nFraction(22, 7)\n```",
    "```python\n"
    "from comm import create_comm\n"
    "state = {'_model_name': 'DialModel', 'value': 3}\n"
    "dial = create_comm(target_name='jupyter.widget', data={'state': state})\n"
    "display({'application/vnd.jupyter.widget-view+json': {'model_id': dial.comm_id}}, raw=True)\n"
    "```",
    "```awk\nBEGIN { print 6 * 7; exit 0 }\n```",
    "```calm\nprint('calm')\n```",
    "It is plain.",
    "It is signed: utilize it.",
]


class Scripted:
    """A model that says what stands above, one answer a request."""

    name = "lab/stranger"
    context_window = 32_000
    takes_images = False
    tells_price = True

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Delta, None]:
        requests.append(request)
        said = SCRIPT[min(len(requests), len(SCRIPT)) - 1]
        yield TextDelta(text=said) if isinstance(said, str) else said
        yield AnswerEnded()


@hookimpl
def event_happened(session_id: str, event: AnyEvent) -> None:
    seen.append(type(event).__name__)


@hookimpl
def before_request(request: ChatRequest) -> None:
    seen.append("before_request")


@hookimpl
def after_request(failed: bool) -> None:
    seen.append(f"after_request {failed}")


@hookimpl
def before_action(block: ActionBlock) -> None:
    seen.append(f"before_action {block.runs_in}")


@hookimpl
def after_action(block: ActionBlock) -> None:
    seen.append(f"after_action {block.runs_in} {block.state}")


@hookimpl
def judge_action(block: ActionBlock) -> Judgement | None:
    return Judgement(verdict="deny", reason="a forbidden word") if "forbidden" in block.source else None


@hookimpl
def check_prompt(text: str) -> str | None:
    return "it says please too often" if text.count("please") > 2 else None


@hookimpl
def check_answer(text: str) -> str | None:
    return None if "signed" in text else "it is not signed"


@hookimpl(tryfirst=True)
def change_request(request: ChatRequest) -> ChatRequest | Refuse | None:
    if any("stop the press" in message.text for message in request.messages):
        return Refuse("the press is stopped")
    *others, last = request.messages
    return replace(request, messages=(*others, replace(last, text=last.text.upper())))


@hookimpl(trylast=True)
def change_answer(text: str) -> str | Refuse | None:
    return text.replace("utilize", "use")


@hookimpl
def add_instructions(folder: str) -> str:
    return "Sign what you say."


async def stamp(arguments: Arguments, output: ToolOutput) -> str:
    output.print("stamping\n")
    return f"stamped {arguments['text']}"


@hookimpl
def register_tools() -> Iterable[Tool]:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    harmless = Capabilities(writes=False, network=False)
    return [Tool(name="stamp", description="Stamps.", schema=schema, run=stamp, capabilities=harmless)]


@hookimpl
def register_models() -> Iterable[Model]:
    return [Scripted()]


@hookimpl
def register_kernels() -> Iterable[KernelProgram]:
    argv = (sys.executable, "-P", "-m", "ipykernel_launcher", "-f", "{connection_file}")
    return [KernelProgram(language="calm", argv=argv)]


@hookimpl
def register_languages() -> Iterable[LanguageProgram]:
    return [LanguageProgram(language="awk", argv=("awk", "-f", "{file}"), aliases=("gawk",))]


@hookimpl
def register_kernel_forms() -> Mapping[str, KernelForm]:
    source = "def form(value):\n    return {'top': value.numerator, 'below': value.denominator}\n"
    return {"fractions.Fraction": KernelForm(mime="application/vnd.stranger+json", source=source)}


def dial_view(widget: KernelWidget) -> WidgetView:
    value = widget.state.get("value")
    control = WidgetControl(kind="number", label="Dial", value=value, low=0, high=9)
    return WidgetView(lines=[f"dial at {value}"], control=control, state_for=lambda chosen: {"value": chosen})


@hookimpl
def register_widget_views() -> Mapping[str, str]:
    return {"Dial*": "oi_tui_stranger.engine:dial_view"}


@hookimpl
def register_embedding() -> Embedding:
    return Embedding("stranger 1", lambda texts: [[float(len(text)), 1.0] for text in texts])


def write_text(session: SessionContent) -> str:
    return "\n".join(block.text for block in session.blocks if isinstance(block, ProseBlock))


def read_text(data: bytes, name: str) -> ImportedContent | None:
    return ImportedContent(blocks=(ProseBlock(id="1", text=data.decode()),)) if name.endswith(".strange") else None


@hookimpl
def register_exporters() -> Iterable[Exporter]:
    return [Exporter(format="strange", title="Strange text", suffix=".strange", write=write_text)]


@hookimpl
def register_importers() -> Iterable[Importer]:
    return [Importer(format="strange", title="Strange text", suffixes=(".strange",), read=read_text)]
