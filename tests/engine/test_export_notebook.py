"""A session as a notebook: valid, runnable, and the same session when it comes back."""

import json
from typing import Any

import nbformat
from hypothesis import given

from oi_tui.app.engine.core.blocks import CodeBlock, ProseBlock, UserBlock
from oi_tui.app.engine.core.endings import Ending
from oi_tui.app.engine.core.events import AnyEvent, ExecutionStarted, InputAnswered, InputRequested, StepStarted
from oi_tui.app.engine.core.outcomes import ExecutionStatus
from oi_tui.app.engine.transcript.outline import attribute_to_file
from oi_tui.plugins.session_files import export_session, import_session
from support.exports import (
    FEW,
    OPENED,
    blocks_of,
    code,
    out,
    prompt,
    prose,
    ran,
    sessions,
    settled,
    tour,
    transcript_of,
)
from support.kinds import narrow


def notebook_of(events: list[AnyEvent], **options: Any) -> dict[str, Any]:
    """Checked by nbformat, which warns of what it mends and raises for what it cannot."""
    data = export_session(events, "ipynb", **options)
    notebook: dict[str, Any] = json.loads(data)
    nbformat.validate(notebook)
    assert nbformat.reads(data.decode(), as_version=4).cells is not None
    return notebook


def source_of(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def test_each_block_is_a_cell_in_its_form() -> None:
    cells = notebook_of(tour(), title="A *tour*")["cells"]
    assert [(cell["cell_type"], source_of(cell).split("\n")[0]) for cell in cells] == [
        ("markdown", "> Add the numbers."),
        ("markdown", "First the **sum**:"),
        ("code", "x = sum([1, 2, 3])"),
        ("code", "y + 1"),
        ("code", "y = 3"),
        ("markdown", "```python"),
        ("markdown", "**Warning:** The kernel was started anew Variables are gone."),
        ("code", "%%bash"),
        ("markdown", ">"),
        ("code", "for n in range(9): print(n)"),
        ("code", "draw()"),
        ("markdown", "Done: `6`."),
    ]


def test_refused_code_is_no_cell_that_can_be_run() -> None:
    cells = notebook_of(tour())["cells"]
    (refused,) = (cell for cell in cells if "rmtree" in source_of(cell))
    assert refused["cell_type"] == "markdown"
    assert source_of(refused).endswith("*Not run: no!*")


def test_outputs_are_those_of_jupyter() -> None:
    cells = notebook_of(tour())["cells"]
    assert cells[2]["outputs"] == [
        {"output_type": "stream", "name": "stdout", "text": ["sum 6\n"]},
        {"output_type": "execute_result", "data": {"text/plain": ["6"]}, "metadata": {}, "execution_count": 1},
    ]
    assert cells[3]["outputs"][1]["ename"] == "NameError"
    assert cells[3]["metadata"]["tags"] == ["raises-exception"]
    assert "".join(cells[9]["outputs"][0]["text"]) == "0\n1\n[… 10 characters left out …]\n7\n8\n"
    picture = cells[10]["outputs"][0]["data"]
    assert picture["image/png"].startswith("iVBOR")


def test_without_images_a_notebook_says_where_they_were() -> None:
    data = export_session(tour(), "ipynb", images=False)
    assert b"iVBOR" not in data
    figure, table = json.loads(data)["cells"][10]["outputs"]
    assert figure["data"] == {"text/plain": ["[picture of 1×1 pixels left out]"]}
    assert set(table["data"]) == {"text/html", "text/plain"}
    import_session(data, "a.ipynb")


def test_code_of_another_kernel_is_markdown_beside_python_and_a_cell_where_it_is_alone() -> None:
    python = [*code("a", "1", author="user"), *ran("a", "1")]
    r = [*code("b", "cat(1)", "ir", "user"), *ran("b", "cat(1)", out("1"))]
    notebook = notebook_of([OPENED, *python, *r])
    assert [cell["cell_type"] for cell in notebook["cells"]] == ["code", "markdown"]
    assert source_of(notebook["cells"][1]) == "```r\ncat(1)\n```\n\n```text\n1\n```"
    alone = notebook_of([OPENED, *r])
    assert [cell["cell_type"] for cell in alone["cells"]] == ["code"]
    assert alone["metadata"]["kernelspec"]["name"] == "ir"
    assert blocks_of(import_session(json.dumps(alone).encode(), "x").events) == blocks_of(r)


def test_what_was_interrupted_is_passed_over_when_the_notebook_runs() -> None:
    events = [OPENED, *code("a", "while True: pass"), *ran("a", "while True: pass", status="interrupted")]
    (cell,) = notebook_of(events)["cells"]
    assert cell["metadata"]["tags"] == ["skip-execution"]
    assert cell["metadata"]["oi_tui"]["passed_over"] == "it was interrupted"


def test_what_asked_for_input_is_passed_over_too_and_the_cell_says_why() -> None:
    source = "name = input('? ')"
    asked = InputRequested(request_id="i", block_id="a", prompt="? ")
    answered = InputAnswered(request_id="i", block_id="a")
    ends: tuple[tuple[ExecutionStatus, list[str]], ...] = (("ok", []), ("error", ["raises-exception"]))
    for status, others in ends:
        run = ran("a", source, status=status)
        events = [OPENED, *code("a", source), *run[:-1], asked, answered, run[-1]]
        (cell,) = notebook_of(events)["cells"]
        assert cell["metadata"]["tags"] == ["skip-execution", *others]
        assert cell["metadata"]["oi_tui"]["passed_over"] == "it asked for input"
        data = export_session(events, "ipynb")
        assert blocks_of(import_session(data, "x").events) == blocks_of(events)


def test_a_session_comes_back_from_its_notebook_as_it_was() -> None:
    events = tour()
    imported = import_session(export_session(events, "ipynb", title="Numbers"), "x.ipynb")
    assert (imported.title, imported.cwd, imported.format) == ("Numbers", "/home/me/data", "ipynb")
    there, back = transcript_of(events), transcript_of(imported.events)
    assert back.blocks == list(map(attribute_to_file, there.blocks))
    assert back.usage == there.usage
    assert not back.turn_open


def test_neither_model_nor_approval_come_from_a_file() -> None:
    kinds = {type(event).__name__ for event in import_session(export_session(tour(), "ipynb"), "x").events}
    assert not kinds & {"SessionOpened", "SettingsChanged", "KernelChanged"}


@FEW
@given(sessions())
def test_any_session_comes_back_from_its_notebook(events: list[AnyEvent]) -> None:
    data = export_session(events, "ipynb")
    nbformat.validate(json.loads(data))
    imported = import_session(data, "x.ipynb")
    assert blocks_of(imported.events) == list(map(attribute_to_file, settled(events)))
    assert transcript_of(imported.events).usage == transcript_of(events).usage
    again = export_session([OPENED, *imported.events], "ipynb")
    assert export_session([OPENED, *import_session(again, "x.ipynb").events], "ipynb") == again


@FEW
@given(sessions())
def test_any_session_without_its_pictures_is_a_notebook_too(events: list[AnyEvent]) -> None:
    data = export_session(events, "ipynb", images=False)
    nbformat.validate(json.loads(data))
    again = export_session([OPENED, *import_session(data, "x.ipynb").events], "ipynb")
    assert export_session([OPENED, *import_session(again, "x.ipynb").events], "ipynb") == again


def test_a_cell_changed_in_jupyter_comes_back_changed() -> None:
    notebook = notebook_of(tour())
    notebook["cells"][0]["source"] = ["> Add *some*.\n", "> Really."]
    notebook["cells"][1]["source"] = "Other words"
    notebook["cells"][2] |= {"source": ["1 + 1"], "outputs": []}
    notebook["cells"][5]["source"] = "I did not want that."
    blocks = blocks_of(import_session(json.dumps(notebook).encode(), "x").events)
    assert (narrow(blocks[0], UserBlock).text, narrow(blocks[1], ProseBlock).text) == (
        "Add *some*.\nReally.",
        "Other words",
    )
    changed = narrow(blocks[2], CodeBlock)
    assert (changed.source, changed.outputs, changed.state) == ("1 + 1", (), "ok")
    assert narrow(blocks[5], ProseBlock).text == "I did not want that."


def test_what_still_runs_has_run_until_now() -> None:
    started = ExecutionStarted(block_id="c", generation=1)
    events = [OPENED, *prompt("u", "Go."), StepStarted(number=1), *prose("p", "So"), *code("c", "1"), started]
    block = blocks_of(import_session(export_session(events, "ipynb"), "x").events)[-1]
    assert isinstance(block, CodeBlock)
    assert (block.state, block.ending) == ("interrupted", Ending(stage="running", cause="record"))
