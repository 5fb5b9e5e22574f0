"""Native tool calls: fragments in, code out, in the order of the answer (L9)."""

import json
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oi_tui.app.engine.core.chat_model import ToolDelta
from oi_tui.app.engine.core.events import CodeFinished, CodeGrew, CodeStarted, ProseGrew
from oi_tui.app.engine.parsing.objects import NotAnObject, Object, ObjectReader
from support.answers import AnswerReader, Piece, merged

SIZES = pytest.mark.parametrize("size", [1, 3, 7, 0], ids=["1", "3", "7", "all"])


def canonical(label: str) -> str | None:
    return {"python": "python", "bash": "shell"}.get(label.lower())


def deltas(arguments: str, size: int, *, index: int = 0, name: str = "execute") -> list[ToolDelta]:
    step = size or max(1, len(arguments))
    parts = [arguments[at : at + step] for at in range(0, len(arguments), step)]
    first = ToolDelta(index=index, id=f"call_{index}", name=name)
    return [first, *(ToolDelta(index=index, arguments=part) for part in parts)]


def parsed(items: Sequence[ToolDelta | str], complete: bool = True) -> list[Piece]:
    parser = AnswerReader(canonical)
    pieces: list[Piece] = []
    for item in items:
        pieces += parser.feed(item) if isinstance(item, str) else parser.feed_call(item)
    return merged(pieces + parser.finish(complete))


def code(source: str, language: str = "python", call_id: str = "call_0", complete: bool = True) -> list[Piece]:
    return [
        CodeStarted(block_id="", language=language, call_id=call_id),
        CodeGrew(block_id="", text=source),
        CodeFinished(block_id="", language=language, source=source, complete=complete),
    ]


@SIZES
@pytest.mark.parametrize(
    "arguments",
    [
        '{"language": "python", "code": "print(1)\\nprint(\\"é\\")"}',
        '{"code": "print(1)\\nprint(\\"\\u00e9\\")", "language": "Python"}',
        '{"code": "print(1)\\nprint(\\"é\\")"}',
        '\n{ "language" : null, "timeout": 3.5, "tags": ["a", {"b": []}], "code": "print(1)\\r\\nprint(\\"é\\")" } ',
        'print(1)\nprint("é")',
    ],
    ids=["usual", "code_first", "no_language", "more_keys", "plain_code"],
)
def test_a_native_call_becomes_code(arguments: str, size: int) -> None:
    assert parsed(deltas(arguments, size)) == code('print(1)\nprint("é")')


@SIZES
def test_L9_two_calls_in_parallel_are_both_there_in_order(size: int) -> None:
    one = deltas('{"language": "python", "code": "print(1)"}', size, index=0)
    two = deltas('{"language": "bash", "code": "ls"}', size, index=1)
    expected = code("print(1)") + code("ls", "shell", "call_1")
    assert parsed([*one, *two]) == expected
    longest = max(len(one), len(two))
    interleaved = [delta for pair in zip(pad(one, longest), pad(two, longest), strict=True) for delta in pair if delta]
    assert parsed(interleaved) == expected


def pad(items: list[ToolDelta], length: int) -> list[ToolDelta | None]:
    return [*items, *[None] * (length - len(items))]


def test_L9_two_whole_calls_under_one_index_are_both_there() -> None:
    items = [
        ToolDelta(index=0, id=call_id, name="execute", arguments=json.dumps({"language": "python", "code": source}))
        for call_id, source in (("a", "1"), ("b", "2"))
    ]
    assert parsed(items) == code("1", call_id="a") + code("2", call_id="b")


def test_the_code_of_a_call_streams() -> None:
    parser = AnswerReader(canonical)
    parser.feed_call(ToolDelta(index=0, id="x", name="execute", arguments='{"language": "python", "code": "pri'))
    assert parser.feed_call(ToolDelta(index=0, arguments="nt(1)\\")) == [CodeGrew(block_id="", text="nt(1)")]
    assert parser.feed_call(ToolDelta(index=0, arguments="nx")) == [CodeGrew(block_id="", text="\nx")]
    assert parser.feed_call(ToolDelta(index=0, arguments='"}')) == [
        CodeFinished(block_id="", language="python", source="print(1)\nx")
    ]


def test_text_before_a_call_is_prose_and_text_behind_it_comes_behind_it() -> None:
    items: list[ToolDelta | str] = [
        "I run\nit",
        ToolDelta(index=0, id="call_0", name="execute", arguments='{"code": "1'),
        "\nDone.",
        ToolDelta(index=0, arguments='"}'),
        " Yes.",
    ]
    assert parsed(items) == [
        ProseGrew(block_id="", text="I run\nit"),
        *code("1"),
        ProseGrew(block_id="", text="Done. Yes."),
    ]


