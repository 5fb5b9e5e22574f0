"""Sessions whose model calls tools, and what came of the calls."""

from typing import Any

from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.blocks import CallBlock
from oi_tui.app.engine.core.chat_model import AnswerEnded, TextDelta, ToolDelta
from oi_tui.app.engine.core.events import AnyEvent, DecisionRequested
from oi_tui.app.engine.core.outcomes import Verdict
from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.core.settings import LoopSection
from oi_tui.app.engine.core.values import ApprovalMode
from oi_tui.app.engine.core.verbs import Decide
from oi_tui.app.engine.policy.decision import Policy
from oi_tui.app.engine.testing import FakeKernels, FakeModel
from oi_tui.app.engine.tools.tool import Arguments, Capabilities, RunCall, Tool, ToolOutput
from oi_tui.app.engine.tools.toolbox import Toolbox
from support.turns import play

HARMLESS = Capabilities(writes=False, network=False)
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


async def shout(arguments: Arguments, output: ToolOutput) -> str:
    return str(arguments["text"]).upper()


def tool(run: RunCall = shout, name: str = "shout", **about: Any) -> Tool:
    defaults: dict[str, Any] = {"description": "In capitals.", "schema": TEXT, "capabilities": HARMLESS}
    return Tool(name=name, run=run, **defaults | about)


def call(arguments: str = '{"text": "hi"}', name: str = "shout", index: int = 0, size: int = 4) -> list[ToolDelta]:
    """A native call, its arguments in pieces of this many characters."""
    pieces = [arguments[at : at + size] for at in range(0, len(arguments), size)]
    return [
        ToolDelta(index=index, id=f"call-{index}", name=name),
        *(ToolDelta(index=index, arguments=piece) for piece in pieces),
    ]


def answer(*deltas: ToolDelta | TextDelta) -> list[ToolDelta | TextDelta | AnswerEnded]:
    return [*deltas, AnswerEnded(reason="tool_calls")]


def make(
    model: FakeModel, *tools: Tool, approve: ApprovalMode = "auto", policy: Policy | None = None, can_ask: bool = True
) -> Session:
    settings = LoopSection(approve=approve)
    toolbox = Toolbox(tools or (tool(),))
    return Session(kernels=FakeKernels(), settings=settings, model=model, tools=toolbox, policy=policy, can_ask=can_ask)


def calls(session: Session) -> list[CallBlock]:
    return [block for block in session.transcript.blocks if isinstance(block, CallBlock)]


def text_of(block: CallBlock) -> str:
    return "".join(
        output.data["text/plain"] if isinstance(output, RichOutput) else getattr(output, "text", "")
        for output in block.outputs
    )


async def ask_once(session: Session, verdict: Verdict, source: str | None = None) -> list[DecisionRequested]:
    """The question of a turn in which every question got this verdict."""
    asked: list[DecisionRequested] = []

    def decide(event: AnyEvent) -> None:
        if isinstance(event, DecisionRequested):
            asked.append(event)
            session.decide(Decide(request_id=event.request_id, verdict=verdict, source=source))

    await play(session, session.run("go"), decide)
    return asked
