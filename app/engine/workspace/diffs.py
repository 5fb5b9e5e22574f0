"""What a change does to a text, as a unified diff: bounded, in text that is safe to show."""

import difflib
from typing import NamedTuple

from oi_tui.app.engine.text.safe import visible_text
from oi_tui.app.engine.text.words import quantity

CONTEXT = 3
"""Lines around a change."""

MOST_LINES = 2_000
"""Of a diff; what is behind is counted."""

MOST_WIDTH = 2_000
"""Characters of a line."""

COMPARED_LINES = 20_000
"""Of both texts; more are not compared one by one, but shown as replaced from the first change to the last."""

MIME = "text/x-diff"


class TextDiff(NamedTuple):
    """A diff and its size."""

    text: str
    added: int
    removed: int

    def describe(self) -> str:
        """The change in words: “3 lines added, 1 removed”."""
        if not self.removed:
            return f"{quantity(self.added, 'line')} added"
        if not self.added:
            return f"{quantity(self.removed, 'line')} removed"
        return f"{quantity(self.added, 'line')} added, {self.removed:,} removed"


def unified_diff(before: str | None, after: str | None, name: str) -> TextDiff:
    """The change from one text to another, None where there is no file; with the names as git writes them."""
    name = _one_line(name)
    old, new = _lines(before), _lines(after)
    heads = (
        f"--- {'/dev/null' if before is None else f'a/{name}'}",
        f"+++ {'/dev/null' if after is None else f'b/{name}'}",
    )
    hunks = _hunks(old, new)
    added = removed = 0
    shown: list[str] = []
    left = 0
    for line in hunks:
        added += line.startswith("+")
        removed += line.startswith("-")
        if len(shown) < MOST_LINES:
            shown.append(line)
        else:
            left += 1
    if left:
        shown.append(f"… {quantity(left, 'more line')} of the diff")
    return TextDiff("\n".join((*heads, *shown)) if shown else "", added, removed)


def _lines(text: str | None) -> list[str]:
    """Each with its line end, by which a missing one at the end of the file shows."""
    lines = (text or "").replace("\r\n", "\n").split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _hunks(old: list[str], new: list[str]) -> list[str]:
    """Hunks of a unified diff, with a remark where the last line has no end."""
    head = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    most = min(len(old), len(new)) - head
    tail = next((n for n in range(most) if old[-1 - n] != new[-1 - n]), most)
    start = max(0, head - CONTEXT)
    ends = (min(len(old), len(old) - tail + CONTEXT), min(len(new), len(new) - tail + CONTEXT))
    parts = (old[start : ends[0]], new[start : ends[1]])
    found: list[str] = []
    for group in _groups(*parts):
        first, last = group[0], group[-1]
        found.append(f"@@ -{_span(first[1] + start, last[2] + start)} +{_span(first[3] + start, last[4] + start)} @@")
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                found += (f" {_show_line(line)}" for line in parts[0][i1:i2])
                continue
            found += _change_lines("-", parts[0][i1:i2])
            found += _change_lines("+", parts[1][j1:j2])
    return found


def _groups(old: list[str], new: list[str]) -> list[list[tuple[str, int, int, int, int]]]:
    if len(old) + len(new) > COMPARED_LINES:  # rather than minutes of comparing
        return [[("replace", 0, len(old), 0, len(new))]] if old != new else []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=len(old) > 500)
    return [list(group) for group in matcher.get_grouped_opcodes(CONTEXT)]


def _change_lines(sign: str, lines: list[str]) -> list[str]:
    shown: list[str] = []
    for line in lines:
        shown.append(f"{sign}{_show_line(line)}")
        if not line.endswith("\n"):
            shown.append("\\ No newline at end of file")
    return shown


def _span(start: int, end: int) -> str:
    count = end - start
    return f"{start + 1 if count else start},{count}" if count != 1 else f"{start + 1}"


def _show_line(line: str) -> str:
    """On one line, with what nobody could see spelled out."""
    text = line.removesuffix("\n")
    text = text if len(text) <= MOST_WIDTH else f"{text[:MOST_WIDTH]}…"
    return _one_line(text)


def _one_line(text: str) -> str:
    return text if text.isascii() and text.isprintable() else visible_text(text, emoji=False).text.replace("\n", "\\n")
