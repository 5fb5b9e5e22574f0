"""How a terminal can be given pictures, as a value: the first frame needs it and nothing of what draws."""

from typing import Literal, NamedTuple

Protocol = Literal["kitty", "sixel", "half", "none"]
"""`kitty`: sent once, then text; `sixel`: laid over text; `half`: two pixels in a cell, in any terminal with colours;
`none`: only their captions."""


class Graphics(NamedTuple):
    """The protocol, and what it needs to know of the terminal."""

    protocol: Protocol = "half"
    cell: tuple[int, int] = (10, 20)
    """Width and height of a cell in pixels, where the terminal told it; else a common one."""
    colours: int = 256
    """Colours that a sixel picture can have."""
    largest: tuple[int, int] = (1000, 1000)
    """Width and height in pixels of one sixel picture, at most."""


HALF_BLOCKS = Graphics()
