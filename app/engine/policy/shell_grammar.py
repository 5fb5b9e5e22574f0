"""The grammar of bash, kept from what ends the process and from what it takes too long for."""

import re
import time
from functools import cache
from itertools import pairwise

import tree_sitter_bash
from tree_sitter import Language, Node, Parser, Tree

NO_TEXT = re.compile(r"[\0\ud800-\udfff]")
"""What no shell takes, and Python cannot encode."""

BROKEN_WORD = re.compile(r"(?<![ \t])(?:\\\n)+")
"""To a shell this is nothing; to the grammar it ends a word, or takes the end of a line before it away."""

_BRACKETS = re.compile(r"[(\[{}\])]")

PARSING = 0.3
"""Seconds of processor time for the grammar."""

MANY_PIPES = 2_000
"""Of a source; the last step of the grammar cannot be stopped, and takes the square of them."""

_PIECE = 65_536

_FOREIGN = re.compile(rb"[\x80-\xff]")
"""To a shell these are letters of a word and no more. The grammar's lexer looks such characters up beyond the end of a
table, and the process ends there; so it is shown a sign of the same meaning in their place."""


REDIRECTIONS = frozenset({"file_redirect", "herestring_redirect", "heredoc_redirect"})

_SUBSTITUTION = re.compile(r"\$['\"\\]*\(|`")
END_WORD = re.compile(r"\\?[\w.+-]+|'[^'\n]+'|\"[^\"\n$`\\]+\"")
"""What ends a text in the source; anything odder the grammar reads otherwise than bash."""

_ESCAPED = re.compile(r"\\[$`]|\\\(")
HELD_BACK = {
    "raw_string": _SUBSTITUTION,
    "ansi_c_string": re.compile(r"\$\(|`|\\[xuU0-7]"),
    "heredoc_body": _SUBSTITUTION,
    "concatenation": re.compile(r"\$['\"\\]+\(|\\[$`]"),
    "word": _ESCAPED,
    "string": _ESCAPED,
}
"""Substitutions that bash makes only when it evaluates the text again, by type of node."""


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def parse_shell(source: str) -> Tree | None:
    """The syntax tree; None if parsing takes too long: a row of ten thousand pipes would take a minute."""
    if source.count("|") > MANY_PIPES:
        return None
    data, end = _FOREIGN.sub(b"%", source.encode()), time.thread_time() + PARSING
    try:
        return _parser().parse(
            lambda offset, _: data[offset : offset + _PIECE], progress_callback=lambda *_: time.thread_time() > end
        )
    except ValueError:  # it was stopped and would resume there
        _parser().reset()
        return None


def hides_substitution(body: Node, source: bytes) -> bool:
    """Whether bash finds a substitution in a text where the grammar has none, as behind a blank at its begin."""
    starts = [child for child in body.parent.children if child.type == "heredoc_start"] if body.parent else []
    if any(re.search(r"['\"\\]", source[start.start_byte : start.end_byte].decode()) for start in starts):
        return False  # it is used as it is
    known, end = b"", body.start_byte
    for child in body.named_children:
        if child.type in ("command_substitution", "arithmetic_expansion", "expansion"):
            known, end = known + source[end : child.start_byte], child.end_byte
    return re.search(rb"(?<!\\)(?:\\\\)*(?:\$\(|\$\{|`)", known + source[end : body.end_byte]) is not None


def is_split_wrongly(node: Node, source: bytes) -> bool:
    """Whether the grammar made several words of one, or left something out between them."""
    for one, other in pairwise(node.children):
        between = source[one.end_byte : other.start_byte]
        if between.replace(b"\\\n", b"").strip() or not (between or {one.type, other.type} & REDIRECTIONS):
            return True
    return False


def bracket_depth(source: str) -> int:
    """How deeply brackets are nested, whatever they mean: the grammar takes seconds for some thousands."""
    deepest = depth = 0
    for sign in _BRACKETS.findall(source):
        depth += 1 if sign in "([{" else -1
        deepest = max(deepest, depth)
    return deepest
