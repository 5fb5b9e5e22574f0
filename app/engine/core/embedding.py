"""What turns texts into vectors, so that texts of one meaning are near to each other."""

from collections.abc import Callable, Sequence
from typing import NamedTuple


class Embedding(NamedTuple):
    """A model of meaning. `embed` is called in a thread, with 500 texts at most."""

    name: str
    """With its version: vectors are kept under this name, and computed again for another one."""
    embed: Callable[[Sequence[str]], Sequence[Sequence[float]]]
    """One vector for each text, all of one length."""
