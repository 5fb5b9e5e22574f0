"""What a session in plain lines says, and what it makes of keys: pure parts, without a terminal."""

import subprocess
import sys

import pytest
from msgspec.structs import replace

from oi_tui.app.engine.core.events import DecisionRequested, ExecutionFinished, ExecutionStarted, FilesWritten
from oi_tui.app.engine.core.outputs import ErrorOutput, RichOutput, Tail, WrittenFile, WrittenFiles
from oi_tui.app.engine.core.tool_replies import ChangedFile, ChangesFound
from oi_tui.app.engine.core.values import GrantScope
from oi_tui.app.engine.core.verbs import Decide
from oi_tui.app.engine.text.compact_table import TABLE_TYPE
from oi_tui.app.linear.line_editor import Key, KeyReader, LineEditor
from oi_tui.app.linear.listings import DIFF_LINES, Listings
from oi_tui.app.linear.narrator import Narrator
from oi_tui.app.linear.output_words import HEAD, StreamLines, error_lines, name_columns, rich_lines
from oi_tui.app.linear.prose_words import Sentences
from oi_tui.app.linear.question_words import decision_question, read_decision
from oi_tui.app.linear.spoken import Patience, spoken_time


def test_A4_lines_start_without_textual() -> None:
    program = "import oi_tui.app.linear.conversation, sys; print('textual' in sys.modules)"
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert finished.stdout.strip() == "False", finished.stderr


def test_A6_prose_is_said_by_sentences_without_marks() -> None:
    prose = Sentences()
    text = "## The **mean**\n\nIt is 3.5, as you expected. See e.g. the plot below!\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    said = [line for character in text for line in prose.feed(character)] + prose.finish()
    assert said == ["Heading: The mean", "It is 3.5, as you expected.", "See e.g. the plot below!", "a; b", "1; 2"]


def test_A6_quoted_code_is_said_as_it_is() -> None:
    prose = Sentences()
    assert [*prose.feed("```text\n**x**. Not prose. # one\n```\nEnd"), *prose.finish()] == [
        "Quoted text:",
        "**x**. Not prose. # one",
        "End of the quotation.",
        "End",
    ]


def test_A6_a_long_stream_is_head_count_and_tail() -> None:
    stream = StreamLines()
    said = [line for number in range(100) for line in stream.feed(f"line {number}\n")]
    assert said == [f"line {number}" for number in range(HEAD)]
    assert stream.finish(3) == ["… 75 more lines: /show 3", *(f"line {number}" for number in range(95, 100))]


def test_A6_the_end_of_a_flood_is_said_too() -> None:
    stream = StreamLines()
    stream.feed("".join(f"{number}\n" for number in range(30)))
    stream.move_tail(Tail(text="998\n999\n", left_out_characters=5_000, left_out_lines=900))
    assert stream.finish(1)[:2] == ["… 907 more lines: /show 1", "27"]
    assert stream.finish(1)[-1] == "999"


def test_A6_a_progress_bar_is_its_last_state() -> None:
    stream = StreamLines()
    assert stream.feed("10%\r20%") == []
    assert stream.newest == "20%"
    assert stream.feed("\r30%\n") == ["30%"]


def test_A6_what_a_run_left_is_said_once_and_not_again_when_an_undo_is_undone() -> None:
    said: list[str] = []
    narrator = Narrator(said.append)
    files = tuple(WrittenFile(name=name, size=5) for name in ("a.csv", "b.csv"))
    left = WrittenFiles(files=files, more=1, deleted=("old.csv",), undoable=4)
    for event in (
        ExecutionStarted(block_id="c", generation=1),
        ExecutionFinished(block_id="c", status="ok", duration=1.0),
        FilesWritten(block_id="c", written=left),
        FilesWritten(block_id="c", written=replace(left, undone=4, undoable=0)),
        FilesWritten(block_id="c", written=left),
    ):
        narrator.tell(event)
    assert said == [
        "Code 1 runs.",
        "Code 1 ended, ok, 1 second.",
        "Code 1 wrote: a.csv 5 bytes, b.csv 5 bytes and 1 more.",
        "Code 1 deleted: old.csv.",
    ]


