"""What a question about a call shows beside its arguments: who brought the tool, and what the call would do."""

import asyncio
from typing import NamedTuple

from oi_tui.app.engine.core.encoding import decode_arguments
from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.core.values import EditableText
from oi_tui.app.engine.tools.checking import check_arguments, clean_output
from oi_tui.app.engine.tools.tool import Tool, ToolFailed, error_text

SECONDS = 5.0
"""That a preview may take."""

LONGEST = 60_000
"""Characters of each of its texts."""

SHOWN = ("text/x-diff", "text/markdown", "text/plain")
"""Forms that a question shows."""


class CallFacts(NamedTuple):
    """What is known about a call before it runs."""

    origin: str = ""
    may_call: tuple[str, ...] = ()
    preview: RichOutput | None = None
    remark: str = ""
    """Why there is no preview, or not all of it."""
    refusal: str = ""
    """Why the call cannot work, as the tool says."""
    given_up: bool = False
    """The turn was stopped meanwhile."""
    editable: EditableText | None = None

    def without_refusal(self) -> "CallFacts":
        """The same, where the person is asked though it cannot work: what was edited may be edited again."""
        return self._replace(refusal="", remark=f"it cannot work: {self.refusal}") if self.refusal else self


class Previews:
    """The previews of one session, one at a time."""

    def __init__(self) -> None:
        self._waiting: asyncio.Task[RichOutput | None] | None = None

    def give_up(self) -> None:
        """Stop making the present preview."""
        if self._waiting is not None:
            self._waiting.cancel()

    async def facts(self, tool: Tool | None, source: str) -> CallFacts:
        """Facts about a call with these arguments; none about code."""
        if tool is None:
            return CallFacts()
        known = CallFacts(tool.origin, tool.may_call, editable=_editable(tool, source))
        if tool.preview is None:
            return known
        try:
            arguments = decode_arguments(source)
            check_arguments(arguments, tool.schema)
        except (ValueError, ToolFailed) as error:
            return known._replace(remark=error_text(error))
        self._waiting = waiting = asyncio.ensure_future(tool.preview(arguments))
        try:
            async with asyncio.timeout(SECONDS):
                await asyncio.wait([waiting])
            if waiting.cancelled():
                return known._replace(given_up=True)
            return _cut_facts(known, waiting.result())
        except TimeoutError:
            return known._replace(remark=f"the preview took more than {SECONDS:.0f} seconds, and was given up")
        except ToolFailed as error:
            return known._replace(refusal=error_text(error)[:LONGEST] or "It cannot work.")
        except Exception as error:
            # Boundary: the tool may be somebody else's. Without a preview the person sees the arguments.
            return known._replace(remark=f"the preview failed: {type(error).__name__}: {error_text(error)[:500]}")
        finally:
            waiting.cancel()
            waiting.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
            self._waiting = None


def _editable(tool: Tool, source: str) -> EditableText | None:
    """The argument that is edited as a text; None if the tool names none of the call's arguments."""
    try:
        arguments = decode_arguments(source)
        found = tool.editable(arguments) if tool.editable is not None else None
        return found if found is not None and isinstance(arguments.get(found.argument), str) else None
    except Exception:
        # Boundary: the tool may be somebody else's. Without it the arguments are edited.
        return None


def _cut_facts(known: CallFacts, shown: RichOutput | None) -> CallFacts:
    """With the forms of this preview that are text; TypeError or ValueError for what is no output."""
    if shown is None:
        return known
    texts = {kind: text for kind, text in clean_output(shown).data.items() if kind in SHOWN and isinstance(text, str)}
    if not texts:
        return known._replace(remark="the preview has no text")
    long = [kind for kind, text in texts.items() if len(text) > LONGEST]
    cut = {kind: text[:LONGEST].rpartition("\n")[0] or text[:LONGEST] for kind, text in texts.items()}
    remark = f"the preview is long: only its first {LONGEST:,} characters are shown" if long else ""
    data = {kind: cut[kind] if kind in long else text for kind, text in texts.items()}
    return known._replace(preview=RichOutput(data=data), remark=remark)
