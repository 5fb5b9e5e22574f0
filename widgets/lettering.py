"""The only functions that bring text to the screen: they sanitise it, whatever its source.

Textual's own `Static`, `OptionList` and `Content` show a text verbatim, or read markup in it. Only these functions feed
them (`tests/test_architecture.py` checks that), so no caller has to remember anything; a `Content` is safe.
"""

from collections.abc import Iterable
from typing import Self, TypeAlias

from textual.content import Content
from textual.geometry import Offset
from textual.style import Style
from textual.widgets import OptionList, Static

from oi_tui.app.engine.text.safe import safe_text

Part: TypeAlias = str | Content | tuple[str, str | Style]


def lettering(*parts: Part) -> Content:
    """The parts in a row, a tuple being a text and its style: `lettering(("✗ ", "$error"), why)`."""
    whole = Content.assemble(*parts, strip_control_codes=False)
    if safe_text(whole.plain) == whole.plain:
        return whole
    # Part by part, so that none swallows the next one, and styles stay where they belong.
    return Content.assemble(
        *((safe_text(part[0]), part[1]) if isinstance(part, tuple) else _made_safe(part) for part in parts)
    )


def _made_safe(text: str | Content) -> str | Content:
    return safe_text(text) if isinstance(text, str) else text


class Words(Static):
    """A line or a paragraph; markup is not read."""

    def __init__(self, text: str | Content = "", *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(_made_safe(text), id=id, classes=classes, markup=False)

    def update(self, text: str | Content = "", *, layout: bool = True) -> None:  # type: ignore[override]  # takes less
        super().update(_made_safe(text), layout=layout)


class Options(OptionList):
    """What one can choose from; markup is not read."""

    def __init__(self, *prompts: str | Content, id: str | None = None, compact: bool = False) -> None:
        super().__init__(*prompts, id=id, compact=compact, markup=False)

    @property
    def cursor_screen_offset(self) -> Offset:
        """Where the highlighted one begins."""
        line = self._index_to_line.get(self.highlighted, 0) if self.highlighted is not None else 0
        return self.content_region.offset + Offset(0, line - self.scroll_offset.y)

    def add_options(self, new_options: Iterable[str | Content]) -> Self:  # type: ignore[override]  # takes less
        """Behind those that are there."""
        return super().add_options(map(_made_safe, new_options))

    def replace_option_prompt_at_index(self, index: int, prompt: str | Content) -> Self:  # type: ignore[override]  # takes less
        """Another wording of one of them."""
        return super().replace_option_prompt_at_index(index, _made_safe(prompt))
