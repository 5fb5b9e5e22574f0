"""What a task without a screen tells of output that is too long to be told as it comes."""

from io import StringIO

from oi_tui.app.engine.core.events import (
    ExecutionFinished,
    OutputAdded,
    OutputsCleared,
    OutputTailMoved,
    ProseFinished,
    ProseGrew,
)
from oi_tui.app.engine.core.outputs import StreamName, StreamOutput, Tail
from oi_tui.app.headless.text_log import TextLog

FINISHED = ExecutionFinished(block_id="c", status="ok", duration=1.0)


def moved(text: str, characters: int) -> OutputTailMoved:
    return OutputTailMoved(block_id="c", name="stdout", tail=Tail(text=text, left_out_characters=characters))


def test_L14_the_end_of_a_long_output_is_told_when_the_run_is_over() -> None:
    told = StringIO()
    narration = TextLog(told)
    narration.tell(OutputAdded(block_id="c", output=StreamOutput(name="stdout", text="first\n")))
    for event in (moved("earlier", 5), moved("\x1b[31mlast\x1b[0m\n", 5_000), FINISHED, FINISHED):
        narration.tell(event)
    assert told.getvalue() == "first\n… 5,000 characters left out\nlast\n" + "✓ ok · 1.0 s\n" * 2


def test_an_end_that_was_cleared_is_not_told() -> None:
    told = StringIO()
    narration = TextLog(told)
    for event in (moved("gone", 5), OutputsCleared(block_id="c"), FINISHED):
        narration.tell(event)
    assert told.getvalue() == "✓ ok · 1.0 s\n"


def test_T2_what_comes_in_pieces_is_told_as_if_it_had_come_whole() -> None:
    told = StringIO()
    narration = TextLog(told)
    for piece in ("red \x1b[3", "1mapple\x1b]0;ti", "tle\x07 and 👩", "\u200d💻 end\x1b]52;c;", "never closed"):
        narration.tell(ProseGrew(block_id="p", text=piece))
    narration.tell(ProseFinished(block_id="p"))
    streams: tuple[tuple[StreamName, str], ...] = (
        ("stdout", "out\x1b[1"),
        ("stderr", "!\x1b]0;"),
        ("stdout", "m more"),
        ("stderr", "gone\nseen ❤"),
    )
    for name, piece in streams:
        narration.tell(OutputAdded(block_id="c", output=StreamOutput(name=name, text=piece)))
    narration.tell(OutputAdded(block_id="c", output=StreamOutput(name="stdout", text="\n50%\r100%\x1b")))
    narration.tell(FINISHED)
    assert told.getvalue() == "red apple and 👩\u200d💻 end\nout! more\nseen ❤\n100%\n✓ ok · 1.0 s\n"
