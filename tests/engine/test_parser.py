"""Answers in, prose and code out: the fence matrix (L7) and the habits of models (L2), whatever the cuts."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oi_tui.app.engine.core.chat_model import ToolDelta
from oi_tui.app.engine.core.events import (
    CodeFinished,
    CodeGrew,
    CodeStarted,
    ProseGrew,
    ThoughtGrew,
    ThoughtRecognised,
)
from support.answers import AnswerReader, Piece, merged
from support.kinds import narrow, of

LANGUAGES = {"python": "python", "python3": "python", "py": "python", "bash": "shell", "sh": "shell", "r": "ir"}


def canonical(label: str) -> str | None:
    return LANGUAGES.get(label.lower())


def parsed(parts: list[str], complete: bool = True) -> list[Piece]:
    parser = AnswerReader(canonical)
    pieces = [piece for part in parts for piece in parser.feed(part)]
    return merged(pieces + parser.finish(complete))


def cut(answer: str, size: int) -> list[str]:
    return [answer[at : at + size] for at in range(0, len(answer), size)] if size else [answer]


def summary(pieces: list[Piece]) -> list[str | tuple[str, str]]:
    """Prose as text, code as (language, source)."""
    result: list[str | tuple[str, str]] = []
    for piece in pieces:
        if isinstance(piece, ProseGrew):
            result.append(piece.text)
        elif isinstance(piece, CodeFinished):
            assert piece.complete
            result.append((piece.language, piece.source))
    return result


MATRIX: dict[str, tuple[str, list[str | tuple[str, str]]]] = {
    "plain_prose": ("Hello there.\n\nBye.\n", ["Hello there.\n\nBye."]),
    "prose_code_prose": (
        "Look:\n\n```python\nprint(1)\n```\n\nDone.",
        ["Look:", ("python", "print(1)"), "Done."],
    ),
    "language_word_inside_python": ("```\npython\nprint(1)\n```", [("python", "print(1)")]),
    "language_word_inside_bash": ("```\nbash\nls -l\n```\n", [("shell", "ls -l")]),
    "language_word_inside_r": ("```\nr\nx <- 1\n```\n", [("ir", "x <- 1")]),
    "language_word_in_labelled_code_stays": (
        "```python\npython = 1\nr = 'bash'\nprint(r)\n```",
        [("python", "python = 1\nr = 'bash'\nprint(r)")],
    ),
    "backticks_in_a_string": (
        "```python\nmd = '''\n```\ncode\n```\n'''\nprint(md)\n```\nEnd.",
        [("python", "md = '''\n```\ncode\n```\n'''\nprint(md)"), "End."],
    ),
    "backticks_in_a_docstring": (
        '```python\ndef f():\n    """Use:\n\n```\nf()\n```\n    """\n```\n',
        [("python", 'def f():\n    """Use:\n\n```\nf()\n```\n    """')],
    ),
    "string_never_closed": (
        '```python\nx = """abc\n```\nThat is it.\n```bash\nls\n```\n',
        [("python", 'x = """abc'), "That is it.", ("shell", "ls")],
    ),
    "backticks_in_a_here_document": (
        "```bash\ncat > a.md <<'EOF'\n```\nx\n```\nEOF\nls\n```\n",
        [("shell", "cat > a.md <<'EOF'\n```\nx\n```\nEOF\nls")],
    ),
    "four_backticks": (
        "````python\nx = '''\n```\n'''\n````\n",
        [("python", "x = '''\n```\n'''")],
    ),
    "tildes": ("~~~python\nprint('```')\n~~~\n", [("python", "print('```')")]),
    "unlabelled_sample": (
        "It prints:\n```\n42\nprint(1)\n```\nSo.",
        ["It prints:\n```\n42\nprint(1)\n```\nSo."],
    ),
    "labelled_sample": ("```text\nls\n```\n", ["```text\nls\n```"]),
    "json_sample": ('```json\n{"a": 1}\n```\n', ['```json\n{"a": 1}\n```']),
    "python_inside_a_sample": (
        "~~~markdown\n```python\n1\n```\n~~~\n",
        ["~~~markdown\n```python\n1\n```\n~~~"],
    ),
    "two_blocks": (
        "A\n```python\n1\n```\n\n```bash\nls\n```\nB\n",
        ["A", ("python", "1"), ("shell", "ls"), "B"],
    ),
    "indented_in_a_list": (
        "1. Do:\n\n   ```python\n   if x:\n       y()\n\n   z()\n   ```\n2. Next",
        ["1. Do:", ("python", "if x:\n    y()\n\nz()"), "2. Next"],
    ),
    "on_the_line_of_its_list_marker": (
        "- ```python\n  1\n  ```\nx",
        ["-", ("python", "1"), "x"],
    ),
    "crlf": ("A\r\n```python\r\nx = 1\r\ny = 2\r\n```\r\nB\r\n", ["A", ("python", "x = 1\ny = 2"), "B"]),
    "no_final_newline": ("```python\nprint(1)\n```", [("python", "print(1)")]),
    "never_closed": ("Go:\n```python\nprint(1)\nprint(2)", ["Go:", ("python", "print(1)\nprint(2)")]),
    "never_closed_with_newline": ("```python\nprint(1)\n", [("python", "print(1)")]),
    "closed_on_the_last_line": ("```python\nprint(1)```", [("python", "print(1)")]),
    "attribute_after_label": ('```python title="x.py"\n1\n```', [("python", "1")]),
    "braces": ("```{python}\n1\n```", [("python", "1")]),
    "class_in_braces": ("```{.python .numberLines}\n1\n```", [("python", "1")]),
    "capital_and_version": ("```Python3\n1\n```", [("python", "1")]),
    "space_before_label": ("``` python\n1\n```", [("python", "1")]),
    "quoted": ("> ```python\n> 1\n> ```\n", ["> ```python\n> 1\n> ```"]),
    "inline_code": ("Use ```x``` or\n```python x``` here\n", ["Use ```x``` or\n```python x``` here"]),
    "empty_block": ("A\n```python\n```\nB", ["A\n```python\n```\nB"]),
    "blank_block": ("```python\n\n  \n```\n", ["```python\n\n  \n```"]),
    "blank_lines_in_code": ("```python\n\nx\n\n\ny\n\n```\n", [("python", "\nx\n\n\ny\n")]),
    "only_an_opening": ("Well\n```python\n", ["Well\n```python"]),
    "shorter_fence_inside": ("````bash\necho '\n```\n'\n````", [("shell", "echo '\n```\n'")]),
    "deep_indent_inside": ('```python\nx = """\n      ```\n"""\n```', [("python", 'x = """\n      ```\n"""')]),
    "fence_with_text_behind": ("```python\n1\n``` x\n2\n```", [("python", "1\n``` x\n2")]),
    "brace_prose": ("{x} is a set\n{ and }\n{'a': 1}\n", ["{x} is a set\n{ and }\n{'a': 1}"]),
    "long_line_of_ticks": ("`" * 300 + "\n```python\n1\n```", ["`" * 300, ("python", "1")]),
    "helpers": (
        "I define:\n<helpers>\ndef f():\n    return 1\n</helpers>\nUse them.",
        ["I define:", ("python", "def f():\n    return 1"), "Use them."],
    ),
    "fence_in_helpers": (
        "<helpers>\n\n```python\ndef f():\n    return 1\n```\n</helpers>\nUse them.",
        [("python", "def f():\n    return 1"), "Use them."],
    ),
    "helpers_closed_in_a_string": (
        '<helpers>\nx = """\n</helpers>\n"""\n</helpers>\n',
        [("python", 'x = """\n</helpers>\n"""')],
    ),
    "helpers_that_are_spoken_of": (
        "Put them into `<helpers>` and <helpers> or:\n</helpers>\nSo.",
        ["Put them into `<helpers>` and <helpers> or:\n</helpers>\nSo."],
    ),
    "empty_helpers": ("A\n<helpers>\n</helpers>\nB", ["A\n<helpers>\n</helpers>\nB"]),
    "helpers_never_closed": ("<helpers>\ndef f(): ...", [("python", "def f(): ...")]),
    "emoji": ("😀\n```python\n'😀'\n```", ["😀", ("python", "'😀'")]),
}

