"""The settings as a JSON schema, with what the guide says of each."""

import ast
import inspect
from typing import Any

import msgspec

from oi_tui.app.engine.core import settings as settings_module


def settings_schema() -> dict[str, Any]:
    """A JSON schema (2020-12) of the settings file."""
    schema = msgspec.json.schema(settings_module.Settings)
    for (section, key), text in setting_docstrings().items():
        fields = schema["$defs"].get(section, {}).get("properties", {})
        if key in fields:
            fields[key]["description"] = text
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Settings of oi-tui", **schema}


def setting_docstrings() -> dict[tuple[str, str], str]:
    """The docstring under each field, by the name of its section's class and its own."""
    tree = ast.parse(inspect.getsource(settings_module))
    found: dict[tuple[str, str], str] = {}
    for owner in tree.body:
        if not isinstance(owner, ast.ClassDef):
            continue
        for field, after in zip(owner.body, owner.body[1:], strict=False):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(after, ast.Expr)
                and isinstance(after.value, ast.Constant)
            ):
                found[owner.name, field.target.id] = " ".join(str(after.value.value).split())
    return found
