"""A page of HTML as Markdown for a model: headings, lists, tables, code, and where links lead.

What a browser would not show is left out as far as the markup says so, and so are menus and footers.
"""

import re
from collections.abc import Iterable, Iterator
from html import unescape
from typing import NamedTuple
from urllib.parse import urljoin

from oi_tui.app.engine.text.html import Document, Grid, Passage, Span
from oi_tui.app.engine.text.html_reader import read_html
from oi_tui.app.engine.text.words import one_line

MOST_MARKUP = 2_000_000
"""Characters of a page that are read: about a second's work."""
LONGEST_LINK = 300
"""Characters of where a link leads; a longer one is left out."""
LONGEST_TITLE = 200

_AROUND = frozenset(("nav", "footer", "form", "button", "noscript", "dialog", "menu"))
"""Elements that are there to get about."""
_QUIET = re.compile(r"<(script|style|svg|template|noscript)\b.*?(?:</\1\s*>|\Z)", re.IGNORECASE | re.DOTALL)
_MAIN = re.compile(r"<main\b", re.IGNORECASE)
_MAIN_END = re.compile(r"</main\s*>", re.IGNORECASE)
_TITLE = re.compile(r"<title\b[^>]{0,200}>(.{0,2000}?)</title", re.IGNORECASE | re.DOTALL)
_ENOUGH = 200
"""Characters of a main part; one with less is not all that the page says."""
_BACKTICKS = re.compile(r"`+")


class MarkdownPage(NamedTuple):
    """What a page says."""

    title: str
    text: str
    is_whole: bool
    """False if it was too long to be read to its end."""
    has_scripts: bool
    """Whether programs in it may make what it says."""


def page_markdown(markup: str, address: str) -> MarkdownPage:
    """The page at this address as Markdown. Takes a while: not for an event loop."""
    title = _TITLE.search(markup, 0, 100_000)
    said = one_line(unescape(title[1]))[:LONGEST_TITLE] if title else ""
    scripts = "<script" in markup.lower()
    quiet = _QUIET.sub(" ", markup)
    main = _main_part(quiet)
    document = read_html(main, _AROUND, MOST_MARKUP) if main else None
    text = as_page(document, address) if document is not None else ""
    if document is None or len(text) < _ENOUGH:
        document = read_html(quiet, _AROUND, MOST_MARKUP)
        text = as_page(document, address)
    return MarkdownPage(said, text, document.is_whole, scripts)


def _main_part(markup: str) -> str:
    """What a page says is its content; "" where it does not say that."""
    begin = _MAIN.search(markup)
    if begin is None:
        return ""
    end = None
    for end in _MAIN_END.finditer(markup, begin.end()):  # noqa: B007  the last one counts
        pass
    return markup[begin.start() : end.start() if end else None]


def as_page(document: Document, address: str) -> str:
    """The document as Markdown; links that are relative begin at this address."""
    groups: list[str] = []
    was_item = False
    for part in document.parts:
        is_item = isinstance(part, Passage) and part.kind == "item"
        said = _part_text(part, address)
        if not said.strip():
            continue
        if is_item and was_item:
            groups[-1] += "\n" + said
        else:
            groups.append(said)
        was_item = is_item
    return "\n\n".join(groups)


def _part_text(part: Passage | Grid, address: str) -> str:
    match part:
        case Grid(rows, header, _, caption):
            lines = ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows]
            lines.insert(max(1, header), "|" + " --- |" * len(rows[0]))
            return "\n".join([*([caption] if caption else []), *lines])
        case Passage("rule"):
            return "---"
        case Passage("heading", level=level):
            return f"{'#' * level} {one_line(part.text).strip('¶# ')}"
        case Passage("code"):
            longest = max(map(len, _BACKTICKS.findall(part.text)), default=0)
            fence = "`" * max(3, longest + 1)
            return f"{fence}\n{part.text.strip(chr(10))}\n{fence}"
        case Passage("item", level=level, label=label):
            indent = "  " * max(0, level - 1)
            return f"{indent}{'-' if label == '•' else label} {_with_links(part.spans, address).strip()}"
        case _:
            return "> " * part.quotes + _with_links(part.spans, address).strip()


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _with_links(spans: Iterable[Span], address: str) -> str:
    return "".join(_link_parts(spans, address))


def _link_parts(spans: Iterable[Span], address: str) -> Iterator[str]:
    """The text, with the target of each link behind it once."""
    waiting, target = "", ""
    for span in (*spans, Span("")):
        if waiting and span.target != target:
            yield _link(waiting, target, address)
            waiting = ""
        target = span.target
        text = (
            f"`{span.text.strip()}`"
            if "code" in span.marks and span.text.strip() and "`" not in span.text
            else span.text
        )
        if target:
            waiting += text
        else:
            yield text


def _link(text: str, target: str, address: str) -> str:
    try:
        where = urljoin(address, target)
    except ValueError:
        return text
    if not text.strip() or len(where) > LONGEST_LINK or where.partition("#")[0] == address.partition("#")[0]:
        return text
    if not where.startswith(("http://", "https://")) or any(sign in where for sign in " ()<>"):
        return text
    return where if text.strip() == where else f"[{text.strip()}]({where})"