CODE = "print('hello')"
CALLS = {
    "stutter": ("```python\n10+12executeexecute\n```", ("python", "10+12")),
    "object": ('```python\n{"language":"python","code":"10+12"}\n```', ("python", "10+12")),
    "object_in_json_fence": ('```json\n{"language":"python","code":"10+12"}\n```', ("python", "10+12")),
    "object_in_bare_fence": ('```\n{"language":"python","code":"10+12"}\n```', ("python", "10+12")),
    "object_in_prose": ('{"language":"python","code":"10+12"}', ("python", "10+12")),
    "object_of_shell_in_python": ('```python\n{"language":"bash","code":"ls"}\n```', ("shell", "ls")),
    "function": ('```python\nfunctions.execute({"language":"python","code":"10+12"})\n```', ("python", "10+12")),
    "function_in_prose": ('functions.execute({"language":"python","code":"10+12"})\n', ("python", "10+12")),
    "javascript": ('```python\n{language: "python", code: "print(\'hello\')" }\n```', ("python", CODE)),
    "javascript_in_prose": ('{language: "python", code: "print(\'hello\')" }', ("python", CODE)),
    "call_in_prose": (
        '{"name": "execute", "arguments": {"language": "python", "code": "print(\'hello\')"}}\n',
        ("python", CODE),
    ),
    "call_in_json_fence": (
        '```json\n{\n  "name": "execute",\n  "arguments": {\n    "language": "python",\n'
        '    "code": "a = 1\\nprint(a)"\n  }\n}\n```\n',
        ("python", "a = 1\nprint(a)"),
    ),
    "call_with_text_arguments": (
        '{"name": "execute", "arguments": "{\\"language\\": \\"python\\", \\"code\\": \\"1\\"}"}',
        ("python", "1"),
    ),
    "openai_shape": (
        '{"type": "function", "function": {"name": "execute", "arguments": {"code": "1"}}}',
        ("python", "1"),
    ),
    "tool_call_tags": (
        '<tool_call>\n{"name": "execute", "arguments": {"language": "python", "code": "1"}}\n</tool_call>\n',
        ("python", "1"),
    ),
    "tool_call_not_closed": (
        '<tool_call>\n{"name": "execute", "arguments": {"language": "python", "code": "1"}}\n',
        ("python", "1"),
    ),
    "language_as_tool": ('{"name": "python", "arguments": {"code": "1"}}', ("python", "1")),
    "line_breaks_in_the_string": ('{"language": "python", "code": "a = 1\nb = 2"}', ("python", "a = 1\nb = 2")),
}

