"""Text, code, tables and documents as HTML of ours: every character from outside is escaped.

The markup is also well-formed XML, so that a test can read what is in a page and what is not.
"""

import base64
import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from oi_tui.plugins.api import (
    Document,
    FrameExcerpt,
    Grid,
    Passage,
    Span,
    data_url,
    info_word,
    picture_bytes,
    safe_text,
    visible_text,
)

PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml")
"""What browsers show, best first."""

_TARGETS = ("https://", "http://", "mailto:")
"""Where a link may lead: anything else opens a program, or a file beside the page."""

_NUMBER = re.compile(r"[-+−]?[\d.,]+(?:e[-+]?\d+)?%?", re.IGNORECASE)
_DATA = re.compile(rf"data:({'|'.join(map(re.escape, PICTURES))});base64,(.*)", re.DOTALL)
_ELEMENTS = {"bold": "b", "italic": "i", "strike": "s", "code": "code"}


def escape_text(said: str) -> str:
    """Text between tags or in an attribute."""
    return escape(safe_text(said))


def preformat(said: str, kind: str) -> str:
    """Text whose lines and spaces count; "" for none."""
    said = said.strip("\n")
    # A newline that follows the tag would be taken for none of the text.
    return f'<pre class="{kind}">\n{escape_text(said)}\n</pre>' if said.strip() else ""


def source(code: str, language: str) -> str:
    """Code with its colours; what hides or deceives in it is written out."""
    return f'<pre class="source"><code>{_colour_code(visible_text(code, emoji=True).text, language)}</code></pre>'


def picture(mime: str, content: object) -> str:
    """A picture that is part of the page; "" for what is none. An SVG as a picture neither runs nor loads anything."""
    data = picture_bytes(mime, content)
    return f'<img alt="figure" src="{data_url(mime, data)}" />' if data else ""


def picture_of_url(url: str) -> str:
    """The picture in a `data:` URL; "" for every other address: nothing is loaded from anywhere."""
    found = _DATA.fullmatch(url)
    if found is None:
        return ""
    if found[1] != "image/svg+xml":
        return picture(found[1], found[2])
    try:
        return picture(found[1], base64.b64decode(found[2]).decode())
    except ValueError:
        return ""


def link(target: str, inner: str) -> str:
    """A link around our own HTML, if it leads to the web or to a mail address."""
    if not _is_external(target):
        return inner
    return f'<a href="{escape_text(target)}" rel="noopener noreferrer">{inner}</a>'


def prose(markdown: str) -> str:
    """Markdown as HTML. HTML in it is text, and its pictures are shown only if they are part of it."""
    # Only for an export: not worth its time at the start.
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "highlight": _highlight}).enable(["table", "strikethrough"])
    parser.add_render_rule("image", _image)
    parser.add_render_rule("link_open", _anchor)
    parser.validateLink = _is_allowed  # type: ignore[method-assign]  # the library's own way to say so
    tokens = parser.parse(safe_text(markdown))
    for token in tokens:
        # The policy of the page allows no styles of single elements.
        if "right" in str(token.attrs.pop("style", "")):
            token.attrSet("class", "number")
    return f'<div class="prose">\n{parser.renderer.render(tokens, parser.options, {})}</div>'


def _image(_: Any, tokens: Sequence[Any], index: int, *__: Any) -> str:
    url, said = str(tokens[index].attrGet("src") or ""), str(tokens[index].content)
    return picture_of_url(url) or link(url, f"[picture: {escape_text(said or url)}]")


def _anchor(_: Any, tokens: Sequence[Any], index: int, *__: Any) -> str:
    """Where a link may lead; one to a picture that is part of its address leads nowhere: it would open as a page."""
    target = str(tokens[index].attrGet("href") or "")
    return f'<a href="{escape_text(target)}" rel="noopener noreferrer">' if _is_external(target) else "<a>"


def _is_external(target: str) -> bool:
    return target.lower().startswith(_TARGETS)


def _is_allowed(url: str) -> bool:
    """Whether the library makes a link or a picture of it; it asks for both alike."""
    return _is_external(url) or _DATA.fullmatch(url) is not None


def _highlight(code: str, language: str, _: str) -> str:
    return _colour_code(code, language)


def _colour_code(code: str, language: str) -> str:
    # Only for an export: not worth its time at the start.
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        lexer = get_lexer_by_name(info_word(language) or "text", stripnl=False, ensurenl=False)
    except ClassNotFound:
        return escape(code)
    return str(highlight(code, lexer, HtmlFormatter(nowrap=True)))


def frame(content: FrameExcerpt) -> str:
    """A data frame as a table."""
    table = _table([content.names, *content.rows], 1, content.labels, content.size, content.numeric)
    return f'<div class="document">{table}</div>'


def document(content: Document) -> str:
    """The readable text of somebody else's HTML."""
    parts = [_grid(part) if isinstance(part, Grid) else _passage(part) for part in content.parts]
    if not content.is_whole:
        parts.append('<p class="note">There is more of it; it was too long.</p>')
    return f'<div class="document">{"".join(parts)}</div>' if parts else ""


def _grid(part: Grid) -> str:
    return _table(part.rows, part.header, part.labels, part.caption)


def _table(
    rows: Iterable[tuple[str, ...]], header: int, labels: int, caption: str, numeric: tuple[bool, ...] = ()
) -> str:
    head: list[str] = []
    body: list[str] = []
    for number, row in enumerate(rows):
        cells = [
            _cell(cell, number < header or column < labels, numeric[column] if numeric else _is_number(cell))
            for column, cell in enumerate(row)
        ]
        (head if number < header else body).append(f"<tr>{''.join(cells)}</tr>")
    parts = [f"<caption>{escape_text(caption)}</caption>" if caption else ""]
    parts += [f"<thead>{''.join(head)}</thead>" if head else "", f"<tbody>{''.join(body)}</tbody>" if body else ""]
    return f"<table>{''.join(parts)}</table>"


def _cell(cell: str, is_name: bool, is_number: bool) -> str:
    element = "th" if is_name else "td"
    kind = ' class="number"' if is_number else ""
    return f"<{element}{kind}>{escape_text(cell)}</{element}>"


def _is_number(cell: str) -> bool:
    return _NUMBER.fullmatch(cell.strip()) is not None


def _passage(part: Passage) -> str:
    spans = "".join(map(_span, part.spans))
    match part:
        case Passage("rule"):
            said = "<hr />"
        case Passage("heading", level=level):
            # Below those of the page itself.
            said = f"<h{min(6, level + 2)}>{spans}</h{min(6, level + 2)}>"
        case Passage("code"):
            said = f"<pre>{spans}</pre>"
        case Passage("item", level=level, label=label):
            said = f'<p class="item l{max(1, min(3, level))}">{escape_text(label)} {spans}</p>'
        case _:
            said = f"<p>{spans}</p>"
    quotes = min(part.quotes, 5)
    return "<blockquote>" * quotes + said + "</blockquote>" * quotes


def _span(span: Span) -> str:
    said = escape_text(span.text).replace("\n", "<br />")
    for mark in sorted(span.marks):
        said = f"<{_ELEMENTS[mark]}>{said}</{_ELEMENTS[mark]}>"
    return link(span.target, said)
