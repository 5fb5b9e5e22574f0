"""An answer that fits a schema: what of a task without a screen goes to stdout, and what to stderr where none fits."""

import json
import os
from pathlib import Path
from typing import Any

from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.environments.discovery import choose_environment
from oi_tui.app.engine.structured.answer_schema import AnswerSchema
from oi_tui.app.engine.structured.schema_files import names_model, read_schema
from oi_tui.app.engine.text.safe import safe_text

LAST = 20_000
"""Characters of the last attempt that are shown."""


def as_line(value: Any) -> str:
    """A value as one line of JSON, in which nothing is obeyed by a terminal."""
    text = json.dumps(value, ensure_ascii=False)
    return text if safe_text(text) == text else json.dumps(value)


def last_attempt(text: str) -> str:
    """The model's last answer, for stderr."""
    shown = safe_text(text[:LAST]).strip()
    more = f"\n… {len(text) - LAST:,} characters left out" if len(text) > LAST else ""
    return f"The last attempt:\n{shown or '(nothing)'}{more}\n"


def wanted_schema(given: str, setup: Configure) -> tuple[AnswerSchema, str]:
    """The schema that a person named, and what they have to know of how it was had. SettingsError if it is none."""
    folder = Path(setup.cwd)
    python = choose_environment(folder, os.environ, asked=setup.settings.kernel.python, trusted=setup.trusted)
    program = python.environment.python
    remark = f"{given} is imported by {program}: its code runs with your permissions." if names_model(given) else ""
    return read_schema(given, folder, program, os.environ), remark


def require_text(*, as_json: bool) -> None:
    """SettingsError for two forms of stdout."""
    if as_json:
        raise SettingsError("--schema and --json contradict each other.", hint="With --schema, stdout is the answer.")
