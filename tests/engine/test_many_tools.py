"""Many tools: found by words, switched off, and offered only as far as a model needs them."""

import json

from oi_tui.app.engine.testing import FakeModel
from oi_tui.app.engine.tools.tool import Tool
from oi_tui.app.engine.tools.tool_search import MOST_OFFERED, search_tools
from oi_tui.app.engine.tools.toolbox import Toolbox
from support.tool_calls import answer, call, calls, make, text_of, tool
from support.turns import play


def crowd(count: int) -> list[Tool]:
    return [tool(name=f"other_{n}", description=f"Does thing {n}.", origin="MCP server x") for n in range(count)]


ISSUES = tool(name="listIssues", description="The open issues of a repository.", origin="MCP server git")


def test_G12_up_to_twenty_tools_are_all_offered_and_with_more_those_of_the_program_and_the_search() -> None:
    few = Toolbox(crowd(MOST_OFFERED))
    assert len(few.specs(["python"])) == 1 + MOST_OFFERED
    many = Toolbox([tool(), *crowd(MOST_OFFERED)])
    assert [spec.name for spec in many.specs(["python"])] == ["execute", "shout", "find_tools"]


async def test_G12_what_a_model_finds_is_offered_from_the_next_step_on() -> None:
    query = json.dumps({"query": "open issues in the repo"})
    model = FakeModel(answer(*call(query, name="find_tools")), answer(*call(name="listIssues")), "Done.")
    session = make(model, tool(), ISSUES, *crowd(MOST_OFFERED), approve="ask", can_ask=False)
    await play(session, session.run("go"))
    names = [[spec.name for spec in request.tools] for request in model.requests]
    assert names == [["execute", "shout", "find_tools"], ["execute", "shout", "listIssues", "find_tools"]]
    (found, _) = calls(session)
    assert found.state == "ok"
    assert text_of(found).startswith("You can call these now:\nlistIssues: The open issues")


def test_G12_words_find_by_name_description_and_arguments_the_best_first() -> None:
    tools = [ISSUES, tool(name="close_issue", description="Close one."), *crowd(30)]
    assert [one.name for one in search_tools(tools, "issue")] == ["close_issue", "listIssues"]
    assert next(one.name for one in search_tools(tools, "repository issues")) == "listIssues"
    assert search_tools(tools, "…") == []
    assert len(search_tools(tools, "thing")) == 8


async def test_G13_a_tool_that_is_switched_off_is_offered_to_no_model_and_runs_no_call() -> None:
    model = FakeModel("Hm.", answer(*call()), "Done.")
    session = make(model)
    box = session._runners.tools
    box.off = frozenset({"shout"})
    await play(session, session.run("go"))
    assert [spec.name for spec in model.requests[0].tools] == ["execute"]
    await play(session, session.run("go"))
    assert calls(session) == []
    box.off = frozenset()
    assert "shout" in box.names
