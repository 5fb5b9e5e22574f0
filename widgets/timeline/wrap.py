"""Wraps styled text at a width in cells: at spaces, inside a word only if necessary.

Right-to-left text stays in logical order, without isolates (U+2068, U+2069) around it. They would help in a terminal
that reorders such text, but such terminals drop them or forget them in their cells, and others have shown them as
characters with a width (Windows Terminal did until 2025), which would shift everything after them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from rich.cells import cell_len, split_graphemes
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

TextRun = tuple[str, Style]
"""A piece of text in one style; may hold newlines."""

Line = list[Segment]
"""One row of content, not yet padded."""


class Continuation(list[Segment]):
    """A `Line` that continues the text of the row above it.

    Copying and searching undo the break: they drop the first `lead` cells, which only indent, and put `joint` in its
    place: the spaces that the break swallowed. The last `fill` cells are not text either: they only give the row its
    background.
    """

    def __init__(self, line: Iterable[Segment], joint: str = "", lead: int = 0, fill: int = 0) -> None:
        super().__init__(line)
        self.joint = joint
        self.lead = lead
        self.fill = fill


_WORD = re.compile(r"[^ ]+ *| +")

_WIDE = "\u2e80-\u2fff\u3000-\u312f\u3190-\u9fff\uf900-\ufaff\uff01-\uff9f\U00020000-\U0003ffff"
"""Chinese and Japanese, written without spaces; Korean has spaces."""

_OPENS = "〈《「『【〔〖〘〚〝（［｛｟｢"
_CLOSES = (
    "、。々〉》」』】〕〗〙〛〞〟〻！％），．：；？］｝｠｡｣､･・゛゜ゝゞーヽヾﾞﾟ"
    "ぁぃぅぇぉっゃゅょゎゕゖァィゥェォッャュョヮヵヶㇰ-ㇿｧ-ｰ"
)
"""What no line starts with: closing punctuation, small kana, marks of repetition."""

_MARKS = "\u0300-\u036f\u3099\u309a\u200d\ufe0f"
_HAS_WIDE = f"[{_WIDE}]"
_UNIT = (
    rf"(?:[{_OPENS}([{{]*(?![{_OPENS}{_CLOSES}])[{_WIDE}][{_MARKS}]*[{_CLOSES}{_MARKS},.!?;:)\]}}'\"…]*"  # one
    rf"|[{_OPENS}]*[^ {_WIDE}]+[{_CLOSES}{_MARKS}]*|[{_OPENS}{_CLOSES}]+) *| +"
)
"""What stays together: an ideograph with its punctuation, a word of other scripts. Compiled on first use, as is the one
above: the two take a hundredth of a second."""


def wrap(runs: Sequence[TextRun], width: int) -> list[Line]:
    """Rows no wider than `width`; a newline always ends a row."""
    plain = "".join(text for text, _ in runs)
    return _lines(runs, plain, _spans(plain, max(2, width)))


def fold_offsets(text: str, width: int) -> list[int]:
    """Offsets at which rows of `width` cells start when `text` is cut hard; the first is 0."""
    width = max(2, width)
    if text.isascii():
        return list(range(0, len(text), width)) or [0]
    starts, used = [0], 0
    for start, _, cells in split_graphemes(text)[0]:
        if used + cells > width:
            starts.append(start)
            used = 0
        used += cells
    return starts


def fold_runs(runs: Sequence[TextRun], width: int) -> list[Line]:
    """Rows of exactly `width` cells, for text in which columns matter; no newlines in it."""
    plain = "".join(text for text, _ in runs)
    starts = fold_offsets(plain, width)
    return _lines(runs, plain, zip(starts, [*starts[1:], len(plain)], strict=True))


def crop(runs: Sequence[TextRun], width: int, more: str = "…") -> Line:
    """One row; what does not fit is left out behind `more`, which is one cell wide."""
    plain = "".join(text for text, _ in runs)
    if len(plain) <= width and plain.isascii():
        return [Segment(text, style) for text, style in runs if text]
    if cell_len(plain) <= width:
        return [Segment(text, style) for text, style in runs if text]
    starts = fold_offsets(plain, max(2, width - 1))
    end = starts[1] if len(starts) > 1 else len(plain)
    (line,) = _cut(runs, [(0, end)])
    return [*line, Segment(more, runs[-1][1])] if width > 2 else line


def window(runs: Sequence[TextRun], shift: int, width: int) -> Line:
    """The `width` cells of one row that begin `shift` cells after its start; `‹` and `›` show that there is more."""
    if not shift:
        return crop(runs, width, more="›")
    strip = Strip([Segment(text, style) for text, style in runs if text])
    if strip.cell_length <= shift:
        return [Segment("‹", runs[-1][1])] if strip.cell_length else []
    more = strip.cell_length > shift + width
    inside = strip.crop(shift + 1, shift + width - more)
    marked = [Segment("‹", runs[0][1]), *inside]
    return [*marked, Segment("›", runs[-1][1])] if more else marked


def cells(line: Line) -> int:
    """Width of a row in cells."""
    return sum(segment.cell_length for segment in line)


def _lines(runs: Sequence[TextRun], plain: str, spans: Iterable[tuple[int, int]]) -> list[Line]:
    spans = list(spans)
    lines = list(_cut(runs, spans))
    for number, ((_, end), (start, _)) in enumerate(pairwise(spans), 1):
        swallowed = plain[end:start]
        if "\n" not in swallowed:
            lines[number] = Continuation(lines[number], swallowed)
    return lines


def _spans(plain: str, width: int) -> Iterator[tuple[int, int]]:
    offset = 0
    for paragraph in plain.split("\n"):
        if len(paragraph) <= width and paragraph.isascii():
            yield offset, offset + len(paragraph)
        else:
            for start, end in _paragraph(paragraph, width):
                yield offset + start, offset + end
        offset += len(paragraph) + 1


def _paragraph(text: str, width: int) -> Iterator[tuple[int, int]]:
    start = used = 0
    width_of = len if text.isascii() else cell_len
    is_wide = not text.isascii() and re.search(_HAS_WIDE, text)
    for match in re.finditer(_UNIT, text) if is_wide else _WORD.finditer(text):
        word = match.group().rstrip(" ")
        wide = width_of(word)
        if used and used + wide > width:
            yield start, len(text[: match.start()].rstrip(" "))
            start, used = match.start(), 0
        if wide > width:
            breaks = fold_offsets(text[start : match.start() + len(word)], width)
            for one, other in pairwise(breaks):
                yield start + one, start + other
            start += breaks[-1]
            used = cell_len(text[start : match.end()])
        else:
            used += wide + len(match.group()) - len(word)
    yield start, max(start, len(text.rstrip(" ")))


def _cut(runs: Sequence[TextRun], spans: Iterable[tuple[int, int]]) -> Iterator[Line]:
    """Slices of `runs`; the spans come in the order of the text."""
    first = passed = 0  # the first run that a span can touch, and where it begins
    for start, end in spans:
        while first < len(runs) and passed + len(runs[first][0]) <= start:
            passed += len(runs[first][0])
            first += 1
        line: Line = []
        index, offset = first, passed
        while index < len(runs) and offset < end:
            text, style = runs[index]
            if piece := text[max(0, start - offset) : end - offset]:
                line.append(Segment(piece, style))
            offset += len(text)
            index += 1
        yield line