SIZES = pytest.mark.parametrize("size", [1, 3, 7, 0], ids=["1", "3", "7", "all"])


@SIZES
@pytest.mark.parametrize("name", MATRIX)
def test_L7_the_fence_matrix_gives_the_same_code_whatever_the_chunks(name: str, size: int) -> None:
    answer, expected = MATRIX[name]
    assert summary(parsed(cut(answer, size))) == expected


@SIZES
@pytest.mark.parametrize("name", CALLS)
def test_L2_a_habit_of_models_is_undone(name: str, size: int) -> None:
    answer, expected = CALLS[name]
    assert summary(parsed(cut(answer, size))) == [expected]


@SIZES
@pytest.mark.parametrize("name", CALLS)
def test_L2_a_habit_is_undone_between_prose_too(name: str, size: int) -> None:
    answer, expected = CALLS[name]
    if not name.endswith("not_closed"):
        assert summary(parsed(cut(f"Now:\n{answer}\nDone.", size))) == ["Now:", expected, "Done."]


@SIZES
def test_L2_two_calls_in_the_text_come_out_in_order(size: int) -> None:
    call = '{"name": "execute", "arguments": {"language": "python", "code": "%d"}}'
    bare = f"{call % 1}\n{call % 2}\n"
    assert summary(parsed(cut(bare, size))) == [("python", "1"), ("python", "2")]
    assert summary(parsed(cut(f"```json\n{bare}```\n", size))) == [("python", "1"), ("python", "2")]


