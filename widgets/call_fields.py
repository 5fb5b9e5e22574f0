"""A call in a question: its arguments as labelled fields, and what the call would do, as text to be read."""

import json
from collections.abc import Iterator
from typing import Any

from oi_tui.app.engine.core.chat_model import EDIT_FILE, WRITE_FILE
from oi_tui.app.engine.core.encoding import as_json, decode_arguments
from oi_tui.app.engine.core.events import DecisionRequested
from oi_tui.app.engine.text.words import quantity

FOLDED_LINES, FOLDED_CHARACTERS = 4, 300
"""Of a field where a preview shows what the call does; more of it is folded."""

LONGEST_LINE = 1_000
"""Characters of a line of a diff; a longer one may have been cut."""

LABEL = 24
"""Characters of a label before the fields beside it are moved."""


def call_text(request: DecisionRequested, source: str, *, full: bool) -> tuple[str, str]:
    """What is shown of a call with these arguments, and the language it is in: fields, then the preview; of a
    change by our own tools its diff alone, and with `full` the arguments below it. Without a preview, or with `full`,
    nothing of a field is left out. Arguments that cannot be read are shown as they are."""
    try:
        arguments = decode_arguments(source)
    except ValueError:
        return source, "json"
    preview, language = _preview(request) if source == request.source else ("", "")
    if _is_whole_diff(request, source, preview, language):
        told = "\n".join(f"    {line}" for line in _fields(arguments, folds=False))
        return (f"{preview}\n\narguments\n{told}" if full else preview), language
    fields = "\n".join(_fields(arguments, folds=bool(preview) and not full)) or "no arguments"
    return (f"{fields}\n\n{preview}", language) if preview else (fields, "")


def _is_whole_diff(request: DecisionRequested, source: str, preview: str, language: str) -> bool:
    """Whether this diff says all that the call would do, so that its arguments would only show it a second time: one
    of our tools made it, which then writes just that, and nothing of it is cut or left out, as ends of lines are."""
    ours = request.tool in (EDIT_FILE, WRITE_FILE) and not request.origin and not request.preview_remark
    lines = preview.split("\n")
    whole = all(not line.startswith("…") and len(line) <= LONGEST_LINE for line in lines)
    return ours and language == "diff" and whole and "\\r" not in source and "\r" not in source


def _preview(request: DecisionRequested) -> tuple[str, str]:
    """The best form of it, and its language."""
    data = request.preview.data if request.preview is not None else {}
    for kind, language in (("text/x-diff", "diff"), ("text/markdown", "markdown"), ("text/plain", "")):
        if text := str(data.get(kind, "")).rstrip("\n"):
            return text, language
    return "", ""


def _fields(arguments: dict[str, Any], *, folds: bool) -> Iterator[str]:
    """A line for each argument; one of several lines follows its label."""
    width = max((len(key) for key in arguments if len(key) <= LABEL), default=0)
    for key, value in arguments.items():
        label = as_json(key).decode() if not key or "\n" in key else key
        text = _value(value)
        lines = text.split("\n")
        if len(lines) == 1 and not (folds and len(text) > FOLDED_CHARACTERS):
            yield f"{label:<{width}}  {text}"
            continue
        yield f"{label:<{width}}  {quantity(len(lines), 'line')}, {quantity(len(text), 'character')}:"
        shown = _head(text) if folds else lines
        yield from (f"    {line}" for line in shown)
        if left := len(text) - len("\n".join(shown)):
            yield f"    … {quantity(left, 'more character')}, all of it in full screen"


def _head(text: str) -> list[str]:
    """The beginning of a long field."""
    return text[:FOLDED_CHARACTERS].split("\n")[:FOLDED_LINES]


def _value(value: object) -> str:
    """Text as it is, unless it could be taken for something else; anything else as JSON."""
    if isinstance(value, str):
        odd = not value.strip() or ("\n" not in value and (value != value.strip() or _is_json(value)))
        return as_json(value).decode() if odd else value
    return json.dumps(value, ensure_ascii=False, indent=2 if len(as_json(value)) > FOLDED_CHARACTERS else None)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
