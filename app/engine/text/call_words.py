"""A question about a call, besides its arguments: what is known about the tool, and what the call would do."""

from collections.abc import Iterator

from oi_tui.app.engine.core.events import DecisionRequested
from oi_tui.app.engine.text.words import one_line


def call_remarks(request: DecisionRequested) -> Iterator[str]:
    """What the person should know about the called tool, besides its arguments."""
    if request.origin:
        yield f"The tool was brought by {one_line(request.origin)}"
    if request.may_call:
        yield f"It may call {one_line(', '.join(request.may_call))}"
    if request.preview_remark:
        yield f"There is no whole preview: {one_line(request.preview_remark)}"


def preview_text(request: DecisionRequested) -> str:
    """What the call would do, "" if nobody knows."""
    data = request.preview.data if request.preview is not None else {}
    return next((str(data[kind]) for kind in ("text/x-diff", "text/plain", "text/markdown") if data.get(kind)), "")
