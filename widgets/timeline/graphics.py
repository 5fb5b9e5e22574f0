"""How a terminal can be given pictures, as a value: the first frame needs it and nothing of what draws."""

from typing import Literal, NamedTuple

Protocol = Literal["kitty", "sixel", "cells", "none"]
"""`kitty`: sent once, then text; `sixel`: laid over text; `cells`: characters, in any terminal with colours;
`none`: only their captions."""

CellParts = tuple[int, int]
"""Into how many parts a character cuts its cell, across and down: (1, 2) halves, (2, 2) quadrants, (2, 3) sextants."""

HALVES, QUADRANTS, SEXTANTS = (1, 2), (2, 2), (2, 3)


class Graphics(NamedTuple):
    """The protocol, and what it needs to know of the terminal."""

    protocol: Protocol = "cells"
    cell: tuple[int, int] = (10, 20)
    """Width and height of a cell in pixels, as the terminal reported; else a common size."""
    colours: int = 256
    """Colours that a sixel picture can have."""
    largest: tuple[int, int] = (1000, 1000)
    """Width and height in pixels of one sixel picture, at most."""
    parts: CellParts = QUADRANTS
    """What a picture in cells is made of: fonts have quadrants nearly everywhere, sextants where they are new."""


IN_CELLS = Graphics()
