"""What takes the room in the context of a model, as `/context` shows it."""

from typing import Literal

from oi_tui.app.engine.core.values import Value

ContextState = Literal["whole", "shortened", "summarised", "left out", "pinned"]
"""How a block is sent to the model; `summarised`: a summary replaces it."""


class ContextPart(Value, frozen=True, kw_only=True):
    """A part of what a request consists of."""

    name: str
    tokens: int


class ContextRow(Value, frozen=True, kw_only=True):
    """A prompt, or an answer with what its code gave."""

    block_id: str
    number: int
    """Of its first block in the session; the model calls it by that."""
    title: str
    tokens: int
    state: ContextState


class ContextUse(Value, frozen=True, kw_only=True):
    """The parts of the next request."""

    model: str = ""
    """"" where there is none."""
    window: int | None = None
    """Tokens that it takes, None if unknown."""
    reserve: int = 0
    """Of these, kept for the answer."""
    parts: tuple[ContextPart, ...] = ()
    rows: tuple[ContextRow, ...] = ()
    """The largest first."""
    counted: int = 0
    """Tokens of the last request, as the server counted them; 0 where it did not. All other counts are estimates."""
