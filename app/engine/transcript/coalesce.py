"""Merging neighbouring deltas, so that a flood costs a front end and the store what a frame costs."""

from collections.abc import Iterable

from oi_tui.app.engine.core.events import (
    ActiveLineChanged,
    AnyEvent,
    CodeGrew,
    OutputAdded,
    OutputsCleared,
    OutputTailMoved,
    ProseGrew,
)
from oi_tui.app.engine.core.outputs import StreamOutput

_Key = tuple[str, ...]


def coalesce(events: Iterable[AnyEvent]) -> list[AnyEvent]:
    """The same events with neighbouring deltas of one block merged; folding either gives an equal transcript.

    The end of a stream stands where it first moved, as it was last: what lies between does not depend on it.
    """
    merged: list[AnyEvent] = []
    texts: list[str] = []
    open_key: _Key | None = None
    tails: dict[_Key, int] = {}
    for event in events:
        match event:
            case OutputTailMoved(block_id=block_id, name=name):
                if (place := tails.setdefault((block_id, name), len(merged))) < len(merged):
                    merged[place] = event
                    continue
            case OutputsCleared(block_id=block_id):
                tails.pop((block_id, "stdout"), None)
                tails.pop((block_id, "stderr"), None)
        key = _key(event)
        if key is None or key != open_key:
            _close(merged, texts)
            merged.append(event)
            open_key = key
            texts = [_text(event)] if key is not None else []
        elif isinstance(event, ActiveLineChanged):
            merged[-1] = event
        else:
            texts.append(_text(event))
    _close(merged, texts)
    return merged


def is_delta(event: AnyEvent) -> bool:
    """Whether more of the same may follow at once, so that it may wait a moment for it."""
    return _key(event) is not None


def _key(event: AnyEvent) -> _Key | None:
    match event:
        case ProseGrew() | CodeGrew():
            return ("text", event.block_id)
        case OutputAdded(output=StreamOutput(name=name)):
            return ("stream", event.block_id, name)
        case ActiveLineChanged():
            return ("line", event.block_id)
        case OutputTailMoved():
            return ("tail", event.block_id, event.name)
        case _:
            return None


def _text(event: AnyEvent) -> str:
    match event:
        case ProseGrew() | CodeGrew():
            return event.text
        case OutputAdded(output=StreamOutput(text=text)):
            return text
        case _:
            return ""


def _close(merged: list[AnyEvent], texts: list[str]) -> None:
    """Give the last event of `merged` the joined text, if more than its own was collected."""
    if len(texts) < 2:
        return
    text = "".join(texts)
    match merged[-1]:
        case ProseGrew(block_id=block_id):
            merged[-1] = ProseGrew(block_id=block_id, text=text)
        case CodeGrew(block_id=block_id):
            merged[-1] = CodeGrew(block_id=block_id, text=text)
        case OutputAdded(block_id=block_id, output=StreamOutput(name=name)):
            merged[-1] = OutputAdded(block_id=block_id, output=StreamOutput(name=name, text=text))
        case _:
            pass
