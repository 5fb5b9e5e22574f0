"""All keys and commands, made from where they are defined."""

from textwrap import wrap
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen

from oi_tui.app.screens.key_help import HelpSection, help_sections
from oi_tui.widgets.lettering import Words, lettering

_KEYS = 28
_ROOMY = 64
_PAGE_MARGIN = 6


class HelpScreen(ModalScreen[None]):
    """A page to scroll; Escape or F1 leaves."""

    CSS_PATH = "help.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,f1,q", "dismiss", "Back")]

    def compose(self) -> ComposeResult:
        """One section under the other."""
        with VerticalScroll(id="help-page"):
            for section in help_sections():
                yield Words(section.title, classes="help-title")
                yield SectionTable(section)
        yield Words("↑ ↓ scroll   esc back", id="help-keys")


class SectionTable(Words):
    """Keys, commands and meanings in columns; under each other where it is narrow."""

    def __init__(self, section: HelpSection) -> None:
        super().__init__()
        self._section = section

    def on_mount(self) -> None:
        """Lay it out for the screen as it is now."""
        self.update(self._content(self.app.size.width))

    def on_resize(self) -> None:
        """Lay it out anew."""
        self.update(self._content(self.app.size.width))

    def _content(self, width: int) -> Content:
        room = max(20, width - _PAGE_MARGIN)
        roomy = room >= _ROOMY
        indent = _KEYS if roomy else 2
        lines: list[Content] = []
        for keys, slash, text in self._section.rows:
            head = "  ".join(part for part in (keys, slash) if part)
            first, *rest = wrap(text, room - indent) or [""]
            if roomy and len(head) < _KEYS:
                lines.append(lettering((f"{head:<{_KEYS}}", "$accent"), (first, "$dim")))
            else:
                lines.append(lettering((head, "$accent")))
                rest.insert(0, first)
            lines += [lettering((" " * indent + line, "$dim")) for line in rest]
        return Content("\n").join(lines)
