"""Code with a syntax error goes back to the model before anybody is asked about it."""

from oi_tui.app.engine.core.blocks import ActionBlock, CodeBlock
from oi_tui.app.engine.core.outcomes import SYNTAX_ERROR

MOST = 2
"""Times in a row; then it is asked about like any other code, for the check may be wrong."""


class SyntaxCheck:
    """Counts what one session sends back."""

    def __init__(self) -> None:
        self._in_a_row = 0

    def objection(self, block: ActionBlock, place: str) -> str:
        """Why this goes back unasked, "" if it does not. `place` is what its kernel runs in."""
        from oi_tui.app.engine.policy.syntax import find_syntax_error  # for the first code

        error = find_syntax_error(block.language, block.source, place) if isinstance(block, CodeBlock) else ""
        if not error or self._in_a_row >= MOST:
            self._in_a_row = 0
            return ""
        self._in_a_row += 1
        return f"{SYNTAX_ERROR}{error}"
