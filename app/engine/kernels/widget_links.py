"""`jslink` and `jsdlink` of ipywidgets: a part of one widget follows another's in the page of a notebook, not in the
kernel.

So whoever shows widgets has to do it; the kernel only tells that there is a link, as one more widget without a view.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from oi_tui.app.engine.core.widget_views import REFERENCE, WidgetState

MODELS = ("LinkModel", "DirectionalLinkModel")
MOST_LINKS, MOST_FOLLOWED = 500, 100
"""Links of a kernel that are followed, and parts that change by them at once."""

Part = tuple[str, str]
"""A widget's name, and the name of a part of its state."""


class WidgetLinks:
    """Finds what follows on a change; knows no more than the states do."""

    def __init__(self, states: Mapping[str, WidgetState]) -> None:
        self._states = states
        self._names: dict[str, None] = {}
        """Of the links, in the order in which they came."""

    def changes(self, name: str, parts: WidgetState) -> list[tuple[str, dict[str, Any]]]:
        """The widgets whose parts become others when these parts of this one are what they are, each part once."""
        if self._states.get(name, {}).get("_model_name") in MODELS and len(self._names) < MOST_LINKS:
            self._names[name] = None
        self._names = {link: None for link in self._names if link in self._states}
        if not self._names:
            return []
        changed: dict[Part, Any] = {(name, part): value for part, value in parts.items()}
        if name in self._names and (ends := self._ends(name)) is not None:
            source = ends[0]  # a new link: its target becomes what its source is
            if source[1] in (state := self._states.get(source[0], {})):
                changed[source] = state[source[1]]
        parts_here = list(changed)
        found: list[tuple[str, dict[str, Any]]] = []
        while parts_here and len(found) < MOST_FOLLOWED:
            here = parts_here.pop(0)
            for other in self._followers(here):
                if other not in changed and other[0] in self._states:
                    changed[other] = changed[here]
                    parts_here.append(other)
                    if self._states[other[0]].get(other[1]) != changed[here]:
                        found.append((other[0], {other[1]: changed[here]}))
        return found

    def _followers(self, part: Part) -> Iterator[Part]:
        for link in self._names:
            if (ends := self._ends(link)) is not None:
                source, target, is_both_ways = ends
                if source == part:
                    yield target
                elif is_both_ways and target == part:
                    yield source

    def _ends(self, link: str) -> tuple[Part, Part, bool] | None:
        state = self._states.get(link, {})
        match state.get("source"), state.get("target"):
            case [str(source), str(part)], [str(target), str(other)] if source.startswith(
                REFERENCE
            ) and target.startswith(REFERENCE):
                names = source[len(REFERENCE) :], target[len(REFERENCE) :]
                return (names[0], part), (names[1], other), state.get("_model_name") == "LinkModel"
        return None
