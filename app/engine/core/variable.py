"""What a front end gets about the variables of a kernel."""

from typing import Literal

from oi_tui.app.engine.core.values import Value

Telling = Literal["told", "gone", "cold", "dead", "busy", "silent"]
"""`cold`: nothing has run yet; `dead`: its process is gone; `busy`: it runs something, and is not asked then;
`silent`: it does not know the question, or did not answer in time."""


class Variable(Value, frozen=True, kw_only=True):
    """One name and what a cheap look at its value tells."""

    name: str
    type: str
    shape: str = ""
    """Its length, or `rows×columns`; "" where it has none."""
    size: int | None = None
    """Bytes, without those of what it refers to; None: unknown."""
    peek: str = ""
    """The value on one line, truncated; "" if reading it would run code."""


class CodeName(Value, frozen=True, kw_only=True):
    """One possible name at the cursor."""

    name: str
    kind: str = ""
    """Its type, in a word."""
