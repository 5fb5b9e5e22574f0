"""What a server asks the person while a call of it runs: one field after the other, never a password."""

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from oi_tui.app.engine.core.values import Value
from oi_tui.app.engine.mcp.offers import safe_line, safe_lines

MOST_FIELDS = 10

DECLINE, SKIP = "decline", "skip"
"""What is typed instead of a value."""

_SECRET = re.compile(
    r"pass(?:word|wd|phrase|code)|secret|token|api.?key|\bkey\b|credential|\bpin\b|cvv|cvc|card.?number|otp|private.?key"
    r"|mnemonic|seed.?phrase|kennwort|passwort",
    re.IGNORECASE,
)

AskLine = Callable[[str, Sequence[str]], Awaitable[str | None]]
"""Asks the person one thing; None where nobody can be asked."""


class FormField(Value, frozen=True, kw_only=True):
    """One thing that is asked."""

    name: str
    title: str = ""
    description: str = ""
    kind: str = "string"
    choices: tuple[str, ...] = ()
    required: bool = False
    format: str = ""


class Form(Value, frozen=True, kw_only=True):
    """All that is asked at once."""

    message: str = ""
    fields: tuple[FormField, ...] = ()

    @property
    def wants_secret(self) -> bool:
        """Whether it asks for what nobody may give to a server this way."""
        texts = [self.message, *(text for one in self.fields for text in (one.name, one.title, one.description))]
        return any(_SECRET.search(re.sub(r"[_-]", " ", text)) or _SECRET.search(text) for text in texts) or any(
            one.format == "password" for one in self.fields
        )


class WrongAnswer(ValueError):
    """The typed text does not fit the field."""


async def fill_form(server: str, form: Form, ask: AskLine) -> tuple[str, dict[str, Any]]:
    """Ask for each field in turn; what the person did, `accept`, `decline` or `cancel`, and the values."""
    who = f"The MCP server {server} asks: {safe_lines(form.message, 500)}"
    if not form.fields:
        said = await ask(f"{who}\nNothing but yes or no is sent to it.", ["yes", DECLINE])
        return ("accept" if said == "yes" else "cancel" if said is None else "decline"), {}
    values: dict[str, Any] = {}
    for number, one in enumerate(form.fields[:MOST_FIELDS]):
        hint = f"{safe_line(one.title or one.name, 100)} ({number + 1} of {len(form.fields[:MOST_FIELDS])})"
        more = f": {safe_line(one.description, 200)}" if one.description else ""
        choices = [safe_line(choice, 100) for choice in one.choices] or (["yes", "no"] if one.kind == "boolean" else [])
        extra = [DECLINE] if one.required else [SKIP, DECLINE]
        question, wrong = f"{who}\n{hint}{more}", ""
        while True:
            said = await ask(f"{question}{wrong}", [*choices, *extra])
            if said is None:
                return "cancel", {}
            if said == DECLINE:
                return "decline", {}
            if said == SKIP and not one.required:
                break
            try:
                values[one.name] = read_value(one, said)
                break
            except WrongAnswer as error:
                wrong = f"\n{error}"
    return "accept", values


def read_value(field: FormField, text: str) -> Any:
    """The typed text as a value of the field; WrongAnswer in plain words."""
    if field.choices:
        for choice in field.choices:
            if text == safe_line(choice, 100):
                return choice
        raise WrongAnswer("One of the choices, please.")
    match field.kind:
        case "boolean":
            if text.lower() not in ("yes", "no", "y", "n", "true", "false"):
                raise WrongAnswer("Yes or no, please.")
            return text.lower() in ("yes", "y", "true")
        case "integer" | "number":
            kind = int if field.kind == "integer" else float
            try:
                return msgspec.convert(text.strip(), kind, strict=False)
            except msgspec.ValidationError:
                raise WrongAnswer("A number, please.") from None
        case _:
            return text
