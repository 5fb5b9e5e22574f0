"""What an answer must fit: a JSON schema, checked before anybody is asked, and what an answer comes to under it."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.structured.json_text import find_values
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.words import one_line

if TYPE_CHECKING:
    from oi_tui.app.engine.structured.bounded_validator import BoundedValidator
    from oi_tui.app.engine.structured.normalising import Normaliser

Schema = dict[str, Any]

LARGEST = 200_000
"""Characters of a schema."""

DEEPEST = 64
"""Levels of a schema or of a value that is checked."""

PROBLEMS, PROBLEM = 12, 300
"""Faults of an answer that are listed, and characters of each."""

WRAPPED = "answer"
"""The property that holds the answer where the schema is not that of an object: providers take objects alone."""

_TOO_LONG = "It takes too long to hold this answer against the schema."
_NO_JSON = "The answer has no JSON in it."
_HINT = "Give a JSON schema, such as the one that pydantic's model_json_schema() returns."


class ReadAnswer(NamedTuple):
    """An answer that was read."""

    value: Any
    """None where it does not fit."""
    problems: tuple[str, ...] = ()
    """What does not fit, and where; () if it fits."""
    has_json: bool = True


class AnswerSchema:
    """A schema that was checked; SettingsError if it is none."""

    def __init__(
        self, schema: Mapping[str, Any], *, further: Callable[[Any], Sequence[str]] = lambda value: ()
    ) -> None:
        """The schema as the person wrote it, or as a library made it; `further` says what else is wrong with a value
        that fits it."""
        self._further = further
        try:
            text = json.dumps(schema)
        except (TypeError, ValueError, RecursionError) as error:
            raise SettingsError(f"The schema is not JSON: {error}.", hint=_HINT) from error
        if len(text) > LARGEST:
            raise SettingsError(f"The schema is larger than {LARGEST:,} characters.")
        if _depth(schema) > DEEPEST:
            raise SettingsError(f"The schema has more than {DEEPEST} levels.")
        self.schema: Schema = json.loads(text)
        _require_local(self.schema)
        _require_schema(self.schema)

    @classmethod
    def from_text(cls, text: str) -> "AnswerSchema":
        """The schema that a text in JSON is."""
        try:
            schema = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise SettingsError(f"The schema is not JSON: {error}.", hint=_HINT) from error
        if not isinstance(schema, dict):
            raise SettingsError("The schema is not a JSON object.", hint=_HINT)
        return cls(schema)

    @property
    def text(self) -> str:
        """The schema as JSON, for a model."""
        return json.dumps(self.wire, ensure_ascii=False)

    @cached_property
    def wire(self) -> Schema:
        """The schema for providers: that of an object, which may have the answer as its property `answer`."""
        root = self.schema
        for _ in range(DEEPEST):
            if not isinstance(root.get("$ref"), str) or len(set(root) - {"$defs", "definitions", "$schema"}) > 1:
                break
            root = resolve(self.schema, root["$ref"])
        kept: Schema = {name: self.schema[name] for name in ("$defs", "definitions") if name in self.schema}
        if root.get("type") == "object":
            return {**root, **kept}
        inner = {name: part for name, part in root.items() if name not in (*kept, "$schema", "$id")}
        return {
            **kept,
            "type": "object",
            "properties": {WRAPPED: inner},
            "required": [WRAPPED],
            "additionalProperties": False,
        }

    @property
    def is_wrapped(self) -> bool:
        """Whether the answer is a property of the object that is asked for."""
        return self.wire.get("properties", {}).keys() == {WRAPPED} and self.schema.get("type") != "object"

    @cached_property
    def _validator(self) -> "BoundedValidator":
        # 60 ms that a session without a schema does not pay
        from oi_tui.app.engine.structured.bounded_validator import BoundedValidator

        return BoundedValidator(self.schema, _formats())

    @cached_property
    def _normaliser(self) -> "Normaliser":
        from oi_tui.app.engine.structured.normalising import Normaliser  # months and units: few answers need them

        return Normaliser(self.schema, self._validator.fits)

    def problems(self, value: Any) -> tuple[str, ...]:
        """The parts that do not fit, and their places."""
        self._validator.begin()
        return self._problems(value)

    def _problems(self, value: Any) -> tuple[str, ...]:
        if _depth(value) > DEEPEST:
            return (f"It has more than {DEEPEST} levels.",)
        try:
            found = self._validator.errors(value)
        except TimeoutError:
            return (_TOO_LONG,)
        except OverflowError:
            return ("A number in it is too large to be divided.",)
        except Exception as error:
            # Boundary: a reference that leads nowhere, or a pattern that is none, is found only when it is needed.
            raise SettingsError(f"The schema cannot be used: {error}.", hint=_HINT) from error
        told = [_problem(error) for error in found[:PROBLEMS]]
        more = len(found) - len(told)
        return (*told, *([f"and {more} more"] if more else [])) if told else tuple(self._further(value))

    def read(self, text: str) -> ReadAnswer:
        """The value of an answer: as it is where it fits, else with its fields normalised."""
        self._validator.begin()
        first: tuple[str, ...] = ()
        for found in find_values(text):
            for value in self._unwrap(found):
                if not (problems := self._problems(value)):
                    return ReadAnswer(value)
                try:
                    value = self._normaliser.normalise(value)
                except TimeoutError:
                    return ReadAnswer(None, first or (_TOO_LONG,))
                if not (problems := self._problems(value)):
                    return ReadAnswer(value)
                first = first or problems
        return ReadAnswer(None, first or (_NO_JSON,), has_json=bool(first))

    def _unwrap(self, value: Any) -> Iterator[Any]:
        if self.is_wrapped and isinstance(value, dict) and value.keys() == {WRAPPED}:
            yield value[WRAPPED]
        yield value


def resolve(root: Mapping[str, Any], reference: str) -> Schema:
    """The part of a schema that a local reference names; {} (anything fits) where there is none."""
    part: Any = root
    for name in reference.removeprefix("#").strip("/").split("/") if reference != "#" else ():
        name = name.replace("~1", "/").replace("~0", "~")
        part = part.get(name) if isinstance(part, dict) else None
    return part if isinstance(part, dict) else {}


def _require_local(schema: Any) -> None:
    match schema:
        case dict():
            reference = schema.get("$ref")
            if isinstance(reference, str) and not reference.startswith("#"):
                title = f"The schema refers to {reference[:100]}: only parts of the same schema are read."
                raise SettingsError(title, hint='Put it under "$defs".')
            for part in schema.values():
                _require_local(part)
        case list():
            for part in schema:
                _require_local(part)


def _require_schema(schema: Schema) -> None:
    import jsonschema  # as above

    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        kind.check_schema(schema)
    except jsonschema.SchemaError as error:
        where = "/".join(str(part) for part in error.absolute_path)
        what = f"{error.message}"[:PROBLEM]
        raise SettingsError(f"This is no JSON schema{f', at {where}' if where else ''}: {what}.", hint=_HINT) from error
    if not schema.keys() & {"type", "properties", "$ref", "enum", "const", "anyOf", "oneOf", "allOf", "items"}:
        raise SettingsError("The schema says nothing of the answer.", hint=_HINT)


def _problem(error: Any) -> str:
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path)
    said = error.message if len(error.message) <= PROBLEM else f"{error.message[: PROBLEM - 2]} …"
    return one_line(safe_text(f"${where[:PROBLEM]}: {said}"))


def _formats() -> Any:
    from jsonschema import FormatChecker  # as above

    checker = FormatChecker(formats=())
    for name, read in (
        ("date", date.fromisoformat),
        ("date-time", datetime.fromisoformat),
        ("time", time.fromisoformat),
    ):
        checker.checks(name, raises=ValueError)(_checks(read))
    return checker


def _checks(read: Any) -> Any:
    def check(value: Any) -> bool:
        return not isinstance(value, str) or read(value) is not None

    return check


def _depth(value: Any) -> int:
    """Levels of a value, as far as they are of interest."""
    depth, level = 0, [value]
    while level and depth <= DEEPEST:
        depth += 1
        inner = (part.values() if isinstance(part, dict) else part for part in level if isinstance(part, dict | list))
        level = [one for parts in inner for one in parts if isinstance(one, dict | list)]
    return depth
