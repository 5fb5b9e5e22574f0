"""What an answer consists of once it has been read: the values that `parser.py` gives to the session.

The grammar of a whole answer, where a star means any number:

    ( ProseText ProseText* | CodeOpened CodeText* CodeClosed | ThinkingEnded )*

All `ProseText` between two codes (or the ends of the answer) are one run of prose. A run has text in it:
blank lines between two codes are no prose, nor are those at the edges of a run.
"""

from oi_tui.app.engine.core.values import Language, Value


class ProseText(Value, frozen=True, kw_only=True):
    """More Markdown."""

    text: str


class CodeOpened(Value, frozen=True, kw_only=True):
    """Code begins that can be run here."""

    language: Language
    call_id: str | None = None
    """Id of the native call that it comes in, None for code in the text."""


class CodeText(Value, frozen=True, kw_only=True):
    """More source of the code that is open."""

    text: str


class CodeClosed(Value, frozen=True, kw_only=True):
    """The code is over; `language` and `source` replace what was said before (see `habits.py`)."""

    language: Language
    source: str
    complete: bool = True
    """False: broken off, never to be run."""
    thought: bool = False
    """A native call in the middle of the model's thinking: never to be run."""


class ThinkingEnded(Value, frozen=True, kw_only=True):
    """All before this was the model's thinking, though nothing had said so: its code is never to be run."""


Piece = ProseText | CodeOpened | CodeText | CodeClosed | ThinkingEnded
