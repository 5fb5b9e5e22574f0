"""A schema with many fields as several with few: a model reads and fills in few fields better. Pure."""

from collections.abc import Mapping
from typing import Any

from oi_tui.app.engine.structured.answer_schema import AnswerSchema

MOST_GROUPS = 20
"""For one record; the groups become larger beyond that."""


def split_fields(schema: AnswerSchema, most: int) -> tuple[AnswerSchema, ...]:
    """Schemas of at most so many fields each, in order; the schema itself where it has no more, or its fields depend on
    each other."""
    root = schema.schema
    fields: Mapping[str, Any] = root.get("properties", {})
    alone = root.keys() <= {"type", "properties", "required", "additionalProperties", "$defs", "definitions", *_REMARKS}
    if not most or len(fields) <= most or root.get("type") != "object" or not alone:
        return (schema,)
    size = max(most, -(-len(fields) // MOST_GROUPS))
    names = list(fields)
    kept: dict[str, Any] = {
        name: root[name] for name in ("description", "title", "$defs", "definitions") if name in root
    }
    return tuple(
        AnswerSchema(
            {
                **kept,
                "type": "object",
                "properties": {name: fields[name] for name in names[start : start + size]},
                "required": [name for name in names[start : start + size] if name in root.get("required", ())],
                "additionalProperties": False,
            }
        )
        for start in range(0, len(names), size)
    )


_REMARKS = ("description", "title", "$schema", "$id", "$comment")
