"""`jslink` and `jsdlink` of ipywidgets: a part of one widget follows another's in the page of a notebook, not in the
kernel.

So we have to do it; for the kernel, a link is one more widget without a view.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from oi_tui.app.engine.core.widget_views import REFERENCE, WidgetState

BOTH_WAYS, ONE_WAY = "LinkModel", "DirectionalLinkModel"

MOST_LINKS, MOST_FOLLOWED = 500, 100
"""Links of a kernel that are followed, and parts that change by them at once."""

Part = tuple[str, str]
"""A widget's name, and the name of a part of its state."""


class WidgetLinks:
    """Finds what follows a change. A link whose widget was closed no longer applies."""

    def __init__(self, states: Mapping[str, WidgetState]) -> None:
        self._states = states
        self._ends: dict[str, tuple[Part, Part]] = {}
        """Source and target of each link."""
        self._followers: dict[Part, list[tuple[str, Part]]] = {}
        """The links that begin at a part, and where they end."""

    def changes(self, name: str, parts: WidgetState) -> list[tuple[str, dict[str, Any]]]:
        """The widgets whose parts become others when these parts of this one are what they are, each part once. Called
        for each change, also of a link, whose target becomes what its source is."""
        changed: dict[Part, Any] = {(name, part): value for part, value in parts.items()}
        is_link = self._states.get(name, {}).get("_model_name") in (BOTH_WAYS, ONE_WAY)
        if (is_link or name in self._ends) and self._learn(name, is_link=is_link):
            source = self._ends[name][0]
            if source[1] in (state := self._states.get(source[0], {})):
                changed[source] = state[source[1]]
        if not self._followers:
            return []
        found: list[tuple[str, dict[str, Any]]] = []
        waiting = deque(changed)
        while waiting and len(found) < MOST_FOLLOWED:
            here = waiting.popleft()
            for link, other in self._followers.get(here, ()):
                if other in changed or link not in self._states or other[0] not in self._states:
                    continue
                changed[other] = changed[here]
                waiting.append(other)
                if self._states[other[0]].get(other[1]) != changed[here]:
                    found.append((other[0], {other[1]: changed[here]}))
        return found[:MOST_FOLLOWED]

    def _learn(self, link: str, *, is_link: bool) -> bool:
        """Whether it is a link that is followed."""
        self._ends.pop(link, None)
        ends = _read_ends(self._states[link]) if is_link else None
        if ends is not None:
            if len(self._ends) >= MOST_LINKS:
                self._ends = {name: known for name, known in self._ends.items() if name in self._states}
            if len(self._ends) < MOST_LINKS:
                self._ends[link] = ends
        self._followers = {}
        for name, (source, target) in self._ends.items():
            for here, there in self._ways(name, source, target):
                self._followers.setdefault(here, []).append((name, there))
        return link in self._ends

    def _ways(self, link: str, source: Part, target: Part) -> Iterator[tuple[Part, Part]]:
        yield source, target
        if self._states.get(link, {}).get("_model_name") == BOTH_WAYS:
            yield target, source


def _read_ends(state: WidgetState) -> tuple[Part, Part] | None:
    match state.get("source"), state.get("target"):
        case [str(source), str(part)], [str(target), str(other)] if source.startswith(REFERENCE) and target.startswith(
            REFERENCE
        ):
            return (source[len(REFERENCE) :], part), (target[len(REFERENCE) :], other)
    return None
