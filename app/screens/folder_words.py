"""The texts of the screen about a folder with their colours: what code could do there, the findings, the choices."""

from textual.content import Content

from oi_tui.app.engine.trust.folder_check import FolderCheck, FolderContent
from oi_tui.app.frontend.folder_offers import FolderLine, Offer, finding_lines, introduction_lines, trial_lines
from oi_tui.app.frontend.workplace import Workplace
from oi_tui.widgets.lettering import lettering

LABEL = 20
"""Columns of a choice's name."""

INDENT = "  "


_MARKS = {"ok": ("✓ ", "$ok"), "warning": ("! ", "$warning"), "error": ("✗ ", "$error")}
_STYLES = {"plain": "$text", "dim": "$dim", "warning": "$warning", "error": "$text"}


def introduction(place: Workplace, *, again: bool) -> Content:
    """What code could do, in one paragraph, and what is unusual about the folder."""
    first, *others = introduction_lines(place, again=again)
    return lettering(first, *((f"\n{line}", "$warning" if index == 0 else "") for index, line in enumerate(others)))


def sandbox_trial(found: FolderCheck | None) -> Content:
    """Whether the sandbox works."""
    if found is None:
        return lettering(("… testing the sandbox", "$dim"))
    return Content("\n").join(map(_trial, trial_lines(found)))


def _trial(line: FolderLine) -> Content:
    return lettering((line.text, "$text")) if line.tone == "plain" else lettering(_MARKS[line.tone], line.text)


def findings(brought: FolderContent | None) -> Content:
    """What the folder would bring, the rules that allow first and word for word."""
    if brought is None:
        return lettering(("… reading the rules and settings of the folder", "$dim"))
    return Content("\n").join(map(_finding, finding_lines(brought)))


def _finding(line: FolderLine) -> Content:
    if line.label:
        return lettering((f"{INDENT}{line.label:25}", "$dim"), (line.text, _STYLES[line.tone]))
    if line.tone == "error":
        return lettering(_MARKS["error"], line.text)
    return lettering((line.text, _STYLES[line.tone]) if line.tone != "plain" else line.text)


def offer_line(offer: Offer, *, marked: bool) -> Content:
    """One choice, as a row of the list."""
    if not offer.enabled:
        return lettering((f"✗ {offer.name:{LABEL}}{offer.meaning}", "$dim"))
    mark = ("▸ ", "bold $accent") if marked else ("! ", "$warning") if offer.grave else ("  ", "")
    name = "$accent" if marked else "$warning" if offer.grave else "$text"
    return lettering(mark, (f"{offer.name:{LABEL}}", name), (offer.meaning, "$warning" if offer.grave else "$dim"))