@pytest.mark.parametrize(
    "source",
    [
        '{"language": "cobol", "code": "x"}',
        '{"language": "python", "code": "x", "more": 1}',
        "execute({'language': 'python'})",
        "def execute(): ...\nexecute",
        "fooexecute",
        "'''Docstring.\n\n  a blank line above   \n'''\n%timeit 1\n!ls  \n\tx",
        '{"name": "Bob", "arguments": {"code": "x"}}',
        "[{'language': 'python', 'code': 'x'}]",
    ],
)
def test_L8_code_that_is_no_call_is_left_byte_for_byte(source: str) -> None:
    assert summary(parsed([f"```python\n{source}\n```"])) == [("python", source)]


@pytest.mark.parametrize(
    "line",
    [
        '{"name": "Bob", "age": 3}',
        '{"language": "python", "code": "1"} is how a call looks',
        '{"name": "execute", "arguments": {"language": "cobol", "code": "1"}}',
        '{"name": "delete", "arguments": {"code": "1"}}',
        '{"name": "execute", "arguments": {"language": "python"',
        "<tool_call>nothing</tool_call>",
        "functions.execute() is the tool",
        "{" * 500,
        '{"code": ' + "[" * 500,
    ],
)
@SIZES
def test_prose_that_only_looks_like_a_call_stays_prose(line: str, size: int) -> None:
    assert summary(parsed(cut(f"{line}\n\nSo.", size))) == [f"{line}\n\nSo."]


@SIZES
def test_an_object_in_a_fence_that_is_no_call_stays_a_sample(size: int) -> None:
    answer = '```json\n\n{"name": "x",\n "code": "```"}\n```\nSo.'
    assert summary(parsed(cut(answer, size))) == [answer]


def test_a_line_that_may_be_a_call_is_kept_back_for_64_kilobytes_at_most() -> None:
    parser = AnswerReader(canonical)
    assert parser.feed('{"language": "python", "code": "' + "x" * 60_000) == []
    assert merged(parser.feed("x" * 10_000))


def runnable(parts: list[str]) -> list[tuple[str, str]]:
    """The code of an answer that is proposed."""
    reader = AnswerReader(canonical)
    for part in parts:
        reader.feed(part)
    reader.finish()
    return reader.runnable


RUN = "```python\nrm\n```\n"
CALL = '{"language": "python", "code": "rm"}\n'
REAL = "So:\n```bash\nls\n```\n"
THOUGHTS = {
    "closed": (f"<think>\nMaybe\n{RUN}</think>\n\n{REAL}", [("shell", "ls")]),
    "never_closed": (f"<think>\n{RUN}{REAL}", []),
    "longer_name": (f"<thinking>{RUN}</thinking>{REAL}", [("shell", "ls")]),
    "capitals": (f"<Think>\n{RUN}</THINK>\n{REAL}", [("shell", "ls")]),
    "in_the_middle_of_a_line": (f"Let me see. <think>\n{RUN} so. </think>{REAL[4:]}", [("shell", "ls")]),
    "twice": (f"<think>{RUN}</think>{REAL}<think>\n{RUN}</think>Done.", [("shell", "ls")]),
    "call_in_the_text": (f"<think>\n{CALL}<tool_call>{CALL}</tool_call>\n</think>\n{REAL}", [("shell", "ls")]),
    "call_in_a_fence": (f"<think>\n```json\n{CALL}```\n</think>\n{REAL}", [("shell", "ls")]),
    "opened_in_the_prompt": (f"Maybe\n{RUN}or\n{CALL}No.\n</think>\n\n{REAL}", [("shell", "ls")]),
    "opened_in_the_prompt_closed_in_a_line": (f"{RUN}No. </think> {REAL[4:]}", [("shell", "ls")]),
    "opened_in_the_prompt_and_a_fence_never_closed": (f"{RUN}```python\nrm(\n</think>\n{REAL}", [("shell", "ls")]),
    "opened_in_the_prompt_and_a_string_never_closed": (
        f'```python\nx = """\n```\n</think>\n{REAL}',
        [("shell", "ls")],
    ),
    "opened_in_the_prompt_and_a_sample_never_closed": (f"{RUN}```\nout\n</think>\n{REAL}", [("shell", "ls")]),
    "opened_in_the_prompt_and_a_call_never_closed": (
        f'{RUN}{{"language": "python", "code": "a\n</think>\n{REAL}',
        [("shell", "ls")],
    ),
    "only_spoken_of": (f"{RUN}`<think>` and `</think>` are tags.\n{REAL}", [("python", "rm"), ("shell", "ls")]),
    "in_a_sample": (f"{RUN}```\n<think>\n</think>\n```\n{REAL}", [("python", "rm"), ("shell", "ls")]),
    "in_a_string_of_code": (
        '```python\nx = """<think>\n</think>\n"""\n```\n',
        [("python", 'x = """<think>\n</think>\n"""')],
    ),
}


