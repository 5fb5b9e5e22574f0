"""Answers that fit a schema, without a model: what is read from an answer, and what is asked for."""

import json
import time
from typing import Any

import pytest

from oi_tui.app.engine.core.chat_model import (
    AnswerEnded,
    ChatMessage,
    ChatRequest,
    Delta,
    TextDelta,
    ToolDelta,
)
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.structured import bounded_validator
from oi_tui.app.engine.structured.answer_schema import AnswerSchema
from oi_tui.app.engine.structured.demand import as_prose, in_form
from oi_tui.app.engine.structured.field_words import read_boolean, read_date, read_moment, read_number
from oi_tui.app.engine.structured.json_text import find_values
from oi_tui.app.engine.structured.strict_form import response_format

DIALECT = "https://json-schema.org/draft/2020-12/schema"

PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "born": {"type": "string", "format": "date"},
        "kind": {"enum": ["new customer", "returning customer", None]},
        "income": {"type": "number"},
        "share": {"type": "number", "maximum": 1},
        "children": {"type": "integer"},
        "married": {"type": "boolean"},
        "note": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["name", "born", "kind", "income", "children", "married"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        '  {"a": 1}\n',
        'Here it is:\n\n```json\n{"a": 1}\n```\nDone.',
        'The answer is {"a": 1}, as {you} see.',
        '<think>{"a": 2}</think>{"a": 1}',
        '```\n{"a": 1}\n```',
    ],
)
def test_E1_json_is_found_in_an_answer_whatever_is_around_it(text: str) -> None:
    assert next(find_values(text)) == {"a": 1}


@pytest.mark.parametrize("text", ["", "no", "{", '{"a": NaN}', "{" * 100_000, "[" * 100_000, '{"a": 1' * 5_000])
def test_E1_an_answer_without_json_gives_nothing_and_ends_soon(text: str) -> None:
    assert list(find_values(text)) == []


def test_E2_fields_are_normalised_to_the_types_of_the_schema() -> None:
    said = {
        "Name": "Ada",
        "born": "10. Dezember 1815",
        "kind": "Returning-Customer",
        "income": "1.2k",
        "share": "12 %",
        "children": "3",
        "married": "ja",
        "note": None,
        "tags": "maths",
        "reasoning": "because",
    }
    found = AnswerSchema(PERSON).read(json.dumps(said))
    assert found.problems == ()
    assert found.value == {
        "name": "Ada",
        "born": "1815-12-10",
        "kind": "returning customer",
        "income": 1200,
        "share": 0.12,
        "children": 3,
        "married": True,
        "tags": ["maths"],
    }


def test_E2_what_fits_already_is_left_as_it_is() -> None:
    schema = AnswerSchema({"type": "object", "properties": {"a": {"type": "string"}, "b": {}}})
    said = {"a": " 3. März 2024 ", "b": "1.2k", "c": "ja"}
    assert schema.read(json.dumps(said)).value == said


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1.2k", 1200), ("3,5 Mio", 3_500_000), ("3,5 Mio. €", 3_500_000), ("12 %", 12), ("1.234,50", 1234.5),
        ("1,234.50", 1234.5), ("€ 1'234.50", 1234.5), ("1 234,5", 1234.5), ("-5", -5), ("2 Mrd", 2e9), ("1,234", 1234),
        ("1.234", 1.234), ("0,5", 0.5), ("4 tsd", 4000), ("$3.2bn", 3.2e9), ("1,234,567", 1_234_567), ("1M", 1_000_000),
        ("5 m", None), ("12 kg", None), ("1.2.3", None), ("about nothing", None), ("", None), ("9" * 200, None),
    ],
)  # fmt: skip
def test_E2_numbers_in_shorthand_and_in_several_languages(text: str, number: float | None) -> None:
    assert read_number(text) == number


