"""The lines of a unified diff as tokens; of a changed line, the words that are new or gone are tokens of their own."""

import difflib
import re

from pygments.token import Token, _TokenType

LexedLine = list[tuple[_TokenType, str]]

REMOVED, ADDED = Token.Generic.Deleted, Token.Generic.Inserted
REMOVED_WORD, ADDED_WORD = REMOVED.Word, ADDED.Word

MOST_PAIRED = 60
"""Neighbouring changed lines that are compared word by word; longer runs are changed as a whole."""

LONGEST = 600
"""Characters of a line that is compared word by word."""

ALIKE = 0.4
"""Share of two lines that is the same, below which they have nothing to do with each other."""

_HEAD = re.compile(r"@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@")
_WORD = re.compile(r"\w+|\s+|.")


def lex_diff(text: str) -> list[LexedLine]:
    """Tokens of each line; joined they are the text."""
    lines = text.split("\n")
    lexed: list[LexedLine] = []
    at, old, new = 0, 0, 0  # lines of the hunk that are to come, by its head
    while at < len(lines):
        line = lines[at]
        in_hunk = old > 0 or new > 0
        if not in_hunk and (head := _HEAD.match(line)) is not None:
            old, new = (1 if count is None else int(count) for count in head.groups())
        elif in_hunk and not line.startswith("\\"):
            old, new = old - (line[:1] != "+"), new - (line[:1] != "-")
        if in_hunk and line.startswith("-"):
            removed = _run(lines, at, "-")[: max(1, old + 1)]
            added = _run(lines, at + len(removed), "+")[: max(0, new)]
            old, new = old - len(removed) + 1, new - len(added)
            lexed += _pair_lines(removed, added)
            at += len(removed) + len(added)
            continue
        lexed.append(_whole(line, in_hunk=in_hunk))
        at += 1
    return lexed


def _whole(line: str, *, in_hunk: bool) -> LexedLine:
    if not line:
        return []
    if in_hunk and line.startswith("+"):
        return [(ADDED, line)]
    if line.startswith(("@@", "--- ", "+++ ", "\\ ", "… ")):
        return [(Token.Comment, line)]
    return [(Token, line)]


def _run(lines: list[str], start: int, sign: str) -> list[str]:
    end = start
    while end < len(lines) and lines[end].startswith(sign):
        end += 1
    return lines[start:end]


def _pair_lines(removed: list[str], added: list[str]) -> list[LexedLine]:
    """Lines that take the place of others: each is compared with the one at its place."""
    before: list[LexedLine] = [[(REMOVED, line)] for line in removed]
    after: list[LexedLine] = [[(ADDED, line)] for line in added]
    if len(removed) + len(added) <= MOST_PAIRED:
        for place, (old, new) in enumerate(zip(removed, added, strict=False)):
            if max(len(old), len(new)) <= LONGEST:
                before[place], after[place] = _words(old, new)
    return before + after


def _words(old: str, new: str) -> tuple[LexedLine, LexedLine]:
    first, second = _WORD.findall(old[1:]), _WORD.findall(new[1:])
    matcher = difflib.SequenceMatcher(None, first, second, autojunk=False)
    if matcher.ratio() < ALIKE:
        return [(REMOVED, old)], [(ADDED, new)]
    before: LexedLine = [(REMOVED, "-")]
    after: LexedLine = [(ADDED, "+")]
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        same = tag == "equal"
        if i2 > i1:
            before.append((REMOVED if same else REMOVED_WORD, "".join(first[i1:i2])))
        if j2 > j1:
            after.append((ADDED if same else ADDED_WORD, "".join(second[j1:j2])))
    return before, after
