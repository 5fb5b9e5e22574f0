"""The screen with NO_COLOR: the terminal's own two colours, and other signs for what colours mean. Each of the sixteen
colours of the `terminal` theme has a meaning: the row that the keys act on is reversed, secondary words are dim, and
important ones are bold.
"""

from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

_DIM = frozenset({7, 8})
"""White and bright black: metadata, rules."""
_BOLD = frozenset({9, 11, 14})
"""Bright red, yellow and cyan: errors, warnings, what is the person's to act on."""


class WithoutColour(LineFilter):
    """No colours, in every line that is drawn."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same text in attributes alone."""
        return [Segment(text, None if style is None else _plain(style), control) for text, style, control in segments]


@lru_cache(2_048)
def _plain(style: Style) -> Style:
    ink = style.color.number if style.color is not None else None
    ground = style.bgcolor
    return Style(
        bold=style.bold or ink in _BOLD,
        dim=style.dim or ink in _DIM,
        italic=style.italic,
        underline=style.underline,
        strike=style.strike,
        reverse=style.reverse or (ground is not None and not ground.is_default),
        link=style.link,
        meta=style.meta,
    )
