"""Lines that open or close a fenced block of code.

The rules are CommonMark's, with three differences: a fence may be indented by any width (models indent the
blocks of a list as they like), one in a block quote is not seen, since a quote is not an order to run, and lines with
`<helpers>` and `</helpers>` alone are fences of Python code, in which there may be a fence once more.
"""

import re

from oi_tui.app.engine.core.values import Value

_LIST_MARKER = r"(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*"
_OPENING = re.compile(rf"([ \t]*)({_LIST_MARKER})(`{{3,}}|~{{3,}})(.*)")
_OPENING_BEGUN = re.compile(rf"[ \t]*{_LIST_MARKER}(?:[-*+]|\d{{1,9}}[.)]?|`*|~*|`{{3,}}[^`]*|~{{3,}}.*)")
_LABEL = re.compile(r"[\s{.]*((?:jupyter:)?[\w+#.-]+)")
"""The prefix is that of a kernelspec which is called like ours; another colon is the beginning of a file's name."""


HELPERS, HELPERS_END = "<helpers>", "</helpers>"


class Fence(Value, frozen=True, kw_only=True):
    """An opening line that was read."""

    indent: int
    """Width of the indent before it; the lines of the block are dedented by it."""
    marker: str
    """A list marker on the same line, which is prose; mostly empty."""
    ticks: str
    label: str
    """First word of the info string, without braces and dots: the language. Empty if there is none."""

    @property
    def holds_helpers(self) -> bool:
        """Whether it is a `<helpers>` line."""
        return self.ticks == HELPERS_END

    def is_closed_by(self, line: str) -> bool:
        """Whether the line (without its end) closes the block."""
        ticks = line.strip(" \t")
        if self.holds_helpers:
            return ticks == HELPERS_END
        return (
            len(ticks) >= len(self.ticks)
            and not ticks.strip(self.ticks[0])
            and len(line) - len(line.lstrip(" \t")) <= self.indent + 3
        )

    def may_be_closed_by(self, begun: str) -> bool:
        """Whether a line that begins like this may turn out to close the block."""
        ticks = begun.lstrip(" \t")
        if self.holds_helpers:
            return HELPERS_END.startswith(ticks.rstrip(" \t"))
        if len(begun) - len(ticks) > self.indent + 3:
            return False
        return not ticks.strip(self.ticks[0]) or self.is_closed_by(begun)

    def without_ticks(self, source: str) -> str:
        """Code that was not closed by a line of its own may have been closed on its last line."""
        code = source.removesuffix(self.ticks)
        return code if code.strip() else source

    def dedent(self, line: str) -> str:
        """A line (or its beginning) of the block without the fence's indent."""
        blank = len(line) - len(line.lstrip(" \t"))
        return line[min(blank, self.indent) :]


def opening(line: str) -> Fence | None:
    """The fence that this line (without its end) opens."""
    if line.strip(" \t") == HELPERS:
        return Fence(indent=len(line) - len(line.lstrip(" \t")), marker="", ticks=HELPERS_END, label="python")
    found = _OPENING.fullmatch(line)
    if found is None:
        return None
    indent, marker, ticks, info = found.groups()
    if ticks[0] == "`" and "`" in info:
        return None
    label = _LABEL.match(info)
    return Fence(
        indent=len(indent) + len(marker),
        marker=indent + marker if marker else "",
        ticks=ticks,
        label=label.group(1).rstrip(".") if label else "",
    )


def may_open(begun: str) -> bool:
    """Whether a line that begins like this may turn out to open a block."""
    tag = begun.strip(" \t")
    return _OPENING_BEGUN.fullmatch(begun) is not None or HELPERS.startswith(tag) or HELPERS_END.startswith(tag)


def is_helpers_end(line: str) -> bool:
    """Whether the line (without its end) closes `<helpers>` whose code had a fence of its own."""
    return line.strip(" \t") == HELPERS_END
