"""How the variables read: rows that fit any width, sizes, and words for when there is nothing to show."""

import re
from typing import Literal, NamedTuple

from rich.cells import cell_len
from textual.content import Content

from oi_tui.app.engine.core.kernel_looks import VariablesFound
from oi_tui.app.engine.core.values import Language
from oi_tui.app.engine.core.variable import Telling, Variable
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.words import one_line, short_size
from oi_tui.widgets.lettering import lettering

ChangeMark = Literal["+", "~", "-", " "]

MARKS: dict[ChangeMark, str] = {"+": "$ok", "~": "$warning", "-": "$error", " ": "$dim"}
"""What the last run did to a variable: added, changed, removed, nothing; and the colour of that."""

_WORTH_TELLING = 1000
"""Bytes; the size of anything smaller says nothing, and has no room in a row."""

_LONG_NUMBER = re.compile(r"(?<!\d)\d{5,15}(?!\d)")


class VariableEntry(NamedTuple):
    """A variable as a row of the panel."""

    variable: Variable
    mark: ChangeMark = " "

    @property
    def is_gone(self) -> bool:
        """Whether there is nothing left to look at."""
        return self.mark == "-"


def variable_entries(found: VariablesFound) -> list[VariableEntry]:
    """What the last run did first, then the rest, each by name."""
    added, changed = frozenset(found.added), frozenset(found.changed)
    rows = [
        VariableEntry(variable, "+" if variable.name in added else "~" if variable.name in changed else " ")
        for variable in found.variables
    ]
    rows += [VariableEntry(Variable(name=name, type=""), "-") for name in found.removed]
    return sorted(rows, key=lambda row: ("+~- ".index(row.mark), row.variable.name.casefold(), row.variable.name))


def entry_matches(entry: VariableEntry, wanted: str) -> bool:
    """Whether it passes the filter: its name or type contains the typed text."""
    wanted = wanted.casefold()
    return wanted in entry.variable.name.casefold() or wanted in entry.variable.type.casefold()


def name_width(rows: list[VariableEntry], width: int) -> int:
    """Cells of the column of names: those of the longest name, at most a third of the row."""
    longest = max((cell_len(safe_text(row.variable.name)) for row in rows), default=0)
    return max(4, min(longest, width // 3))


def row_line(entry: VariableEntry, width: int, names: int, *, highlighted: bool) -> Content:
    """Mark, name, what it is, and its size where that fits."""
    variable, colour = entry.variable, MARKS[entry.mark]
    left = lettering(
        ("▸" if highlighted else " ", "bold $accent"),
        (entry.mark, f"bold {colour}"),
        " ",
        _cell(one_line(variable.name), names, f"bold {colour}" if entry.mark != " " else "$foreground"),
        " ",
    )
    size = short_size(variable.size) if (variable.size or 0) >= _WORTH_TELLING else ""
    room = width - left.cell_length
    what = "removed" if entry.is_gone else type_and_size(variable)
    if size and cell_len(what) + 1 + len(size) > room:
        size = ""  # the lines below it show the size anyway
    return lettering(left, _cell(what, room - len(size), "$dim"), (size, "$dim"))


def type_and_size(variable: Variable) -> str:
    """Its type and how large it is; the value instead where that is shorter than any measure."""
    measure = _LONG_NUMBER.sub(_round, one_line(variable.shape))
    if not measure or variable.type == "str":
        measure = one_line(variable.peek)
    return f"{one_line(variable.type)} {measure}".rstrip()


def summary(entry: VariableEntry) -> Content:
    """The highlighted variable in a few lines: all that is known without a longer look."""
    variable = entry.variable
    if entry.is_gone:
        return lettering((one_line(variable.name), "bold"), (" was removed by the last run", "$dim"))
    known = [one_line(variable.type), one_line(variable.shape), short_size(variable.size)]
    head = lettering((one_line(variable.name), "bold"), (" " + " · ".join(filter(None, known)), "$dim"))
    return Content("\n").join([head, lettering((one_line(variable.peek), "$foreground"))]) if variable.peek else head


def inspector_title(found: VariablesFound | None, *, current: bool) -> Content:
    """The language, the number of variables, and whether the list is up to date."""
    if found is None:
        return lettering(("Variables", "bold"))
    more = "+" if found.cut else ""
    count = len(found.variables)
    parts = [f"{safe_text(found.language)} · {count}{more}"]
    parts += [f"{mark}{len(names)}" for mark, names in _changes(found) if names]
    if not current:
        parts.append("not up to date")
    return lettering(("Variables", "bold"), ("  " + " ".join(parts), "$dim"))


def _changes(found: VariablesFound) -> tuple[tuple[ChangeMark, tuple[str, ...]], ...]:
    return ("+", found.added), ("~", found.changed), ("-", found.removed)


def explain_no_variables(telling: Telling, language: Language) -> str:
    """Why the variables of a kernel cannot be listed, for the panel."""
    name = _language_name(language)
    match telling:
        case "told":
            return "No variables yet."
        case "cold":
            return f"No {name} has run yet. What its runs leave behind is listed here."
        case "dead":
            return f"{name} has ended, and its variables with it."
        case "busy":
            return f"{name} is busy. It is asked when it is done."
        case "silent":
            return f"This {name} kernel does not tell its variables."
        case "gone":
            return "It is not there any more."


def explain_no_detail(telling: Telling, text: str, language: Language) -> str:
    """The same for a longer look at one variable; "" where there is something to see."""
    if telling == "told":
        return "" if text else "More could only be known by running its own code; print it in a cell."
    if telling == "busy":
        return f"{_language_name(language)} is busy. Press enter again when it is done."
    return explain_no_variables(telling, language)


def _round(number: re.Match[str]) -> str:
    """A measure that would not fit; the lines below the rows have it in full."""
    digits = len(number.group())
    exponent = min(12, (digits - 1) // 3 * 3)
    amount = int(number.group()[: digits - exponent + 1]) / 10
    return f"{amount:.3g}{'kMGT'[exponent // 3 - 1]}"


def _cell(text: str, width: int, style: str) -> Content:
    return lettering((text, style)).truncate(max(0, width), ellipsis=True, pad=True)


def _language_name(language: Language) -> str:
    return safe_text(language).capitalize()
