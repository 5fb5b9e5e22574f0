"""The person's own instructions as a template: what they come to here and today."""

import datetime
import platform
from collections.abc import Mapping

import msgspec

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.instructions import MOST_OF_ONE, InstructionPart, TemplateValue
from oi_tui.app.engine.text.template import TemplateFailed, render_template

_HINT = "Braces that mean nothing go between {% raw %} and {% endraw %}."


def local_date() -> datetime.date:
    """Today, where the person is."""
    return datetime.datetime.now().astimezone().date()


def local_facts(cwd: str, today: datetime.date | None = None) -> dict[str, TemplateValue]:
    """The variables that every template has."""
    return {"current_date": (today or local_date()).isoformat(), "cwd": cwd, "os": platform.system()}


def fill_template(
    part: InstructionPart, variables: Mapping[str, TemplateValue], cwd: str, today: datetime.date | None = None
) -> InstructionPart:
    """The person's own instructions with the values of their template; SettingsError if it is not valid, or too
    long."""
    try:
        text = render_template(part.text, local_facts(cwd, today) | dict(variables)).strip()
    except TemplateFailed as error:
        raise SettingsError(f"The instructions of {part.name} are no template. {error}", hint=_HINT) from error
    if len(text) > MOST_OF_ONE:
        raise SettingsError(f"The instructions of {part.name} are longer than {MOST_OF_ONE:,} characters.")
    return msgspec.structs.replace(part, text=text)
