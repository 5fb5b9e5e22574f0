"""Numbers, sizes, times and foreign text as a person reads them in one line."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from oi_tui.app.engine.core.encoding import decode_arguments
from oi_tui.app.engine.text.safe import safe_text

if TYPE_CHECKING:  # the first frame knows no outputs
    from oi_tui.app.engine.core.outputs import Progress

_UNITS = ("B", "kB", "MB", "GB", "TB")


def plural(number: int, noun: str, many: str = "") -> str:
    """The noun after this number: `line`, `lines`; `many` where an s is not enough."""
    return noun if number == 1 else many or f"{noun}s"


def quantity(number: int, noun: str, many: str = "") -> str:
    """A number with its noun: `1 line`, `2,400 lines`, `0 matches`."""
    return f"{number:,} {plural(number, noun, many)}"


def some_names(names: Sequence[str], most: int, others: int = 0) -> str:
    """The first `most` of the names and how many more there are, with `others` that are not among them: `a, b and 3
    more`."""
    more = max(0, len(names) - most) + others
    return ", ".join(names[:most]) + (f" and {more:,} more" if more else "")


def call_size(source: str) -> str:
    """How many arguments there are, in words."""
    try:
        count = len(decode_arguments(source))
        return quantity(count, "argument") if count else "no arguments"
    except ValueError:
        return "no JSON object"


def size_in_words(count: int) -> str:
    """Bytes in as many digits as matter: `734 bytes`, `1.2 kB`, `12 kB`, `1.3 GB`."""
    if count < 1_000:
        return quantity(count, "byte")
    amount, unit = _scale(count, len(_UNITS) - 1)
    return f"{amount:.1f} {unit}" if amount < 9.95 else f"{amount:,.0f} {unit}"


def short_size(count: int | None) -> str:
    """The same for a column, never broken: `734 B`, `1.2 kB`, `33 MB`; "" where it is unknown."""
    if count is None:
        return ""
    amount, unit = _scale(count, len(_UNITS))
    digits = 1 if unit != "B" and amount < 9.95 else 0
    return f"{amount:.{digits}f}\N{NO-BREAK SPACE}{unit}"


def coarse_size(count: int) -> str:
    """Bytes of what is downloaded or kept in memory: `98 MB`, `1.1 GB`, `20 GB`."""
    if count < 1e6:
        return f"{count:,} bytes"
    return progress_size(count) if count < 1e10 else f"{count / 1e9:.0f} GB"


def progress_size(count: int) -> str:
    """Bytes of a download so far, in a unit that stays: `0 MB`, `98 MB`, `12.3 GB`."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def duration(seconds: float) -> str:
    """Seconds in as many digits as matter: `0.42 s`, `12 s`, `3 min`, `2.0 h`."""
    if seconds < 0.995:
        return f"{seconds:.2f} s"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 119.5:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7_170 else f"{seconds / 3600:.1f} h"


def age_in_words(seconds: float) -> str:
    """How long ago something was, for a column: `now`, `5 min ago`, `3 h ago`, `2 d ago`."""
    if seconds < 60:
        return "now"
    if seconds < 5_400:
        return f"{seconds / 60:.0f} min ago"
    return f"{seconds / 3600:.0f} h ago" if seconds < 129_600 else f"{seconds / 86_400:.0f} d ago"


def describe_progress(progress: "Progress") -> str:
    """How far a run says it is: `3 of 10 · reading`, `1,204`."""
    done = f"{progress.done:,.10g}"
    count = done if progress.total is None else f"{done} of {progress.total:,.10g}"
    return f"{count} · {one_line(progress.message)}" if progress.message.strip() else count


def one_line(text: str) -> str:
    """Foreign text as a part of a row: what can be seen of it, its spaces and line breaks as single spaces."""
    return " ".join(safe_text(text).split())


def _scale(count: int, units: int) -> tuple[float, str]:
    """The amount in the unit that leaves one to three digits, of the first `units` units."""
    amount, unit = float(count), 0
    while amount >= 999.5 and unit < units - 1:
        amount, unit = amount / 1000, unit + 1
    return amount, _UNITS[unit]
