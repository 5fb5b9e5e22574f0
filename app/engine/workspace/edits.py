"""Changes of a text as a model writes them: a text that replaces another one, or a unified patch. Pure.

`old` and patches have simple line ends; each matches whatever line ends the text has, and what comes in gets those of
the text.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from oi_tui.app.engine.text.words import quantity
from oi_tui.app.engine.workspace.file_text import FileText

MOST_PLACES = 1_000
"""That are replaced at once."""


class WrongEdit(ValueError):
    """A change that does not fit the text; the message tells the model how to fix it."""


class EditedText(NamedTuple):
    """The text after a change."""

    text: str
    loosely: str = ""
    """What was done, in words, where the place was found only by ignoring white space; "" where it is exact."""
    places: int = 1


def replace_text(file: FileText, old: str, new: str, *, everywhere: bool = False) -> EditedText:
    """Replace a text, which must occur once, or with `everywhere` at least once."""
    old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    if not old:
        raise WrongEdit("`old` is empty: write_file writes a whole file.")
    if old == new:
        raise WrongEdit("`old` and `new` are the same.")
    pattern = re.compile(r"\r?\n".join(map(re.escape, old.split("\n"))))
    found = [match.span() for match in _first(pattern, file.text)]
    if not found:
        return _replace_loosely(file, old, new)
    if len(found) > 1 and not everywhere:
        lines = [file.text.count("\n", 0, start) + 1 for start, _ in found]
        told = ", ".join(map(str, lines[:5])) + (" …" if len(lines) > 5 else "")
        raise WrongEdit(
            f"`old` is there {quantity(len(found), 'time')} (lines {told}): give more of the text around it, or "
            "all=true."
        )
    incoming = file.with_line_ends(new)
    pieces, at = [], 0
    for start, end in found:
        pieces += [file.text[at:start], incoming]
        at = end
    return EditedText("".join((*pieces, file.text[at:])), places=len(found))


def _first(pattern: re.Pattern[str], text: str) -> list[re.Match[str]]:
    found: list[re.Match[str]] = []
    for match in pattern.finditer(text):
        if len(found) == MOST_PLACES:
            raise WrongEdit(f"`old` is there more than {MOST_PLACES:,} times.")
        found.append(match)
    return found


def _replace_loosely(file: FileText, old: str, new: str) -> EditedText:
    """The same lines but for white space at their ends, and one indentation of all; only where there is one place."""
    wanted = old.strip("\n").split("\n")
    lines = file.text.split("\n")
    bare, goal = [line.strip() for line in lines], [line.strip() for line in wanted]
    if not any(goal):
        raise WrongEdit(_nowhere(file, old))
    places = [at for at in range(len(bare) - len(goal) + 1) if bare[at : at + len(goal)] == goal]
    if len(places) != 1:
        raise WrongEdit(_nowhere(file, old))
    at, end = places[0], places[0] + len(goal)
    incoming = _indented_like(lines[at:end], wanted, new.strip("\n").split("\n"))
    ending = "\r" if file.line_end == "\r\n" else ""
    made = [*lines[:at], *(f"{line}{ending}" for line in incoming), *lines[end:]]
    if end == len(lines) and ending:
        made[-1] = made[-1].removesuffix(ending)
    where = f"line {at + 1}" if len(goal) == 1 else f"lines {at + 1} to {end}"
    return EditedText("\n".join(made), f"the text to replace is not there as given; {where} differ in white space only")


def _indented_like(there: Sequence[str], wanted: Sequence[str], new: Sequence[str]) -> list[str]:
    """The new lines, moved by as much as the lines that are there are from those that were looked for."""
    pairs = [(line, want) for line, want in zip(there, wanted, strict=True) if want.strip()]
    line, want = pairs[0]
    have, given = _indentation(line), _indentation(want)
    if have.startswith(given):
        return [f"{have[len(given) :]}{one}" if one.strip() else one for one in new]
    return [one.removeprefix(given[len(have) :]) if given.startswith(have) else one for one in new]


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _nowhere(file: FileText, old: str) -> str:
    """The error, with the nearest line, so that the model need not read the file again."""
    first = next((line.strip() for line in old.split("\n") if line.strip()), "")
    numbers = [number for number, line in enumerate(file.text.split("\n"), 1) if first and first in line]
    hint = f" Its first line is in line {numbers[0]}." if numbers else " Read the file again."
    return f"`old` is not in the file.{hint}"


# -- patches -----------------------------------------------------------------------------------------------------

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@.*")


class _Hunk(NamedTuple):
    line: int
    """Of the text before, from 1."""
    before: tuple[str, ...]
    after: tuple[str, ...]
    ends_bare: bool
    """Whether its last line of the text after has no line end."""


def apply_patch(file: FileText, patch: str) -> EditedText:
    """The text after a unified patch of one file. Each hunk must fit exactly, at its line or at one other place."""
    lines = file.plain.split("\n")
    shift, at, moved = 0, 0, 0
    made: list[str] = []
    for hunk in _hunks(patch):
        start = _place_of(hunk, lines, hunk.line - 1 + shift, at)
        moved += start != hunk.line - 1
        shift = start - (hunk.line - 1)
        made += [*lines[at:start], *hunk.after]
        at = start + len(hunk.before)
        if hunk.ends_bare and at >= len(lines) - 1 and lines[at:] in ([], [""]):
            at = len(lines)
    text = "\n".join((*made, *lines[at:]))
    if text == file.plain:
        raise WrongEdit("The patch changes nothing.")
    return EditedText(file.with_line_ends(text) if file.line_end == "\r\n" else text)


def _hunks(patch: str) -> list[_Hunk]:
    """WrongEdit for what is no unified patch of one file."""
    hunks: list[_Hunk] = []
    lines = patch.replace("\r\n", "\n").split("\n")
    if lines and not lines[-1]:
        lines.pop()
    at = next((number for number, line in enumerate(lines) if line.startswith("@@")), len(lines))
    while at < len(lines):
        head = _HUNK.fullmatch(lines[at])
        if head is None:
            raise WrongEdit(f"Line {at + 1} of the patch is no hunk: write `@@ -LINE,COUNT +LINE,COUNT @@`.")
        at += 1
        before: list[str] = []
        after: list[str] = []
        ends_bare = False
        while at < len(lines) and not lines[at].startswith("@@"):
            line = lines[at]
            match line[:1]:
                case " " | "":
                    before.append(line[1:])
                    after.append(line[1:])
                case "-" if not (
                    line.startswith("--- ") and lines[at + 1 : at + 2] and lines[at + 1].startswith("+++ ")
                ):
                    before.append(line[1:])
                case "+":
                    after.append(line[1:])
                case "\\":
                    ends_bare = lines[at - 1][:1] != "-"
                case "-":
                    raise WrongEdit("The patch is of several files: make one call for each.")
                case _:
                    raise WrongEdit(f"Line {at + 1} of the patch begins with none of ` `, `-`, `+`.")
            at += 1
        if before == after:
            raise WrongEdit("A hunk of the patch changes nothing.")
        hunks.append(_Hunk(max(1, int(head[1])), tuple(before), tuple(after), ends_bare))
    if not hunks:
        raise WrongEdit("The patch has no hunk: write it as `diff -u` does.")
    return hunks


def _place_of(hunk: _Hunk, lines: Sequence[str], expected: int, first: int) -> int:
    """The index of the line where it fits."""
    length, wanted = len(hunk.before), list(hunk.before)
    if not wanted:
        return max(first, min(expected + 1, len(lines) - 1)) if hunk.line > 1 or len(lines) > 1 else first
    if first <= expected and list(lines[expected : expected + length]) == wanted:
        return expected
    places = [at for at in range(first, len(lines) - length + 1) if list(lines[at : at + length]) == wanted]
    if len(places) == 1:
        return places[0]
    why = "fits nowhere" if not places else f"fits {quantity(len(places), 'time')}, and not at its line"
    raise WrongEdit(f"The hunk at line {hunk.line} {why}. Read the file again.")