@SIZES
@pytest.mark.parametrize("name", THOUGHTS)
def test_U27_code_in_the_models_thinking_is_never_proposed(name: str, size: int) -> None:
    answer, expected = THOUGHTS[name]
    parts = cut(answer, size)
    assert parsed(parts) == parsed([answer])
    assert runnable(parts) == expected


def thoughts(pieces: list[Piece]) -> list[str]:
    """What was thought."""
    return [piece.text for piece in pieces if isinstance(piece, ThoughtGrew)]


def test_L25_what_is_thought_is_a_part_of_its_own_and_no_prose() -> None:
    thinking = f"<think>\nMaybe\n{RUN}{CALL}</think>"
    pieces = parsed([f"First. {thinking}\n\n{REAL}"])
    assert summary(pieces) == ["First.", "So:", ("shell", "ls")]
    assert thoughts(pieces) == [f"Maybe\n{RUN}{CALL}".strip()]
    pieces = parsed([f"<think>\n{RUN}"])
    assert (summary(pieces), thoughts(pieces)) == ([], [RUN.strip()])


def test_L25_thinking_that_was_opened_in_the_prompt_is_recognised_at_its_end() -> None:
    pieces = parsed([f"Maybe\n{RUN}Or not.\n</think>\n\n{REAL}"])
    assert [piece.block_ids for piece in pieces if isinstance(piece, ThoughtRecognised)] == [("0", "1")]
    assert summary(pieces) == ["Maybe", ("python", "rm"), "Or not.", "So:", ("shell", "ls")]


def test_L25_what_a_server_tells_apart_is_a_thought_wherever_it_comes() -> None:
    reader = AnswerReader(canonical)
    parts = [reader.feed_thought("Hm. "), reader.feed_thought("A list?"), reader.feed("So:\n")]
    parts += [reader.feed_thought("Wait."), reader.feed("It is 2."), reader.finish()]
    pieces = merged([piece for part in parts for piece in part])
    assert thoughts(pieces) == ["Hm. A list?", "Wait."]
    assert summary(pieces) == ["So:", "It is 2."]


@pytest.mark.parametrize(("before", "run"), [("<think>", []), ("<think></think>", ["rm"]), ("`<think>`", ["rm"])])
def test_U27_a_native_call_in_the_models_thinking_is_never_proposed(before: str, run: list[str]) -> None:
    reader = AnswerReader(canonical)
    reader.feed(before)
    reader.feed_call(ToolDelta(index=0, id="a", name="execute", arguments='{"code": "rm"}'))
    assert [source for _, source in reader.runnable] == run
    reader.feed("</think>")
    assert not reader.runnable
    reader.feed(REAL)
    reader.finish()
    assert reader.runnable == [("shell", "ls")]