def test_A6_what_a_terminal_obeys_is_never_said() -> None:
    stream = StreamLines()
    assert stream.feed("\x1b[31mred\x1b[0m\x07\n") == ["red"]
    assert [*Sentences().feed("\x1b]52;c;aGk=\x07hi\n")] == ["hi"]


def test_A6_a_table_is_rows_with_the_names_of_their_columns() -> None:
    frame = {
        "index": [["", "int64", True]],
        "columns": [["city", "object", False], ["mm", "int64", True]],
        "head": [[str(place), f"Town {place}", str(place * 10)] for place in range(9)],
        "tail": [],
        "rows": 9,
        "width": 2,
    }
    said = rich_lines(RichOutput(data={TABLE_TYPE: frame, "text/plain": "x"}), 4)
    assert said == [
        "Table: 9 rows, 2 columns: city, mm.",
        *(f"row {place}: city Town {place}, mm {place * 10}" for place in range(5)),
        "… 3 more rows: /show 4",
        "row 8: city Town 8, mm 80",
    ]


def test_A6_a_figure_is_its_words() -> None:
    def text(words: str, role: str) -> dict[str, object]:
        box = [0.1, 0.1, 0.2, 0.2]
        return {"text": words, "role": role, "align": "left", "angle": 0, "colour": "#000000", "box": box}

    texts = [text("Rain", "title"), text("year", "x-label"), text("1990", "x-tick"), text("2020", "x-tick")]
    data = {
        "image/png": "iVBORw0KGgoAAAANSUhEUgAAAoAAAAHg",
        "application/vnd.oi-tui.figure+json": {"texts": texts, "stretch": True},
    }
    said = rich_lines(RichOutput(data=data), 2)
    assert said[0].endswith("To write it to a file: /save 2")
    assert said[1:] == ["Title: Rain.", "x axis: year.", "x axis from 1990 to 2020."]


def test_A6_an_error_is_said_first_and_then_where_it_was() -> None:
    error = ErrorOutput(name="NameError", value="name 'x' is not defined", traceback=("\x1b[31m----> 2 \x1b[0mx + 1",))
    assert error_lines(error, 1) == ["Error: NameError: name 'x' is not defined", "It happened in line 2: x + 1"]


def test_A6_columns_of_a_notice_are_named() -> None:
    assert name_columns(["model   requests  cost", "a/b  2  $1.00", "total  3  $2.00"]) == [
        "a/b: requests 2, cost $1.00",
        "total: requests 3, cost $2.00",
    ]
    assert name_columns(["Two words", "and  more"]) == ["Two words", "and  more"]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.42, "0.4 seconds"), (1.0, "1 second"), (12.3, "12 seconds"), (60, "1 minute"), (5_400, "1.5 hours")],
)
def test_A6_times_are_in_words(seconds: float, said: str) -> None:
    assert spoken_time(seconds) == said


def test_A6_what_takes_long_is_said_after_ten_seconds_a_minute_and_each_five_minutes() -> None:
    now = 0.0
    patience = Patience(lambda: now)
    patience.begin("Code 3 is still running")
    said = []
    for second in range(900):
        now = float(second)
        said.append(patience.reminder())
    assert [line for line in said if line] == [
        f"Code 3 is still running, {time}" for time in ("10 seconds", "1 minute", "5 minutes", "10 minutes")
    ]


def _request(
    *, labels: tuple[str, ...] = (), why: str = "", scopes: tuple[GrantScope, ...] = (), offer: str = ""
) -> DecisionRequested:
    return DecisionRequested(
        request_id="r",
        block_id="b",
        language="python",
        source="x",
        sha256="",
        labels=labels,
        why=why,
        scopes=scopes,
        offer=offer,
    )


def test_A2_a_question_says_what_the_code_does_and_which_letters_there_are() -> None:
    request = _request(labels=("writes files, line 2",), why="approval is needed for a repeat")
    assert decision_question(request, 3) == (
        "Run code 3? It writes files, line 2. Approval is needed for a repeat. "
        "y run, n refuse, e edit, a always, ? why, s stop:"
    )


