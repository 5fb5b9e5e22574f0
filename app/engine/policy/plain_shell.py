"""The plain reader of shell: it knows words, quotes without expansions, and five signs between commands."""

import re
from typing import NamedTuple

GLOB = re.compile(r"(?<!\\)[*?\[]")
"""What the shell takes for a pattern of file names."""

_RESERVED = frozenset({
    *("if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "in", "select"),
    *("time", "function", "coproc", "{", "}", "!", "[[", "]]"),
})  # fmt: skip
"""Words of the grammar, which name no program."""


class _Signs(NamedTuple):
    """The whole grammar of the plain reader."""

    gap: re.Pattern[str] = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
    """Before a command."""
    prefix: re.Pattern[str] = re.compile(r"(?:LANG|LANGUAGE|LC_[A-Z]+|TZ|NO_COLOR|COLUMNS|LINES)=[\w.,:/@-]*[ \t]+")
    """Variables that change nothing but the look of what is printed."""
    program: re.Pattern[str] = re.compile(r"[\w./:@%+,~^-]+(?=[ \t\n;|&]|\Z)")
    blank: re.Pattern[str] = re.compile(r"[ \t]+(?:#[^\n]*)?|(?=[\n;|&]|\Z)")
    redirection: re.Pattern[str] = re.compile(r"(?:2>&1|(?:[12]|&)?>>?[ \t]*/dev/null)(?=[ \t\n;|&]|\Z)")
    word: re.Pattern[str] = re.compile(
        r"""(?:[\w./:=@%+,~^*?-]|'[^']*'|"[^"$`\\!]*")+(?=[ \t\n;|&]|\Z)""",
    )
    binding: re.Pattern[str] = re.compile(r"&&|\|\||\|(?!&)")
    """Between two commands."""
    ending: re.Pattern[str] = re.compile(r"[;\n](?![;&])")
    """After a command; another may follow."""
    quoted: re.Pattern[str] = re.compile(r"""'([^']*)'|"([^"]*)\"""")


_SIGNS = _Signs()


def plain_commands(source: str) -> list[tuple[str, ...]] | None:
    """The words of each command, None if there is anything else in the source."""
    commands: list[tuple[str, ...]] = []
    at = _skip(_SIGNS.gap, source, 0)
    while at < len(source):
        at = _skip(_SIGNS.prefix, source, at)
        program = _SIGNS.program.match(source, at)
        if program is None or program.group() in _RESERVED:
            return None
        words, at = [program.group()], program.end()
        while (blank := _SIGNS.blank.match(source, at)) is not None and blank.end() > at:
            at = blank.end()
            if redirection := _SIGNS.redirection.match(source, at):
                at = redirection.end()
            elif word := _SIGNS.word.match(source, at):
                if not _is_harmless(word.group()):
                    return None
                words.append(word.group())
                at = word.end()
        commands.append(tuple(_unquote(word) for word in words))
        if binding := _SIGNS.binding.match(source, at):
            at = _skip(_SIGNS.gap, source, binding.end())
            if at == len(source):
                return None
        elif ending := _SIGNS.ending.match(source, at):
            at = _skip(_SIGNS.gap, source, ending.end())
        elif at < len(source):
            return None
    return commands


def _skip(sign: re.Pattern[str], source: str, at: int) -> int:
    found = sign.match(source, at)
    return at if found is None else found.end()


def _is_harmless(word: str) -> bool:
    """Names of files that a pattern finds must not be taken for options: it begins with a letter or a folder."""
    bare = _SIGNS.quoted.sub("", word)
    return not ("*" in bare or "?" in bare) or bool(re.match(r"[\w./~]", word))


def _unquote(word: str) -> str:
    """The word as the grammar splits it: patterns for files keep their quotes."""
    if GLOB.search(_SIGNS.quoted.sub("", word)):
        return word
    return _SIGNS.quoted.sub(lambda found: found[1] if found[1] is not None else found[2], word)
