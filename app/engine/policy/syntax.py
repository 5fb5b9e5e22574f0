"""Whether a source has a syntax error for certain, before anybody is asked about it.

Only what is surely wrong counts: IPython's own lines are taken out first, and where the kernel's Python is another
version than ours, the grammar of the editor has to find an error as well. Of shell, only an open quote is found.
"""

import ast
import re
import sys
import warnings
from functools import cache

from tree_sitter import Language, Parser

from oi_tui.app.engine.policy import magics
from oi_tui.app.engine.policy.reading import LONGEST_SOURCE
from oi_tui.app.engine.policy.shell_grammar import parse_shell

_VERSION = re.compile(r"Python (\d+)\.(\d+)")
_FLAGS = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_SHOWN = 80
"""Characters of the wrong line that are repeated."""

_QUOTED = re.compile(r"\\.|'[^']*'|\"(?:[^\"\\]|\\.)*\"|(?<![^\s;&|()])#[^\n]*|(?P<open>['\"])|[^\\'\"#]+|.", re.DOTALL)


def find_syntax_error(language: str, source: str, place: str = "") -> str:
    """The error with its line, in words for a person and a model; "" if there is none, or none is certain. `place` is
    what the kernel runs in: "Python 3.12.4 in .venv"."""
    if len(source) > LONGEST_SOURCE:
        return ""
    match language:
        case "python":
            return _in_python(source, place)
        case "shell":
            return _in_shell(source)
        case _:
            return ""


def _in_python(source: str, place: str) -> str:
    source = _without_indent(source)
    if (error := _error_of(source)) is None:
        return ""
    line = magics.AUTOMATIC.fullmatch(source)
    if line is not None and line["name"] in magics.UNSIGNED:
        return ""
    apart = magics.split_magics(source)
    if apart.magics:
        if apart.magics[0].sign == "%%" or (error := _error_of(apart.python)) is None:
            return ""
    elif (error := _error_of(apart.python)) is None:  # prompts of a copied session
        return ""
    version = _VERSION.match(place)
    is_ours = version is not None and (int(version[1]), int(version[2])) == sys.version_info[:2]
    if not is_ours and not _python_parser().parse(apart.python.encode(errors="replace")).root_node.has_error:
        return ""
    number = error.lineno or 1
    return _in_words(error.msg, number, source)


def _error_of(source: str) -> SyntaxError | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the source, which is not ours
            compile(source, "<answer>", "exec", _FLAGS)
    except SyntaxError as error:
        return error
    except (ValueError, MemoryError, RecursionError, OverflowError):
        return None  # nested too deeply to tell, or no text
    return None


def _without_indent(source: str) -> str:
    """The source without the indent of its first line, as IPython reads it."""
    first = source.lstrip("\n")
    indent = first[: len(first) - len(first.lstrip(" \t"))]
    return re.sub(f"^{indent}", "", source, flags=re.MULTILINE) if indent else source


@cache
def _python_parser() -> Parser:
    import tree_sitter_python  # only after an error, where the versions differ

    return Parser(Language(tree_sitter_python.language()))


def _in_shell(source: str) -> str:
    if "<<" in source:  # in the text of a here-document, quotes are no quotes
        return ""
    opened = next((found for found in _QUOTED.finditer(source) if found["open"]), None)
    if opened is None:
        return ""
    tree = parse_shell(source)
    if tree is None or not tree.root_node.has_error:
        return ""
    return _in_words(f"the quote {opened['open']} is never closed", source.count("\n", 0, opened.start()) + 1, source)


def _in_words(what: str, number: int, source: str) -> str:
    lines = source.split("\n")
    text = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    text = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
    return f"line {number}: {what}" + (f": {text}" if text else "")