@pytest.mark.parametrize(
    ("between", "run"), [("<think>", ["ls"]), ("<think>x</think>", ["ls", "rm"]), ("x", ["ls", "rm"])]
)
def test_U27_a_native_call_that_begins_in_thinking_while_another_is_open_is_never_proposed(
    between: str, run: list[str]
) -> None:
    reader = AnswerReader(canonical)
    reader.feed_call(ToolDelta(index=0, id="a", name="execute", arguments='{"code": "l'))
    reader.feed(between)
    reader.feed_call(ToolDelta(index=1, id="b", name="execute", arguments='{"code": "rm"}'))
    reader.feed_call(ToolDelta(index=0, arguments='s"}'))
    reader.finish()
    assert [source for _, source in reader.runnable] == run


def test_prose_streams_without_delay() -> None:
    parser = AnswerReader(canonical)
    words = ["The", " answer", " is", " **42**", ",\n", "so", " `x`", " is"]
    assert ["".join(piece.text for piece in of(ProseGrew, parser.feed(word))) for word in words] == [
        *["The", " answer", " is", " **42**", ","],
        *["\nso", " `x`", " is"],
    ]


def test_code_streams_without_delay() -> None:
    parser = AnswerReader(canonical)
    parser.feed("```python\n")
    assert parser.feed("pri") == [CodeStarted(block_id="", language="python"), CodeGrew(block_id="", text="pri")]
    assert parser.feed("nt(1)\n") == [CodeGrew(block_id="", text="nt(1)")]
    assert parser.feed("``") == []
    assert parser.feed("`\n") == [CodeFinished(block_id="", language="python", source="print(1)")]


def test_code_in_an_answer_that_was_broken_off_is_not_complete() -> None:
    def broken(source: str) -> CodeFinished:
        return CodeFinished(block_id="", language="python", source=source, complete=False)

    assert parsed(["```python\nprint(1)\npri"], complete=False)[-1] == broken("print(1)\npri")
    held = '```python\nx = """\n```\n```bash\nrm -r x\n'
    assert parsed([held], complete=False)[-1] == broken('x = """\n```\n```bash\nrm -r x')


def test_a_block_that_was_closed_before_the_break_is_complete() -> None:
    assert narrow(parsed(["```python\nprint(1)\n```"], complete=False)[-1], CodeFinished).complete


def test_half_characters_become_whole_or_are_replaced() -> None:
    assert parsed(["a\ud83d", "\ude00b"]) == [ProseGrew(block_id="", text="a😀b")]
    assert parsed(["a\ud83d", "b"]) == [ProseGrew(block_id="", text="a�b")]


LINES = st.sampled_from(
    [
        "<think>",
        "</think>",
        "  </thinking>",
        "so </Think> then",
        "a `</think>` b",
        "<",
        "</thi",
        "",
        "text",
        "  indented",
        "- item",
        "```",
        "```python",
        "   ```python",
        "1. ```bash",
        "```json",
        "````python",
        "````",
        "~~~",
        "~~~r",
        "python",
        "r",
        "x = '''",
        'y = """',
        "'''",
        "cat <<EOF",
        "EOF",
        "x = 1",
        "    y()",
        "\tz```",
        "> ```python",
        "``",
        "{",
        '{"language": "python", "code": "1"}',
        '{"name": "execute", "arguments": {"code": "1"}}',
        '{"name": "Bob"}',
        "<tool_call>",
        "</tool_call>",
        "functions.execute({",
        "})",
        "10+12execute",
        "fu",
        "       ",
        '       {"language": "python", "code": "1"}',
        "      ```",
        "\xa0",
        "\xa0{",
        "tail```",
    ]
)
ANSWERS = st.lists(st.tuples(LINES, st.sampled_from(["\n", "\n", "\n", "\r\n", ""])), max_size=14).map(
    lambda lines: "".join(line + end for line, end in lines)
)


def pieces_of(answer: str, cuts: list[int]) -> list[str]:
    places = [0, *sorted(place % (len(answer) + 1) for place in cuts), len(answer)]
    return [answer[start:end] for start, end in pairwise(places)]


