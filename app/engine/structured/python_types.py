"""Types of Python as schemas, and answers as their values: models of pydantic, structs of msgspec, dataclasses."""

from collections.abc import Mapping
from typing import Any, Generic, TypeVar, get_origin

import msgspec

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.structured.answer_schema import AnswerSchema
from oi_tui.app.engine.text.words import one_line

OutputT = TypeVar("OutputT")


class OutputForm(Generic[OutputT]):
    """A type that answers are turned into; SettingsError if it has no JSON schema."""

    def __init__(self, kind: type[OutputT] | Mapping[str, Any]) -> None:
        """A type, or a JSON schema: then answers stay as JSON has them."""
        self._kind: Any = kind
        self._adapter: Any = None
        try:
            found = kind if isinstance(kind, Mapping) else self._schema_of()
        except (TypeError, ValueError) as error:  # what pydantic and msgspec raise for a type that they do not know
            raise SettingsError(f"{kind!r} has no JSON schema: {one_line(str(error))}") from error
        self.schema = AnswerSchema(found, further=self._faults)

    def _schema_of(self) -> Mapping[str, Any]:
        kind = self._kind
        if hasattr(kind, "__pydantic_validator__") or hasattr(get_origin(kind) or kind, "__pydantic_validator__"):
            from pydantic import TypeAdapter  # only where the person has it

            self._adapter = TypeAdapter(kind)
            found: Mapping[str, Any] = self._adapter.json_schema()
            return found
        return msgspec.json.schema(kind)

    def value(self, answer: Any) -> OutputT:
        """The answer as a value of the type; ValueError if it is none."""
        if isinstance(self._kind, Mapping):
            return answer  # type: ignore[no-any-return] # what a schema says, nobody can type
        if self._adapter is not None:
            return self._adapter.validate_python(answer)  # type: ignore[no-any-return] # pydantic's own promise
        converted: OutputT = msgspec.convert(answer, self._kind, strict=True)
        return converted

    def _faults(self, answer: Any) -> tuple[str, ...]:
        """The errors of the type's own validators."""
        try:
            self.value(answer)
        except ValueError as error:  # pydantic's and msgspec's are of this kind
            return (f"$: {one_line(str(error))[:600]}",)
        return ()
