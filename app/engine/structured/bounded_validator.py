"""A validator that ends in time, whatever the schema and the value: references can fan out without end, and expressions
can backtrack for years."""

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import jsonschema
import regex
from referencing import Registry

SECONDS = 1.0
"""Of processor time, for all checks of one answer."""

_VALUES = ("const", "enum", "default", "examples")
"""Keywords whose values are no schemas."""

Errors = Iterator[Any]


class BoundedValidator:
    """Checks values against one schema, and against parts of it."""

    def __init__(self, schema: Mapping[str, Any], formats: Any) -> None:
        """`formats` is a format checker of jsonschema."""
        kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
        own = {
            "pattern": self._pattern,
            "patternProperties": self._pattern_properties,
            "additionalProperties": self._additional_properties,
            "uniqueItems": _unique_items,
        }
        checks = {name: partial(self._check_in_time, check) for name, check in (kind.VALIDATORS | own).items()}
        bounded = jsonschema.validators.extend(kind, validators=checks)
        # An empty registry: nothing is ever fetched. A part that names a dialect would be checked by another class.
        self._validator = bounded(_without_dialects(schema), format_checker=formats, registry=Registry())
        self._until = 0.0
        self.begin()

    def begin(self) -> None:
        """The time for an answer begins."""
        self._until = time.thread_time() + SECONDS

    def errors(self, value: Any) -> list[Any]:
        """What is wrong with a value, sorted by its place. TimeoutError when the time is over, OverflowError for
        a number that is too large to be divided."""
        return sorted(self._validator.iter_errors(value), key=lambda error: [str(part) for part in error.path])

    def fits(self, value: Any, part: Any) -> bool:
        """Whether it fits a part of the schema; TimeoutError when the time is over."""
        try:
            return bool(self._validator.evolve(schema=part).is_valid(value))
        except OverflowError:
            return False

    def _check_in_time(self, check: Callable[..., Any], *given: Any) -> Any:
        self._time_left()
        return check(*given)

    def _time_left(self) -> float:
        left = self._until - time.thread_time()
        if left <= 0:
            raise TimeoutError
        return left

    def _matches(self, pattern: str, text: str) -> bool:
        return regex.search(pattern, text, timeout=self._time_left()) is not None

    def _pattern(self, validator: Any, pattern: str, value: Any, schema: Any) -> Errors:
        if isinstance(value, str) and not self._matches(pattern, value):
            yield jsonschema.ValidationError(f"{value!r} does not match {pattern!r}")

    def _pattern_properties(self, validator: Any, parts: Any, value: Any, schema: Any) -> Errors:
        for pattern, part in parts.items() if isinstance(value, dict) else ():
            for name, inner in value.items():
                if self._matches(pattern, name):
                    yield from validator.descend(inner, part, path=name, schema_path=pattern)

    def _additional_properties(self, validator: Any, part: Any, value: Any, schema: Any) -> Errors:
        if not isinstance(value, dict):
            return
        known, patterns = schema.get("properties", {}), schema.get("patternProperties", ())
        further = [name for name in value if name not in known]
        further = [name for name in further if not any(self._matches(pattern, name) for pattern in patterns)]
        if isinstance(part, dict):
            for name in further:
                yield from validator.descend(value[name], part, path=name)
        elif not part and further:
            names = ", ".join(map(repr, sorted(further)))
            yield jsonschema.ValidationError(f"Additional properties are not allowed: {names}")


def _unique_items(validator: Any, wanted: Any, value: Any, schema: Any) -> Errors:
    if wanted and isinstance(value, list) and len(set(map(_key, value))) < len(value):
        yield jsonschema.ValidationError("the list has an item twice")


def _key(value: Any) -> Any:
    """Equal for what JSON schema calls equal."""
    match value:
        case bool():
            return "truth", value
        case dict():
            return frozenset((name, _key(inner)) for name, inner in value.items())
        case list():
            return tuple(map(_key, value))
        case _:
            return value


def _without_dialects(schema: Any) -> Any:
    match schema:
        case dict():
            return {
                name: part if name in _VALUES else _without_dialects(part)
                for name, part in schema.items()
                if name != "$schema" or isinstance(part, dict)
            }
        case list():
            return [_without_dialects(part) for part in schema]
        case _:
            return schema
