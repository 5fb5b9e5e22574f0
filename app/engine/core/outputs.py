"""What a kernel sends back while a source runs, as values.

Shapes follow the Jupyter messaging specification (`stream`, `display_data`/`execute_result`,
`error`): https://jupyter-client.readthedocs.io/en/stable/messaging.html
"""

from typing import Any, Literal

import msgspec

from oi_tui.app.engine.core.values import Value

StreamName = Literal["stdout", "stderr"]

APART = 100
"""Outputs of a block in which stdout and stderr may take turns; beyond that, text joins the last output of its
stream even where one of the other stream came between: a progress bar among prints is not thousands of outputs."""


class Tail(Value, frozen=True, kw_only=True):
    """The newest text of a stream that is longer than what is passed on of it; starts with a line where it has one."""

    text: str
    left_out_characters: int = 0
    """Between the beginning of the stream and this end of it."""
    left_out_lines: int = 0
    """Line ends in there."""


class StreamOutput(Value, frozen=True, kw_only=True, tag="stream"):
    """Text written to stdout or stderr; consecutive pieces of one stream are one output."""

    name: StreamName
    text: str
    """All of it, or (with a `tail`) the beginning."""
    tail: Tail | None = None


class WholeOutput(Value, frozen=True, kw_only=True):
    """The file with all that a run wrote, stdout and stderr in the order in which it came."""

    path: str
    """"" if there is none."""
    missing: str = ""
    """Why not all is in it, in plain words; "" if all is."""


class WrittenFile(Value, frozen=True, kw_only=True):
    """A file of the working folder that changed during a run."""

    name: str
    """Relative to the folder."""
    size: int
    """Bytes."""
    begins: str = ""
    """The first lines of a text, "" for anything else."""


class WrittenFiles(Value, frozen=True, kw_only=True):
    """The files of one run, newest first."""

    files: tuple[WrittenFile, ...] = ()
    more: int = 0
    """Files that are not named."""
    deleted: tuple[str, ...] = ()
    more_deleted: int = 0
    """Deleted files that are not named."""
    undoable: int = 0
    """Files that can be brought back as they were before the run."""
    undone: int = 0
    """Files that were brought back."""
    lost: int = 0
    """Files that it changed or deleted and that cannot be brought back."""


class RunInput(Value, frozen=True, kw_only=True):
    """A variable that a run used."""

    name: str
    block_id: str
    """The block that had changed it last by then."""
    stale_by: str = ""
    """The block that has changed it since, or `block_id` where that one is itself stale; "" where it is as it was."""


class Progress(Value, frozen=True, kw_only=True):
    """How far a run is, as it says itself."""

    done: float
    """In whatever it counts."""
    total: float | None = None
    """The total, None if unknown."""
    message: str = ""


class RichOutput(Value, frozen=True, kw_only=True, tag="rich"):
    """One result in several forms; the front end takes the best form that it can show."""

    data: dict[str, Any]
    """Mime type to content: text as `str`, binary as base64 `str`, JSON as parsed values."""
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    display_id: str | None = None
    """With an id, a later output of the same id replaces this one in place."""
    is_result: bool = False
    """True for the value of the last expression, False for values displayed earlier."""


class ErrorOutput(Value, frozen=True, kw_only=True, tag="error"):
    """An exception that ended the run."""

    name: str
    value: str
    traceback: tuple[str, ...] = ()
    """Formatted lines, with ANSI colours as the kernel sent them."""


Output = StreamOutput | RichOutput | ErrorOutput


def joinable_output(outputs: tuple[Output, ...], name: StreamName) -> int | None:
    """Number of the output that more text of this stream joins, None if it is one of its own."""
    for place in range(len(outputs) - 1, max(-1, len(outputs) - (3 if len(outputs) >= APART else 2)), -1):
        match outputs[place]:
            case StreamOutput(name=other):
                if other == name:
                    return place
            case _:
                return None
    return None
