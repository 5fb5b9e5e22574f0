"""Reads HTML: nothing is run, fetched or laid out.

The markup comes from a stranger. It is read in one pass, linear in its length: a tag, comment or quotation that never
ends reaches to the end, nesting is bounded, and what is beyond the bounds is left out and said so.
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from html import unescape
from typing import Literal, NamedTuple

from oi_tui.app.engine.text.html import Document, Grid, Passage, Span, TextMark

MOST_HTML_CHARACTERS = 500_000
"""Of markup that is read."""

MOST_PARTS = 10_000
MOST_HTML_CELLS = 50_000
MOST_SPAN = 100
"""Columns or rows that one cell may claim."""

DEEPEST_HTML = 100
"""Elements in each other; further ones are read as if they were not marked."""

_TOKEN = (
    r"<!--(?P<comment>.*?)(?:-->|\Z)"
    r"|<(?P<end>/?)(?P<tag>[a-zA-Z][^\s/>]*+)"
    r"""(?P<attributes>(?:[^>=]++|=\s*+(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^\s>"'][^\s>]*+)?)*)(?:>|\Z)"""
    r"|<[!?/][^>]*+(?:>|\Z)|<\Z"
    r"|(?P<text>(?:[^<]++|<(?![a-zA-Z!?/]))+)"
)
"""Compiled when the first document is read: no start waits for it. No way through a text is tried twice."""
_ATTRIBUTE = r"""([^\s=/"'>]++)\s*+(?:=\s*+("[^"]*+"?|'[^']*+'?|[^\s>]*+))?"""
_SPACES = r"[ \t\n\r\f\v]+"
_LONGEST_ATTRIBUTES = 20_000

_RAW = frozenset(("script", "style", "iframe", "noembed", "noframes", "xmp"))
"""What is in them is no markup."""
_UNSEEN = frozenset(("template", "svg", "head", "title", "object", "audio", "video", "canvas", "select", "datalist"))
_MARKS: dict[str, TextMark] = {
    **dict.fromkeys(("b", "strong"), "bold"),
    **dict.fromkeys(("i", "em", "cite", "var", "dfn"), "italic"),
    **dict.fromkeys(("s", "del", "strike"), "strike"),
    **dict.fromkeys(("code", "tt", "kbd", "samp"), "code"),
}
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_BLOCKS = frozenset(
    """
    address article aside body center dd details dialog div dl dt fieldset figcaption figure footer form header html
    legend main nav option p section summary
    """.split()  # noqa: SIM905  lines of words are read faster than a column of quotations
)
_EMPTY = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr")
)
_KEPT = frozenset((*_MARKS, *_HEADINGS, *_UNSEEN, "a", "ul", "ol", "blockquote", "pre", "table", "caption", "menu"))
"""Elements whose end matters."""
_FRAMES = {
    "img": "picture",
    "iframe": "page",
    "audio": "audio",
    "video": "video",
    "embed": "object",
    "object": "object",
}


class _Open(NamedTuple):
    """An open element, with what it and those around it mean for text in it."""

    tag: str = ""
    hides: bool = False
    marks: frozenset[TextMark] = frozenset()
    target: str = ""
    is_code: bool = False
    heading: int = 0
    quotes: int = 0

    def child(self, tag: str, *, hides: bool, target: str) -> "_Open":
        """The state for an element in this one."""
        return _Open(
            tag,
            hides=self.hides or hides,
            marks=self.marks | {_MARKS[tag]} if tag in _MARKS else self.marks,
            target=target or self.target,
            is_code=self.is_code or tag == "pre",
            heading=int(tag[1]) if tag in _HEADINGS else self.heading,
            quotes=self.quotes + (tag == "blockquote"),
        )


@dataclass
class _Table:
    """A table that is being read."""

    rows: list[list[str]] = field(default_factory=list)
    taken: dict[int, int] = field(default_factory=dict)
    """Column -> rows that a cell from above still spans."""
    names: list[int] = field(default_factory=list)
    """For each row, how many of its first cells are names; -1: all."""
    cell: list[str] | None = None
    is_name: bool = False
    wide: int = 1
    high: int = 1
    caption: list[str] = field(default_factory=list)
    in_caption: bool = False


def read_html(markup: str, unseen: frozenset[str] = frozenset(), most: int = MOST_HTML_CHARACTERS) -> Document:
    """The parts of a document or of a piece of one, without what is in elements that are `unseen`, of at most so many
    characters."""
    return _Reader(unseen).read(markup, most)


class _Reader:
    """Reads one document of HTML; used once."""

    def __init__(self, unseen: frozenset[str]) -> None:
        self._unseen = _UNSEEN | unseen
        self._parts: list[Passage | Grid] = []
        self._spans: list[Span] = []
        self._open = [_Open()]
        self._count: Counter[str] = Counter()
        """How many of the open elements have a name."""
        self._lists: list[int | None] = []
        """The next number of every open list, None where there are no numbers."""
        self._label = ""
        self._tables: list[_Table] = []
        self._cells = 0
        self._scripts = False

    def read(self, markup: str, most: int) -> Document:
        match = re.compile(_TOKEN, re.DOTALL).match
        position, end = 0, min(len(markup), most)
        whole = len(markup) <= most
        while position < end:
            if len(self._parts) >= MOST_PARTS or self._cells >= MOST_HTML_CELLS:
                whole = False
                break
            token = match(markup, position, end)
            assert token is not None, "every character begins a token"
            position = token.end()
            if token["text"] is not None:
                self._text(token["text"])
            elif token["tag"] is not None:
                tag = token["tag"].lower()
                if token["end"]:
                    self._end(tag)
                    continue
                self._start(tag, _attributes(token["attributes"][:_LONGEST_ATTRIBUTES]))
                if tag in _RAW:
                    closing = re.compile(rf"</{tag}\b[^>]*+(?:>|\Z)", re.IGNORECASE).search(markup, position, end)
                    position = end if closing is None else closing.end()
        while self._tables:
            self._end_table()
        self._flush()
        return Document(tuple(self._parts), whole, self._scripts)

    # Text

    def _text(self, raw: str) -> None:
        state = self._open[-1]
        if state.hides:
            return
        text = unescape(raw)
        if self._tables:
            table = self._tables[0]  # the text of a nested table belongs to the outer one
            into = table.caption if table.in_caption else table.cell
            if into is not None:
                into.append(text)
            return
        last = self._spans[-1].text if self._spans else "\n"
        if not state.is_code:
            text = re.sub(_SPACES, " ", text)
            if last[-1] in " \n":
                text = text.lstrip(" ")
        if text:
            self._spans.append(Span(text, state.marks, state.target))

    def _break(self) -> None:
        if self._tables:
            self._text(" ")
        elif self._spans and not self._open[-1].hides:
            self._spans.append(Span("\n"))

    def _flush(self) -> None:
        """The passage ends here."""
        spans, self._spans = self._spans, []
        state = self._open[-1]
        while spans and not spans[-1].text.rstrip():
            spans.pop()
        if not spans:
            return
        spans[-1] = spans[-1]._replace(text=spans[-1].text.rstrip())
        label, self._label = self._label, ""
        if state.is_code:
            spans[0] = spans[0]._replace(text=spans[0].text.removeprefix("\n"))
        kind: Literal["paragraph", "heading", "item", "code"] = "item" if label else "paragraph"
        kind = "code" if state.is_code else "heading" if state.heading else kind
        level = state.heading if kind == "heading" else len(self._lists)
        self._parts.append(Passage(kind, tuple(spans), level, label, state.quotes))

    # Elements

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._scripts |= tag == "script"
        if tag in _FRAMES:
            self._frame(tag, attributes)
        if self._tables and tag != "table":
            self._start_in_table(tag, attributes)
        elif (
            tag in _BLOCKS or tag in _HEADINGS or tag in ("ul", "ol", "menu", "blockquote", "pre", "table", "li", "hr")
        ):
            self._flush()
        match tag:
            case "br":
                self._break()
            case "hr" if not self._tables:
                self._parts.append(Passage("rule"))
            case "ul" | "menu" if not self._tables:
                self._lists.append(None)
            case "ol" if not self._tables:
                start = attributes.get("start", "")
                self._lists.append(int(start) if re.fullmatch(r"[0-9]{1,9}", start) else 1)
            case "li" if not self._tables:
                self._item()
            case "table" if not self._open[-1].hides:
                self._tables.append(_Table())
            case _:
                pass
        hides = tag in self._unseen or "hidden" in attributes or _is_invisible(attributes.get("style", ""))
        if len(self._open) < DEEPEST_HTML and (tag in _KEPT or (hides and tag not in _EMPTY)):
            target = _target(attributes) if tag == "a" else ""
            self._open.append(self._open[-1].child(tag, hides=hides, target=target))
            self._count[tag] += 1

    def _end(self, tag: str) -> None:
        if tag in _BLOCKS or tag in ("li", "blockquote", "pre") or tag in _HEADINGS:
            if self._tables:
                self._text(" ")
            else:
                self._flush()
        if tag in ("ul", "ol", "menu") and self._lists and not self._tables:
            self._flush()
            self._lists.pop()
        if tag == "table" and self._tables:
            self._end_table()
        elif self._tables:
            self._end_in_table(tag)
        closed = self._count[tag] > 0
        while closed:
            opened = self._open.pop().tag
            self._count[opened] -= 1
            closed = opened != tag

    def _item(self) -> None:
        if not self._lists:
            self._lists.append(None)
        number = self._lists[-1]
        self._label = "•" if number is None else f"{number}."
        if number is not None:
            self._lists[-1] = number + 1

    def _frame(self, tag: str, attributes: dict[str, str]) -> None:
        """The text that replaces an image or frame; its address is shown, never fetched."""
        said = attributes.get("alt") or _target({"href": attributes.get("src", "")})
        if said or tag != "img":
            self._text(f" [{_FRAMES[tag]}: {said}] " if said else f" [{_FRAMES[tag]}] ")

    # Tables

    def _start_in_table(self, tag: str, attributes: dict[str, str]) -> None:
        if tag in _BLOCKS or tag == "li":
            self._text(" ")
        if len(self._tables) > 1:
            if tag in ("td", "th", "tr"):
                self._text(" ")
            return
        table = self._tables[0]
        match tag:
            case "tr":
                self._end_cell(table)
                self._new_row(table)
            case "td" | "th":
                self._end_cell(table)
                if not table.rows:
                    self._new_row(table)
                table.cell, table.is_name = [], tag == "th"
                table.wide, table.high = _count(attributes.get("colspan")), _count(attributes.get("rowspan"))
            case "caption":
                table.in_caption = True
            case _:
                pass

    def _end_in_table(self, tag: str) -> None:
        table = self._tables[0]
        match tag:
            case "td" | "th" if len(self._tables) == 1:
                self._end_cell(table)
            case "caption":
                table.in_caption = False
            case _:
                pass

    def _new_row(self, table: _Table) -> None:
        table.rows.append([])
        table.names.append(-1)
        self._cells += 1

    def _end_cell(self, table: _Table) -> None:
        table.in_caption = False
        if table.cell is None:
            return
        text, table.cell = re.sub(_SPACES, " ", "".join(table.cell)).strip(" "), None
        row = table.rows[-1]
        self._skip_spanned(table, row)
        if not table.is_name and table.names[-1] < 0:
            table.names[-1] = len(row)
        start = len(row)
        row += [text, *[text if table.is_name else ""] * (table.wide - 1)]  # a name is that of all columns below it
        if table.high > 1:
            table.taken |= dict.fromkeys(range(start, len(row)), table.high - 1)
        self._cells += table.wide

    def _skip_spanned(self, table: _Table, row: list[str]) -> None:
        while table.taken.get(len(row), 0) > 0:
            table.taken[len(row)] -= 1
            row.append("")
            self._cells += 1

    def _end_table(self) -> None:
        table = self._tables[0]
        if len(self._tables) > 1:
            self._tables.pop()
            return
        self._end_cell(table)
        self._tables.pop()
        width = max(map(len, table.rows), default=0)
        rows = [(*row, *[""] * (width - len(row))) for row in table.rows if any(row)]
        names = [count for row, count in zip(table.rows, table.names, strict=True) if any(row)]
        if not rows or len(rows) * width > 4 * MOST_HTML_CELLS:
            return
        header = next((number for number, count in enumerate(names) if count >= 0), len(rows))
        below = [count for count in names[header:] if count >= 0]
        caption = re.sub(_SPACES, " ", "".join(table.caption)).strip(" ")
        self._parts.append(Grid(tuple(rows), header, min(below, default=0), caption))


def _attributes(text: str) -> dict[str, str]:
    if not text.strip("/ \n"):
        return {}
    found: dict[str, str] = {}
    for match in re.finditer(_ATTRIBUTE, text):
        value = match[2] or ""
        found.setdefault(match[1].lower(), unescape(value.strip("\"'") if value[:1] in "\"'" else value))
    return found


def _target(attributes: dict[str, str]) -> str:
    """The target of a link, if it can be shown."""
    target = "".join(attributes.get("href", "").split())
    return "" if target.lower().startswith(("#", "javascript:", "data:", "blob:", "vbscript:")) else target[:2_000]


_INVISIBLE = re.compile(r"display:none|visibility:(?:hidden|collapse)|(?:font-size|opacity):0(?![.\d]*[1-9])")


def _is_invisible(style: str) -> bool:
    """Whether the attributes of an element hide its content."""
    return bool(style) and _INVISIBLE.search("".join(style.split()).lower()) is not None


def _count(span: str | None) -> int:
    return min(int(span), MOST_SPAN) or 1 if span and re.fullmatch(r"[0-9]{1,9}", span) else 1
