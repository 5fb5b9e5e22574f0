"""IPython's additions to Python: `!command`, `%magic`, `%%cell magic`, `name?`.

A rule of our own in place of IPython's transformer, whose import takes a quarter of a second and pulls in two hundred
modules. It is coarser: what begins a logical line with one of IPython's signs is taken for such a line, and it is
looked for only where the source is not Python without it (no line that begins so is).
"""

import re
from typing import NamedTuple

_MAGIC = re.compile(
    r"(?P<indent>[ \t]*)(?:(?P<target>[\w., \t()\[\]*'\"]+?)\s*=\s*)?(?P<sign>!!|!|%%|%)(?P<rest>(?:[^\n\\]|\\\n|\\)*)"
)
_HELP = re.compile(r"(?P<indent>[ \t]*)(?:\?{1,2}[^\n]*|[\w.*%]+\?{1,2})[ \t]*(?=\n|\Z)")
_CALL = re.compile(r"(?P<indent>[ \t]*)[,;/](?P<rest>[A-Za-z_][^\n]*)")
_TOKEN = re.compile(
    r"[rbfuRBFU]{0,2}(?:'''(?:[^\\]|\\.)*?'''|\"\"\"(?:[^\\]|\\.)*?\"\"\"|'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")"
    r"|#[^\n]*|\\\n|[^'\"#()\[\]{}\\\n\w]+|\w+|.|\n",
    re.DOTALL,
)
_PROMPT = re.compile(r"^[ \t]*(?:>>> ?|\.\.\. ?|In \[\d+\]: ?|\.\.\.+: ?)", re.MULTILINE)
AUTOMATIC = re.compile(r"\s*(?P<name>[A-Za-z_]\w*)(?:[ \t]+(?P<rest>[^=\s].*))?\s*")
"""One line alone: the first word may be a magic without its sign."""

UNSIGNED = frozenset({
    *("cat", "cp", "ldir", "lf", "lk", "ll", "ls", "lx", "mkdir", "mv", "rm", "rmdir", "man", "less", "more"),
    *("clear", "cd", "pushd", "popd", "sx", "sc", "system", "run", "pip", "conda", "mamba", "micromamba", "uv"),
    *("env", "set_env", "edit", "load", "save", "writefile", "store", "time", "timeit", "prun", "macro", "rerun"),
    *("recall", "alias"),
})  # fmt: skip
"""Names for which that counts."""


class Magic(NamedTuple):
    """A line that is not Python."""

    sign: str
    """`!`, `!!`, `%`, `%%`, `?` or `,` (for every call without brackets, and anything unknown)."""
    rest: str
    line: int
    """From 1."""


class SplitSource(NamedTuple):
    """A source taken apart: Python, with the same line numbers, and the rest."""

    python: str
    magics: tuple[Magic, ...]
    body: str = ""
    """Of a cell magic: everything after its first line."""


def split_magics(source: str) -> SplitSource:
    """Every such line replaced by `None`, or by an assignment of it; without the prompts of a copied session."""
    if _PROMPT.match(source.lstrip()):
        source = _PROMPT.sub("", source)
    blank = len(source) - len(source.lstrip())
    if source.startswith("%%", blank):
        first, _, body = source[blank:].partition("\n")
        line = source.count("\n", 0, blank) + 1
        return SplitSource("", (Magic("%%", first[2:], line),), body)
    pieces: list[str] = []
    magics: list[Magic] = []
    at, line, depth, begins = 0, 1, 0, True
    while at < len(source):
        if begins and depth == 0 and (found := _magic(source, at)) is not None:
            sign, rest, python, end = found
            magics.append(Magic(sign, rest, line))
            text = source[at:end]
            pieces.append(python + "\n" * text.count("\n"))
            line += text.count("\n")
            at, begins = end, False
            continue
        token = _TOKEN.match(source, at)
        assert token is not None, "every character is a token"
        text = token.group()
        begins = text == "\n"
        if text in "([{":
            depth += 1
        elif text in ")]}":
            depth = max(0, depth - 1)
        line += text.count("\n")
        pieces.append(text)
        at = token.end()
    return SplitSource("".join(pieces), tuple(magics))


def _magic(source: str, at: int) -> tuple[str, str, str, int] | None:
    """Sign, rest, the Python in its place, and where it ends."""
    if (found := _MAGIC.match(source, at)) is not None:
        python = f"{found['target']} = None" if found["target"] else "None"
        sign = "," if found["sign"] == "%%" else found["sign"]  # below the first line it is nothing that is known
        return sign, found["rest"].replace("\\\n", " "), found["indent"] + python, found.end()
    if (found := _HELP.match(source, at)) is not None:
        return "?", "", f"{found['indent']}None", found.end()
    if (found := _CALL.match(source, at)) is not None:
        return ",", found["rest"], f"{found['indent']}None", found.end()
    return None
