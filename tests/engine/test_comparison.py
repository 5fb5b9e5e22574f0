"""What came out now beside what is on record: the same, or the lines that differ."""

from oi_tui.app.engine.agent.output_diff import DIFF_LINES, SHOWN_DIFF_LINES, output_diff
from oi_tui.app.engine.core.outputs import ErrorOutput, RichOutput, StreamOutput, Tail


def out(text: str) -> StreamOutput:
    return StreamOutput(name="stdout", text=text)


def err(text: str) -> StreamOutput:
    return StreamOutput(name="stderr", text=text)


def test_the_same_text_is_the_same_however_it_came_in_pieces() -> None:
    assert output_diff([out("a\nb\n"), err("w\n")], [out("a\n"), err("w\n"), out("b\n")]) == ""


def test_an_address_in_memory_and_a_colour_make_no_difference() -> None:
    assert output_diff([out("<A at 0x7f00deadbeef>")], [out("\x1b[31m<A at 0x55aa12345678>\x1b[0m")]) == ""


def test_a_progress_bar_counts_as_it_was_left() -> None:
    assert output_diff([out("1%\r50%\r100%\n")], [out("1%\r100%\n")]) == ""


def test_lines_that_differ_are_told_as_then_and_now() -> None:
    assert output_diff([out("mean 3\n")], [out("mean 4\n")]).splitlines()[-2:] == ["-mean 3", "+mean 4"]


def test_another_exception_is_told_without_its_traceback() -> None:
    then = ErrorOutput(name="KeyError", value="'a'", traceback=("File /x/then.py",))
    now = ErrorOutput(name="KeyError", value="'b'", traceback=("File /x/now.py",))
    assert output_diff([then], [now]).splitlines()[-2:] == ["-KeyError: 'a'", "+KeyError: 'b'"]
    assert output_diff([then], [ErrorOutput(name="KeyError", value="'a'")]) == ""


def test_another_picture_is_told_though_its_words_are_the_same() -> None:
    def picture(content: str) -> RichOutput:
        return RichOutput(data={"image/png": content, "text/plain": "<Figure>"})

    assert output_diff([picture("AAAA")], [picture("AAAA")]) == ""
    assert "image/png" in output_diff([picture("AAAA")], [picture("BBBB")])


def test_the_end_of_a_long_output_counts() -> None:
    def long(end: str) -> StreamOutput:
        return StreamOutput(name="stdout", text="head", tail=Tail(text=end, left_out_characters=9))

    assert output_diff([long("a")], [long("b")]) != ""


def test_a_long_difference_is_cut_and_a_very_long_one_only_counted() -> None:
    many = output_diff([out("\n".join(map(str, range(500))))], [out("\n".join(map(str, range(1, 1000, 2))))])
    assert len(many.splitlines()) == SHOWN_DIFF_LINES + 1
    assert many.splitlines()[-1].startswith("… ")
    endless = "\n".join(["x"] * (DIFF_LINES + 1))
    assert output_diff([out(endless)], [out("y")]) == f"{DIFF_LINES + 1:,} lines then, 1 lines now; they differ."
