"""What the policy says of calls: what may destroy something, and which paths their arguments lead to."""

import pytest

from oi_tui.app.engine.core.values import Confinement
from oi_tui.app.engine.policy.decide import Policy
from oi_tui.app.engine.policy.rules import Base, short_form
from oi_tui.app.engine.testing import FakeModel
from oi_tui.app.engine.tools.tool import Capabilities
from support.tool_calls import answer, ask_once, call, calls, make, tool

BASE = Base(cwd="/work", home="/home/me")
WRITES = Capabilities(network=False)
POLICY = Policy(mode="unlessDestructive", base=BASE)


# -- what may destroy something ----------------------------------------------------------------------------------


async def test_a_tool_that_writes_without_a_sandbox_is_asked_about_though_everything_else_runs() -> None:
    session = make(FakeModel(answer(*call()), "Done."), tool(capabilities=WRITES), policy=POLICY)
    (asked,) = await ask_once(session, "run")
    assert asked.why == (
        "asked because of what it does: it may change or delete files or data (permitted by --allow-destructive or a "
        "rule for Tool(shout))"
    )
    assert asked.labels == ("runs without a sandbox", "may change or delete files or data")


async def test_where_nobody_can_be_asked_such_a_call_does_not_run() -> None:
    session = make(FakeModel(answer(*call()), "Well."), tool(capabilities=WRITES), policy=POLICY, can_ask=False)
    assert await ask_once(session, "run") == []
    assert [block.state for block in calls(session)] == ["refused"]


@pytest.mark.parametrize(
    ("capabilities", "confinement", "policy"),
    [
        (Capabilities(destroys=False), Confinement(), POLICY),
        (Capabilities(writes=False), Confinement(), POLICY),
        (Capabilities(), Confinement(sandboxed=True), POLICY),
        (Capabilities(), Confinement(), Policy(mode="unlessDestructive", allow_destructive=True)),
        (Capabilities(), Confinement(), Policy(mode="unlessDestructive", rules=(short_form("Tool(shout)", "allow"),))),
    ],
)
async def test_a_promise_a_sandbox_or_a_person_who_wants_it_lets_it_run(
    capabilities: Capabilities, confinement: Confinement, policy: Policy
) -> None:
    bold = tool(capabilities=capabilities, confinement=confinement)
    session = make(FakeModel(answer(*call()), "Done."), bold, policy=policy)
    assert await ask_once(session, "skip") == []
    assert [block.state for block in calls(session)] == ["ok"]
