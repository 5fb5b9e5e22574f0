"""What a renderer can draw by itself, as a value: lines of text for a width."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

LinesAt = Callable[[int], Iterable[str]]
"""Lines for a width in cells, each as a program would print it: SGR codes colour it (`\\x1b[31m` is the theme's red,
`\\x1b[2m` is dim, `\\x1b[0m` ends both). All other codes are taken out, wide lines are moved sideways, not wrapped."""


@dataclass(frozen=True)
class Drawing:
    """What a renderer returns where no other form says it; called again at another width, on the screen's thread."""

    lines: LinesAt