def test_E2_a_group_of_digits_in_a_whole_number() -> None:
    assert (read_number("1.234", whole=True), read_number("12 %", most=1)) == (1234, 0.12)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("3. März 2024", "2024-03-03"), ("March 3rd, 2024", "2024-03-03"), ("le 1er avril 2024", "2024-04-01"),
        ("3 de marzo de 2024", "2024-03-03"), ("31/12/2024", "2024-12-31"), ("12/31/2024", "2024-12-31"),
        ("3.4.24", "2024-04-03"), ("2024/4/3", "2024-04-03"), ("2024年4月3日", "2024-04-03"),
        ("3 août 2024", "2024-08-03"),
        ("5 maja 2023", "2023-05-05"), ("1 giugno 2020", "2020-06-01"), ("03/04/2024", None), ("31.2.2024", None),
        ("soon", None), ("March 2024", None), ("", None),
    ],
)  # fmt: skip
def test_E2_dates_with_months_of_several_languages_and_none_that_is_two(text: str, day: str | None) -> None:
    assert read_date(text) == day


def test_E2_moments_and_yes_or_no() -> None:
    assert read_moment("3. März 2024, 14:05 Uhr") == "2024-03-03T14:05:00"
    assert read_moment("March 3, 2024 at 2:05 pm") == "2024-03-03T14:05:00"
    words = ("Ja", "oui", "SÍ", "no", "nein", "non", "はい", "vielleicht")
    assert [read_boolean(word) for word in words] == [True, True, True, False, False, False, True, None]


def test_E2_an_enumeration_takes_what_is_near_and_not_what_could_be_two() -> None:
    schema = AnswerSchema({"enum": ["electronics", "furniture", "food"]})
    assert schema.read('"Electronic"').value == "electronics"
    assert schema.read('"fo"').problems
    both = AnswerSchema({"enum": ["invoice a", "invoice b"]})
    assert both.read('"invoice"').problems


def test_E3_problems_say_where_and_are_bounded() -> None:
    found = AnswerSchema(PERSON).read(json.dumps({"name": "x" * 100_000, "born": "soon", "kind": "cloud"}))
    assert any(problem.startswith("$.born: ") for problem in found.problems)
    assert len(found.problems) <= 13
    assert max(map(len, found.problems)) < 700


@pytest.mark.parametrize(
    "schema",
    [
        "[]", "{}", "no", '{"type": "objekt"}', '{"$ref": "https://example.org/x.json"}', '{"$ref": "file:///etc/passwd"}',
        '{"type": "array", "items": {"$ref": "other.json"}}', '{"allOf":[' * 100 + "{}" + "]}" * 100,
        json.dumps({"enum": ["x" * 300_000]}),
    ],
)  # fmt: skip
def test_E4_what_is_no_schema_or_reads_elsewhere_is_refused_before_anybody_is_asked(schema: str) -> None:
    with pytest.raises(SettingsError):
        AnswerSchema.from_text(schema)


def fan_out(keyword: str) -> dict[str, Any]:
    """Each part refers to the next one twice."""
    parts = {f"a{level}": {keyword: [{"$ref": f"#/$defs/a{level + 1}"}] * 2} for level in range(40)}
    return {"$ref": "#/$defs/a0", "$defs": parts | {"a40": {"type": "integer"}}}


SLOW = "^(a+)+$"


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string", "pattern": SLOW}, "a" * 5_000 + "!"),
        ({"type": "object", "patternProperties": {SLOW: {}}}, {"a" * 5_000 + "!": 1}),
        (
            {"type": "object", "patternProperties": {SLOW: {}}, "additionalProperties": False},
            {"a" * 5_000 + "!": 1},
        ),
        ({"$schema": DIALECT, "type": "object", "properties": {"a": {"$ref": "#"}}, "allOf": [fan_out("anyOf")]}, "x"),
        *((fan_out(keyword), "x") for keyword in ("anyOf", "allOf", "oneOf")),
    ],
)
def test_E3_a_check_that_would_never_end_is_given_up_and_said(
    monkeypatch: pytest.MonkeyPatch, schema: dict[str, Any], value: Any
) -> None:
    monkeypatch.setattr(bounded_validator, "SECONDS", 0.05)
    schema["$defs"] = schema.get("$defs", {}) | schema.get("allOf", [{}])[0].get("$defs", {})
    began = time.thread_time()
    read = AnswerSchema(schema).read(json.dumps(value))
    assert (read.value, read.problems) == (None, ("It takes too long to hold this answer against the schema.",))
    assert time.thread_time() - began < 5


