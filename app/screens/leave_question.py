"""The question before a session is left while something runs in it."""

from collections.abc import Iterator
from pathlib import Path

from oi_tui.app.engine.core.extractions import PART, ExtractionFound
from oi_tui.app.engine.text.words import one_line
from oi_tui.app.frontend.bridge import Bridge
from oi_tui.app.screens.confirm import ConfirmScreen

LONGEST_NAME = 40
"""Characters of a file's name that the question has room for."""


def leave_question(bridge: Bridge) -> ConfirmScreen | None:
    """Asks whether to end the program; None if nothing runs."""
    kept = "The conversation is saved and can be resumed."
    return _question(bridge, "Leaving", kept, yes="leave", hint="/detach keeps it.")


def switch_question(bridge: Bridge) -> ConfirmScreen | None:
    """Asks whether to open another session instead of this one; None if nothing runs."""
    return _question(bridge, "Opening another session", "What it printed so far is kept.", yes="interrupt it")


def _question(bridge: Bridge, doing: str, kept: str, *, yes: str, hint: str = "") -> ConfirmScreen | None:
    found = bridge.extraction
    if not (bridge.busy or found):
        return None
    title = "Something is still running." if bridge.busy else "An extraction is not done."
    text = [f"{doing} interrupts it. {kept}"] if bridge.busy else []
    if found is not None:
        stops = "It also stops the extraction" if text else f"{doing} stops it"
        text.append(" ".join(filter(None, (stops, *_rest_of(found), hint))))
    return ConfirmScreen(title, "\n".join(text), yes=yes if bridge.busy or hint else "stop it", no="stay")


def _rest_of(found: ExtractionFound) -> Iterator[str]:
    if not found.done or found.asked is None:
        yield "before its first result."
        return
    journal = one_line(Path(found.asked.output).name + PART)
    yield f"at {found.done:,} of {found.total:,} records, which"
    yield "stay in " + (journal if len(journal) <= LONGEST_NAME else f"…{journal[-LONGEST_NAME:]}") + "."
    yield "/extract with the same fields, task, model and output continues it."
