"""What tools are given of their session: a question to the person, and a set that changes while the session is open."""

import asyncio

from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.events import AnyEvent, InputRequested
from oi_tui.app.engine.core.values import Confinement
from oi_tui.app.engine.policy.decide import decide
from oi_tui.app.engine.policy.decision import Policy, PolicyRequest
from oi_tui.app.engine.testing import FakeModel
from oi_tui.app.engine.tools.tool import Arguments, ToolOutput
from oi_tui.app.engine.tools.toolbox import Toolbox
from support.tool_calls import answer, call, calls, make, text_of, tool

OPEN = {"type": "object"}
SAFE = Confinement(sandboxed=True, offline=True)


async def ask_color(arguments: Arguments, output: ToolOutput) -> str:
    color = await output.ask("Which color?", ["red", "green"])
    return f"{output.block_id[:0]}chosen: {color}"


async def answering(session: Session, text: str) -> list[InputRequested]:
    """The questions that came, each answered with this text."""
    asked: list[InputRequested] = []

    def follow(event: AnyEvent) -> None:
        if isinstance(event, InputRequested):
            asked.append(event)
            tasks.append(asyncio.ensure_future(session.answer(event.request_id, text)))

    tasks: list[asyncio.Future[bool]] = []
    session.emitter.observers = (follow,)
    async with asyncio.timeout(10):
        await session.run("go")
    assert all(await asyncio.gather(*tasks))
    return asked


async def test_a_call_asks_the_person_and_gets_the_line() -> None:
    session = make(FakeModel(answer(*call("{}")), "Done."), tool(ask_color, schema=OPEN, confinement=SAFE))
    asked = await answering(session, "green")
    assert [(one.prompt, one.choices) for one in asked] == [("Which color?", ("red", "green"))]
    assert text_of(calls(session)[0]) == "chosen: green"


def test_tools_of_one_origin_are_replaced_together() -> None:
    box = Toolbox((tool(name="a", origin="MCP server x"), tool(name="b")))
    box.replace("MCP server x", [tool(name="c", origin="MCP server x")])
    assert box.names == {"b", "c"}


def test_a_tool_whose_results_others_wrote_taints_the_session() -> None:
    foreign = tool(schema=OPEN, foreign=True, confinement=SAFE)
    request = PolicyRequest("", "{}", tool="shout", confinement=SAFE, reading=foreign.facts("{}"))
    assert decide(request, Policy()).taint.foreign
    own = tool(schema=OPEN, confinement=SAFE).facts("{}")
    request = PolicyRequest("", "{}", tool="shout", confinement=SAFE, reading=own)
    assert not decide(request, Policy()).taint.foreign
