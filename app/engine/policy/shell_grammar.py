"""The grammar of bash, kept from what ends the process and from what it takes too long for."""

import re
import time
from functools import cache

import tree_sitter_bash
from tree_sitter import Language, Parser, Tree

PARSING = 0.3
"""Seconds of processor time for the grammar."""

MANY_PIPES = 2_000
"""Of a source; the last step of the grammar cannot be stopped, and takes the square of them."""

_PIECE = 65_536

_FOREIGN = re.compile(rb"[\x80-\xff]")
"""To a shell these are letters of a word and no more. The grammar's lexer looks such characters up beyond the end of a
table, and the process ends there; so it is shown a sign of the same meaning in their place."""


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def parse_shell(source: str) -> Tree | None:
    """What the grammar makes of it; None where that takes too long: of a row of ten thousand pipes a minute."""
    if source.count("|") > MANY_PIPES:
        return None
    data, end = _FOREIGN.sub(b"%", source.encode()), time.thread_time() + PARSING
    try:
        return _parser().parse(
            lambda offset, _: data[offset : offset + _PIECE], progress_callback=lambda *_: time.thread_time() > end
        )
    except ValueError:  # it was stopped, and would go on there
        _parser().reset()
        return None
