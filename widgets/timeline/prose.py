"""The model's Markdown as rows, linear in its length while it streams.

Every finished top-level element is drawn once and never parsed again; only the last one is. An open fence does not even
go through the Markdown parser: its lines go to a lexer that keeps its state. An element is drawn again only when
something that it refers to is defined. Whether text arrives in pieces or at once gives the same rows.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from rich.segment import Segment

from oi_tui.app.engine.core.blocks import ProseBlock
from oi_tui.widgets.timeline.definitions import Definitions, definitions_in
from oi_tui.widgets.timeline.elements import (
    OPENING,
    TABLE_HEAD,
    Element,
    ElementColumn,
    FencedCode,
    Start,
    build_element,
    element_pieces,
    starts_of,
)
from oi_tui.widgets.timeline.grammar import outline_parser
from oi_tui.widgets.timeline.inline import clean_text
from oi_tui.widgets.timeline.row_pieces import BlockDisplay, Canvas, RowPiece, Rows, Stack, rows
from oi_tui.widgets.timeline.table_rows import MarkdownTable
from oi_tui.widgets.timeline.wrap import crop


class Prose:
    """The rows of a `ProseBlock`."""

    has_more = False
    """Nothing of prose is hidden."""

    def __init__(self, block: ProseBlock) -> None:
        self._block = block
        self._kept: dict[tuple[object, ...], tuple[Element, list[RowPiece]]] = {}
        """Elements that may still change and did not, with their drawn rows."""
        self.parses = 0
        """Times that Markdown was parsed to find elements, for tests of the cost."""
        self.draws = 0
        """Times that a finished element was drawn, for tests of the cost."""
        self._restart()

    def update(self, block: ProseBlock) -> None:
        """A newer version of the block."""
        self._block = block

    def pieces(self, canvas: Canvas, display: BlockDisplay) -> list[RowPiece]:
        """What is drawn now."""
        self._advance()
        if display.fold == "closed":
            return [_closed_rows(self._block.text, canvas)]
        starts, lines = self._tail_starts()
        self._draw(canvas, display)
        pieces: list[RowPiece] = [self._column]
        first = not self._column.height
        self._tail_beyond = 0
        kept = self._kept
        self._kept = {}
        for start, element, key in self._tail(starts, lines):
            known = kept.get((*key, canvas, display, first))
            if known is None:
                drawn = list(element_pieces(start, element, canvas, display, self._definitions, first=first))
            else:
                element, drawn = known
            if isinstance(element, Element) and not element.open:
                self._kept[(*key, canvas, display, first)] = element, drawn
            first = first and not drawn
            pieces += drawn
            self._tail_beyond = max(self._tail_beyond, element.beyond)
        if self._block.state == "cut":
            pieces.append(rows(canvas, [[Segment("… interrupted", canvas.ink.dim)]], canvas.ink.page))
        return pieces

    @property
    def beyond(self) -> int:
        """Cells by which its widest table or formula is too wide; as of the last layout."""
        return max(self._tail_beyond, *self._wide.values()) if self._wide else self._tail_beyond

    def _restart(self) -> None:
        self._text = ""
        self._done: list[tuple[Start, Element | FencedCode | MarkdownTable]] = []
        self._taken = 0  # characters of the text that `_done` and the open fence hold
        self._lead = Start()  # what is known of the element that starts there
        self._fence: FencedCode | None = None
        self._table: MarkdownTable | None = None
        self._definitions = Definitions()
        self._redefined: set[str] = set()  # labels whose finished elements may need to be drawn again
        self._tail_beyond = 0
        self._drawn_for: tuple[Canvas, BlockDisplay] | None = None
        self._kept = {}
        self._outline: tuple[tuple[int, str, str], list[Start]] = (0, "", ""), []
        """Where elements start, for which tail; the tail's text at that time."""
        self._clear()

    def _clear(self) -> None:
        self._column = ElementColumn()
        self._askers: defaultdict[str, set[int]] = defaultdict(set)
        self._wide: dict[int, int] = {}
        self._numbered: set[int] = set()

    # Taking the text apart

    def _advance(self) -> None:
        text = self._block.text
        if not text.startswith(self._text):
            self._restart()
        end = text.rfind("\n") + 1
        fresh = end > self._text.rfind("\n") + 1
        self._text = text
        while fresh and self._taken < end:
            if self._fence is not None:
                fresh = self._take_fence(self._fence, end)
            elif self._table is not None:
                fresh = self._take_rows(self._table, end)
            else:
                fresh = self._take_elements(end)

    def _take_fence(self, fence: FencedCode, end: int) -> bool:
        """Give complete lines to the open fence; whether it was closed and there is more to look at."""
        lines = clean_text(self._text[self._taken : end]).split("\n")[:-1]
        for number, line in enumerate(lines):
            if fence.closes(line):
                fence.take(lines[:number])
                fence.show(complete=True)
                self._done.append((Start(), fence))
                self._fence = None
                self._taken = _skip(self._text, self._taken, number + 1)
                return True
        fence.take(lines)
        self._taken = end
        return False

    def _take_rows(self, table: MarkdownTable, end: int) -> bool:
        """Give complete lines to the open table; whether it ended and there is more to look at."""
        self.parses += 1
        lines = clean_text(self._text[self._taken : end]).split("\n")[:-1]
        length = table.length(lines)
        table.take(lines[:length])
        self._taken = _skip(self._text, self._taken, length)
        if length == len(lines):
            return False
        table.show()
        self._done.append((Start(), table))
        self._table = None
        return True

    def _take_elements(self, end: int) -> bool:
        """Finish all elements of the complete lines but the last; whether that one is an open fence."""
        self.parses += 1
        text = clean_text(self._text[self._taken : end])
        lines = text.split("\n")
        tokens = outline_parser().parse(text)
        starts = starts_of(tokens, lines, self._lead)
        for start, following in pairwise(starts):
            self._done.append((start, build_element(lines[start.line : following.line], start)))
        if not starts:
            return False
        self._lead = lead = starts[-1]
        self._redefined |= self._definitions.keep(
            (label, found) for label, found, to in definitions_in(tokens) if to <= lead.line
        )
        self._taken = _skip(self._text, self._taken, lead.line)
        if lead.table:
            self._taken = _skip(self._text, self._taken, TABLE_HEAD)
            self._lead = Start()
            self._table = MarkdownTable(lines[lead.line : lead.line + TABLE_HEAD])
            return True
        opening = OPENING.fullmatch(lines[lead.line])
        if opening is None:
            return False
        self._taken = _skip(self._text, self._taken, 1)
        self._lead = Start()
        self._fence = FencedCode(opening)
        return True

    # Drawing

    def _draw(self, canvas: Canvas, display: BlockDisplay) -> None:
        """Bring the rows of finished elements up to date."""
        stale: set[int] = set()
        if self._drawn_for is None or self._drawn_for[0] is not canvas:
            self._clear()
        else:
            stale.update(*(self._askers[label] for label in self._redefined if label in self._askers))
            if self._drawn_for[1].shift != display.shift:
                stale.update(self._wide)
            if self._drawn_for[1].numbers != display.numbers:
                stale |= self._numbered
        self._drawn_for = canvas, display
        self._redefined = set()
        for index in sorted(stale):
            self._column.replace(index, self._draw_element(index, canvas, display, first=not self._column.start(index)))
        for index in range(len(self._column), len(self._done)):
            self._column.append(self._draw_element(index, canvas, display, first=not self._column.height))

    def _draw_element(self, index: int, canvas: Canvas, display: BlockDisplay, *, first: bool) -> Stack:
        self.draws += 1
        start, element = self._done[index]
        stack = Stack(element_pieces(start, element, canvas, display, self._definitions, first=first))
        for label in element.open:
            self._askers[label].add(index)
        if element.has_code:
            self._numbered.add(index)
        self._wide.pop(index, None)
        if element.beyond:
            self._wide[index] = element.beyond
        return stack

    def _tail_starts(self) -> tuple[list[Start], list[str]]:
        """Where the elements start that may still change; what they define is known from now on."""
        rest = clean_text(self._text[self._taken :])
        if self._table is not None:
            goes_on = bool(rest) and self._table.length([rest]) == 1
            self._table.show(rest if goes_on else "")
            rest = "" if goes_on else rest
        if self._fence is not None or not rest:
            self._redefined |= self._definitions.propose(())
            return [], []
        lines = rest.split("\n")
        if self._only_grew(rest):
            return self._outline[1], lines
        tokens = outline_parser().parse(rest)
        complete = len(lines) - (self._block.state == "streaming")  # the last line may still grow
        found = ((label, definition) for label, definition, end in definitions_in(tokens) if end <= complete)
        self._redefined |= self._definitions.propose(found)
        starts = starts_of(tokens, lines, self._lead)
        self._outline = (self._taken, rest, self._block.state), starts
        return starts, lines

    def _only_grew(self, rest: str) -> bool:
        """Whether the last line grew since elements were looked for, one that begins as nothing but text does."""
        (taken, before, state), _ = self._outline
        last = before[before.rfind("\n") + 1 :]
        return (
            (taken, state) == (self._taken, self._block.state)
            and last[:1].isalpha()
            and rest.startswith(before)
            and "\n" not in rest[len(before) :]
        )

    def _tail(
        self, starts: list[Start], lines: list[str]
    ) -> Iterator[tuple[Start, Element | FencedCode | MarkdownTable, tuple[object, ...]]]:
        """The elements that may still change, each with what it is made from."""
        if self._fence is not None:
            rest = clean_text(self._text[self._taken :])
            streaming = self._block.state == "streaming"
            hidden = self._fence.closes(rest) or (streaming and self._fence.may_close(rest))
            self._fence.show("" if hidden else rest, complete=False)
            yield Start(), self._fence, ()
        if self._table is not None:
            yield Start(), self._table, ()
        for start, following in pairwise([*starts, Start(len(lines))]):
            own = lines[start.line : following.line]
            yield start, build_element(own, start), (start, *own)


def _skip(text: str, start: int, lines: int) -> int:
    for _ in range(lines):
        start = text.index("\n", start) + 1
    return start


def _closed_rows(text: str, canvas: Canvas) -> Rows:
    first, _, rest = clean_text(text).strip().partition("\n")
    more = f"  … {rest.count(chr(10)) + 1:,} more lines" if rest else ""
    line = crop([(first + more, canvas.ink.dim)], canvas.room)
    return rows(canvas, [line], canvas.ink.page)
