"""Merging neighbouring deltas and changes of one display: a flood costs a front end and the store what a frame does."""

from collections.abc import Iterable

from oi_tui.app.engine.core.events import (
    ActiveLineChanged,
    AnyEvent,
    CallGrew,
    CodeGrew,
    OutputAdded,
    OutputsCleared,
    OutputTailMoved,
    OutputUpdated,
    ProgressReported,
    ProseGrew,
    ThoughtGrew,
)
from oi_tui.app.engine.core.outputs import StreamOutput

DeltaKey = tuple[str, ...]
"""Deltas with the same key join to one text."""


def coalesce(events: Iterable[AnyEvent], *, every_line: bool = False) -> list[AnyEvent]:
    """The same events with neighbouring deltas of one block merged; folding either gives an equal transcript. With
    `every_line` each active line is kept: a kernel tells a hundred of a cell at most, and then ten in a second.

    The end of a stream has the place of its first change and the text of its last: nothing in between depends on it.
    """
    merged: list[AnyEvent] = []
    texts: list[str] = []
    open_key: DeltaKey | None = None
    tails: dict[DeltaKey, int] = {}
    for event in events:
        match event:
            case OutputTailMoved(block_id=block_id, name=name):
                if (place := tails.setdefault((block_id, name), len(merged))) < len(merged):
                    merged[place] = event
                    continue
            case OutputsCleared(block_id=block_id):
                tails.pop((block_id, "stdout"), None)
                tails.pop((block_id, "stderr"), None)
        key = None if every_line and isinstance(event, ActiveLineChanged) else delta_key(event)
        if key is None or key != open_key:
            _close(merged, texts)
            merged.append(event)
            open_key = key
            texts = [delta_text(event)] if key is not None else []
        elif isinstance(event, ActiveLineChanged | ProgressReported | OutputUpdated):
            merged[-1] = event
        else:
            texts.append(delta_text(event))
    _close(merged, texts)
    return merged


def is_delta(event: AnyEvent) -> bool:
    """Whether more of the same may follow at once, so that it may wait a moment for it."""
    return delta_key(event) is not None


def delta_key(event: AnyEvent) -> DeltaKey | None:
    """What deltas that can be merged have in common; None for a complete event."""
    match event:
        case ProseGrew() | ThoughtGrew() | CodeGrew() | CallGrew():
            return ("text", event.block_id)
        case OutputAdded(output=StreamOutput(name=name)):
            return ("stream", event.block_id, name)
        case ActiveLineChanged():
            return ("line", event.block_id)
        case OutputTailMoved():
            return ("tail", event.block_id, event.name)
        case ProgressReported():
            return ("progress", event.block_id)
        case OutputUpdated():
            return ("display", event.block_id, event.display_id)
        case _:
            return None


def delta_text(event: AnyEvent) -> str:
    """The text that it adds, "" if it adds none."""
    match event:
        case ProseGrew() | ThoughtGrew() | CodeGrew() | CallGrew():
            return event.text
        case OutputAdded(output=StreamOutput(text=text)):
            return text
        case _:
            return ""


def with_text(event: AnyEvent, text: str) -> AnyEvent:
    """The same event with another text, if it adds one."""
    match event:
        case ProseGrew(block_id=block_id):
            return ProseGrew(block_id=block_id, text=text)
        case ThoughtGrew(block_id=block_id):
            return ThoughtGrew(block_id=block_id, text=text)
        case CodeGrew(block_id=block_id):
            return CodeGrew(block_id=block_id, text=text)
        case CallGrew(block_id=block_id):
            return CallGrew(block_id=block_id, text=text)
        case OutputAdded(block_id=block_id, output=StreamOutput(name=name)):
            return OutputAdded(block_id=block_id, output=StreamOutput(name=name, text=text))
        case _:
            return event


def _close(merged: list[AnyEvent], texts: list[str]) -> None:
    """Give the last event of `merged` the joined text, if more than its own was collected."""
    if len(texts) > 1:
        merged[-1] = with_text(merged[-1], "".join(texts))