@given(ANSWERS, st.lists(st.integers(0, 500), max_size=12), st.booleans())
def test_L7_random_cuts_change_nothing(answer: str, cuts: list[int], complete: bool) -> None:
    whole = parsed([answer], complete)
    assert parsed(pieces_of(answer, cuts), complete) == whole
    assert parsed(list(answer), complete) == whole


@given(st.text(max_size=200), st.lists(st.integers(0, 500), max_size=6))
def test_L7_random_text_survives_random_cuts(answer: str, cuts: list[int]) -> None:
    assert parsed(pieces_of(answer, cuts)) == parsed([answer])


SPECIAL = ("{", "execute", "})", "tool_call")
PLAIN_LINES = LINES.filter(lambda line: ("<" not in line or ">" in line) and not any(word in line for word in SPECIAL))


@given(st.lists(PLAIN_LINES, max_size=14))
def test_L7_nothing_is_lost(lines: list[str]) -> None:
    answer = "\n".join(lines)
    reader = AnswerReader(canonical)
    pieces = [*reader.feed(answer), *reader.finish()]  # not merged: what is said in two blocks is not one line
    rest = answer
    for piece in pieces:
        if isinstance(piece, CodeStarted | CodeGrew | ThoughtRecognised):
            continue
        for line in (piece.source if isinstance(piece, CodeFinished) else piece.text).split("\n"):
            if not line.strip():
                continue
            before, found, rest = rest.partition(line.strip())
            assert found
            assert all(is_dropped(skipped) for skipped in before.split("\n")), (before, pieces)
    assert all(is_dropped(skipped) for skipped in rest.split("\n")), (rest, pieces)


UNTAGGED = ANSWERS.filter(lambda answer: "think" not in answer.lower())
OPENINGS = st.sampled_from(["<think>", "Well. <thinking>\n"])


@given(UNTAGGED, ANSWERS, OPENINGS, st.lists(st.integers(0, 500), max_size=12))
def test_U27_whatever_is_thought_changes_nothing_of_what_is_proposed(
    thought: str, answer: str, opening: str, cuts: list[int]
) -> None:
    proposed = runnable([answer])
    for whole in (f"{opening}{thought}\n</think>\n{answer}", f"{thought}\n</think>\n{answer}"):
        assert runnable(pieces_of(whole, cuts)) == proposed
    assert runnable(pieces_of(opening + thought, cuts)) == []


def is_dropped(line: str) -> bool:
    """Blank, a fence, the language of one, or a tag around thoughts: nothing else may be missing."""
    line = re.sub("</?think(ing)?>", "", line, flags=re.IGNORECASE).strip()
    return line.strip("`~") in ("", "python", "bash", "r", "json")


@given(ANSWERS)
def test_the_pieces_follow_their_grammar(answer: str) -> None:
    parser = AnswerReader(canonical)
    pieces = merged([piece for char in answer for piece in parser.feed(char)] + parser.finish())
    open_code = False
    for piece in pieces:
        match piece:
            case ProseGrew():
                assert not open_code
                assert piece.text.strip()
            case CodeStarted():
                assert not open_code
                open_code = True
            case CodeGrew():
                assert open_code
            case CodeFinished():
                assert open_code
                assert piece.source.strip()
                open_code = False
    assert not open_code


@pytest.mark.parametrize(
    "unit",
    [
        "`",
        "~~~",
        " ",
        "\n",
        "```python\n",
        '```python\n\\"""\n```\n',
        '{"code": "',
        "{'code': \n",
        '{"language": "python", "code": "1"}\n',
        "- ",
        "```\n{",
        "<tool_call>\n",
        "1. ```bash\ncat <<x\n",
        "x = '''\n```\n",
        "<think>\n",
        "```python\n<think>\n</think>\n",
        "```\n</think>\n",
        "<think></think>",
        "</",
        "`</think>",
    ],
)
def test_a_long_hostile_answer_is_read_to_its_end(unit: str) -> None:
    answer = (unit * 20_000)[:20_000]
    assert parsed(cut(answer, 4)) == parsed([answer])
