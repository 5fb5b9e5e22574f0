"""What a kernel sends back while a source runs, as values.

Shapes follow the Jupyter messaging specification (`stream`, `display_data`/`execute_result`,
`error`): https://jupyter-client.readthedocs.io/en/stable/messaging.html
"""

from typing import Any, Literal

import msgspec

from oi_tui.app.engine.values import Value


class StreamOutput(Value, frozen=True, kw_only=True, tag="stream"):
    """Text written to stdout or stderr; consecutive pieces of one stream are one output."""

    name: Literal["stdout", "stderr"]
    text: str


class RichOutput(Value, frozen=True, kw_only=True, tag="rich"):
    """One result in several forms; the front end takes the best form that it can show."""

    data: dict[str, Any]
    """Mime type to content: text as `str`, binary as base64 `str`, JSON as parsed values."""
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    display_id: str | None = None
    """With an id, a later output of the same id replaces this one in place."""
    is_result: bool = False
    """True for the value of the last expression, False for what was displayed on the way."""


class ErrorOutput(Value, frozen=True, kw_only=True, tag="error"):
    """An exception that ended the run."""

    name: str
    value: str
    traceback: tuple[str, ...] = ()
    """Formatted lines, with ANSI colours as the kernel sent them."""


Output = StreamOutput | RichOutput | ErrorOutput