def test_E3_many_items_that_must_differ_are_compared_in_time() -> None:
    schema = AnswerSchema({"type": "array", "uniqueItems": True})
    items: list[Any] = [{"a": number} for number in range(30_000)]
    assert schema.read(json.dumps(items)).value == items
    assert schema.problems([1, True, "1", [1], {"a": 1}, {"a": True}]) == ()
    for twice in ([1, 1.0], [{"a": [1]}, {"a": [1.0]}], [True, True]):
        assert schema.problems(twice) == ("$: the list has an item twice",)


def test_E3_patterns_and_further_properties_are_checked_as_before() -> None:
    schema = AnswerSchema(
        {
            "type": "object",
            "properties": {"known": {"type": "string", "pattern": "^[a-c]+$"}},
            "patternProperties": {"^x-": {"type": "integer"}},
            "additionalProperties": False,
        }
    )
    assert schema.problems({"known": "abc", "x-a": 1}) == ()
    assert schema.problems({"known": "d", "x-a": "1", "other": 1}) == (
        "$: Additional properties are not allowed: 'other'",
        "$.known: 'd' does not match '^[a-c]+$'",
        "$.x-a: '1' is not of type 'integer'",
    )
    numbers = AnswerSchema({"type": "object", "additionalProperties": {"type": "integer"}})
    assert numbers.problems({"a": "b"}) == ("$.a: 'b' is not of type 'integer'",)


@pytest.mark.parametrize("text", ["1e999", '{"a": -1e999}', 'It is {"a": 1e999}.'])
def test_E7_a_number_without_a_finite_value_is_no_answer(text: str) -> None:
    assert not AnswerSchema({"type": ["object", "number"]}).read(text).has_json


def test_E3_a_number_that_is_too_large_is_a_fault_of_the_answer() -> None:
    read = AnswerSchema({"type": "number", "multipleOf": 0.01}).read("1" + "0" * 400)
    assert read.problems == ("A number in it is too large to be divided.",)


def test_E5_a_schema_that_is_no_object_is_sent_in_one_and_taken_out_again() -> None:
    schema = AnswerSchema({"type": "array", "items": {"$ref": "#/$defs/n"}, "$defs": {"n": {"type": "integer"}}})
    assert schema.wire["type"] == "object"
    assert schema.wire["properties"]["answer"] == {"type": "array", "items": {"$ref": "#/$defs/n"}}
    assert schema.read('{"answer": [1, 2]}').value == [1, 2] == schema.read("[1, 2]").value


def test_E5_a_schema_is_sent_strict_where_providers_take_it_so() -> None:
    sent = response_format(PERSON)["json_schema"]
    assert sent["strict"] is True
    assert sent["schema"]["required"] == list(PERSON["properties"])
    assert sent["schema"]["properties"]["note"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}
    loose = {"type": "object", "additionalProperties": {"type": "integer"}}
    assert response_format(loose)["json_schema"] == {"name": "answer", "schema": loose}


async def test_E6_the_arguments_of_the_answer_tool_are_the_answer_and_prose_beside_them_is_left_out() -> None:
    async def said(*deltas: Delta) -> str:
        async def stream() -> Any:
            for delta in deltas:
                yield delta

        return "".join([delta.text async for delta in as_prose(stream()) if isinstance(delta, TextDelta)])

    call = (ToolDelta(index=0, id="1", name="answer", arguments='{"a"'), ToolDelta(index=0, arguments=": 1}"))
    assert await said(TextDelta(text="Well, "), *call, AnswerEnded(reason="tool_calls")) == '{"a": 1}'
    assert await said(TextDelta(text='{"a": 2}'), AnswerEnded()) == '{"a": 2}'


def test_E6_each_form_of_a_request_has_what_it_needs_and_nothing_that_runs() -> None:
    schema = AnswerSchema(PERSON)
    request = ChatRequest(messages=(ChatMessage(role="user", text="go"),))
    assert in_form(request, schema, "schema").schema == schema.wire
    assert [tool.name for tool in in_form(request, schema, "tool").tools] == ["answer"]
    assert in_form(request, schema, "prompt") == request
