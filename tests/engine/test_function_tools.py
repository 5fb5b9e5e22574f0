"""Tools from Python functions: what a model is told of them, what they get, and what becomes of what they return."""

import asyncio
import re
import threading
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest
from PIL import Image
from pydantic import BaseModel, Field

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.outputs import ErrorOutput, RichOutput
from oi_tui.app.engine.testing import FakeModel
from oi_tui.app.engine.text.compact_table import TABLE_TYPE
from oi_tui.app.engine.tools.function import tool_of
from oi_tui.app.engine.tools.results import LONGEST, tool_result
from oi_tui.app.engine.tools.tool import Capabilities, ToolFailed, ToolOutput
from oi_tui.app.guide.pages import guide_page
from support.tool_calls import HARMLESS, answer, call, calls, make, text_of
from support.turns import play


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Place(msgspec.Struct):
    x: int
    y: int = 0


class Point(BaseModel):
    x: int = Field(ge=0)


@dataclass
class Pair:
    left: int
    right: str


def paint(
    wall: str,
    colour: Colour,
    coats: Annotated[int, "How many."] = 2,
    finish: Literal["matt", "gloss"] = "matt",
    at: Place | None = None,
    output: ToolOutput | None = None,
) -> str:
    """Paint a wall.

    Takes an hour.

    Args:
        wall: Which wall.
        coats: Not read, the annotation wins.
    """
    if output is not None:
        output.print("painting\n")
    return f"{wall} {colour.name} {coats} {finish} {at}"


async def result_of(function: Any, arguments: str, **about: Any) -> tuple[str, str]:
    """State and text of a call."""
    made = tool_of(function, name="f", capabilities=HARMLESS, **about)
    session = make(FakeModel(answer(*call(arguments, name="f")), "Done."), made)
    await play(session, session.run("go"))
    (block,) = calls(session)
    errors = "".join(one.value for one in block.outputs if isinstance(one, ErrorOutput))
    return block.state, text_of(block) + errors


def test_G7_the_schema_comes_from_type_hints_and_the_words_from_the_docstring() -> None:
    made = tool_of(paint, capabilities=Capabilities(writes=False), origin="tools/paint.py")
    assert (made.name, made.description, made.origin) == ("paint", "Paint a wall.\n\nTakes an hour.", "tools/paint.py")
    properties = made.schema["properties"]
    assert list(properties) == ["wall", "colour", "coats", "finish", "at"]
    assert properties["wall"] == {"type": "string", "description": "Which wall."}
    assert properties["coats"] == {"type": "integer", "description": "How many.", "default": 2}
    assert properties["finish"]["enum"] == ["gloss", "matt"]
    assert made.schema["$defs"]["Colour"]["enum"] == ["blue", "red"]
    assert made.schema["required"] == ["wall", "colour"]
    assert made.schema["additionalProperties"] is False


async def test_G7_arguments_have_the_types_of_the_hints_and_defaults_are_the_functions_own() -> None:
    arguments = '{"wall": "north", "colour": "red", "at": {"x": 1}}'
    assert await result_of(paint, arguments) == ("ok", "painting\nnorth RED 2 matt Place(x=1, y=0)")
    state, text = await result_of(paint, '{"wall": "north", "colour": "green"}')
    assert state == "error"
    assert "colour" in text
    state, text = await result_of(paint, '{"wall": 1, "colour": "red", "size": 1}')
    assert state == "error"


async def test_G7_pydantic_models_are_arguments_and_results() -> None:
    def move(to: Point, steps: list[Point] | None = None) -> Point:
        return Point(x=to.x + len(steps or ()))

    assert tool_of(move).schema["$defs"]["Point"]["properties"]["x"]["minimum"] == 0
    assert await result_of(move, '{"to": {"x": 2}, "steps": [{"x": 1}]}') == ("ok", '{\n  "x": 3\n}')
    assert (await result_of(move, '{"to": {"x": -2}}'))[0] == "error"


def test_G7_what_can_be_no_tool_is_refused_with_the_reason() -> None:
    def many(*numbers: int) -> None: ...

    def odd(lock: threading.Event) -> None: ...

    for function, why in ((many, "takes what has no name"), (odd, "lock is of the type Event")):
        with pytest.raises(SettingsError, match=why):
            tool_of(function)
    with pytest.raises(SettingsError, match="no name for a tool"):
        tool_of(lambda: None)