@SIZES
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("delete_everything", '{"path": "/"}'),
        ("execute", '{"language": "cobol", "code": "```"}'),
        ("execute", '{"language": "python", "code": " "}'),
        ("execute", '{"language": "python"}'),
        ("delete", "not json"),
    ],
)
def test_a_call_of_something_that_is_not_here_is_shown_and_not_run(name: str, arguments: str, size: int) -> None:
    pieces = parsed(["Hm.", *deltas(arguments, size, name=name), "So."])
    ticks = "````" if "```" in arguments else "```"
    body = f'{{"name": "{name}", "arguments": {arguments}}}'
    assert pieces == [ProseGrew(block_id="", text=f"Hm.\n\n{ticks}json\n{body}\n{ticks}\n\nSo.")]


def test_a_language_may_stand_for_the_tool() -> None:
    assert parsed(deltas('{"code": "1"}', 0, name="python")) == code("1")
    assert parsed(deltas("1 + 1", 1, name="functions.python")) == code("1 + 1")
    assert parsed(deltas("ls", 0, name="bash")) == code("ls", "shell")


@SIZES
def test_a_call_that_breaks_off_is_never_run(size: int) -> None:
    assert parsed(deltas('{"language": "python", "code": "print(', size)) == code("print(", complete=False)
    assert parsed(deltas('{"language": "python", "code": "1"', size), complete=False) == code("1", complete=False)
    assert parsed(deltas('{"language": "python", "code": "1"', size)) == code("1")
    assert parsed(deltas('{"language": "python", "code": "1" oops', size)) == code("1", complete=False)


@SIZES
def test_L2_a_call_inside_the_code_of_a_call_is_undone(size: int) -> None:
    inner = json.dumps({"language": "python", "code": "10+12"})
    pieces = parsed(deltas(json.dumps({"language": "python", "code": inner}), size))
    assert pieces[-1] == CodeFinished(block_id="", language="python", source="10+12")


def test_an_answer_that_ends_without_fragments_of_a_call_shows_it() -> None:
    [piece] = parsed([ToolDelta(index=0, id="x", name="execute")])
    assert isinstance(piece, ProseGrew)


SOURCES = st.text(alphabet=st.sampled_from("ab1 \n\t\"'\\{}:,`é😀\x00"), max_size=40).filter(str.strip)


@given(SOURCES, st.booleans(), st.lists(st.integers(0, 300), max_size=8))
def test_any_source_survives_the_journey_through_json(source: str, ascii_only: bool, cuts: list[int]) -> None:
    arguments = json.dumps({"language": "python", "code": source}, ensure_ascii=ascii_only)
    places = [0, *sorted(place % (len(arguments) + 1) for place in cuts), len(arguments)]
    parts = [ToolDelta(index=0, arguments=arguments[start:end]) for start, end in pairwise(places)]
    assert parsed([ToolDelta(index=0, id="call_0", name="execute"), *parts]) == code(source)


WORDS = st.text(st.characters(exclude_characters="\r", exclude_categories=["Cs"]), max_size=8)
JSON = st.recursive(
    st.none() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(WORDS, JSON, max_size=4), st.sampled_from([None, 1]), st.booleans())
def test_the_reader_agrees_with_json(fields: Object, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(fields, indent=indent, ensure_ascii=ascii_only)
    reader = ObjectReader()
    assert reader.feed(text + " tail") == len(text)
    assert (reader.fields, reader.done) == (json.loads(text), True)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("{}", {}),
        ("{a: 'b', \"c\": 1.5e+3,}", {"a": "b", "c": None}),
        ('{"a": "\\d \\x \\/ \\u00zz"}', {"a": "\\d \\x / \\u00zz"}),
        ('{"a": "\\ud83d"}', {"a": "�"}),
    ],
)
def test_the_reader_forgives_what_models_get_wrong(text: str, fields: Object) -> None:
    reader = ObjectReader()
    reader.feed(text)
    assert (reader.fields, reader.done) == (fields, True)


@pytest.mark.parametrize("text", ["x", "{,}", "{1: 2}", '{"a" "b"}', '{"a": ]', '{"a": "b" "c"', '{"a":' + "[" * 99])
def test_the_reader_refuses_what_is_no_object(text: str) -> None:
    with pytest.raises(NotAnObject):
        ObjectReader().feed(text)