@pytest.mark.parametrize("line", ["", " ", "yes please", "run", "Y!", "ye", "y y", "a 3", "a x", "i", "no\ty"])
def test_A2_only_an_answer_approves(line: str) -> None:
    decided = read_decision(_request(scopes=(GrantScope(kind="turn", rules=("Python(*)",)),)), line)
    assert not (isinstance(decided, Decide) and decided.verdict in ("run", "always", "edit"))


def test_A2_answers_are_what_they_say() -> None:
    request = _request(scopes=(GrantScope(kind="turn", rules=("Python(*)",)),), offer="the network")
    assert read_decision(request, "y") == Decide(request_id="r", verdict="run")
    assert read_decision(request, "i") == Decide(request_id="r", verdict="run", install=True)
    assert read_decision(request, "a") == Decide(request_id="r", verdict="always", scope="source")
    assert read_decision(request, "a 2") == Decide(request_id="r", verdict="always", scope="turn")
    assert read_decision(request, "n too slow") == Decide(request_id="r", verdict="skip", reason="too slow")


class Row:
    """A terminal's row: what stands in it after what was written."""

    def __init__(self) -> None:
        self.cells: list[str] = []
        self.column = 0

    def write(self, text: str) -> None:
        for character in text:
            if character == "\b":
                self.column -= 1
            else:
                self.cells[self.column : self.column + 1] = [character]
                self.column += 1
        assert self.column >= 0


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ("helo\x1b[Dl", "hello"),
        ("abc\x01X\x05Y", "XabcY"),
        ("one two\x17three", "one three"),
        ("one two\x1bb\x0b!", "one !"),
        ("abc\x1b[D\x1b[D\x7fz", "zbc"),
        ("abc\x1b[H\x1b[3~", "bc"),
        ("abc\x15xy", "xy"),
        ("draft\x1b[A\x1b[A\x1b[B!", "newer!"),
        ("draft\x1b[A\x1b[B", "draft"),
    ],
)
def test_A1_a_line_is_edited_with_backspaces_alone(keys: str, line: str) -> None:
    editor, row, reader = LineEditor(), Row(), KeyReader()
    editor.prompt = "> "
    editor.history = ["older", "newer"]
    row.write(editor.whole_row())
    for character in keys:  # a terminal may cut its sequences anywhere
        for key in reader.read(character):
            row.write(editor.press(key))
    assert editor.text == line
    assert "".join(row.cells).rstrip() == f"> {line}"
    assert row.column == 2 + editor.place


def test_A1_a_line_that_is_longer_than_a_row_is_written_once_more_where_it_must_be() -> None:
    editor = LineEditor(columns=10)
    editor.prompt = "> "
    assert editor.insert("0123456789") == "0123456789"
    assert editor.press(Key("\x7f")) == "\b \b"
    assert editor.press(Key("\x7f")) == "\n> 01234567"


def test_A1_a_paste_is_one_line_whatever_it_holds() -> None:
    reader = KeyReader()
    keys = [*reader.read("\x1b[200~one\r\x1b[31mtwo\x1b[20"), *reader.read("1~\r")]
    assert [key.name for key in keys] == ["", "\r"]
    editor = LineEditor()
    editor.press(keys[0])
    assert editor.text == "one\n[31mtwo"


def test_F15_what_would_be_undone_is_said_as_a_diff_with_the_command_that_does_it() -> None:
    changed = ChangedFile(name="a.py", diff="-x = 1\n+x\x1b[2J = 2\n" + "+more\n" * DIFF_LINES)
    said = [*Listings().lines(ChangesFound(scope="turn", purpose="undo", files=(changed,)))]
    assert said[:2] == ["a.py:", "-x = 1"]
    assert "\x1b" not in "".join(said)
    assert said[-2:] == ["… 2 more lines.", "To do it: /undo turn yes"]
    nothing = ChangesFound(purpose="undo", why="No tool has changed a file in this session.")
    assert [*Listings().lines(nothing)] == ["No tool has changed a file in this session."]
