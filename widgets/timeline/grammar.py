r"""The Markdown that models write: CommonMark, tables, strike-through, footnotes, and mathematics.

Mathematics is between `$`, `$$`, `\(` and `\[`, or in an environment. A dollar before a number is a price: a formula
begins and ends without a space, and no letter or digit follows it. A displayed formula holds no empty line, so one that
is never closed takes nothing of what comes after it.
"""

import re
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.ruler import RuleOptionsType
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

DEEPEST = 60
"""Lists and quotes inside each other; what is deeper is not parsed."""

_NESTING = frozenset(("blockquote_open", "list_item_open", "footnote_reference_open"))
_ENVIRONMENTS = r"equation|align|aligned|alignat|gather|gathered|multline|eqnarray|cases|matrix|[pbBvV]matrix|array"
_BEGIN = re.compile(rf"\\begin\{{((?:{_ENVIRONMENTS})\*?)\}}")
_DISPLAYED = {"$$": "$$", "\\[": "\\]"}
_INTERRUPTS: "RuleOptionsType" = {"alt": ["paragraph", "reference", "blockquote", "list"]}


@cache
def parser() -> "MarkdownIt":
    """Gives the tokens of a text, all of it."""
    markdown = _blocks()
    markdown.inline.ruler.before("escape", "math_inline", _math_inline)
    return markdown


@cache
def outline_parser() -> "MarkdownIt":
    """Gives the blocks of a text without a look into them: where they start and end."""
    return _blocks().disable(["inline", "text_join"])


def is_cut(tokens: "Iterable[Token]") -> bool:
    """Whether something is nested so deep that the parser left out what is in it."""
    return any(token.level == DEEPEST - 1 and token.type in _NESTING for token in tokens)


def _blocks() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # heavy: after the first frame, which rarely needs it
    from mdit_py_plugins.footnote import footnote_plugin

    options = {"inline_definitions": True, "maxNesting": DEEPEST}
    markdown = MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
    footnote_plugin(markdown, inline=False, move_to_end=False, always_match_refs=True)
    markdown.block.ruler.before("fence", "math_block", _math_block, _INTERRUPTS)
    return markdown


def _math_block(state: "StateBlock", first: int, end: int, silent: bool) -> bool:
    if state.is_code_block(first):
        return False
    line = _line(state, first)
    closing = _closing(line)
    if closing is None:
        return False
    if silent:
        return True
    number = first
    lines = [line]
    closed = len(line) > 2 and line.endswith(closing)
    while not closed and number + 1 < end and not state.isEmpty(number + 1):
        if state.sCount[number + 1] < state.blkIndent:
            break
        number += 1
        lines.append(_line(state, number))
        closed = lines[-1].endswith(closing)
    token = state.push("math_block", "math", 0)
    token.content = "\n".join(lines)
    token.map = [first, number + 1]
    token.meta = {"closed": closed}
    state.line = number + 1
    return True


def _closing(line: str) -> str | None:
    """What ends the formula that starts with `line`, None where none starts."""
    if begin := _BEGIN.match(line):
        return f"\\end{{{begin[1]}}}"
    closing = _DISPLAYED.get(line[:2])
    if closing is None:
        return None
    rest = line[2:]
    if closing in rest and not (rest.endswith(closing) and rest.count(closing) == 1 and rest != closing):
        return None  # formulas inside a sentence
    return closing


def _line(state: "StateBlock", number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]].rstrip()


def _math_inline(state: "StateInline", silent: bool) -> bool:
    source, start = state.src, state.pos
    opening = source[start : start + 2]
    match opening:
        case "$$" | "\\[" | "\\(":
            closing = {"$$": "$$", "\\[": "\\]", "\\(": "\\)"}[opening]
            end = source.find(closing, start + 2, state.posMax)
        case _ if source[start] == "$":
            opening = closing = "$"
            end = _dollar(source, start, state.posMax)
        case _:
            return False
    content = source[start + len(opening) : end]
    if end < 0 or not content.strip():
        return False
    if not silent:
        token = state.push("math_inline", "math", 0)
        token.content = content
        token.markup = opening
    state.pos = end + len(closing)
    return True


def _dollar(source: str, start: int, most: int) -> int:
    """Where a formula that begins with a single dollar ends, -1 if it is a price or a variable."""
    if source[start + 1 : start + 2].isspace() or (start and (source[start - 1].isalnum() or source[start - 1] == "$")):
        return -1
    end = source.find("$", start + 1, most)
    while end > 0 and source[end - 1] == "\\":
        end = source.find("$", end + 1, most)
    if end < 0 or source[end - 1].isspace() or source[end + 1 : end + 2].isalnum():
        return -1
    return end
