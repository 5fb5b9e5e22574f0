"""The definitions that links and footnotes of a document refer to.

The elements of a document are parsed separately, and a definition may come after its reference. So elements ask here,
and are drawn again when a definition they missed arrives.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markdown_it.token import Token

Definition = Mapping[str, Any]
"""`href` and `title` of a link; of a footnote nothing."""

_NOTE = "\n"
"""Before the label of a footnote, to part it from those of links, in which there is no newline."""


class Definitions:
    """All definitions so far: final ones, and those of an element that may still change."""

    def __init__(self) -> None:
        self._kept: dict[str, Definition] = {}
        self._loose: dict[str, Definition] = {}

    def keep(self, found: Iterable[tuple[str, Definition]]) -> set[str]:
        """Add what finished elements define; the first one to define something wins. Returns what is new."""
        new = {}
        for label, definition in found:
            if label not in self._kept:
                new[label] = self._kept[label] = definition
        return {label for label, definition in new.items() if self._loose.get(label) != definition}

    def propose(self, found: Iterable[tuple[str, Definition]]) -> set[str]:
        """Replace what unfinished elements define. Returns what is not as before."""
        before, self._loose = self._loose, {}
        for label, definition in found:
            if label not in self._kept:
                self._loose.setdefault(label, definition)
        if before == self._loose:
            return set()
        return {
            label
            for label in before.keys() | self._loose.keys()
            if label not in self._kept and before.get(label) != self._loose.get(label)
        }

    def get(self, label: str) -> Definition | None:
        """A definition, None if there is none yet."""
        return self._kept.get(label) or self._loose.get(label)

    def is_settled(self, label: str) -> bool:
        """Whether what is known of it will not change."""
        return label in self._kept


class ReferenceLookup(dict[str, Definition]):
    """The definitions as the parser wants them; knows what was asked for that may still change."""

    def __init__(self, definitions: Definitions | None = None) -> None:
        super().__init__()
        self._known = Definitions() if definitions is None else definitions
        self.open: set[str] = set()
        """Labels that may get another meaning."""

    def get(self, label: str, default: Any = None) -> Any:
        """A definition: of the document, else of the text that is parsed."""
        if not self._known.is_settled(label):
            self.open.add(label)
        found = self._known.get(label)
        return found if found is not None else super().get(label, default)

    def has_note(self, label: str) -> bool:
        """Whether there is such a footnote."""
        return self.get(_NOTE + label) is not None

    def add_notes(self, tokens: "Sequence[Token]") -> None:
        """Know the footnotes of the text that was parsed."""
        for label, definition, _ in definitions_in(tokens):
            self.setdefault(label, definition)


def definitions_in(tokens: "Sequence[Token]") -> Iterator[tuple[str, Definition, int]]:
    """Definitions in the order of the text, with the line after each."""
    for token in tokens:
        if token.type == "definition" and token.map is not None:
            yield token.meta["id"], {"href": token.meta["url"], "title": token.meta["title"]}, token.map[1]
        elif token.type == "footnote_reference_open" and token.map is not None:
            yield _NOTE + token.meta["label"], {"href": ""}, token.map[1]
