"""The settings as a JSON schema, with what the guide says of each."""

from typing import Any

import msgspec

from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.settings.catalog import setting_docstrings


def settings_schema() -> dict[str, Any]:
    """A JSON schema (2020-12) of the settings file."""
    schema = msgspec.json.schema(Settings)
    for (section, key), text in setting_docstrings().items():
        fields = schema["$defs"].get(section, {}).get("properties", {})
        if key in fields:
            fields[key]["description"] = text
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Settings of oi-tui", **schema}
