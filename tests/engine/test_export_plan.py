"""The plan in exported files: what people read of it, and what comes back."""

import json

import nbformat
import pytest

from oi_tui.app.engine.core.events import AnyEvent, PlanChanged
from oi_tui.app.engine.core.plan import LONGEST_STEP, MOST_STEPS, PlanStep
from oi_tui.plugins.session_files import export_session, import_session
from support.exports import OPENED, code, out, prompt, ran, transcript_of
from support.pages import page_of

STEPS = (
    PlanStep(text="Read the <b>data</b>", state="done", done_when="rows are counted", evidence=("c1", "gone")),
    PlanStep(text="Plot *it*", state="doing", evidence=("u1",)),
    PlanStep(text="Publish it", state="dropped"),
)


def planned() -> list[AnyEvent]:
    """A session whose first step was done by a cell, and a plan that was another one before."""
    before = PlanChanged(steps=(PlanStep(text="An older plan"),))
    cell = [*code("c1", "print(3)"), *ran("c1", "print(3)", out("3\n"))]
    return [OPENED, *prompt("u1", "Read it."), before, *cell, PlanChanged(steps=STEPS, author="user")]


def test_Q9_markdown_shows_the_plan_and_links_to_the_block() -> None:
    text = export_session(planned(), "md", title="Data").decode()
    assert text.startswith("# Data\n\n**Plan at the end of the session: 1 of 2 steps done**\n\n")
    done = "1. [x] Read the \\<b\\>data\\</b\\>\\\n   Done when: rows are counted\\\n   Evidence: [block 2](#block-2)\n"
    assert done in text
    assert "2. [>] Plot \\*it\\*\n3. [-] Publish it\n" in text
    assert '<a id="block-2"></a>\n\n```python\nprint(3)' in text
    assert "older" not in text


def test_Q9_the_page_shows_the_plan_and_links_to_the_block() -> None:
    page = page_of(planned())
    assert page.findtext(".//h2") == "Plan at the end of the session: 1 of 2 steps done"
    steps = ["".join(step.itertext()) for step in page.iter("li")]
    evidence = "Done when: rows are countedEvidence: block 2"
    assert steps == [f"[x] Read the <b>data</b>{evidence}", "[>] Plot *it*", "[-] Publish it"]
    assert [link.get("href") for link in page.iter("a")] == ["#block-2"]
    assert [run.get("id") for run in page.iter("figure")] == ["block-2"]


def test_Q9_the_notebook_shows_the_plan_and_names_the_cell() -> None:
    notebook = json.loads(export_session(planned(), "ipynb"))
    nbformat.validate(notebook)
    plan, _, cell = notebook["cells"]
    assert "   Evidence: cell \\[1\\]\n" in plan["source"]
    assert cell["execution_count"] == 1


@pytest.mark.parametrize("form", ["ipynb", "lmc"])
def test_Q9_the_plan_comes_back_and_does_not_speak_for_the_person(form: str) -> None:
    data = export_session(planned(), form)
    events = import_session(data, "x").events
    plan = transcript_of(events).plan
    assert [(step.text, step.state, step.done_when) for step in plan.steps] == [
        (step.text, step.state, step.done_when) for step in STEPS
    ]
    assert [step.evidence for step in plan.steps] == [("c1",), (), ()]  # what ran, and is there
    assert not plan.untold
    assert [block.id for block in transcript_of(events).blocks] == ["u1", "c1"]
    again = export_session([OPENED, *events], form)
    assert export_session([OPENED, *import_session(again, "x").events], form) == again


@pytest.mark.parametrize("form", ["ipynb", "lmc"])
def test_Q9_a_plan_in_a_file_is_bounded(form: str) -> None:
    content = json.loads(export_session(planned(), form))
    session = content["session"] if form == "lmc" else content["metadata"]["oi_tui"]
    session["plan"] = [{"text": "a" * 2 * LONGEST_STEP, "evidence": ["c1"] * 99}] * 2 * MOST_STEPS
    steps = transcript_of(import_session(json.dumps(content).encode(), "x").events).plan.steps
    assert len(steps) == MOST_STEPS
    assert {(len(step.text), step.evidence) for step in steps} == {(LONGEST_STEP, ("c1",))}


@pytest.mark.parametrize("form", ["md", "html", "ipynb", "lmc"])
def test_Q9_without_a_plan_nothing_is_said_of_one(form: str) -> None:
    events = [event for event in planned() if not isinstance(event, PlanChanged)]
    assert b"plan" not in export_session(events, form).split(b"</style>")[-1].lower()