async def test_G7_a_synchronous_function_runs_in_a_thread_and_an_asynchronous_one_in_the_loop() -> None:
    def where() -> bool:
        return threading.current_thread() is threading.main_thread()

    async def where_async() -> bool:
        await asyncio.sleep(0)
        return threading.current_thread() is threading.main_thread()

    assert await result_of(where, "{}") == ("ok", "false")
    assert await result_of(where_async, "{}") == ("ok", "true")


async def test_G8_a_cancelled_function_in_a_thread_ends_at_its_next_line() -> None:
    begun, ended = threading.Event(), threading.Event()

    def forever(output: ToolOutput) -> None:
        begun.set()
        try:
            while True:
                output.report(1)
        finally:
            ended.set()

    session = make(FakeModel(answer(*call("{}", name="forever")), "Done."), tool_of(forever, capabilities=HARMLESS))
    async with asyncio.timeout(20):
        turn = asyncio.create_task(session.run("go"))
        await asyncio.to_thread(begun.wait, 10)
        session.interrupt()
        await turn
        assert await asyncio.to_thread(ended.wait, 10)
    assert calls(session)[0].state == "interrupted"


async def test_G8_one_that_waits_in_the_system_is_said_to_run_still() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        go_on.wait(30)

    session = make(FakeModel(answer(*call("{}", name="wait")), "Done."), tool_of(wait, capabilities=HARMLESS))
    async with asyncio.timeout(20):
        turn = asyncio.create_task(session.run("go"))
        await asyncio.to_thread(begun.wait, 10)
        session.interrupt(turn=True)
        await turn
    go_on.set()
    said = [getattr(block, "title", "") for block in session.transcript.blocks]
    assert "The tool wait ignored the interrupt." in said


def test_G9_results_are_shown_by_their_type(tmp_path: Path) -> None:
    def forms(value: Any) -> dict[str, Any]:
        shown = tool_result(value)
        assert shown is not None
        assert isinstance(shown, RichOutput)
        return shown.data

    assert tool_result("text") == "text"
    assert tool_result(None) is None
    assert forms(3)["text/plain"] == "3"
    assert forms({"a": [1, Place(1)]})["application/json"] == {"a": [1, {"x": 1, "y": 0}]}
    assert forms(Pair(1, "b"))["application/json"] == {"left": 1, "right": "b"}
    assert forms([Point(x=1)])["application/json"] == [{"x": 1}]
    picture = Image.new("RGB", (4000, 10))
    assert set(forms(picture)) == {"image/png", "text/plain"}
    assert forms(picture)["text/plain"] == "a picture, 4000 x 10 pixels"
    frame = pytest.importorskip("pandas").DataFrame({"a": [1, 2]})
    assert forms(frame)[TABLE_TYPE]["rows"] == 2
    picture.save(tmp_path / "wide.png")
    assert set(forms(tmp_path / "wide.png")) == {"image/png", "text/plain"}
    (tmp_path / "notes").write_text("one\n")
    assert forms(tmp_path / "notes")["text/plain"].endswith("(4 bytes)\none\n")
    assert forms(b"\xff\x00")["text/plain"].startswith("bytes that are no text")


def test_G9_results_are_bounded_and_what_cannot_be_shown_is_an_error() -> None:
    long = tool_result("x" * (LONGEST + 5))
    assert isinstance(long, str)
    assert long.endswith("[5 more characters]")
    many = tool_result(list(range(LONGEST)))
    assert many is not None
    assert isinstance(many, RichOutput)
    assert set(many.data) == {"text/plain"}
    with pytest.raises(ToolFailed, match="It returned a Event"):
        tool_result(threading.Event())
    deep: list[Any] = []
    deep.append(deep)
    with pytest.raises(ToolFailed):
        tool_result(deep)


def test_G7_the_guides_example_works_as_it_stands_there() -> None:
    page = guide_page("tools")
    assert page is not None
    _, code = re.findall(r"```python\n(.*?)```", page.text, re.DOTALL)
    space: dict[str, Any] = {}
    exec(code, space)
    (made,) = space["register_tools"]()
    assert made.schema["properties"]["unit"]["default"] == "km"
    assert not made.capabilities.writes
