"""Colours for source that is still being written: every line is lexed once.

Pygments lexes whole texts. Here the stack of states that its regex lexers keep is carried from
line to line, so a growing source costs only its new lines. Lexers that need more than that stack
get every line on its own, which at worst gives a less exact colour.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pygments.token import Error, Text, Token, _TokenType

from oi_tui.widgets.timeline.diff_tokens import LexedLine, lex_diff

if TYPE_CHECKING:
    from pygments.lexer import Lexer

LONGEST_LINE = 2_000
"""Characters; a longer line is shown without colours, at once."""

_NAMES = {"shell": "bash", "ir": "r", "ijavascript": "javascript", "deno": "typescript", "": "text"}
"""Languages and kernels that Pygments calls otherwise."""


class LineLexer:
    """Lexes lines one after the other."""

    def __init__(self, language: str) -> None:
        from pygments.lexer import RegexLexer  # deferred: for the first code

        self._lexer = _lexer(language)
        self._carries = (
            isinstance(self._lexer, RegexLexer)
            and type(self._lexer).get_tokens_unprocessed is RegexLexer.get_tokens_unprocessed
        )
        self._stack = ["root"]

    def line(self, text: str, *, last: bool = False) -> LexedLine:
        """Tokens of the next line; with `last` it may still grow, and the state stays as it was."""
        if self._lexer is None or len(text) > LONGEST_LINE:
            return [(Token, text)] if text else []
        if not self._carries:
            return _merge((kind, value) for _, kind, value in self._lexer.get_tokens_unprocessed(text + "\n"))
        stack = self._stack.copy() if last else self._stack
        return _merge(_run(self._lexer, text + "\n", stack))


def lex_whole(language: str, text: str) -> list[LexedLine]:
    """Tokens of all lines of a finished source, with constructs over several lines exact."""
    if language == "diff":
        return lex_diff(text)
    lexer = _lexer(language)
    lines: list[LexedLine] = [[]]
    if lexer is None:
        return [[(Token, line)] if line else [] for line in text.split("\n")]
    for _, kind, value in lexer.get_tokens_unprocessed(text + "\n"):
        for number, part in enumerate(value.split("\n")):
            if number:
                lines.append([])
            if part:
                lines[-1].append((kind, part))
    return lines


def _lexer(language: str) -> "Lexer | None":
    from pygments.lexers import get_lexer_by_name  # deferred: for the first code
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(_NAMES.get(language, language))
    except ClassNotFound:
        return None


def _merge(tokens: Iterable[tuple[_TokenType, str]]) -> LexedLine:
    merged: LexedLine = []
    for kind, value in tokens:
        text = value.replace("\n", "")
        if not text:
            continue
        if merged and merged[-1][0] is kind:
            merged[-1] = kind, merged[-1][1] + text
        else:
            merged.append((kind, text))
    return merged


def _run(lexer: "Lexer", text: str, stack: list[str]) -> LexedLine:
    """The loop of `RegexLexer.get_tokens_unprocessed`, which keeps its stack to itself."""
    states = lexer._tokens  # type: ignore[attr-defined]  # the table that every RegexLexer builds
    tokens: LexedLine = []
    position = 0
    while position < len(text):
        for match_at, action, change in states[stack[-1]]:
            match = match_at(text, position)
            if match is None:
                continue
            if isinstance(action, _TokenType):
                tokens.append((action, match.group()))
            elif action is not None:
                tokens += [(kind, value) for _, kind, value in action(lexer, match)]
            position = match.end()
            _change(stack, change)
            break
        else:
            if text[position] == "\n":
                stack[:] = ["root"]
                tokens.append((Text, "\n"))
            else:
                tokens.append((Error, text[position]))
            position += 1
    return tokens


def _change(stack: list[str], change: tuple[str, ...] | int | str | None) -> None:
    match change:
        case None:
            return
        case "#push":
            stack.append(stack[-1])
        case int():
            del stack[max(1, len(stack) + change if change < 0 else change) :]
        case tuple():
            for name in change:
                match name:
                    case "#pop":
                        del stack[max(1, len(stack) - 1) :]
                    case "#push":
                        stack.append(stack[-1])
                    case _:
                        stack.append(name)
        case _:
            raise AssertionError(f"unknown state change {change!r}")
