"""Errors: the message always, the line of the person's own code, and the way there on demand."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.outputs import ErrorOutput, StreamOutput
from oi_tui.widgets.timeline.cells import BlockCell
from oi_tui.widgets.timeline.code import Code
from oi_tui.widgets.timeline.row_pieces import BlockDisplay, Canvas
from oi_tui.widgets.timeline.traceback_rows import Traceback, shorten_home

Draw = Callable[..., list[str]]

RULE, HEADER = "-" * 75, "{}                                 Traceback (most recent call last)"
CALL = "Cell In[7], line 3\n      1 import json\n      2 \n----> 3 f('{')\n"
OWN = "Cell In[2], line 4, in f(x)\n      3 def f(x):\n----> 4     return json.loads(x)\n"
LIBRARY = "File ~/lib/json/decoder.py:353, in JSONDecoder.raw_decode(self, s, idx)\n    352 try:\n--> 353     obj\n"
LINK = "\nDuring handling of the above exception, another exception occurred:\n"


def error(*parts: str, name: str = "KeyError", value: str = "'a'") -> ErrorOutput:
    return ErrorOutput(name=name, value=value, traceback=(RULE, HEADER.format(name), *parts))


def code(output: ErrorOutput | StreamOutput, source: str = "import json\n\nf('{')\n") -> CodeBlock:
    return CodeBlock(id="c", language="python", source=source, state="error", outputs=(output,))


def test_the_frame_of_own_code_nearest_to_the_error_is_shown_and_no_inside_of_a_library(drawn: Draw) -> None:
    block = code(error(CALL, OWN, LIBRARY, LIBRARY, "KeyError: 'a'"))
    assert drawn(block)[4:] == [
        " ┃ … 16 more lines of traceback · enter to show",
        " ┃ Cell In[2], line 4, in f(x)",
        " ┃       3 def f(x):",
        " ┃ ----> 4     return json.loads(x)",
        " ┃ KeyError: 'a'",
    ]
    opened = drawn(block, 120, "open")[4:]
    assert len(opened) == 20
    assert sum("decoder.py" in row for row in opened) == 2


def test_the_line_of_this_cell_that_led_there_is_marked(drawn: Draw) -> None:
    block = code(error(CALL, OWN, LIBRARY, "KeyError: 'a'"))
    assert [row[:3] for row in drawn(block)[1:4]] == ["   ", "", " ✗ "]
    assert Code(block).error_line == 3


def test_the_error_row_is_where_the_line_begins(canvas_of: Callable[[int], Canvas]) -> None:
    block = code(error(CALL, "KeyError: 'a'"), source="x = '" + "long " * 40 + "'\n\nf('{')\n")
    cell = BlockCell(block)
    cell.layout(block, canvas_of(40), BlockDisplay())
    assert cell.error_row is not None
    assert cell.row(cell.error_row).text.startswith(" ✗ f('{')")


def test_a_line_that_is_not_in_the_source_is_not_marked() -> None:
    assert Code(code(error(CALL, "KeyError: 'a'"), source="one line")).error_line is None


def test_every_message_of_a_chain_is_shown(drawn: Draw) -> None:
    first = (CALL, "KeyError: 'a'", LINK)
    second = (HEADER.format("ValueError"), CALL, "ValueError: two\nlines")
    shown = drawn(code(error(*first, *second, name="ValueError", value="two\nlines")))[4:]
    assert shown[1:3] == [" ┃ KeyError: 'a'", " ┃ During handling of the above exception, another exceptio"]
    assert shown[-2:] == [" ┃ ValueError: two", " ┃ lines"]


def test_a_syntax_error_points_at_the_place(drawn: Draw) -> None:
    part = "  Cell In[3], line 2\n    y = = 2\n        ^\nSyntaxError: invalid syntax\n"
    output = ErrorOutput(name="SyntaxError", value="invalid syntax (563942855.py, line 2)", traceback=(part,))
    block = code(output, source="x = 1\ny = = 2\n")
    assert drawn(block)[3:] == [
        " ┃   Cell In[3], line 2",
        " ┃     y = = 2",
        " ┃         ^",
        " ┃ SyntaxError: invalid syntax",
    ]
    assert Code(block).error_line == 2


def test_notes_belong_to_the_message(drawn: Draw) -> None:
    shown = drawn(code(error(CALL, "KeyError: 'a'", "a note", "another")))
    assert shown[-3:] == [" ┃ KeyError: 'a'", " ┃ a note", " ┃ another"]


def test_an_exception_group_marks_its_line_too() -> None:
    tree = '  |   File "/tmp/ipykernel_17667/315767061.py", line 3, in <module>\n  | ExceptionGroup: several\n'
    assert Code(code(StreamOutput(name="stderr", text=tree))).error_line == 3


def test_what_is_no_python_traceback_shows_its_message_and_opens_to_all(drawn: Draw) -> None:
    traceback = ("Error in f(): no x", "1. f()", "2. g()")
    block = code(ErrorOutput(name="ERROR", value="object 'x' not found", traceback=traceback))
    assert drawn(block)[4:] == [
        " ┃ … 2 more lines of traceback · enter to show",
        " ┃ ERROR: object 'x' not found",
    ]
    assert len(drawn(block, fold="open")[4:]) == 3


def test_paths_begin_with_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    assert shorten_home("File /home/someone/a.py, /srv/home/someone/b.py") == "File ~/a.py, /srv/home/someone/b.py"
    assert str(Path.home()) == "/home/someone"


def test_hostile_tracebacks_do_no_harm(drawn: Draw) -> None:
    parts = ("Cell In[1], line 99999999999999999999\n\x1b]0;title\x07\x1b[2J", "\u202eError", "")
    rows = drawn(code(error(*parts, name="E\x1b[2J\n", value="\x9b31m")))
    assert not re.search("[\x00-\x1f\x7f-\x9f\u202e]", "".join(rows))


def test_an_error_without_anything_has_its_name(drawn: Draw) -> None:
    assert drawn(code(ErrorOutput(name="E", value="")))[4:] == [" ┃ E"]
    assert Traceback(ErrorOutput(name="E", value="")).line_of_own_code is None
